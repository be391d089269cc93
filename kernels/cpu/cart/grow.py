"""The loop over the nodes of a classical tree."""

from gpuboost.dtypes import LEFT_CHILD, RIGHT_CHILD
from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.kernels.cpu.cart.codes import MANY_ROWS
from gpuboost.kernels.cpu.cart.partition import partition
from gpuboost.kernels.cpu.cart.split import find_split
from gpuboost.kernels.cpu.cart.words import ONE
from gpuboost.kernels.cpu.frontier import pop, push
from gpuboost.scalar.formulas import hash32


@helper
def keep_words(work, node, n_codes, sets, n_words):
    """Append the best split's set; returns how many words there are then."""
    set_words = (n_codes + 63) // 64
    for w in range(set_words):
        sets[n_words + w] = work.best_set[w]
    if node.missing_left:
        sets[n_words] |= ONE
    node.first_word = n_words
    return n_words + set_words


@helper
def begin_node(node, begin, end, depth, parent, key):
    """A node without a split."""
    node.begin, node.end = begin, end
    node.depth, node.parent, node.key = depth, parent, key
    node.left, node.right, node.feature, node.code, node.first_word = -1, -1, -1, -1, -1
    node.threshold, node.gain, node.missing_left = 0.0, 0.0, 0


@kernel(seconds=8, makes_arrays=False)
def grow_tree(
    coded,  # Coded, IN
    targets,  # Targets, IN
    growth,  # (1,) TREE_GROWTH, IN
    budget,  # work after which to return for a moment: Python can see a Ctrl-C then
    most_words,  # words of the longest set of categories
    work,  # Work, INOUT: rows in; rows by leaves out
    distances,  # Distances, SCRATCH: for the absolute error, else None, which is not compiled
    nodes,  # (max_nodes,) TREE_NODE, OUT
    sets,  # (room,) uint64, INOUT: sets of categories
    frontier,  # Frontier of max_leaves, SCRATCH
    best,  # (1,) TREE_BEST, SCRATCH
    progress,  # (1,) TREE_PROGRESS, INOUT: all 0 at the beginning
):
    """Grow a tree; returns False if it has to be called again to go on.

    ``sets`` must then have room for two more sets. Nothing is returned that is made into a Python
    object by Python code: an interrupt that waits for the end of the call would be raised there, in
    the middle of numba's wrapper, and come out as a SystemError.
    """
    p = growth[0]
    state = progress[0]
    n_features = coded.n_codes.shape[0]
    n_all = coded.by_rows.shape[0] // n_features
    best_first = p.max_leaves > 0
    if state.n_nodes == 0:
        begin_node(nodes[0], 0, work.rows.shape[0], 0, -1, p.key)
        state.n_nodes, state.n_leaves = 1, 1
    state.done = 0
    while True:
        n_new = state.n_nodes - state.first_new
        if state.done >= budget or state.n_words + n_new * most_words > sets.shape[0]:
            return False
        while state.n_looked < n_new:
            i = state.n_nodes - 1 - state.n_looked  # the left child is on top of the stack
            has_split = find_split(
                coded, targets, growth, work, distances, nodes, i, best[0], state, budget
            )
            if state.n_seen > 0:
                return False
            state.n_looked += 1
            if has_split:
                node = nodes[i]
                if node.code < 0:
                    state.n_words = keep_words(
                        work, node, coded.n_codes[node.feature], sets, state.n_words
                    )
                push(frontier, state.n_open, node.gain, i, best_first)
                state.n_open += 1
        state.first_new, state.n_looked = state.n_nodes, 0
        if state.n_open == 0 or (best_first and state.n_leaves >= p.max_leaves):
            return True
        id_ = pop(frontier, state.n_open, best_first)
        state.n_open -= 1
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
        left, right = state.n_nodes, state.n_nodes + 1
        node.left, node.right = left, right
        middle = node.begin + n_left
        left_key, right_key = hash32(node.key, LEFT_CHILD), hash32(node.key, RIGHT_CHILD)
        begin_node(nodes[left], node.begin, middle, node.depth + 1, id_, left_key)
        begin_node(nodes[right], middle, node.end, node.depth + 1, id_, right_key)
        state.n_nodes += 2
        state.n_leaves += 1
