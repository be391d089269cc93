"""The loop over the nodes of a classical tree."""

import numpy as np

from gpuboost.dtypes import LEFT_CHILD, RIGHT_CHILD
from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.kernels.cpu.cart.codes import MANY_ROWS
from gpuboost.kernels.cpu.cart.partition import partition
from gpuboost.kernels.cpu.cart.records import Best
from gpuboost.kernels.cpu.cart.split import find_split
from gpuboost.kernels.cpu.cart.words import ONE
from gpuboost.kernels.cpu.frontier import pop, push
from gpuboost.scalar.formulas import hash32


@helper
def keep_words(work, node, n_codes, sets, n_words):
    """Append the best split's set; returns the array, made longer if it has to be."""
    set_words = (n_codes + 63) // 64
    if n_words + set_words > sets.shape[0]:
        longer = np.zeros(2 * (n_words + set_words), np.uint64)
        for w in range(n_words):
            longer[w] = sets[w]
        sets = longer
    for w in range(set_words):
        sets[n_words + w] = work.best_set[w]
    if node.missing_left:
        sets[n_words] |= ONE
    node.first_word = n_words
    return sets


@helper
def begin_node(node, begin, end, depth, parent, key):
    """A node without a split."""
    node.begin, node.end = begin, end
    node.depth, node.parent, node.key = depth, parent, key
    node.left, node.right, node.feature, node.code, node.first_word = -1, -1, -1, -1, -1
    node.threshold, node.gain, node.missing_left = 0.0, 0.0, 0


@kernel
def grow_tree(
    coded,  # Coded, IN
    targets,  # Targets, IN
    growth,  # (1,) TREE_GROWTH, IN
    work,  # Work, INOUT: rows in; rows by leaves out
    nodes,  # (max_nodes,) TREE_NODE, OUT
    frontier,  # Frontier of max_leaves, SCRATCH
):
    """Grow a tree; returns (how many nodes, sets of categories, words of them)."""
    p = growth[0]
    best = Best(
        np.empty(1, np.float64), np.empty(1, np.float64), np.empty(1, np.int64),
        np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_),
    )  # fmt: skip
    sets, n_words = np.zeros(0, np.uint64), 0
    n_features = coded.n_codes.shape[0]
    n_all = coded.by_rows.shape[0] // n_features
    best_first = p.max_leaves > 0
    begin_node(nodes[0], 0, work.rows.shape[0], 0, -1, p.key)
    n_nodes, n_leaves, n_open = 1, 1, 0
    first_new, end_new = 0, 1
    while True:
        for k in range(end_new - first_new):
            i = end_new - 1 - k  # the left child is on top of the stack
            if find_split(coded, targets, growth, work, nodes, i, best):
                node = nodes[i]
                if node.code < 0:
                    sets = keep_words(work, node, coded.n_codes[node.feature], sets, n_words)
                    n_words += (coded.n_codes[node.feature] + 63) // 64
                push(frontier, n_open, node.gain, i, best_first)
                n_open += 1
        if n_open == 0 or (best_first and n_leaves >= p.max_leaves):
            break
        id_ = pop(frontier, n_open, best_first)
        n_open -= 1
        node = nodes[id_]
        rows = work.rows[node.begin : node.end]
        if rows.shape[0] >= MANY_ROWS:
            n_left = partition(
                coded.by_columns, node.feature * n_all, 1, node, sets, rows, work.scratch
            )
        else:
            n_left = partition(
                coded.by_rows, node.feature, n_features, node, sets, rows, work.scratch
            )
        node.left, node.right = n_nodes, n_nodes + 1
        middle = node.begin + n_left
        left_key, right_key = hash32(node.key, LEFT_CHILD), hash32(node.key, RIGHT_CHILD)
        begin_node(nodes[n_nodes], node.begin, middle, node.depth + 1, id_, left_key)
        begin_node(nodes[n_nodes + 1], middle, node.end, node.depth + 1, id_, right_key)
        first_new, end_new = n_nodes, n_nodes + 2
        n_nodes += 2
        n_leaves += 1
    return n_nodes, sets, n_words
