"""Cuts and bins: one thread per column for cuts, one per value otherwise."""

import functools

import numpy as np

from gpuboost.dtypes import MAX_VALUE_BINS
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.quantiles import distinct_values, quantile_cuts

#: Most memory for the columns whose cuts are found at the same time.
CUT_BYTES = 1 << 28
#: What a value of theirs takes: itself and its sorted copy, place, weight, distinct value and its
#: weight.
BYTES_PER_VALUE = 48


@functools.cache
def bin_values(as_float):
    """The kernel for values compared as ``as_float`` (numpy's float32 or float64)."""

    def bins_of_values(i, x, cuts, n_cuts, first_row, n_rows, group_features, bins):
        n_features = x.shape[1]
        row, f = i // n_features, i % n_features
        value = as_float(x[row, f])
        position, step = 0, 1
        while 2 * step <= n_cuts[f]:
            step *= 2
        while step > 0:
            if cuts[f, position + step - 1] < value:
                position += step
            step //= 2
        at = (f // group_features * n_rows + first_row + row) * group_features + f % group_features
        bins[at] = np.uint8(position + 1) if value == value else np.uint8(0)

    return RowKernel(bins_of_values)


@functools.cache
def gather_columns(as_float):
    """The kernel that takes columns out of a matrix: all their rows, or some."""

    def columns_of_matrix(i, x, features, rows, sampled, weight, weighted, columns):
        n = columns.shape[1]
        c, r = i // n, i % n
        unused = weighted and weight[r] == 0.0  # as if the row were not there
        columns[c, r] = (
            as_float(np.nan) if unused else as_float(x[rows[r] if sampled else r, features[c]])
        )

    return RowKernel(columns_of_matrix)


def first_from(codes, order, n, code):
    """The first of n places, in the order of the values, whose code is ``code`` or higher."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if codes[order[middle]] >= code:
            high = middle
        else:
            low = middle + 1
    return low


def borders_of_code(i, values, order, columns, first_feature, n_codes, lower, upper):
    """Lowest and highest value of one code of one column, the first row's among equal ones.

    ``values`` are those of some columns, ``order`` their places in ascending order, those of equal
    values ascending too; missing ones are last.
    """
    width = lower.shape[1]
    c, code = i // width, i % width + 1
    f = first_feature + c
    if code < n_codes[f]:
        of_column, places, codes = values[c], order[c], columns[f]
        low, known = 0, places.shape[0]
        while low < known:
            middle = (low + known) // 2
            if of_column[places[middle]] == of_column[places[middle]]:
                low = middle + 1
            else:
                known = middle
        begin = first_from(codes, places, known, code)
        end = first_from(codes, places, known, code + 1)
        lower[f, code - 1], upper[f, code - 1] = np.inf, -np.inf
        if begin < end:
            highest, low, high = of_column[places[end - 1]], begin, end - 1
            while low < high:
                middle = (low + high) // 2
                if of_column[places[middle]] == highest:
                    high = middle
                else:
                    low = middle + 1
            lower[f, code - 1] = of_column[places[begin]]
            upper[f, code - 1] = of_column[places[low]]


def in_order(i, columns, weight, order, values, weights):
    """Values and weights in the order of the values."""
    n = columns.shape[1]
    c, r = i // n, i % n
    at = order[c, r]
    values[c, r] = columns[c, at]
    weights[c, r] = weight[at]


def first_not(values, begin, like):
    """The first place after ``begin`` whose value is not ``like``, which stands at begin.

    In a sorted column with missing values last.
    """
    low, high = begin, values.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] == like:
            low = middle
        else:
            high = middle
    return high


def count_known(values):
    """How many values of a sorted column are not missing."""
    low, high = 0, values.shape[0]
    while low < high:
        middle = (low + high) // 2
        if values[middle] == values[middle]:
            low = middle + 1
        else:
            high = middle
    return low


def cuts_of_columns(c, values, weights, weighted, max_bins, distinct, totals, cuts, n_cuts):
    """Cuts of a sorted column.

    Few distinct values are found by bisection, and need no weights. Else the column is gone
    through.
    """
    known = values[c, : count_known(values[c])]
    n, begin = 0, 0
    while begin < known.shape[0] and n <= max_bins:
        distinct[c, n] = known[begin]
        begin = first_not(known, begin, known[begin])
        n += 1
    if n > max_bins:
        n = distinct_values(
            known, weights[c, : known.shape[0] if weighted else 0], distinct[c], totals[c]
        )
    n_cuts[c] = quantile_cuts(distinct[c, :n], totals[c, :n], max_bins, cuts[c])


IN_ORDER = RowKernel(in_order)
CUTS_OF_COLUMNS = RowKernel(cuts_of_columns)
BORDERS_OF_CODE = RowKernel(borders_of_code)


def find_cuts(x, weight, rows, max_values):
    """Cuts of each column of a device matrix, found where it is; only cuts come to the host."""
    cuts = _cuts_of_columns(
        x,
        range(x.shape[1]),
        weight if rows is None or not weight.size else weight[rows],
        rows,
        max_values,
    )
    if rows is not None:  # few distinct values: make sure that none is missed
        few = [f for f, column_cuts in enumerate(cuts) if len(column_cuts) < max_values - 1]
        from_all_rows = _cuts_of_columns(x, few, weight, None, max_values)
        for f, column_cuts in zip(few, from_all_rows, strict=True):
            cuts[f] = column_cuts
    return cuts


def _cuts_of_columns(x, features, weight, rows, max_values):
    n = x.shape[0] if rows is None else len(rows)
    at_once = max(1, CUT_BYTES // (BYTES_PER_VALUE * n))
    cp = cupy()
    device_rows, device_weight = (
        cp.asarray(np.empty(0, np.int64) if rows is None else rows),
        cp.asarray(weight),
    )
    out = []
    for first in range(0, len(features), at_once):
        chosen = np.array(features[first : first + at_once], np.int64)
        out += _cuts_at_once(
            x, cp.asarray(chosen), device_rows, device_weight, (len(chosen), n), max_values
        )
    return out


def _cuts_at_once(x, features, rows, weight, shape, max_values):
    cp = cupy()
    as_float = np.float32 if x.dtype == np.float32 else np.float64
    weighted = np.bool_(weight.size > 0)
    values, weights = (
        cp.empty(shape, as_float),
        cp.empty((shape[0], shape[1] if weighted else 1), np.float64),
    )
    gather_columns(as_float)(
        values.size, x, features, rows, np.bool_(rows.size > 0), weight, weighted, values
    )
    if weighted:
        columns, values = values, cp.empty(shape, as_float)
        IN_ORDER(values.size, columns, weight, columns.argsort(axis=1), values, weights)
    else:
        values.sort(axis=1)
    # a column has fewer distinct values than rows, or one more than a bin each before they are
    # counted
    distinct, totals = (
        cp.empty((shape[0], max(shape[1], max_values + 1)), np.float64) for _ in range(2)
    )
    cuts, n_cuts = cp.empty((shape[0], max_values - 1), np.float64), cp.empty((shape[0],), np.int32)
    CUTS_OF_COLUMNS(
        shape[0], values, weights, weighted, np.int64(max_values), distinct, totals, cuts, n_cuts
    )
    host_cuts, host_n_cuts = cp.asnumpy(cuts), cp.asnumpy(n_cuts)
    return [column[:n].copy() for column, n in zip(host_cuts, host_n_cuts, strict=True)]


def code_borders(x, weight, columns, n_codes):
    """Lowest and highest value of each code of each column; only they come to the host.

    Every value is looked up once more in its sorted column, where a code's values stand together.
    """
    cp = cupy()
    n_rows, n_features = x.shape
    as_float = np.float32 if x.dtype == np.float32 else np.float64
    at_once = min(n_features, max(1, CUT_BYTES // (BYTES_PER_VALUE * n_rows)))
    all_rows, used = cp.asarray(np.empty(0, np.int64)), np.bool_((weight == 0.0).any())
    device_weight = cp.asarray(weight if used else np.empty(0))
    device_codes = cp.asarray(n_codes)
    lower, upper = (cp.empty((n_features, MAX_VALUE_BINS), np.float64) for _ in range(2))
    for first in range(0, n_features, at_once):
        features = np.arange(first, min(first + at_once, n_features))
        values = cp.empty((len(features), n_rows), as_float)
        gather_columns(as_float)(
            values.size, x, cp.asarray(features), all_rows, np.bool_(False), device_weight, used,
            values,
        )  # fmt: skip
        BORDERS_OF_CODE(
            len(features) * MAX_VALUE_BINS, values, values.argsort(axis=1), columns,
            np.int64(first), device_codes, lower, upper,
        )  # fmt: skip
    return cp.asnumpy(lower), cp.asnumpy(upper)
