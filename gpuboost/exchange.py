"""What crosses the seam between the library and its devices: arrays, records and growers.

Devices import it too, so it knows nothing of the library. What a device reads of an objective, a
matrix or a model is a small protocol here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

#: An array in the memory of the host.
HostArray: TypeAlias = np.ndarray

#: Codes in the layout of a device, and rows that were drawn: only the backend that has made them
#: looks into them.
Codes: TypeAlias = Any
DrawnRows: TypeAlias = Any


class DeviceArray(Protocol):
    """An array where the backend wants it: of numpy on the CPU, of CuPy (no types) on CUDA."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Entries along each axis."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the entries."""

    @property
    def size(self) -> int:
        """How many entries there are."""

    @property
    def itemsize(self) -> int:
        """Bytes of an entry."""

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""

    @property
    def data(self) -> Any:
        """Where they are."""

    @property
    def T(self) -> Any:
        """The same with the axes the other way round."""

    def __len__(self) -> int:
        """Entries along the first axis."""

    def __iter__(self) -> Iterator[Any]:
        """Entries of the first axis."""

    def __getitem__(self, key: Any, /) -> Any:
        """A part."""

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Change a part."""

    def reshape(self, shape: tuple[int, ...], /) -> Any:
        """The same entries along other axes."""

    def copy(self, order: Any = ...) -> Any:
        """An array of its own."""

    def fill(self, value: Any, /) -> None:
        """Make all entries the same."""


# --- what a device reads of an objective and its metrics


class ObjectiveLike(Protocol):
    """What gradients are computed from."""

    @property
    def grad_hess(self) -> Callable[..., Any]:
        """The function that a device compiles for itself."""

    @property
    def joint(self) -> bool:
        """Whether it fills ranges of rows."""

    @property
    def values(self) -> tuple[float, ...]:
        """Its last arguments."""


class ScoreLike(Protocol):
    """A metric's value, which may still be on its way."""

    def ready(self) -> bool:
        """Whether ``value`` returns at once."""

    def value(self) -> float:
        """The value; waits for it."""


class QuotientLike(Protocol):
    """A metric that is a function of two sums."""

    def score(self, total: float, total_weight: float, /) -> ScoreLike:
        """The metric from the sums over all rows."""


class MetricLike(QuotientLike, Protocol):
    """A metric that is the weighted mean of a function of each row."""

    @property
    def row_value(self) -> Callable[..., float]:
        """The function that a device compiles for itself."""

    @property
    def per_row(self) -> bool:
        """Whether it looks at all raw scores of a row."""

    @property
    def n_arrays(self) -> int:
        """How many further arrays it takes values of."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """Its last arguments."""


class LinkLike(Protocol):
    """How raw scores become predictions."""

    @property
    def name(self) -> str:
        """One of those of ``gpuboost.objectives.links``."""

    @property
    def scale(self) -> float:
        """Factor of the raw score, of "logistic" alone."""


# --- what a device reads of a matrix and a model


def _nothing(dtype: DTypeLike) -> Any:
    return field(default_factory=lambda: np.empty(0, dtype))


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix of which some values are stored, row by row; the others are all the same."""

    data: np.ndarray  # (n_entries,) float32 or float64: the stored values
    column: np.ndarray  # (n_entries,) int32: their columns, ascending within a row
    begin: np.ndarray  # (n_rows + 1,) int64: where the entries of each row begin
    n_features: int
    absent: float  # what is not stored: 0, or NaN (a missing value)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.n_features

    @property
    def size(self) -> int:
        """How many values are stored."""
        return len(self.data)

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return self.data.dtype

    def __len__(self) -> int:
        """Rows."""
        return len(self.begin) - 1


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """Codes of a matrix; code 0 is the missing value.

    A layout that nobody asked for, or that a device has no use for, is None or empty.
    """

    # (n_features, n_rows) uint8 or uint32; of a sparse matrix what ``bin_sparse`` makes of it
    columns: Codes
    # boosting on the CPU: (n_rows * n_features,) uint8 and some padding; on CUDA: groups of
    # features (kernels/cuda/histogram.cu); classical trees: (n_rows, n_features), as nodes of few
    # rows read the codes of a row together
    by_rows: Codes
    n_codes: np.ndarray  # (n_features,) int32, code 0 included
    n_rows: int
    sparse: bool = False  # columns hold the stored values alone, and by_rows is None
    # classical trees only: where a feature's codes begin in lower and upper, the lowest and the
    # highest value that has a code (NaN for code 0), and which features have sets of categories
    begin: np.ndarray = _nothing(np.int64)
    lower: np.ndarray = _nothing(np.float64)
    upper: np.ndarray = _nothing(np.float64)
    is_categorical: np.ndarray = _nothing(np.uint8)

    @property
    def n_bins(self) -> np.ndarray:
        """(n_features,) int32: codes that stand for values."""
        return self.n_codes - np.int32(1)


