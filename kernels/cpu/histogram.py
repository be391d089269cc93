"""Histograms: for each feature and bin, the packed gradient and hessian sums of a node's rows.

A task covers a range of features and some rows of a node, in ascending order. Scattered rows are read from the matrix by rows: the bins of
the row PREFETCH_ROWS ahead are asked for while this one is added. A stretch of rows without gaps (the root) is read by columns.
"""

import numpy as np

from gpuboost.dtypes import HIST_STRIDE
from gpuboost.kernels.cpu._jit import helper, load_word, prefetch

PREFETCH_ROWS = np.uint64(16)  # 2026-11, AMD EPYC (Zen 3): 12 to 32 are within 2 %
#: Bytes that a matrix by rows has behind its last row, so that a row's last bins can be loaded as a word.
PADDING = 8
ONE = np.uint64(1)
BLOCK = 4096  # rows that are gone over for four columns at a time
STRIDE = np.uint64(HIST_STRIDE)
BYTE, WORD_BYTES = np.uint64(255), np.uint64(8)


@helper
def add_all_features(
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN
    row_stride,
    first,  # the range of features starts here
    n_features,
    rows,  # (n,) int32, IN
    gh,  # (n_rows,) int64 packed, IN
    cells,  # (>= n_features * HIST_STRIDE,) int64 packed, INOUT
):
    """Add rows to the histograms of consecutive features, eight bins at a load."""
    n = np.uint64(rows.shape[0])
    if n == 0:
        return
    last = n - ONE
    row_stride = np.uint64(row_stride)
    first = np.uint64(first)
    width = np.uint64(n_features)
    n_words, n_rest = width // WORD_BYTES, width % WORD_BYTES
    for i in range(n):
        row = np.uint64(rows[i])
        value = gh[row]
        base = row * row_stride + first
        ahead = np.uint64(rows[min(np.uint64(i) + PREFETCH_ROWS, last)])
        ahead_base = ahead * row_stride + first
        prefetch(bins, ahead_base)
        prefetch(bins, ahead_base + width - ONE)
        prefetch(gh, ahead)
        at = np.uint64(0)
        for w in range(n_words):  # this form of loop keeps one pointer into the cells; others recompute it for each bin
            word = load_word(bins, base + np.uint64(w) * WORD_BYTES)
            cells[at + (word & BYTE)] += value
            cells[at + STRIDE + (word >> np.uint64(8) & BYTE)] += value
            cells[at + np.uint64(2) * STRIDE + (word >> np.uint64(16) & BYTE)] += value
            cells[at + np.uint64(3) * STRIDE + (word >> np.uint64(24) & BYTE)] += value
            cells[at + np.uint64(4) * STRIDE + (word >> np.uint64(32) & BYTE)] += value
            cells[at + np.uint64(5) * STRIDE + (word >> np.uint64(40) & BYTE)] += value
            cells[at + np.uint64(6) * STRIDE + (word >> np.uint64(48) & BYTE)] += value
            cells[at + np.uint64(7) * STRIDE + (word >> np.uint64(56))] += value
            at += WORD_BYTES * STRIDE
        word = load_word(bins, base + n_words * WORD_BYTES)
        for _ in range(n_rest):
            cells[at + (word & BYTE)] += value
            word >>= WORD_BYTES
            at += STRIDE


@helper
def add_listed_features(
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN
    row_stride,
    features,  # (n,) int32, IN: the features in use
    rows,  # (n,) int32, IN
    gh,  # (n_rows,) int64 packed, IN
    cells,  # (>= len(features) * HIST_STRIDE,) int64 packed, INOUT
):
    """Add rows to the histograms of the listed features, in the list's order."""
    n = np.uint64(rows.shape[0])
    if n == 0:
        return
    last = n - ONE
    row_stride = np.uint64(row_stride)
    width = np.uint64(features.shape[0])
    first = np.uint64(features[0])
    final = np.uint64(features[width - ONE])
    for i in range(n):
        row = np.uint64(rows[i])
        value = gh[row]
        base = row * row_stride
        ahead = np.uint64(rows[min(np.uint64(i) + PREFETCH_ROWS, last)])
        prefetch(bins, ahead * row_stride + first)
        prefetch(bins, ahead * row_stride + final)
        prefetch(gh, ahead)
        for j in range(width):
            cells[np.uint64(j) * STRIDE + np.uint64(bins[base + np.uint64(features[j])])] += value


