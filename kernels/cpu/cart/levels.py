"""Trees that a device grows level by level, as ``grow.py`` would have written them."""

from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.kernels.cpu.cart.split import settle_threshold
from gpuboost.kernels.cpu.frontier import pop, push


@helper
def take_node(by_levels, next_code, level_sets, place, n_codes, begin, lower, upper, node, sets, n):
    """Copy a node, which is no child's parent yet, with its set if it has one.

    Returns the words of all sets.
    """
    taken = by_levels[place]
    node.begin, node.end = taken.begin, taken.end
    node.depth, node.key = taken.depth, taken.key
    node.threshold, node.gain, node.missing_left = taken.threshold, taken.gain, taken.missing_left
    node.feature, node.code = taken.feature, taken.code
    node.left, node.right, node.first_word = -1, -1, -1
    if taken.feature < 0:
        return n
    if taken.code >= 0:
        settle_threshold(node, next_code[place], begin, lower, upper)
        return n
    node.first_word = n
    n_words = (n_codes[taken.feature] + 63) // 64
    for w in range(n_words):
        sets[n + w] = level_sets[place, w]
    return n + n_words


@kernel
def order_nodes(
    # (n,) TREE_NODE, IN: of all trees; left is a place in this array, the right child stands behind
    # it
    by_levels,
    next_code,  # (n,) int32, IN: the next code present behind that of the split; 0: none
    level_sets,  # (n, most words) uint64, IN: sets of the splits that have one
    root,
    n_codes,  # (n_features,) int32, IN
    begin,  # (n_features + 1,) int64, IN: where a feature's codes begin in lower and upper
    lower,  # (n_codes,) float64, IN
    upper,  # (n_codes,) float64, IN
    max_leaves,  # 0: no limit, the left child is split first; else the node of highest gain
    frontier,  # Frontier of all nodes, SCRATCH
    place,  # (all nodes of the tree,) int64, SCRATCH
    out,  # (all nodes of the tree,) TREE_NODE, OUT: the tree
    sets,  # (all words of the tree,) uint64, OUT
):
    """Make the splits of one tree in the order in which the CPU makes them, and number its nodes.

    Returns (nodes, words of sets).
    """
    best_first = max_leaves > 0
    place[0], out[0].parent = root, -1
    n_nodes, n_leaves, n_open, n_words = 1, 1, 0, 0
    first_new = 0
    while True:
        for k in range(n_nodes - first_new):
            i = n_nodes - 1 - k  # the left child is on top of the stack
            n_words = take_node(
                by_levels, next_code, level_sets, place[i], n_codes, begin, lower, upper, out[i],
                sets, n_words,
            )  # fmt: skip
            if out[i].feature >= 0:
                push(frontier, n_open, out[i].gain, i, best_first)
                n_open += 1
        if n_open == 0 or (best_first and n_leaves >= max_leaves):
            return n_nodes, n_words
        id_ = pop(frontier, n_open, best_first)
        n_open -= 1
        first_new = n_nodes
        for side in range(2):
            place[n_nodes + side] = by_levels[place[id_]].left + side
            out[n_nodes + side].parent = id_
        out[id_].left, out[id_].right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
