"""Prediction: few rows walk the trees.

Many rows are binned in blocks and run through all splits of a tree at once.

A tree of up to 256 leaves is a list of splits in the order of their nodes. Every row of a block
carries a label, 0 at first; a split asks the rows with one label, and those that go right get a new
one:

    split 0 asks label 0, goes right -> 1;  split 1 asks label 0 -> 2;  split 2 asks label 1 -> 3
    ...

After the last split the label is the leaf. Labels and bins are bytes and a block's column is
contiguous, so one vector instruction asks 32 rows: all 63 splits of a tree of depth 6 cost less
than the 6 dependent look-ups of a walk."""

import functools

import numpy as np

from gpuboost.dtypes import BY_SET
from gpuboost.kernels.cpu._jit import helper, jitable, kernel, take_number
from gpuboost.kernels.cpu.binning import bin_rows
from gpuboost.kernels.cpu.sets import is_in, is_in_words
from gpuboost.scalar.rows import add_trees, logistic, logistic_of_each, softmax

#: Rows of a block: labels and the columns of a few dozen features stay in the nearest caches.
BLOCK = 1024
MAX_LABELS = 256


@kernel
def list_splits(
    tree_begin,  # (n_trees + 1,) int64, IN
    left,  # (n_nodes,) int32, IN: -1 in leaves; the right child stands behind the left one
    value,  # (n_nodes, n_values) float64, IN
    node_of_split,  # (n_splits,) int64, OUT
    label,  # (n_splits,) int32, OUT: which label the split asks
    leaf_value,  # (n_values, n_splits + n_trees) float64, OUT: by label
):
    """Write trees as lists of splits. Split s of a tree gives the label s + 1."""
    at, leaf_at = 0, 0
    for t in range(tree_begin.shape[0] - 1):
        begin, end = tree_begin[t], tree_begin[t + 1]
        labels = np.zeros(end - begin, np.int32)
        n_splits = 0
        for i in range(begin, end):
            node_label = labels[i - begin]
            if left[i] >= 0:
                node_of_split[at + n_splits] = i
                label[at + n_splits] = node_label
                n_splits += 1
                labels[left[i]] = node_label
                labels[left[i] + 1] = n_splits
            else:
                for k in range(value.shape[1]):
                    leaf_value[k, leaf_at + node_label] = value[i, k]
        at += n_splits
        leaf_at += n_splits + 1


@helper
def label_block(columns, feature, shift, limit, asked, sets, labels):
    """Leaf labels of a block of rows in a tree of at most 256 leaves."""
    m = labels.shape[0]
    for i in range(m):
        labels[i] = 0
    for s in range(feature.shape[0]):
        column = columns[feature[s]]
        a, b, old, new = shift[s], limit[s], np.uint8(asked[s]), np.uint8(s + 1)
        if sets is not None and a == BY_SET:
            label_by_set(column, sets[s], old, new, labels)
            continue
        for i in range(m):
            right = (np.uint8(column[i] - a) > b) & (labels[i] == old)
            labels[i] = new if right else labels[i]


@helper
def label_by_set(column, words, old, new, labels):
    """Ask the rows of one label whether their codes are in a set."""
    a, b, c, d = words[0], words[1], words[2], words[3]
    for i in range(labels.shape[0]):
        right = (not is_in_words(a, b, c, d, column[i])) & (labels[i] == old)
        labels[i] = new if right else labels[i]


@helper
def walk_block(columns, begin, feature, shift, limit, left, value, sets, out):
    """Add a tree of any size to a block of rows: node by node, on bins."""
    for i in range(out.shape[1]):
        node = 0
        while left[begin + node] >= 0:
            k = begin + node
            code = columns[feature[k], i]
            goes_right = np.uint8(code - shift[k]) > limit[k]
            if sets is not None and shift[k] == BY_SET:
                goes_right = not is_in(sets[k], np.uint64(code))
            node = left[k] + goes_right
        for k in range(out.shape[0]):
            out[k, i] += value[begin + node, k]


