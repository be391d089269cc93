"""Leaf values from fine sums of the true gradients, and their addition to the raw scores."""

import numpy as np

from gpuboost.formulas import leaf_weight
from gpuboost.kernels.cpu._jit import kernel, prefetch, take_number

PREFETCH_ROWS = np.uint64(16)


@kernel
def sum_leaves(
    counter,  # (1,) int64, INOUT
    nodes,  # (n_nodes,) NODE, IN
    rows,  # (n,) int32, IN
    g,  # (n_rows,) float64, IN
    h,  # (n_rows,) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    g_scale,
    h_scale,
    sums,  # (n_nodes, 2) int64, OUT: fixed-point sums of the leaves' rows; 0 elsewhere
):
    """Add up the gradients of each leaf's rows in 62-bit fixed point."""
    weighted = weight.shape[0] > 0
    node_id = take_number(counter)
    while node_id < nodes.shape[0]:
        total_g, total_h = np.int64(0), np.int64(0)
        node = nodes[node_id]
        if node.left < 0:
            own = rows[node.begin : node.end]
            last = np.uint64(own.shape[0] - 1)
            for i in range(np.uint64(own.shape[0])):
                row = np.uint64(own[i])
                ahead = np.uint64(own[min(np.uint64(i) + PREFETCH_ROWS, last)])
                prefetch(g, ahead)
                prefetch(h, ahead)
                w = weight[row] if weighted else 1.0
                total_g += np.int64(np.floor(g[row] * w * g_scale + 0.5))
                total_h += np.int64(np.floor(h[row] * w * h_scale + 0.5))
        sums[node_id, 0] = total_g
        sums[node_id, 1] = total_h
        node_id = take_number(counter)


@kernel
def leaf_values(
    nodes,  # (n_nodes,) NODE, IN
    sums,  # (n_nodes, 2) int64, INOUT: leaves in, all nodes out
    g_unit,
    h_unit,
    growth,  # (1,) GROWTH, IN
    learning_rate,
    values,  # (n_nodes,) float64, OUT: shrunken leaf values, of inner nodes what they would be as leaves
    cover,  # (n_nodes,) float64, OUT: hessian sums
):
    """Add children's sums to their parents and turn sums into values."""
    p = growth[0]
    for back in range(nodes.shape[0]):
        i = nodes.shape[0] - 1 - back  # children have higher ids than their parents
        if nodes[i].left >= 0:
            for s in range(2):
                sums[i, s] = sums[nodes[i].left, s] + sums[nodes[i].right, s]
        g = np.float64(sums[i, 0]) * g_unit
        cover[i] = np.float64(sums[i, 1]) * h_unit
        values[i] = learning_rate * leaf_weight(g, cover[i], p.reg_lambda, p.reg_alpha, p.max_delta_step)


@kernel
def add_leaf_values(
    counter,  # (1,) int64, INOUT
    nodes,  # (n_nodes,) NODE, IN
    rows,  # (n,) int32, IN
    values,  # (n_nodes,) float64, IN
    raw,  # (n_rows,) float64, INOUT
):
    """Raw scores of the rows the tree was grown on."""
    node_id = take_number(counter)
    while node_id < nodes.shape[0]:
        node = nodes[node_id]
        if node.left < 0:
            own = rows[node.begin : node.end]
            value = values[node_id]
            last = np.uint64(own.shape[0] - 1)
            for i in range(np.uint64(own.shape[0])):
                prefetch(raw, np.uint64(own[min(np.uint64(i) + PREFETCH_ROWS, last)]))
                raw[np.uint64(own[i])] += value
        node_id = take_number(counter)
