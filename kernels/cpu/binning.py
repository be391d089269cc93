"""Binning: distinct values and cuts of a column, and the bin of every value.

A value's bin is 1 + the number of cuts below it; bin 0 is the missing value. A split "bins up to b" is therefore "x <= cuts[b - 1]",
whether it is asked of bins or of values.
"""

import numpy as np

from gpuboost.dtypes import MAX_VALUE_BINS
from gpuboost.kernels.cpu._jit import helper, kernel, take_number

#: Rows binned together: their values and bins stay in the first-level cache.
BLOCK = 256
LOWEST = -1.7976931348623157e308


@kernel
def distinct_values(
    values,  # (n,) float, IN: ascending, no missing values
    weight,  # (n,) float64 or (0,), IN: in the same order
    out,  # (n,) float64, OUT
    out_weight,  # (n,) float64, OUT
):
    """Distinct values and the weight of each; returns how many there are."""
    n = 0
    for i in range(values.shape[0]):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        if n > 0 and out[n - 1] == values[i]:
            out_weight[n - 1] += w
        else:
            out[n] = values[i]
            out_weight[n] = w
            n += 1
    return n


@helper
def cut_between(a, b):
    """A number c with a <= c < b, in the middle where that can be written."""
    c = a * 0.5 + b * 0.5
    if c >= a and c < b and abs(c) < np.inf:
        return c
    if a == -np.inf and b > LOWEST:
        return LOWEST  # finite, as every other threshold of a model
    return a


@kernel
def quantile_cuts(
    values,  # (n,) float64, IN: distinct, ascending
    weight,  # (n,) float64, IN
    max_bins,
    out,  # (max_bins - 1,) float64, OUT
):
    """Cuts that give bins of about equal weight; returns how many there are.

    A value that outweighs an even share gets a bin of its own, and the others share what is left: on a column that is mostly zeros, the
    zeros take one bin and not most of them.
    """
    n = values.shape[0]
    if n <= max_bins:
        for i in range(n - 1):
            out[i] = cut_between(values[i], values[i + 1])
        return max(n - 1, 0)
    left_weight = 0.0
    for i in range(n):
        left_weight += weight[i]
    left_bins = max_bins
    share = left_weight / left_bins
    heavy = np.zeros(n, np.uint8)
    for i in range(n):
        if weight[i] >= share:
            heavy[i] = 1
            left_weight -= weight[i]
            left_bins -= 1
    share = left_weight / max(left_bins, 1)
    n_cuts = 0
    filled = 0.0
    for i in range(n - 1):
        if n_cuts == max_bins - 1:
            break
        filled += weight[i]
        if heavy[i] == 0:
            left_weight -= weight[i]
        if heavy[i] or filled >= share or (heavy[i + 1] and filled >= 0.5 * share):
            out[n_cuts] = cut_between(values[i], values[i + 1])
            n_cuts += 1
            filled = 0.0
            if heavy[i] == 0:
                left_bins -= 1
                share = left_weight / max(left_bins, 1)
    return n_cuts


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
    """Bins of a block of values of one column: a binary search in step for all of them, without branches."""
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


@kernel
def bin_matrix(
    counter,  # (1,) int64, INOUT
    x,  # (n_rows, n_features) float or integer, IN
    cuts,  # (n_features, 256) float32 for float32 input, else float64, IN
    n_cuts,  # (n_features,) int32, IN
    columns,  # (n_features, n_rows) uint8, OUT
    bins,  # (n_rows * n_features + padding,) uint8, OUT: the same by rows; empty if not wanted
):
    """Bins of all values, by columns (for the partition and prediction) and by rows (for histograms)."""
    n_rows, n_features = x.shape
    values = np.empty(BLOCK, cuts.dtype)
    position = np.empty(BLOCK, np.int32)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin = block * BLOCK
        m = min(BLOCK, n_rows - begin)
        for f in range(n_features):
            for i in range(m):
                values[i] = x[begin + i, f]
            out = columns[f, begin : begin + m]
            bin_values(values[:m], cuts[f], n_cuts[f], position, out)
            if bins.shape[0] > 0:
                for i in range(m):
                    bins[np.uint64((begin + i) * n_features + f)] = out[i]
        block = take_number(counter)


assert MAX_VALUE_BINS == 255  # the padded tables above have one entry more than there can be cuts
