"""Prediction, one thread per row."""

import functools

import numpy as np

from gpuboost.dtypes import IN_SET, N_CODES
from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.rows import (
    add_trees,
    add_unseen_trees,
    find_leaves,
    logistic,
    logistic_of_each,
    medians_of_row,
    softmax,
    walk,
)
from gpuboost.scalar.search import first_from


def lies_right(code, last, missing_left):
    """Whether a code lies right of a cut, behind which ``last`` is the last code on the left."""
    shift = np.uint8(0) if missing_left else np.uint8(1)
    return np.uint8(code - shift) > np.uint8(last - shift)


def place_in_groups(f, i, n_rows, group_features):
    """Where the code of a row is: groups of features are laid out by rows."""
    return (f // group_features * n_rows + i) * group_features + f % group_features


def add_values(i, values, k, raw):
    """Add what a node says to the raw scores of a row."""
    for c in range(raw.shape[0]):
        raw[c, i] += values[k, c]


def add_binned_tree(i, bins, nodes, values, n_rows, group_features, raw):
    """Walk one tree on the bins of a row."""
    k = 0
    while nodes[k].left >= 0:
        split = nodes[k].split
        b = bins[place_in_groups(split.feature, i, n_rows, group_features)]
        is_right = lies_right(b, split.bin, split.missing_left)
        k = nodes[k].right if is_right else nodes[k].left
    add_values(i, values, k, raw)


def add_tree_with_sets(i, bins, nodes, values, n_rows, group_features, raw):
    """``add_binned_tree`` of trees that may have sets of categories."""
    k = 0
    while nodes[k].left >= 0:
        split = nodes[k].split
        b = bins[place_in_groups(split.feature, i, n_rows, group_features)]
        if split.kind == IN_SET:
            word = split.set[np.uint64(b) >> np.uint64(6)]
            is_right = (word >> (np.uint64(b) & np.uint64(63))) & np.uint64(1) == 0
        else:
            is_right = lies_right(b, split.bin, split.missing_left)
        k = nodes[k].right if is_right else nodes[k].left
    add_values(i, values, k, raw)


def add_sparse_tree(i, begin, entries, absent, nodes, values, raw):
    """Walk one tree on the codes of a row of a sparse matrix."""
    k = 0
    while nodes[k].left >= 0:
        split = nodes[k].split
        f = split.feature
        first = np.int64(f) * N_CODES
        end = begin[i + 1]
        place = first_from(entries, begin[i], end, first)
        b = absent[f]
        if place < end and np.int64(entries[place]) < first + N_CODES:
            b = np.uint8(np.int64(entries[place]) - first)
        k = nodes[k].right if lies_right(b, split.bin, split.missing_left) else nodes[k].left
    add_values(i, values, k, raw)


def labels(i, raw, classes, out):
    """The class with the highest score, the first of equals.

    One score for two classes is that of the second.
    """
    best = 0
    if raw.shape[0] < classes.shape[0]:
        best = 1 if raw[0, i] > 0.0 else 0
    for k in range(1, raw.shape[0]):
        best = k if raw[k, i] > raw[best, i] else best
    out[i] = classes[best]


def medians(
    i, x, begin, nodes, values, first_set, sets, weights, first_tree, end_tree, first_row, answers,
    order, out,
):  # fmt: skip
    """Medians of what trees say of row first_row + i.

    ``answers`` and ``order`` are scratch, (end_tree, n) of which column i is the row's.
    """
    row = first_row + i
    for t in range(end_tree):
        own_sets = sets[first_set[t] : first_set[t + 1]]
        leaf = walk(x, row, nodes[begin[t] : begin[t + 1]], own_sets)
        answers[t, i] = values[np.uint64(begin[t]) + leaf, 0]
    medians_of_row(row, answers[:, i], weights, first_tree, end_tree, order[:, i], out)


def taken_rows(i, x, chosen, out):
    """Some rows of a matrix, one entry for each thread."""
    n_features = x.shape[1]
    row, f = i // n_features, i % n_features
    out[row, f] = x[chosen[row], f]


ADD_BINNED_TREE = RowKernel(add_binned_tree)
ADD_TREE_WITH_SETS = RowKernel(add_tree_with_sets)
ADD_SPARSE_TREE = RowKernel(add_sparse_tree)
ADD_TREES = RowKernel(add_trees)
ADD_UNSEEN_TREES = RowKernel(add_unseen_trees)
FIND_LEAVES = RowKernel(find_leaves)
MEDIANS = RowKernel(medians)
TAKE_ROWS = RowKernel(taken_rows)
LOGISTIC = RowKernel(logistic)
LOGISTIC_OF_EACH = RowKernel(logistic_of_each)
SOFTMAX = RowKernel(softmax)
LABELS = RowKernel(labels)
#: The kernel of any other function of a row.
kernel_of = functools.cache(RowKernel)
