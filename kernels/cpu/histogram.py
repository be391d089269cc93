"""Histograms: for each feature and bin, the packed gradient and hessian sums of a node's rows.

A task covers a range of features and some rows of a node, in ascending order. Histograms of a few
features fit into the first-level cache, those of all do not: rows are gone over in blocks, and a
block once for every few features. The bins of scattered rows are first gathered from the matrix by
rows, which is asked for the next block's while this one is added. A stretch of rows without gaps
(the root) is read by columns."""

import sys

import numpy as np

from gpuboost.dtypes import HIST_STRIDE
from gpuboost.kernels.cpu._jit import allocating, helper, load_word, prefetch

PREFETCH_ROWS = np.uint64(16)  # 2026-11, AMD EPYC (Zen 3): 12 to 32 are within 2 %
#: Bytes that a matrix by rows has behind its last row, so that a row's last bins can be loaded as a
#: word.
PADDING = 8
ONE = np.uint64(1)
#: Rows that are gone over for a few features at a time: the next block's bins, which are asked for
#: meanwhile, have to fit into the second-level cache (2026-11, AMD EPYC (Zen 4): half or twice as
#: many cost 10 %).
BLOCK = 1024
STRIDE = np.uint64(HIST_STRIDE)
BYTE, WORD_BYTES = np.uint64(255), np.uint64(8)
#: A word's first byte is its lowest: turns the place of a byte on machines that see it otherwise.
FLIP = np.uint64(0 if sys.byteorder == "little" else 7)


@helper
def gather_all_features(
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN
    row_stride,
    first,  # the range of features starts here
    n_features,
    rows,  # (n,) int32, IN
    begin,  # the block: rows[begin : begin + len(values)]
    gh,  # (n_rows,) int64 packed, IN
    words,  # (>= len(values) * words per row,) uint64, OUT: a row's bins, eight to a word
    values,  # (<= BLOCK,) int64 packed, OUT
):
    """Copy the bins and gradients of a block of rows together, for consecutive features."""
    last = np.uint64(rows.shape[0]) - ONE
    row_stride, first, width = np.uint64(row_stride), np.uint64(first), np.uint64(n_features)
    n_words = words_for(width)
    to = np.uint64(0)
    for i in range(np.uint64(values.shape[0])):
        row = np.uint64(rows[np.uint64(begin) + np.uint64(i)])
        ahead = np.uint64(rows[min(np.uint64(begin) + np.uint64(i) + PREFETCH_ROWS, last)])
        ahead_base = ahead * row_stride + first
        prefetch(bins, ahead_base)
        prefetch(bins, ahead_base + width - ONE)
        prefetch(gh, ahead)
        values[i] = gh[row]
        base = row * row_stride + first
        for w in range(n_words):
            words[to + np.uint64(w)] = load_word(bins, base + np.uint64(w) * WORD_BYTES)
        to += n_words


@helper
def gather_listed_features(bins, row_stride, features, rows, begin, gh, words, values):
    """``gather_all_features`` for the listed features, in the list's order."""
    last = np.uint64(rows.shape[0]) - ONE
    row_stride, width = np.uint64(row_stride), np.uint64(features.shape[0])
    n_words = words_for(width)
    first, final = np.uint64(features[0]), np.uint64(features[width - ONE])
    row_bytes = words.view(np.uint8)
    to = np.uint64(0)
    for i in range(np.uint64(values.shape[0])):
        row = np.uint64(rows[np.uint64(begin) + np.uint64(i)])
        ahead = np.uint64(rows[min(np.uint64(begin) + np.uint64(i) + PREFETCH_ROWS, last)])
        prefetch(bins, ahead * row_stride + first)
        prefetch(bins, ahead * row_stride + final)
        prefetch(gh, ahead)
        values[i] = gh[row]
        base = row * row_stride
        for j in range(width):
            row_bytes[to + (np.uint64(j) ^ FLIP)] = bins[base + np.uint64(features[j])]
        to += n_words * WORD_BYTES


@helper
def words_for(n_features):
    """Words that hold a row's bins."""
    return (n_features + WORD_BYTES - ONE) // WORD_BYTES


