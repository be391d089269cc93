"""A copy of the rows that a tree is grown on, in the layouts of the whole matrix.

Few rows of a large matrix lie far apart: each of them costs cache lines that it fills in part, at
every level of the tree. Their copy is built once for a tree. Eight bins of eight rows are loaded as
words, which are the copy by rows, and turned into eight bins of each of the features, which are the
copy by columns."""

import numpy as np

from gpuboost.kernels.cpu._jit import (
    helper,
    inlined,
    kernel,
    load_word,
    prefetch,
    store_word,
    take_number,
)

#: Rows that a thread copies at a time; a multiple of eight.
BLOCK = 4096
PREFETCH_ROWS = np.uint64(32)
EIGHT, ONE = np.uint64(8), np.uint64(1)
LOW_4, LOW_2, LOW_1 = (
    np.uint64(mask) for mask in (0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF)
)


@inlined
def swap(a, b, shift, low):
    """Exchange the high parts of ``a`` for the low parts of ``b``."""
    return (a & low) | ((b & low) << shift), ((a >> shift) & low) | (b & ~low)


@inlined
def turn(words, at, step):
    """Eight words of which the k-th has the k-th bytes of ``words[at]``, ``words[at + step]``..."""
    w0, w1 = words[at], words[at + step]
    w2, w3 = words[at + np.uint64(2) * step], words[at + np.uint64(3) * step]
    w4, w5 = words[at + np.uint64(4) * step], words[at + np.uint64(5) * step]
    w6, w7 = words[at + np.uint64(6) * step], words[at + np.uint64(7) * step]
    by_4, by_2, by_1 = np.uint64(32), np.uint64(16), np.uint64(8)
    w0, w4 = swap(w0, w4, by_4, LOW_4)
    w1, w5 = swap(w1, w5, by_4, LOW_4)
    w2, w6 = swap(w2, w6, by_4, LOW_4)
    w3, w7 = swap(w3, w7, by_4, LOW_4)
    w0, w2 = swap(w0, w2, by_2, LOW_2)
    w1, w3 = swap(w1, w3, by_2, LOW_2)
    w4, w6 = swap(w4, w6, by_2, LOW_2)
    w5, w7 = swap(w5, w7, by_2, LOW_2)
    w0, w1 = swap(w0, w1, by_1, LOW_1)
    w2, w3 = swap(w2, w3, by_1, LOW_1)
    w4, w5 = swap(w4, w5, by_1, LOW_1)
    w6, w7 = swap(w6, w7, by_1, LOW_1)
    return w0, w1, w2, w3, w4, w5, w6, w7


@helper
def copy_rows(bins, n_features, rows, begin, end, gh, n_words, by_rows, picked_gh):
    """The bins of a block of rows, and their gradients."""
    to, last = begin * n_words, np.uint64(rows.shape[0]) - ONE
    for i in range(begin, end):
        row = np.uint64(rows[i])
        ahead = np.uint64(rows[min(np.uint64(i) + PREFETCH_ROWS, last)]) * n_features
        prefetch(bins, ahead)
        prefetch(bins, ahead + n_features - ONE)
        if picked_gh.shape[0] > 0:
            picked_gh[i] = gh[row]
        for w in range(n_words):
            by_rows[to + np.uint64(w)] = load_word(bins, row * n_features + np.uint64(w) * EIGHT)
        to += n_words


@helper
def turn_rows(by_rows, n_words, begin, end, columns):
    """The same by columns."""
    step, flat = np.uint64(columns.shape[1]), columns.reshape(-1)
    for w in range(n_words):
        to = np.uint64(w) * EIGHT * step
        for i in range(begin, end, EIGHT):
            w0, w1, w2, w3, w4, w5, w6, w7 = turn(by_rows, i * n_words + np.uint64(w), n_words)
            at = to + np.uint64(i)
            store_word(flat, at, w0)
            store_word(flat, at + step, w1)
            store_word(flat, at + np.uint64(2) * step, w2)
            store_word(flat, at + np.uint64(3) * step, w3)
            store_word(flat, at + np.uint64(4) * step, w4)
            store_word(flat, at + np.uint64(5) * step, w5)
            store_word(flat, at + np.uint64(6) * step, w6)
            store_word(flat, at + np.uint64(7) * step, w7)


@kernel
def pick_rows(
    counter,  # (1,) int64, INOUT
    bins,  # (n_rows * n_features + PADDING,) uint8, IN
    n_features,
    rows,  # (n,) int32, IN
    gh,  # (n_rows,) int64 packed, IN
    # both have room for whole words: eights of rows and of features
    by_rows,  # (n_rows * n_words,) uint64, OUT: the bins of each row, eight to a word
    columns,  # (8 * n_words, n_rows) uint8, OUT: the same by columns
    picked_gh,  # (>= n,) int64 packed, OUT; or (0,)
):
    """Copy rows of the matrix together, and their gradients."""
    n, n_words = np.uint64(rows.shape[0]), np.uint64(columns.shape[0]) // EIGHT
    block = take_number(counter)
    while block * BLOCK < n:
        begin, end = np.uint64(block * BLOCK), min(np.uint64((block + 1) * BLOCK), n)
        copy_rows(bins, np.uint64(n_features), rows, begin, end, gh, n_words, by_rows, picked_gh)
        turn_rows(by_rows, n_words, begin, end, columns)
        block = take_number(counter)
