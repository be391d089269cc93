"""Prediction with classical trees.

Blocks of rows walk one tree after another, so that a tree stays in the cache for a block.
"""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, kernel, take_number
from gpuboost.kernels.cpu.cart.words import ONE, WORD

#: Rows of a block: few enough for the threads to share, many enough for a deep tree's megabyte to
#: be fetched once for all of them.
MIN_BLOCK, MAX_BLOCK, MIN_BLOCKS = 256, 8192, 16


@helper
def goes_left(x, row, node, sets):
    """Where a node sends a row."""
    value = np.float64(x[row, np.uint64(node.feature)])
    if value != value:
        return node.missing_left != 0
    if node.first_word < 0:
        return value <= node.threshold
    code = np.uint64(value) + ONE
    return (sets[np.uint64(node.first_word) + code // WORD] >> code % WORD) & ONE != 0


@helper
def walk(x, row, nodes, sets):
    """The leaf of one row in one tree."""
    i = np.uint64(0)
    while nodes[i].left >= 0:
        node = nodes[i]
        i = np.uint64(node.left) + np.uint64(not goes_left(x, row, node, sets))
    return i


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
    out,  # (n_rows, n_channels) float64, INOUT
):
    """Sum of the values of each row's leaves times the trees' weights, tree by tree."""
    n_rows, n_channels = out.shape
    size = block_rows(n_rows)
    block = take_number(counter)
    while block * size < n_rows:
        for t in range(first_tree, end_tree):
            tree_nodes = nodes[begin[t] : begin[t + 1]]
            tree_sets = sets[first_set[t] : first_set[t + 1]]
            weight = weights[t]
            for row in range(np.uint64(block * size), np.uint64(min((block + 1) * size, n_rows))):
                leaf = values[np.uint64(begin[t]) + walk(x, row, tree_nodes, tree_sets)]
                if leaf.shape[0] < n_channels:
                    out[row, t % n_channels] += weight * leaf[0]
                else:
                    for c in range(np.uint64(n_channels)):
                        out[row, c] += weight * leaf[c]
        block = take_number(counter)
