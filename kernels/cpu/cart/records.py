"""What a classical tree is grown from, and the buffers of the growing tree."""

from typing import Any, NamedTuple


class Coded(NamedTuple):
    """A coded matrix."""

    by_columns: Any  # (n_features * n_rows,) uint8 or uint32
    by_rows: Any  # (n_rows * n_features,) of the same
    n_codes: Any  # (n_features,) int32, code 0 (missing) included
    begin: Any  # (n_features + 1,) int64: where a feature's codes begin in lower and upper
    lower: Any  # (n,) float64: lowest value of each code
    upper: Any  # (n,) float64: and highest
    nominal: Any  # (n_features,) uint8
    probability: Any  # (n_features,) float64: of a feature to be drawn (midpoint splitter)


class Targets(NamedTuple):
    """What a tree is grown on. Classes or values, the other is empty."""

    weight: Any  # (n_rows,) int64: fixed point
    classes: Any  # (n_rows, n_outputs) int32: as channels
    values: Any  # (n_rows, n_outputs) int64: weight times target, fixed point
    first_channel: Any  # (n_outputs + 1,) int32
    rank: Any  # (n_rows, n_outputs) int32: rank of the target among all
    by_rank: (
        Any  # (n_ranks, n_outputs) float64: the targets in units of value / weight (absolute error)
    )


class Work(NamedTuple):
    """Buffers of one growing tree."""

    rows: Any  # (n,) int32: the rows of each node one after another
    scratch: Any  # (n,) int32
    weight: Any  # (n,) int64: of the rows of the node in hand
    classes: Any  # (n * n_outputs,) int32
    values: Any  # (n * n_outputs,) int64
    code: Any  # (n,) int32: of the feature in hand
    table: Any  # (max_codes * n_cell,) int64, all 0 between features
    place: Any  # (max_codes,) int32: place of each code among those present
    bits: Any  # (n_words,) uint64, all 0 between features: codes present
    summary: Any  # (n_words / 64,) uint64, the same of words with a bit
    # (max_codes + 1,) int32: codes present, ascending; entry 0 is the missing value, present or not
    present: Any
    cells: Any  # ((max_codes + 1) * n_cell,) int64: sums of each code present
    counts: Any  # (max_codes + 1,) int32: rows of each
    order: Any  # (max_codes + 1,) int32: places as they are divided
    sort_key: Any  # (max_codes + 1,) float64
    total: Any  # (n_channels,) float64: of the node
    left: Any  # (n_channels,) float64
    side: Any  # (n_channels,) float64
    features: Any  # (n_features,) int32
    best_set: Any  # (n_words,) uint64


class Distances(NamedTuple):
    """Buffers of a tree that is grown by the absolute error."""

    rank: Any  # (n_outputs, n) int32: rank of the target in the node
    by_rank: Any  # (n_outputs, n) float64
    n_ranks: Any  # (n_outputs,) int64
    rank_tree: Any  # (n + 1, 2) int64
    by_code: Any  # (n,) int32: places of rows by code
    ends: Any  # (max_cuts,) int32
    scores: Any  # (2, max_cuts) float64: missing right, missing left
