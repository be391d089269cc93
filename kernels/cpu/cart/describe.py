"""What the nodes of a classical tree say.

Their weight, value and impurity, from the true targets.
"""

import numpy as np

from gpuboost.dtypes import ENTROPY, SQUARES
from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.kernels.cpu.cart.scores import side_score
from gpuboost.kernels.cpu.cart.sort import sort_order
from gpuboost.scalar.formulas import log


@helper
def class_impurity(criterion, sums, weight, first_channel):
    """Impurity of class weights, averaged over the outputs."""
    n_outputs = first_channel.shape[0] - 1
    score = side_score(criterion, sums, weight, first_channel)
    if criterion == ENTROPY:
        return max(-score / weight / n_outputs, 0.0)
    return max(1.0 - score / weight / n_outputs, 0.0)


@helper
def median_of(rows, begin, end, y, weight, order):
    """Weighted median of the targets of rows[begin:end] and the mean distance from it.

    The median lies between two targets when the halves are even.
    """
    n = end - begin
    for i in range(n):
        order[i] = rows[begin + i]
    sort_order(order, n, y)
    total = 0.0
    for i in range(n):
        total += weight[order[i]]
    below, k = 0.0, 0
    while below + weight[order[k]] < 0.5 * total:
        below += weight[order[k]]
        k += 1
    median = y[order[k]]
    if below + weight[order[k]] == 0.5 * total and k + 1 < n:
        median = 0.5 * (median + y[order[k + 1]])
    distance = 0.0
    for i in range(n):
        distance += weight[order[i]] * abs(y[order[i]] - median)
    return median, distance / total


@helper
def describe_classes(node, i, rows, weight, classes, value):
    """Weights of the classes in a node, from its children or its rows."""
    for c in range(value.shape[1]):
        value[i, c] = value[node.left, c] + value[node.right, c] if node.left >= 0 else 0.0
    if node.left < 0:
        for k in range(node.begin, node.end):
            for o in range(classes.shape[1]):
                value[i, classes[rows[k], o]] += weight[rows[k]]


@helper
def describe_values(node, i, o, rows, weight, y, squares, node_weight, value, spread):
    """Mean of one output in a node, and the sum of squares around it, or of y log y."""
    w = node_weight[i]
    if node.left >= 0:
        a, b = node_weight[node.left], node_weight[node.right]
        apart = value[node.right, o] - value[node.left, o]
        value[i, o] = value[node.left, o] + apart * (b / w)
        spread[i, o] = (
            spread[node.left, o]
            + spread[node.right, o]
            + (apart * apart * a * (b / w) if squares else 0.0)
        )
        return
    # the first target is taken off before adding up: a leaf of equal targets has exactly their
    # value
    origin, above = y[rows[node.begin], o], 0.0
    for k in range(node.begin, node.end):
        above += weight[rows[k]] * (y[rows[k], o] - origin)
    value[i, o] = origin + above / w
    spread[i, o] = 0.0
    for k in range(node.begin, node.end):
        target = y[rows[k], o]
        if squares:
            spread[i, o] += weight[rows[k]] * (target - value[i, o]) * (target - value[i, o])
        elif target > 0.0:
            spread[i, o] += weight[rows[k]] * target * log(target)


@kernel
def describe_nodes(
    nodes,  # (n_nodes,) TREE_NODE, IN
    rows,  # (n,) int32, IN: by leaves
    weight,  # (n_rows,) float64, IN
    classes,  # (n_rows, n_outputs) int32, IN: as channels; empty for numbers
    y,  # (n_rows, n_outputs) float64, IN
    first_channel,  # (n_outputs + 1,) int32, IN
    criterion,
    order,  # (n,) int32, SCRATCH: for the absolute error, else None
    node_weight,  # (n_nodes,) float64, OUT
    value,  # (n_nodes, n_channels) float64, OUT: share of each class, mean or median
    impurity,  # (n_nodes,) float64, OUT
):
    """Weight, value and impurity of every node, from the true targets, leaves first."""
    n_outputs = first_channel.shape[0] - 1
    spread = np.empty((nodes.shape[0], n_outputs))
    for back in range(nodes.shape[0]):
        i = nodes.shape[0] - 1 - back  # children have higher ids than their parents
        node = nodes[i]
        node_weight[i] = 0.0
        if node.left >= 0:
            node_weight[i] = node_weight[node.left] + node_weight[node.right]
        else:
            for k in range(node.begin, node.end):
                node_weight[i] += weight[rows[k]]
        if classes.shape[0] > 0:
            describe_classes(node, i, rows, weight, classes, value)
            impurity[i] = class_impurity(criterion, value[i], node_weight[i], first_channel)
            continue
        impurity[i] = 0.0
        for o in range(n_outputs):
            if order is not None:
                value[i, o], distance = median_of(
                    rows, node.begin, node.end, y[:, o], weight, order
                )
                impurity[i] += distance / n_outputs
                continue
            describe_values(
                node, i, o, rows, weight, y, criterion == SQUARES, node_weight, value, spread
            )
            spread_of_output = spread[i, o] / node_weight[i]
            if criterion != SQUARES:
                spread_of_output = (
                    max(spread_of_output - value[i, o] * log(value[i, o]), 0.0)
                    if value[i, o] > 0.0
                    else 0.0
                )
            impurity[i] += spread_of_output / n_outputs
    if classes.shape[0] > 0:
        for i in range(nodes.shape[0]):
            for c in range(value.shape[1]):
                value[i, c] /= node_weight[i]
