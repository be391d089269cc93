"""Binning: the cuts of a column, and the bin of every value.

A value's bin is 1 + the number of cuts below it; bin 0 is the missing value. A split "bins up to b"
is therefore "x <= cuts[b - 1]", whether it is asked of bins or of values."""

import numpy as np

from gpuboost.dtypes import MAX_VALUE_BINS
from gpuboost.kernels.cpu._jit import helper, inlined, kernel, take_number
from gpuboost.scalar import quantiles

#: Rows binned together: their values and bins stay in the first-level cache.
BLOCK = 256
distinct_values = kernel(quantiles.distinct_values, seconds=10)
quantile_cuts = kernel(quantiles.quantile_cuts)


def column_cuts(column, weight, rows, max_values):
    """Cuts of a column from some of its rows (None: all).

    If they have few values all rows are looked at: none must be missed then.
    """
    cuts = _cuts_of(
        column if rows is None else column[rows],
        weight if rows is None or not weight.size else weight[rows],
        max_values,
    )
    return (
        _cuts_of(column, weight, max_values)
        if rows is not None and len(cuts) < max_values - 1
        else cuts
    )


def _cuts_of(column, weight, max_values):
    values, weight = _known(column, weight)
    distinct, total = np.empty(values.shape[0]), np.empty(values.shape[0])
    n = distinct_values(values, weight, distinct, total)
    cuts = np.empty(max_values - 1)
    return cuts[: quantile_cuts(distinct[:n], total[:n], max_values, cuts)].copy()


def _known(column, weight):
    """Values of a column in ascending order and their weights.

    Without missing values and rows of weight 0.
    """
    keep = weight > 0 if weight.size else None
    if column.dtype.kind == "f":
        known = ~np.isnan(column)
        if not known.all():
            keep = known if keep is None else keep & known
    values = column if keep is None else column[keep]
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if not weight.size:
        return np.sort(values), weight
    w = weight if keep is None else weight[keep]
    order = np.argsort(values, kind="stable")
    return values[order], w[order]


@kernel
def code_borders(
    column,  # (n_rows,) float or integer, IN
    codes,  # (n_rows,) uint8, IN: 0 for missing
    lower,  # (n_codes,) float64, OUT: lowest value of each code but 0; +inf if there is none
    upper,  # (n_codes,) float64, OUT: and highest
):
    """The values behind codes."""
    for c in range(lower.shape[0]):
        lower[c] = np.inf
        upper[c] = -np.inf
    for i in range(codes.shape[0]):
        if codes[i] > 0:
            value, c = np.float64(column[i]), np.uint64(codes[i]) - np.uint64(1)
            lower[c] = value if value < lower[c] else lower[c]
            upper[c] = value if value > upper[c] else upper[c]


@helper
def bin_values(
    values,  # (m,) float, IN
    cuts,  # (256,) float of the same type, IN: padded with +inf
    n_cuts,
    position,  # (>= m,) int32, SCRATCH
    out,  # (m,) uint8, OUT
):
    """Bins of a block of values of one column.

    A binary search in step for all of them, without branches.
    """
    m = values.shape[0]
    for i in range(m):
        position[i] = 0
    step = 1
    while 2 * step <= n_cuts:
        step *= 2
    while step > 0:
        for i in range(m):
            p = position[i] + step
            position[i] = p if cuts[np.uint64(p - 1)] < values[i] else position[i]
        step >>= 1
    for i in range(m):
        out[i] = np.uint8(position[i] + 1) if values[i] == values[i] else np.uint8(0)


@inlined
def bin_rows(
    x,  # (n_rows, n_features) float or integer, IN
    begin,
    f,
    cuts,  # (256,) float, IN
    n_cuts,
    values,  # (>= m,) float of the same type, SCRATCH
    position,  # (>= m,) int32, SCRATCH
    out,  # (m,) uint8, OUT
):
    """Bins of m rows of a matrix from row ``begin`` on, in column f."""
    m = out.shape[0]
    for i in range(m):
        values[i] = x[begin + i, f]
    bin_values(values[:m], cuts, n_cuts, position, out)


@kernel
def bin_matrix(
    counter,  # (1,) int64, INOUT
    x,  # (n_rows, n_features) float or integer, IN
    cuts,  # (n_features, 256) float32 for float32 input, else float64, IN
    n_cuts,  # (n_features,) int32, IN
    columns,  # (n_features, n_rows) uint8, OUT
    bins,  # (n_rows * n_features + padding,) uint8, OUT: the same by rows; empty if not wanted
):
    """Bins of all values.

    By columns for the partition and prediction, by rows for histograms.
    """
    n_rows, n_features = x.shape
    values = np.empty(BLOCK, cuts.dtype)
    position = np.empty(BLOCK, np.int32)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin = block * BLOCK
        m = min(BLOCK, n_rows - begin)
        for f in range(n_features):
            out = columns[f, begin : begin + m]
            bin_rows(x, begin, f, cuts[f], n_cuts[f], values, position, out)
            if bins.shape[0] > 0:
                for i in range(m):
                    bins[np.uint64((begin + i) * n_features + f)] = out[i]
        block = take_number(counter)


assert MAX_VALUE_BINS == 255  # the padded tables above have one entry more than there can be cuts
