"""What a prediction does with one row: written once, compiled for every device."""

from typing import Any

import numpy as np

from gpuboost.scalar.formulas import exp, sigmoid


def add_value_trees(
    i: int,
    x: Any,
    tree_begin: Any,
    nodes: Any,
    value: Any,
    first_tree: int,
    end_tree: int,
    out: Any,
) -> None:
    """Walk trees on the values of a row, in the order of the trees."""
    for t in range(first_tree, end_tree):
        begin = tree_begin[t]
        k = begin
        while nodes[k].left >= 0:
            v = np.float64(x[i, nodes[k].feature])
            goes_left = v <= nodes[k].threshold or (v != v and nodes[k].missing_left != 0)
            k = begin + nodes[k].left + (0 if goes_left else 1)
        out[t % out.shape[0], i] += value[k, 0]


def logistic(i: int, raw: Any, scale: float, out: Any) -> None:
    """Probabilities of two classes; the score times the scale is the log odds of the second."""
    p = sigmoid(scale * raw[0, i])
    out[i, 0] = 1.0 - p
    out[i, 1] = p


def softmax(i: int, raw: Any, out: Any) -> None:
    """Class probabilities of a row from its scores, (n_classes, n_rows)."""
    n_classes = raw.shape[0]
    top = raw[0, i]
    for k in range(1, n_classes):
        top = raw[k, i] if raw[k, i] > top else top
    total = 0.0
    for k in range(n_classes):
        out[i, k] = exp(raw[k, i] - top)
        total += out[i, k]
    for k in range(n_classes):
        out[i, k] /= total