class EnsembleLike(Protocol):
    """Trees as prediction reads them (see ``gpuboost/model/ensemble.py``)."""

    @property
    def base_score(self) -> HostArray:
        """Raw scores before the first tree, (n_channels,) float64."""

    @property
    def tree_weights(self) -> HostArray:
        """Factors of what the trees say, (n_trees,) float64."""

    @property
    def walk_arrays(self) -> tuple[HostArray, ...]:
        """Nodes, values and sets of all trees, for walking."""

    @property
    def by_blocks(self) -> bool:
        """Whether blocks of rows are binned and run through all splits of a tree at once."""

    @property
    def used_features(self) -> HostArray:
        """Features that any tree asks for."""

    @property
    def n_cuts(self) -> HostArray:
        """Distinct thresholds of each of them."""

    def cut_table(self, dtype: np.dtype) -> HostArray:
        """Their thresholds for data of a dtype."""

    def block_arrays(self, list_splits: Callable[..., None]) -> tuple[HostArray, ...]:
        """All trees as the block prediction takes them, listed by a kernel."""


# --- boosted trees


@dataclass(frozen=True)
class GrowthLimits:
    """Sizes that a grower's buffers follow from."""

    order: int
    max_depth: int
    max_leaves: int
    max_open: int  # most nodes that have a histogram, or are split in one step
    tree_features: int
    leaves_per_step: int
    max_steps: int
    sample_columns: bool  # by level or node, or by what paths allow
    count_rows: bool
    n_values: int = 1  # that a leaf has


@dataclass(frozen=True, eq=False)
class SplitRules:
    """What the splits of a fit have to keep to, beyond numbers that hold for all features.

    None: there is no such rule.
    """

    # (n_features,) int32: 1: rises along the feature, -1: falls, 0: free
    directions: HostArray | None = None
    # (n_features,) float64: features of levels and nodes are drawn by these; 0: never
    feature_weights: HostArray | None = None
    # (n_features, n_words) uint64: the groups, as bits, that each feature is in; the features of a
    # path are in one group
    groups: HostArray | None = None
    # (n_features,) float64: subtracted from the gains of a feature that no split has used
    costs: HostArray | None = None
    # (n, 4) int32: splits at the top of every tree: feature, last bin of the left side, and the
    # rows of the table that have those of the children, or -1
    forced: HostArray | None = None

    @property
    def forced_features(self) -> HostArray:
        """Features of forced splits, which every tree may use."""
        return np.empty(0, np.int32) if self.forced is None else np.unique(self.forced[:, 0])

    def tree_weights(self, n_features: int) -> HostArray | None:
        """Weights by which trees draw features, infinite for those that each must have."""
        if self.forced is None:
            return self.feature_weights
        weights = np.ones(n_features) if self.feature_weights is None else self.feature_weights
        out = weights.copy()
        out[self.forced_features] = np.inf
        return out


class LeafQuantile(NamedTuple):
    """How the value of a leaf follows from the residuals of its rows."""

    level: float  # of the quantile that it is
    # to which the mean of what residuals are away from it is added, none farther than this
    limit: float = 0.0


class GradientSample(NamedTuple):
    """How rows are drawn by the size of their gradients (``gpuboost/scalar/sampling.py``)."""

    by_size: bool  # probabilities follow the sizes; else the largest are kept, and a share of all
    n_wanted: float  # rows to be drawn, on average
    n_top: float  # how many of them are those with the largest gradients, if not by size
    root: float  # factor of hessians in sizes
    apart: bool = False  # nobody asks for other rows or for factors: see ``Drawn``