@helper
def add_gathered(
    words,  # (>= len(values) * words per row,) uint64, IN
    values,  # (<= BLOCK,) int64 packed, IN
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN
    row_stride,
    features,  # (n,) int32, IN
    coming,  # (>= len(values),) int32, IN: rows that will be gathered next, asked for meanwhile
    cells,  # (>= n * HIST_STRIDE,) int64 packed, INOUT
):
    """Add a block of gathered rows to the histograms, eight features at a time.

    Their histograms stay in the first-level cache.
    """
    n = np.uint64(values.shape[0])
    row_stride, width = np.uint64(row_stride), np.uint64(features.shape[0])
    n_words = words_for(width)
    j = np.uint64(0)
    while j + np.uint64(7) < width:
        sums = cells[j * STRIDE :]
        at = j // WORD_BYTES
        feature = np.uint64(features[j])
        for i in range(n):
            prefetch(bins, np.uint64(coming[i]) * row_stride + feature)
            value, word = values[i], words[at]
            sums[word & BYTE] += value
            sums[STRIDE + (word >> np.uint64(8) & BYTE)] += value
            sums[np.uint64(2) * STRIDE + (word >> np.uint64(16) & BYTE)] += value
            sums[np.uint64(3) * STRIDE + (word >> np.uint64(24) & BYTE)] += value
            sums[np.uint64(4) * STRIDE + (word >> np.uint64(32) & BYTE)] += value
            sums[np.uint64(5) * STRIDE + (word >> np.uint64(40) & BYTE)] += value
            sums[np.uint64(6) * STRIDE + (word >> np.uint64(48) & BYTE)] += value
            sums[np.uint64(7) * STRIDE + (word >> np.uint64(56))] += value
            at += n_words
        j += WORD_BYTES
    if j + np.uint64(3) < width:
        sums = cells[j * STRIDE :]
        at = j // WORD_BYTES
        for i in range(n):
            value, word = values[i], words[at]
            sums[word & BYTE] += value
            sums[STRIDE + (word >> np.uint64(8) & BYTE)] += value
            sums[np.uint64(2) * STRIDE + (word >> np.uint64(16) & BYTE)] += value
            sums[np.uint64(3) * STRIDE + (word >> np.uint64(24) & BYTE)] += value
            at += n_words
        j += np.uint64(4)
    while j < width:
        sums = cells[j * STRIDE :]
        at, shift = j // WORD_BYTES, j % WORD_BYTES * WORD_BYTES
        for i in range(n):
            sums[words[at] >> shift & BYTE] += values[i]
            at += n_words
        j += ONE


@helper
def add_consecutive_rows(
    columns,  # (n_features, n_rows) uint8, IN
    features,  # (n,) int32, IN
    first_row,
    end_row,
    gh,  # (n_rows,) int64 packed, IN
    cells,  # (>= len(features) * HIST_STRIDE,) int64 packed, INOUT
):
    """Add all rows of a stretch, four columns at a time.

    Four histograms stay in the first-level cache, which 28 of them do not.
    """
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


@allocating
def build(bins, row_stride, columns, features, first, end, consecutive, n_bins, rows, gh, cells):
    """Histogram of rows for positions first..end of the feature list.

    ``consecutive`` says that the list is 0, 1, 2, ...
    """
    for j in range(first, end):
        at = (j - first) * HIST_STRIDE
        feature_cells = cells[at : at + n_bins[features[j]] + 1]
        for b in range(np.uint64(feature_cells.shape[0])):
            feature_cells[b] = 0
    n = rows.shape[0]
    if n > 0 and rows[n - 1] - rows[0] == n - 1:  # ascending without a gap
        add_consecutive_rows(columns, features[first:end], rows[0], rows[n - 1] + 1, gh, cells)
        return
    size = min(n, BLOCK)
    words, values = (
        np.empty(size * words_for(np.uint64(end - first)), np.uint64),
        np.empty(size, np.int64),
    )
    for begin in range(0, n, BLOCK):
        block = values[: min(BLOCK, n - begin)]
        coming = rows[min(begin + BLOCK, n - block.shape[0]) :]
        if consecutive:
            gather_all_features(bins, row_stride, first, end - first, rows, begin, gh, words, block)
        else:
            gather_listed_features(
                bins, row_stride, features[first:end], rows, begin, gh, words, block
            )
        add_gathered(words, block, bins, row_stride, features[first:end], coming, cells)


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
