"""What is in a node: weights and targets of its rows, copied together."""

import numpy as np

from gpuboost.kernels.cpu._jit import inlined


@inlined
def gather_classes(rows, weights, classes, weight_unit, weight, node_classes, total):
    """Copy weights and classes of a node's rows together.

    Returns (weight, whether all rows have the same classes).
    """
    n, n_outputs = rows.shape[0], classes.shape[1]
    same, sum_weight = True, np.int64(0)
    for i in range(n):
        row = rows[i]
        weight[i] = weights[row]
        sum_weight += weights[row]
        for o in range(n_outputs):
            k = classes[row, o]
            node_classes[i * n_outputs + o] = k
            total[k] += np.float64(weights[row]) * weight_unit
            same = same and k == node_classes[o]
    return np.float64(sum_weight) * weight_unit, same


@inlined
def gather_values(rows, weights, values, ranks, growth, weight, node_values, total):
    """The same for numbers."""
    n, n_outputs = rows.shape[0], values.shape[1]
    same, sum_weight = True, np.int64(0)
    for i in range(n):
        row = rows[i]
        weight[i] = weights[row]
        sum_weight += weights[row]
        for o in range(n_outputs):
            node_values[i * n_outputs + o] = values[row, o]
            total[o] += np.float64(values[row, o]) * growth[0].value_unit
            same = same and ranks[row, o] == ranks[rows[0], o]
    return np.float64(sum_weight) * growth[0].weight_unit, same
