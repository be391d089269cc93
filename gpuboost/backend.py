"""THE SEAM: what a device must offer, and the choice of one.

The only importer of ``gpuboost.kernels``. What crosses is in ``gpuboost.exchange``.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from gpuboost.exchange import (
    ClassicalGrower,
    Codes,
    DeviceArray,
    Drawn,
    DrawnRows,
    EnsembleLike,
    FeatureMatrix,
    GradientSample,
    Grower,
    GrowthLimits,
    HostArray,
    LinkLike,
    MetricLike,
    ObjectiveLike,
    QuotientLike,
    ScoreLike,
    SparseRows,
    SplitRules,
)
from gpuboost.uninterrupted import uninterrupted

Opened = TypeVar("Opened")


class Memory(Protocol):
    """Arrays, and their way to the device and back."""

    def put(self, host: HostArray) -> DeviceArray:
        """A host array where the kernels want it."""

    def to_host(self, array: DeviceArray) -> HostArray:
        """The other way round."""

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """An array to be filled."""

    def take_rows(self, x: DeviceArray, rows: HostArray) -> DeviceArray:
        """Some rows of a matrix, given by their numbers, where the matrix is."""


class Binning(Protocol):
    """Bins of a matrix, which may be on the host or on the device."""

    def find_cuts(
        self, x: DeviceArray, weight: HostArray, rows: HostArray | None, max_values: int
    ) -> list[HostArray]:
        """Cuts of each column, from some rows (None: all)."""

    def bin_matrix(
        self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray, by_rows: bool
    ) -> tuple[Codes, Codes]:
        """Bins by columns, and by rows if asked, or in the layout of the device."""

    def bin_columns(self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray) -> DeviceArray:
        """Bins by columns, (n_features, n_rows) uint8, where the matrix is."""

    def bin_sparse(self, x: SparseRows, cuts: list[HostArray]) -> Codes:
        """Codes of the stored values of a sparse matrix, in the layout of the device."""

    def code_borders(
        self, x: DeviceArray, weight: HostArray, columns: DeviceArray, n_codes: HostArray
    ) -> tuple[HostArray, HostArray]:
        """Lowest and highest value of each code but 0 of each column, (n_features, 255).

        ``columns`` has the codes of all values, ``n_codes`` how many there are, code 0 included.
        Rows of weight 0 are as if they were not there. A code without values has +inf and -inf.
        """


class Boosting(Protocol):
    """The rounds of gradient boosting: draws, gradients and metrics, growers."""

    rounds_unchecked: int  # rounds whose gradients may be in use before they are looked at

    def gradients(
        self,
        objective: ObjectiveLike,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        arrays: DeviceArray,
        groups: tuple[DeviceArray, DeviceArray] | None,
        g: DeviceArray,
        h: DeviceArray,
        sums: DeviceArray,
    ) -> None:
        """Gradients and hessians of all outputs into g and h, their weighted sums into ``sums``.

        The sums of |g| and h are not finite if a gradient is not, or if a hessian is below zero or
        not finite.
        """

    def residual_quantile(
        self,
        rows: DeviceArray,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        unit: float,
        level: float,
    ) -> float:
        """A quantile of the absolute residuals |y - raw| of some rows; waits for it.

        Weights are rounded to whole units.
        """

    def mean_of_rows(
        self,
        metric: MetricLike,
        scale: float,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        arrays: DeviceArray,
    ) -> ScoreLike:
        """Weighted mean of a metric's row function."""

    def area_under_curve(
        self, metric: QuotientLike, y: DeviceArray, raw: DeviceArray, weight: DeviceArray
    ) -> ScoreLike:
        """Area under the ROC curve of the first output, a metric of two sums."""

    def mix_key(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> np.uint32:
        """A key for one purpose."""

    def draw_rows(
        self, usable: DeviceArray, fraction: float, key: np.uint32, out: DeviceArray
    ) -> DrawnRows:
        """Rows of one round, as the growers of this backend take them."""

    def draw_by_gradient(
        self,
        usable: DeviceArray,
        how: GradientSample,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        sums: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> Drawn:
        """Rows of one round, drawn by the size of their gradients.

        ``factor`` gets how often each row counts, 0 if it is not drawn; gradients and hessians are
        multiplied by it, and ``sums`` are those of the products. If they may be ``apart``, a device
        may leave ``factor``, ``g`` and ``h`` as they are, and hand out gradients of the drawn rows
        in arrays of their own.
        """

    def draw_units(
        self,
        usable: DeviceArray,
        units: DeviceArray,
        shares: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> DrawnRows:
        """Rows of one round: all rows with the same number in ``units`` are drawn, or none.

        ``shares`` are the probabilities of the rows; ``factor`` gets 1 for those that are drawn,
        else 0.
        """

    def draw_features(
        self,
        n_features: int,
        growth: DeviceArray,
        out: DeviceArray,
        weights: DeviceArray | None = None,
    ) -> None:
        """Features of one tree, each alike or by weights: 0 means never, infinite always."""

    def begin_tree(
        self,
        split_sums: DeviceArray,
        sums: DeviceArray,
        rooms: tuple[float, float],
        keys: tuple[np.uint32, np.uint32],
        growth: DeviceArray,
        fine_units: DeviceArray,
    ) -> None:
        """Scales and keys of the next tree.

        ``split_sums`` (1, 2) are the sums of the gradients and hessians that splits are chosen by;
        ``sums`` (n_values, 2) those behind the leaf values, whose units go into ``fine_units``.
        """

    def project(
        self,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        factors: DeviceArray,
        key: np.uint32,
        out_g: DeviceArray,
        out_h: DeviceArray,
        sums: DeviceArray,
    ) -> None:
        """One gradient and hessian of each row, (1, n_rows), from those of all outputs.

        They are sums over the outputs, times ``factors`` (n_outputs, 2); that of each gradient has
        a random sign, drawn under the key. Their weighted sums go into ``sums``, (1, 2).
        """

    def quantize(
        self,
        rows: DrawnRows,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        growth: DeviceArray,
        nearest: bool,
        out: DeviceArray,
    ) -> DeviceArray:
        """Packed fixed-point gradients: ``out``, or its beginning.

        They are those of all rows, or if ``g`` has no more, of the listed ones.
        """

    def make_grower(
        self, binned: FeatureMatrix, limits: GrowthLimits, rules: SplitRules | None = None
    ) -> Grower:
        """A grower with buffers for every tree of a fit."""


class ClassicalTrees(Protocol):
    """Classical trees, side by side."""

    def make_tree_grower(
        self, coded: FeatureMatrix, probability: HostArray, first_channel: HostArray, n_ranks: int
    ) -> ClassicalGrower:
        """A grower with buffers for the trees that it grows together."""

    def trees_at_once(self, n_rows: int, n_outputs: int) -> int:
        """How many trees a grower grows together."""

    def share_out(self, n: int, job: Callable[[int], None]) -> None:
        """Call ``job(i)`` for i < n, by as many threads as the device has use for."""


class Prediction(Protocol):
    """Predictions, where the rows of ``x`` are: on the host or on the device."""

    def base_scores(self, ensemble: EnsembleLike, x: DeviceArray) -> DeviceArray:
        """Raw scores (n_channels, n_rows) before the first tree."""

    def add_trees(
        self,
        x: DeviceArray,
        ensemble: EnsembleLike,
        first_tree: int,
        end_tree: int,
        out: DeviceArray,
    ) -> None:
        """Add trees to ``out``, which ``base_scores`` has made for these rows."""

    def add_unseen(
        self,
        x: DeviceArray,
        ensemble: EnsembleLike,
        first_tree: int,
        end_tree: int,
        in_bag: HostArray,
        out: DeviceArray,
    ) -> None:
        """Add each tree to the scores of the rows that are not in its bag.

        ``in_bag``, (end_tree - first_tree, n_rows) uint8, has 1 for rows that are in the bag.
        """

    def medians(
        self, x: DeviceArray, ensemble: EnsembleLike, first_tree: int, end_tree: int
    ) -> DeviceArray:
        """Medians, by the trees' weights, of what trees say of each row.

        Of the first first_tree + 1, ..., end_tree trees: (end_tree - first_tree, n_rows) float64.
        """

    def find_leaves(self, x: DeviceArray, ensemble: EnsembleLike) -> DeviceArray:
        """The leaf that each tree has for each row, (n_rows, n_trees) int32."""

    def each_row(
        self, function: Callable[..., None], shape: tuple[int, ...], *arguments: DeviceArray | float
    ) -> DeviceArray:
        """A new float64 array ``out`` that ``function(i, *arguments, out)`` fills for each row i.

        There are shape[0] rows. The result is where the first argument is. The function is one of
        ``gpuboost.scalar.rows``, which every device compiles.
        """

    def apply_link(self, raw: DeviceArray, link: LinkLike) -> DeviceArray:
        """Predictions from raw scores (n_scores, n_rows).

        Numbers, (n_rows,) from one score and (n_rows, n_scores) from several; probabilities of
        classes (n_rows, n_classes), or with the logistic link and several scores of labels
        (n_rows, n_labels).
        """

    def labels(self, raw: DeviceArray, classes: HostArray) -> DeviceArray:
        """The class with the highest score, the first among equals.

        One score for two classes is that of the second, against 0.
        """


class HostOnly(Protocol):
    """What only the host does: ``backend.host`` has it on every device."""

    def find_sparse_cuts(
        self, x: SparseRows, weight: HostArray, rows: HostArray | None, max_values: int
    ) -> list[HostArray]:
        """Cuts of each column of a sparse matrix: those of ``find_cuts`` for the same values."""

    def code_sparse(self, x: SparseRows, cuts: list[HostArray], first: HostArray) -> Codes:
        """Codes of the stored values of a sparse matrix; those of feature f begin with first[f]."""

    def fixed_point_sum(self, values: HostArray, weight: HostArray, scale: float) -> int:
        """Exact sum of values times weights, in steps of 1 / scale."""

    def weighted_quantile(
        self, values: HostArray, weight: HostArray, unit: float, level: float
    ) -> float:
        """A quantile of values; weights, of which there may be none, are rounded to whole units."""

    def sort_by_code(self, rows: HostArray, code: HostArray, n_codes: int) -> HostArray:
        """Rows in the order of their codes; those of one code stay as they are."""

    def ordered_means(
        self,
        rows: HostArray,
        key: HostArray,
        weight: HostArray,
        target: HostArray,
        units: tuple[float, HostArray],
        prior: HostArray,
        prior_weight: float,
        mean: HostArray,
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Means of the rows before each row, in place; keys of levels, their weights and sums."""

    def draw_bag(self, n_rows: int, n_draws: int, key: np.uint32) -> HostArray:
        """How often each row is drawn in ``n_draws`` draws with replacement."""

    def leaf_quantiles(
        self,
        leaves: HostArray,
        arrays: tuple[HostArray, ...],
        rank: HostArray,
        targets: HostArray,
        quantiles: HostArray,
        out: HostArray,
    ) -> None:
        """Quantiles of the targets that share leaves with each row, into ``out``."""

    def project_tree(
        self,
        x: HostArray,
        ensemble: EnsembleLike,
        tree: int,
        ignored: int,
        weight: HostArray,
        y: HostArray,
        out: HostArray,
    ) -> None:
        """What a tree that ignores a feature (-1: none) says of the rows of weight 0.

        It is computed from the targets of the other rows, and written into ``out``.
        """


class Backend(Memory, Binning, Boosting, ClassicalTrees, Prediction, Protocol):
    """A device.

    Every option works on every backend, with the same bits, or raises when ``fit`` starts.
    """

    name: str

    @property
    def host(self) -> HostBackend:
        """The backend for work on host arrays: itself on the CPU."""

    def __enter__(self: Opened) -> Opened:
        """Begin to work."""

    def __exit__(self, *exc: object) -> None:
        """Give threads and memory back."""


class HostBackend(Backend, HostOnly, Protocol):
    """The CPU, which does more than other devices do."""


#: Row-feature pairs from which device="auto" takes a GPU if there is one. Below, a round takes the
#: CPU milliseconds, about what the launches of a round cost.
AUTO_CELLS = 1 << 24

log = logging.getLogger("gpuboost")


def check_device(device: object) -> None:
    """Raise unless the device exists here."""
    if isinstance(device, str) and device in ("auto", "cpu"):
        return
    index = _cuda_index(device)
    problem = import_module("gpuboost.kernels.cuda.device").missing(index)
    if problem is not None:
        raise RuntimeError(f"device={device!r} cannot be used: {problem}")


def _cuda_index(device: object) -> int:
    """Number of a device given as "cuda" or "cuda:N"."""
    match = re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {device!r}")
    return int(match[1] or 0)


def device_of(x: object) -> str | None:
    """Where input is: "cuda:N", or None for the host."""
    if type(x) is np.ndarray or x is None:
        return None
    index = _device_arrays().device_of(x)
    return None if index is None else f"cuda:{index}"


def device_for(device: str, x: object, name: str = "X") -> str:
    """The device to work on with this input.

    That is the one it is on, or what was asked for if it is on the host. Nothing is copied in
    silence.
    """
    where = device_of(x)
    if where is None:
        return device
    if device == "cpu":
        raise ValueError(
            f"{name} is on {where}, but device='cpu': use device='auto' or 'cuda', or copy it "
            "to the host with cupy.asnumpy"
        )
    if device not in ("auto", "cuda", where):
        raise ValueError(
            f"{name} is on {where}, but the device in use is {device!r}: move it there, or use "
            f"device={where!r}"
        )
    check_device(where)
    return where


def device_matrix(x: object) -> tuple[DeviceArray, list[Any] | None]:
    """Device input as an array for the backend of its device, and its column names or None."""
    array, names = _device_arrays().device_array(x)
    return array, names


def device_holds_numbers(x: object) -> bool:
    """Whether input on a device has numbers in all columns."""
    return bool(_device_arrays().holds_numbers(x))


def on_host(values: Any) -> Any:
    """Labels or weights on the host: as they are, or a copy of those on a device."""
    return values if device_of(values) is None else _device_arrays().host_copy(values)


def _device_arrays() -> ModuleType:
    return import_module("gpuboost.kernels.cuda.arrays")


def host_backend(n_jobs: int | None) -> HostBackend:
    """Open the CPU: ``with host_backend(n_jobs=2) as backend: ...``."""
    return _cpu_backend()(n_threads(n_jobs))


@cache
@uninterrupted
def _cpu_backend() -> Callable[[int], HostBackend]:
    """The class, which is imported once: an import statement takes a fifth of one row's predict."""
    from gpuboost.kernels.cpu.backend import CpuBackend

    return CpuBackend


def get_backend(device: str, n_jobs: int | None, cells: int = 0) -> Backend:
    """Open a backend: ``with get_backend("cuda", n_jobs=2) as backend: ...``.

    ``cells`` is how large the work is, for "auto".
    """
    check_device(device)
    if device == "auto":
        device = automatic_device(cells)
    if device == "cpu":
        return host_backend(n_jobs)
    from gpuboost.kernels.cuda.backend import CudaBackend

    return CudaBackend(n_threads(n_jobs), _cuda_index(device))


def automatic_device(cells: int) -> str:
    """CUDA if the work is large and a GPU is there, else the CPU.

    The emulated device is never chosen: it is there to test kernels.
    """
    if cells < AUTO_CELLS:
        return "cpu"
    cuda = import_module("gpuboost.kernels.cuda.device")
    problem = "it is emulated" if cuda.emulated() else cuda.missing(0)
    log.info(
        "device='auto': %s",
        "training on cuda:0" if problem is None else f"training on the CPU, as for CUDA {problem}",
    )
    return "cuda" if problem is None else "cpu"


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``.

    None means all this process may use, -1 all cores, -2 all but one, and so on as in joblib. More
    than there are cores count as all of them.
    """
    if n_jobs is None:
        # joblib's workers set it to their share of the machine
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return max(1, min(_cores(), int(limit))) if limit.isdigit() and int(limit) > 0 else _cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}")
    if n_jobs == 1:  # one row is predicted in less than twice the time of asking for the cores
        return 1
    return min(int(n_jobs), _cores()) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
