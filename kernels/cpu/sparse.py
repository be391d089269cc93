"""Sparse matrices: cuts and codes of their columns, and histograms that cost what is stored.

A histogram has the cells of all features, one feature after another, and a last one for the sum of
all rows. Rows add their stored values to it; what a feature does not store is the sum of all rows
less that of its other cells, which the search puts in its place (``add_absent``). These sums are
integers, so a sparse matrix gives the trees of the same matrix stored densely, bit for bit."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, kernel, prefetch, take_number
from gpuboost.kernels.cpu.binning import distinct_values, quantile_cuts
from gpuboost.kernels.cpu.columns import StoredByColumn
from gpuboost.scalar.search import first_from

#: Rows and entries that are asked for ahead (2026-11, AMD EPYC).
AHEAD_ROWS, AHEAD_ENTRIES = 8, np.uint64(16)
BLOCK = 256


def column_cuts(values, rows, weight, sampled, total, absent, max_values):
    """Cuts of a column from its stored values, in the rows that are sampled (None: all).

    ``weight`` has the share of every row, or is empty; ``total`` is that of all sampled rows.
    ``absent`` is what is not stored: 0, or NaN.
    """
    share = weight[rows] if weight.size else np.ones(len(rows))
    counted = share > 0 if sampled is None else (share > 0) & sampled[rows]
    values, share = values[counted].astype(np.float64), share[counted]
    absent_share = total - share.sum()  # whole numbers: exact
    known = ~np.isnan(values)
    values, share = values[known], share[known]
    order = np.argsort(values, kind="stable")
    distinct, weights = np.empty(len(values) + 1), np.empty(len(values) + 1)
    n = distinct_values(values[order], share[order], distinct, weights)
    if absent == 0 and absent_share > 0:
        place = int(np.searchsorted(distinct[:n], 0.0))
        if place < n and distinct[place] == 0:
            weights[place] += absent_share
        else:
            for array, new in ((distinct, 0.0), (weights, absent_share)):
                array[place + 1 : n + 1] = array[place:n].copy()
                array[place] = new
            n += 1
    cuts = np.empty(max_values - 1)
    return cuts[: quantile_cuts(distinct[:n], weights[:n], max_values, cuts)].copy()


@kernel(makes_arrays=False)
def look_at_columns(
    begin,  # (n_rows + 1,) int64, IN
    column,  # (n_entries,) int32, IN
    data,  # (n_entries,) float, IN
    weight,  # (n_rows,) float64, IN: the share of every row; or empty
    n_stored,  # (n_features,) int64, INOUT: how many values each column stores
    value,  # (n_features,) float64, OUT: the first of them
    varies,  # (n_features,) uint8, INOUT: whether there is another one
    share,  # (n_features,) float64, INOUT: of the rows that store them
):
    """What each column stores, in one pass over all rows."""
    for i in range(begin.shape[0] - 1):
        of_row = weight[i] if weight.shape[0] > 0 else 1.0
        for e in range(np.uint64(begin[i]), np.uint64(begin[i + 1])):
            f = np.uint64(column[e])
            if n_stored[f] == 0:
                value[f] = data[e]
            varies[f] |= np.uint8(data[e] != value[f])  # NaN is other than NaN
            n_stored[f] += 1
            share[f] += of_row


def cut_constant_columns(x, weight, max_values, cuts):
    """Cuts of the columns that store one value, into ``cuts``; returns the numbers of the others.

    Encoders write thousands of them. Sampling would have no say: all rows are looked at if there
    are few values.
    """
    n_features, n_rows = x.n_features, len(x)
    if max_values <= 2:
        return np.arange(n_features)
    n_stored, value = np.zeros(n_features, np.int64), np.zeros(n_features)
    varies, share = np.zeros(n_features, np.uint8), np.zeros(n_features)
    look_at_columns(x.begin, x.column, x.data, weight, n_stored, value, varies, share)
    total = weight.sum() if weight.size else n_rows
    both = (varies == 0) & (x.absent == 0) & (share > 0) & (share < total) & (value != 0)
    known = {}
    for f, stored in zip(np.flatnonzero(both).tolist(), value[both].tolist(), strict=True):
        if stored not in known:
            ends, of_value = np.array([min(stored, 0.0), max(stored, 0.0)]), np.empty(1)
            quantile_cuts(ends, np.ones(2), max_values, of_value)
            known[stored] = of_value
        cuts[f] = known[stored]
    return np.flatnonzero(varies)


@kernel(makes_arrays=False)
def list_by_columns(
    begin,  # (n_rows + 1,) int64, IN
    entries,  # (n,) uint32, IN: first[feature] + code
    first,  # (n_features + 1,) int64, IN
    feature_of,  # (first[-1],) int32, IN: of each number that entries have
    places,  # (n_features + 2,) int64, OUT: where each column begins, from the second on 0 at first
    rows,  # (n,) int32, OUT
    codes,  # (n,) uint8, OUT
):
    """Put the entries of all rows in the order of their columns."""
    for e in range(np.uint64(entries.shape[0])):
        places[np.uint64(feature_of[np.uint64(entries[e])]) + np.uint64(2)] += 1
    for f in range(2, places.shape[0]):
        places[f] += places[f - 1]
    for i in range(begin.shape[0] - 1):
        for e in range(np.uint64(begin[i]), np.uint64(begin[i + 1])):
            entry = entries[e]
            f = np.uint64(feature_of[np.uint64(entry)])
            place = np.uint64(places[f + np.uint64(1)])
            places[f + np.uint64(1)] += 1
            rows[place] = i
            codes[place] = np.uint8(entry - np.uint32(first[f]))


def by_columns(columns):
    """``StoredByColumn`` of ``SparseColumns``."""
    n_features, n = len(columns.first) - 1, len(columns.entries)
    feature_of = np.repeat(np.arange(n_features, dtype=np.int32), np.diff(columns.first))
    places = np.zeros(n_features + 2, np.int64)
    rows, codes = np.empty(n, np.int32), np.empty(n, np.uint8)
    list_by_columns(columns.begin, columns.entries, columns.first, feature_of, places, rows, codes)
    return StoredByColumn(places[:-1].copy(), rows, codes)


@helper
def code_in(cuts, begin, end, value):
    """1 + how many of the cuts from begin to end are below a value; 0 for a missing one."""
    if np.isnan(value):
        return np.uint8(0)
    return np.uint8(first_from(cuts, begin, end, value) - begin + 1)


@kernel
def code_entries(
    counter,  # (1,) int64, INOUT
    begin,  # (n_rows + 1,) int64, IN
    column,  # (n_entries,) int32, IN: ascending within a row
    data,  # (n_entries,) float, IN
    cuts,  # (n,) float64, IN: those of all features
    cut_begin,  # (n_features + 1,) int64, IN
    first,  # (n_features + 1,) int64, IN
    entries,  # (n_entries,) uint32, OUT: first[feature] + code
):
    """Codes of the stored values of all rows."""
    n_rows = begin.shape[0] - 1
    block = take_number(counter)
    while block * BLOCK < n_rows:
        for e in range(begin[block * BLOCK], begin[min((block + 1) * BLOCK, n_rows)]):
            f = column[e]
            code = code_in(cuts, cut_begin[f], cut_begin[f + 1], np.float64(data[e]))
            entries[e] = first[f] + code
        block = take_number(counter)


@helper
def build_sparse(columns, rows, gh, cells):
    """Histogram of rows: their stored values, and in the last cell the sum of all."""
    begin, entries = columns.begin, columns.entries
    for c in range(np.uint64(cells.shape[0])):
        cells[c] = 0
    total = np.int64(0)
    n = rows.shape[0]
    last_entry = np.uint64(max(entries.shape[0], 1) - 1)
    for i in range(n):
        row = rows[i]
        ahead = rows[min(i + AHEAD_ROWS, n - 1)]
        prefetch(gh, np.uint64(ahead))
        prefetch(entries, min(np.uint64(begin[ahead]), last_entry))
        value = gh[row]
        total += value
        for e in range(np.uint64(begin[row]), np.uint64(begin[row + 1])):
            prefetch(cells, np.uint64(entries[min(np.uint64(e) + AHEAD_ENTRIES, last_entry)]))
            cells[np.uint64(entries[e])] += value
    cells[cells.shape[0] - 1] = total


@helper
def count_sparse(columns, rows, counts):
    """Count the rows in each cell but those of values that are not stored."""
    begin, entries = columns.begin, columns.entries
    for c in range(np.uint64(counts.shape[0])):
        counts[c] = 0
    for i in range(rows.shape[0]):
        for e in range(begin[rows[i]], begin[rows[i] + 1]):
            counts[entries[e]] += 1


@helper
def add_absent(absent, features, starts, begin, end, n_bins, total, cells):
    """The cells of values that are not stored: what the others leave of the node's sum."""
    for j in range(begin, end):
        f = features[j]
        at = starts[j]
        place = at + absent[f]
        cells[place] = 0
        rest = total
        for c in range(at, at + n_bins[f] + 1):
            rest -= cells[c]
        cells[place] = rest