@helper
def add_consecutive_rows(
    columns,  # (n_features, n_rows) uint8, IN
    features,  # (n,) int32, IN
    first_row,
    end_row,
    gh,  # (n_rows,) int64 packed, IN
    cells,  # (>= len(features) * HIST_STRIDE,) int64 packed, INOUT
):
    """Add all rows of a stretch, four columns at a time: four histograms stay in the first-level cache, which 28 of them do not."""
    width = features.shape[0]
    for start in range(first_row, end_row, BLOCK):
        stop = min(start + BLOCK, end_row)
        values = gh[start:stop]
        j = 0
        while j + 3 < width:
            c0, h0 = columns[features[j], start:stop], cells[j * HIST_STRIDE :]
            c1, h1 = columns[features[j + 1], start:stop], cells[(j + 1) * HIST_STRIDE :]
            c2, h2 = columns[features[j + 2], start:stop], cells[(j + 2) * HIST_STRIDE :]
            c3, h3 = columns[features[j + 3], start:stop], cells[(j + 3) * HIST_STRIDE :]
            for i in range(np.uint64(values.shape[0])):
                value = values[i]
                h0[np.uint64(c0[i])] += value
                h1[np.uint64(c1[i])] += value
                h2[np.uint64(c2[i])] += value
                h3[np.uint64(c3[i])] += value
            j += 4
        while j < width:
            c0, h0 = columns[features[j], start:stop], cells[j * HIST_STRIDE :]
            for i in range(np.uint64(values.shape[0])):
                h0[np.uint64(c0[i])] += values[i]
            j += 1


@helper
def count_rows(
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN
    row_stride,
    features,  # (n,) int32, IN
    rows,  # (n,) int32, IN
    counts,  # (>= len(features) * HIST_STRIDE,) int32, OUT
):
    """Count the rows in each bin of the listed features."""
    row_stride = np.uint64(row_stride)
    width = np.uint64(features.shape[0])
    for c in range(width * STRIDE):
        counts[c] = 0
    for i in range(rows.shape[0]):
        base = np.uint64(rows[i]) * row_stride
        for j in range(width):
            counts[np.uint64(j) * STRIDE + np.uint64(bins[base + np.uint64(features[j])])] += 1


@helper
def build(bins, row_stride, columns, features, first, end, consecutive, n_bins, rows, gh, cells):
    """Histogram of rows for positions first..end of the feature list; ``consecutive`` says that the list is 0, 1, 2, ..."""
    for j in range(first, end):
        own = cells[(j - first) * HIST_STRIDE : (j - first) * HIST_STRIDE + n_bins[features[j]] + 1]
        for b in range(np.uint64(own.shape[0])):
            own[b] = 0
    n = rows.shape[0]
    if n > 0 and rows[n - 1] - rows[0] == n - 1:  # ascending without a gap
        add_consecutive_rows(columns, features[first:end], rows[0], rows[n - 1] + 1, gh, cells)
    elif consecutive:
        add_all_features(bins, row_stride, first, end - first, rows, gh, cells)
    else:
        add_listed_features(bins, row_stride, features[first:end], rows, gh, cells)


@helper
def subtract(part, whole):
    """whole -= part, cell by cell: the sibling's histogram from its parent's, exactly."""
    for c in range(np.uint64(part.shape[0])):
        whole[c] -= part[c]


@helper
def add(part, whole):
    """whole += part, cell by cell."""
    for c in range(np.uint64(part.shape[0])):
        whole[c] += part[c]
