"""THE SEAM: what a device must offer, and the choice of one.

The only importer of ``gpuboost.kernels``.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import numpy as np


class Grower(Protocol):
    """Grows trees over one binned matrix, one after another."""

    def grow(self, rows: Any, features: Any, gh: Any, growth: Any) -> None:
        """Grow a tree from packed gradients."""

    def finish(
        self, rows: Any, g: Any, h: Any, weight: Any, growth: Any, learning_rate: float
    ) -> None:
        """Give the tree its leaf values, and keep it for ``take_trees``."""

    def replace_leaf_values(self, rows: Any, value_of_rows: Callable[[np.ndarray], float]) -> None:
        """Give the leaves that have rows other values: what a function says of their rows.

        The function gets host arrays of ascending row numbers, of rows the tree was grown on.
        """

    def add_leaf_values(self, raw: Any) -> None:
        """Add the tree to the raw scores of the matrix it was grown on."""

    def add_tree(self, binned: Any, raw: Any) -> None:
        """Add the tree to the raw scores of another binned matrix."""

    def take_trees(self, everything: bool) -> list[tuple[np.ndarray, ...]]:
        """(nodes, values, covers, counts) of trees not taken yet.

        A device may keep some back unless asked for everything.
        """


class Backend(Protocol):
    """A device. Every option works on every backend, with the same bits.

    Or raises when ``fit`` starts.
    """

    name: str
    rounds_unchecked: int  # rounds whose gradients may be in use before they are looked at

    @property
    def host(self) -> Backend:
        """The backend for work on host arrays: itself on the CPU."""

    def __enter__(self) -> Backend: ...
    def __exit__(self, *exc: Any) -> None: ...
    def put(self, host: np.ndarray) -> Any: ...
    def to_host(self, array: Any) -> np.ndarray: ...
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any: ...
    def share_out(self, n: int, job: Any) -> None: ...
    def find_cuts(
        self, x: Any, weight: np.ndarray, rows: np.ndarray | None, max_values: int
    ) -> list[np.ndarray]: ...
    def bin_matrix(self, x: Any, cuts: Any, n_cuts: Any, by_rows: bool) -> Any: ...
    def code_borders(self, column: Any, codes: Any, n_codes: int) -> tuple[Any, Any]: ...
    def gradients(
        self,
        objective: Any,
        y: Any,
        raw: Any,
        weight: Any,
        arrays: Any,
        groups: tuple[Any, Any] | None,
        g: Any,
        h: Any,
        sums: Any,
    ) -> None: ...
    def begin_tree(
        self, sums: Any, k: int, rooms: tuple[float, float], keys: tuple[Any, Any], growth: Any
    ) -> None: ...
    def quantize(
        self, g: Any, h: Any, weight: Any, growth: Any, nearest: bool, out: Any
    ) -> None: ...
    def fixed_point_sum(self, values: Any, weight: Any, scale: float) -> int: ...
    def mean_of_rows(
        self, metric: Any, scale: float, y: Any, raw: Any, weight: Any, arrays: Any
    ) -> Any: ...
    def mix_key(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> Any: ...
    def draw_rows(self, usable: Any, fraction: float, key: Any, out: Any) -> Any: ...
    def draw_bag(self, n_rows: int, n_draws: int, key: Any) -> np.ndarray: ...
    def draw_features(self, n_features: int, growth: Any, out: Any) -> None: ...
    def make_grower(self, binned: Any, limits: Any) -> Grower: ...
    def make_tree_grower(
        self, coded: Any, probability: Any, first_channel: Any, n_ranks: int
    ) -> Any: ...
    def trees_at_once(self, n_rows: int, n_outputs: int) -> int: ...
    def find_leaves(self, x: Any, ensemble: Any, out: Any) -> None: ...
    def leaf_quantiles(
        self,
        leaves: Any,
        arrays: tuple[Any, ...],
        rank: Any,
        targets: Any,
        quantiles: Any,
        out: Any,
    ) -> None: ...
    def project_tree(
        self, x: Any, ensemble: Any, tree: int, ignored: int, weight: Any, y: Any, out: Any
    ) -> None: ...
    def list_splits(self, *args: Any) -> None: ...
    def base_scores(self, ensemble: Any, x: Any) -> Any: ...
    def add_trees(
        self, x: Any, ensemble: Any, first_tree: int, end_tree: int, out: Any
    ) -> None: ...
    def apply_link(self, raw: Any, link: Any) -> Any: ...
    def labels(self, raw: Any, classes: np.ndarray) -> Any: ...


#: Row-feature pairs from which device="auto" takes a GPU if there is one. Below, a round takes the
#: CPU milliseconds, about what the launches of a round cost.
AUTO_CELLS = 1 << 24

log = logging.getLogger("gpuboost")


def check_device(device: Any) -> None:
    """Raise unless the device exists here."""
    if device in ("auto", "cpu"):
        return
    index = _cuda_index(device)
    problem = import_module("gpuboost.kernels.cuda.device").missing(index)
    if problem is not None:
        raise RuntimeError(f"device={device!r} cannot be used: {problem}")


def _cuda_index(device: Any) -> int:
    """Number of a device given as "cuda" or "cuda:N"."""
    match = re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {device!r}")
    return int(match[1] or 0)


def device_of(x: Any) -> str | None:
    """Where input is: "cuda:N", or None for the host."""
    if type(x) is np.ndarray or x is None:
        return None
    index = _device_arrays().device_of(x)
    return None if index is None else f"cuda:{index}"


def device_for(device: str, x: Any, name: str = "X") -> str:
    """The device to work on with this input.

    The one it is on, or what was asked for if it is on the host. Nothing is copied in silence.
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


def device_matrix(x: Any) -> tuple[Any, list[Any] | None]:
    """Device input as an array that the backend of its device takes.

    And its column names if it has any.
    """
    array, names = _device_arrays().device_array(x)
    return array, names


def on_host(values: Any) -> Any:
    """Labels or weights on the host: as they are, or a copy of those on a device."""
    return values if device_of(values) is None else _device_arrays().host_copy(values)


def _device_arrays() -> Any:
    return import_module("gpuboost.kernels.cuda.arrays")


def get_backend(device: str, n_jobs: int | None, cells: int = 0) -> Backend:
    """Open a backend: ``with get_backend("cpu", n_jobs=2) as backend: ...``.

    ``cells`` is how large the work is, for "auto".
    """
    check_device(device)
    if device == "auto":
        device = automatic_device(cells)
    backend: Backend
    if device == "cpu":
        backend = import_module("gpuboost.kernels.cpu.backend").CpuBackend(n_threads(n_jobs))
    else:
        backend = import_module("gpuboost.kernels.cuda.backend").CudaBackend(
            n_threads(n_jobs), _cuda_index(device)
        )
    return backend


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

    None means all this process may use, -1 all cores, -2 all but one, and so on as in joblib.
    """
    if n_jobs is None:
        # joblib's workers set it to their share of the machine
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return max(1, min(_cores(), int(limit))) if limit.isdigit() and int(limit) > 0 else _cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
