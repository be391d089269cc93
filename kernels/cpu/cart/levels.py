"""Trees that a device grows level by level, as ``grow.py`` would have written them."""

from gpuboost.kernels.cpu._jit import kernel
from gpuboost.kernels.cpu.cart.split import settle_threshold
from gpuboost.kernels.cpu.frontier import pop, push


@kernel
def order_nodes(
    # (n,) TREE_NODE, IN: of all trees; left is a place in this array, the right child stands behind
    # it
    by_levels,
    next_code,  # (n,) int32, IN: the next code present behind that of the split; 0: none
    root,
    begin,  # (n_features + 1,) int64, IN: where a feature's codes begin in lower and upper
    lower,  # (n_codes,) float64, IN
    upper,  # (n_codes,) float64, IN
    frontier,  # Frontier of n_nodes, SCRATCH
    out,  # (n_nodes,) TREE_NODE, OUT: one tree
):
    """Number the nodes of one tree as they are numbered when it grows depth first, left first."""
    out[0] = by_levels[root]
    if out[0].left >= 0:
        settle_threshold(out[0], next_code[root], begin, lower, upper)
    push(frontier, 0, 0.0, 0, False)
    n_nodes, n_open = 1, 1
    while n_open > 0:
        id_ = pop(frontier, n_open, False)
        n_open -= 1
        if out[id_].left < 0:
            continue
        for side in range(2):
            place = out[id_].left + side
            child = n_nodes + side
            out[child] = by_levels[place]
            out[child].parent = id_
            if out[child].left >= 0:
                settle_threshold(out[child], next_code[place], begin, lower, upper)
        push(frontier, n_open, 0.0, n_nodes + 1, False)
        push(frontier, n_open + 1, 0.0, n_nodes, False)  # the left one on top
        out[id_].left, out[id_].right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_open += 2
