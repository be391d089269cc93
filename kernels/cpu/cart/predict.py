"""Prediction with classical trees.

Blocks of rows walk one tree after another, so that a tree stays in the cache for a block.
"""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, kernel, take_number
from gpuboost.scalar.rows import medians_of_row, walk

#: Rows of a block: few enough for the threads to share, many enough for a deep tree's megabyte to
#: be fetched once for all of them.
MIN_BLOCK, MAX_BLOCK, MIN_BLOCKS = 256, 8192, 16


@helper
def block_rows(n_rows):
    """Rows of a block."""
    return max(MIN_BLOCK, min(MAX_BLOCK, n_rows // MIN_BLOCKS))


@kernel
def find_leaves(
    counter,  # (1,) int64, INOUT
    x,  # (n_rows, n_features) float or integer, IN: category numbers in nominal columns
    begin,  # (n_trees + 1,) int64, IN
    nodes,  # (n_nodes,) WALK_NODE, IN
    first_set,  # (n_trees + 1,) int64, IN
    sets,  # (n_words,) uint64, IN
    out,  # (n_rows, n_trees) int32, OUT: number of the leaf in its tree
):
    """The leaf of each row in each tree."""
    n_rows, size = x.shape[0], block_rows(x.shape[0])
    block = take_number(counter)
    while block * size < n_rows:
        for t in range(begin.shape[0] - 1):
            tree_nodes, tree_sets = (
                nodes[begin[t] : begin[t + 1]],
                sets[first_set[t] : first_set[t + 1]],
            )
            for row in range(np.uint64(block * size), np.uint64(min((block + 1) * size, n_rows))):
                out[row, t] = np.int32(walk(x, row, tree_nodes, tree_sets))
        block = take_number(counter)


@kernel
def sum_values(
    counter,  # (1,) int64, INOUT
    x,
    begin,
    nodes,
    values,  # (n_nodes, n_channels) float64, IN; or (n_nodes, 1): tree t is for channel t % n
    first_set,
    sets,
    weights,  # (n_trees,) float64, IN
    first_tree,
    end_tree,
    # (end_tree - first_tree, n_rows) uint8, IN: 1 for rows that a tree says nothing of; or (0, 0)
    in_bag,
    out,  # (n_rows, n_channels) float64, INOUT
):
    """Sum of the values of each row's leaves times the trees' weights, tree by tree."""
    n_rows, n_channels = out.shape
    size, all_rows = block_rows(n_rows), in_bag.shape[0] == 0
    one_channel = values.shape[1] < n_channels
    block = take_number(counter)
    while block * size < n_rows:
        for t in range(first_tree, end_tree):
            tree_nodes = nodes[begin[t] : begin[t + 1]]
            tree_sets = sets[first_set[t] : first_set[t + 1]]
            weight = weights[t]
            for row in range(np.uint64(block * size), np.uint64(min((block + 1) * size, n_rows))):
                if all_rows or in_bag[t - first_tree, row] == 0:
                    leaf = np.uint64(begin[t]) + walk(x, row, tree_nodes, tree_sets)
                    # no arrays of one row: to make them takes longer than the walk
                    if one_channel:
                        out[row, t % n_channels] += weight * values[leaf, 0]
                    else:
                        for c in range(np.uint64(n_channels)):
                            out[row, c] += weight * values[leaf, c]
        block = take_number(counter)


@kernel
def tree_medians(
    counter,  # (1,) int64, INOUT
    x,
    begin,
    nodes,
    values,  # (n_nodes, 1) float64, IN
    first_set,
    sets,
    weights,
    first_tree,
    end_tree,
    out,  # (end_tree - first_tree, n_rows) float64, OUT
):
    """Weighted medians of what the first first_tree + 1, ..., end_tree trees say of each row."""
    n_rows = x.shape[0]
    answers, order = np.empty((MIN_BLOCK, end_tree)), np.empty(end_tree, np.int32)
    block = take_number(counter)
    while block * MIN_BLOCK < n_rows:
        first, end = block * MIN_BLOCK, min((block + 1) * MIN_BLOCK, n_rows)
        for t in range(end_tree):
            tree_nodes = nodes[begin[t] : begin[t + 1]]
            tree_sets = sets[first_set[t] : first_set[t + 1]]
            for row in range(first, end):
                leaf = np.uint64(begin[t]) + walk(x, row, tree_nodes, tree_sets)
                answers[row - first, t] = values[leaf, 0]
        for row in range(first, end):
            medians_of_row(row, answers[row - first], weights, first_tree, end_tree, order, out)
        block = take_number(counter)