class Drawn(NamedTuple):
    """The rows of a round, and the arrays in which their gradients are.

    The arrays are those of all rows, or have the rows that are drawn only, one after another.
    """

    rows: DrawnRows
    g: DeviceArray  # (n_outputs, n) float64
    h: DeviceArray  # (n_outputs, n) float64
    weight: DeviceArray  # (n,) float64 or (0,)


class BoostedTree(NamedTuple):
    """A tree as a ``Grower`` hands it out."""

    nodes: HostArray  # records of ``gpuboost.dtypes.NODE``
    values: HostArray  # (n_nodes, n_values) float64: what each node says
    cover: HostArray  # float64: sum of the hessians, their mean over the values
    counts: HostArray  # int64: number of rows


class Grower(Protocol):
    """Grows trees over one binned matrix, one after another."""

    def grow(
        self, rows: DrawnRows, features: DeviceArray, gh: DeviceArray, growth: DeviceArray
    ) -> None:
        """Grow a tree from packed gradients."""

    def finish(
        self,
        rows: DrawnRows,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        growth: DeviceArray,
        fine_units: DeviceArray,
        learning_rate: float,
    ) -> None:
        """Give the tree its leaf values, and keep it for ``take_trees``.

        A leaf gets a value for each row of ``g`` and ``h``, (n_values, n_rows).
        """

    def set_leaf_quantiles(
        self,
        rows: DrawnRows,
        y: DeviceArray,
        raw: DeviceArray,
        weights: tuple[DeviceArray, DeviceArray, float],
        quantiles: Sequence[LeafQuantile],
        growth: DeviceArray,
        learning_rate: float,
    ) -> None:
        """Give the leaves that have rows the values that follow from the residuals of these.

        ``y`` is (n_values, n_rows), or (1, n_rows) for all values, as ``quantiles`` are. Weights
        are the rows' weights, how often each counts (either may be empty), and the unit in which
        their products are rounded to whole numbers.
        """

    def add_leaf_values(self, raw: DeviceArray) -> None:
        """Add the tree to the raw scores (n_values, n_rows) of the matrix it was grown on."""

    def add_tree(self, binned: FeatureMatrix, raw: DeviceArray) -> None:
        """Add the tree to the raw scores of another binned matrix."""

    def take_last(self) -> BoostedTree:
        """The tree that was finished last, which ``take_trees`` does not return then."""

    def put_tree(self, tree: BoostedTree) -> None:
        """Make a tree of such a grower the one that ``add_tree`` adds; it is not kept."""

    def take_trees(self, everything: bool) -> list[BoostedTree]:
        """Trees not taken yet. A device may keep some back unless asked for everything."""


# --- classical trees


class TreeJob(NamedTuple):
    """A classical tree to be grown: its rows, and targets in fixed point.

    Targets are classes or values; the other array is empty.
    """

    rows: HostArray  # (n,) int32: those with weight, ascending
    weight: HostArray  # (n_rows,) int64: fixed point
    classes: HostArray  # (n_rows, n_outputs) int32: as channels
    values: HostArray  # (n_rows, n_outputs) int64: weight times target, fixed point
    rank: HostArray  # (n_rows, n_outputs) int32: of the target among the distinct ones
    by_rank: HostArray  # (n_ranks, n_outputs) float64: these, in units of value / weight
    growth: HostArray  # one record of ``gpuboost.dtypes.TREE_GROWTH``
    max_leaves: int


class GrownTree(NamedTuple):
    """A classical tree as a ``ClassicalGrower`` hands it out."""

    nodes: HostArray  # records of ``gpuboost.dtypes.TREE_NODE``
    sets: HostArray  # uint64: sets of categories
    rows: HostArray  # int32: its rows, those of each leaf together


class ClassicalGrower(Protocol):
    """Grows classical trees over one coded matrix."""

    def grow_together(self, jobs: Sequence[TreeJob]) -> Iterable[GrownTree]:
        """The trees, in the order of the jobs, of which there are at most ``trees_at_once``.

        Their rows may be overwritten by the next call.
        """

    def describe(
        self,
        nodes: HostArray,
        rows: HostArray,
        weight: HostArray,
        classes: HostArray,
        y: HostArray,
        criterion: int,
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Weight, value and impurity of every node, from the true targets."""