@helper
def add_trees_to_block(
    columns,  # (n_features, m) uint8, IN: the block's bins
    first_tree,
    end_tree,
    n_outputs,
    tree_begin, feature, shift, limit, left, value,  # nodes, IN
    split_begin, split_feature, split_shift, split_limit, asked, leaf_value,  # lists of splits, IN
    sets, split_sets,  # (n, SET_WORDS) uint64, IN: of nodes and splits; None if no node has a set
    labels,  # (m,) uint8, SCRATCH
    out,  # (n_outputs, m) float64, INOUT
):  # fmt: skip
    """Add trees first_tree..end_tree to the raw scores of a block of binned rows."""
    m, n_values = out.shape[1], leaf_value.shape[0]
    for t in range(first_tree, end_tree):
        first = t % n_outputs if n_values == 1 else 0  # the tree's own output, or all of them
        begin, end = split_begin[t], split_begin[t + 1]
        if end - begin < MAX_LABELS:
            label_block(
                columns,
                split_feature[begin:end],
                split_shift[begin:end],
                split_limit[begin:end],
                asked[begin:end],
                split_sets[begin:end] if split_sets is not None else None,
                labels,
            )
            for k in range(n_values):
                target, values = out[first + k], leaf_value[k, begin + t : end + t + 1]
                for i in range(m):
                    target[i] += values[np.uint64(labels[i])]
        else:
            targets = out[first : first + n_values]
            walk_block(columns, tree_begin[t], feature, shift, limit, left, value, sets, targets)


@kernel
def predict_blocks(
    counter,  # (1,) int64, INOUT
    x,  # (n_rows, n_features) float or integer, IN
    used,  # (n_used,) int32, IN: features the trees ask; trees name them by their place here
    cuts,  # (n_used, 256) float, IN
    n_cuts,  # (n_used,) int32, IN
    first_tree, end_tree, n_outputs,
    tree_begin, feature, shift, limit, left, value,
    split_begin, split_feature, split_shift, split_limit, asked, leaf_value, sets, split_sets,
    out,  # (n_outputs, n_rows) float64, INOUT
):  # fmt: skip
    """Add trees to the raw scores of many rows given as values."""
    n_rows = x.shape[0]
    columns = np.empty((used.shape[0], BLOCK), np.uint8)
    labels = np.empty(BLOCK, np.uint8)
    values = np.empty(BLOCK, cuts.dtype)
    position = np.empty(BLOCK, np.int32)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin = block * BLOCK
        m = min(BLOCK, n_rows - begin)
        for u in range(used.shape[0]):
            bin_rows(x, begin, used[u], cuts[u], n_cuts[u], values, position, columns[u, :m])
        add_trees_to_block(
            columns[:, :m], first_tree, end_tree, n_outputs, tree_begin, feature, shift, limit,
            left, value, split_begin, split_feature, split_shift, split_limit, asked,
            leaf_value, sets, split_sets, labels[:m], out[:, begin : begin + m],
        )  # fmt: skip
        block = take_number(counter)


@kernel
def predict_few(
    x,  # (n_rows, n_features) float or integer, IN
    tree_begin,  # (n_trees + 1,) int64, IN
    nodes,  # (n_nodes,) WALK_NODE, IN: features by their numbers in x
    value,  # (n_nodes, 1) float64, IN
    first_set,  # (n_trees + 1,) int64, IN
    sets,  # (0,) uint64, IN
    weights,  # (n_trees,) float64, IN
    first_tree,
    end_tree,
    out,  # (n_outputs, n_rows) float64, INOUT
):
    """Add trees to the raw scores of a few rows: no binning, no lists."""
    for i in range(x.shape[0]):
        add_trees(
            i, x, tree_begin, nodes, value, first_set, sets, weights, first_tree, end_tree, out
        )


@functools.cache
def compile_rows(function):
    """Compile a function of one row into a loop over blocks of rows."""
    of_row = jitable(function, forceinline=True)

    @kernel
    def all_rows(
        counter,  # (1,) int64, INOUT
        n_rows,
        *arguments,  # arrays and numbers that the function takes behind the row
    ):
        block = take_number(counter)
        while block * BLOCK < n_rows:
            for i in range(block * BLOCK, min((block + 1) * BLOCK, n_rows)):
                of_row(i, *arguments)
            block = take_number(counter)

    return all_rows


@kernel
def binary_probabilities(
    raw,  # (1, n_rows) float64, IN
    scale,
    out,  # (n_rows, 2) float64, OUT
):
    """Probabilities of two classes from scores that are log odds when multiplied by the scale."""
    for i in range(raw.shape[1]):
        logistic(i, raw, scale, out)


@kernel
def label_probabilities(
    raw,  # (n_labels, n_rows) float64, IN
    scale,
    out,  # (n_rows, n_labels) float64, OUT
):
    """Probabilities of several labels, each from a score of its own."""
    for i in range(raw.shape[1]):
        logistic_of_each(i, raw, scale, out)


@kernel
def class_probabilities(
    raw,  # (n_classes, n_rows) float64, IN
    out,  # (n_rows, n_classes) float64, OUT
):
    """Softmax of each row's scores."""
    for i in range(raw.shape[1]):
        softmax(i, raw, out)
