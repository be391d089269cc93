"""What a prediction does with one row: written once, compiled for every device."""

from typing import Any

import numpy as np

from gpuboost.scalar.formulas import exp, sigmoid


def add_value_trees(
    i: int,
    x: Any,
    tree_begin: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    left: Any,
    right: Any,
    value: Any,
    first_tree: int,
    end_tree: int,
    n_outputs: int,
    out: Any,
) -> None:
    """Walk trees on the values of a row, in the order of the trees."""
    for t in range(first_tree, end_tree):
        begin = tree_begin[t]
        k = begin
        while left[k] >= 0:
            v = np.float64(x[i, feature[k]])
            goes_left = v <= threshold[k] or (v != v and missing_left[k] != 0)
            k = begin + (left[k] if goes_left else right[k])
        out[t % n_outputs, i] += value[k]


def two_probabilities(i: int, score: Any, log_odds_factor: float, out: Any) -> None:
    """Probabilities of two classes from a score that is log odds when multiplied by the factor."""
    p = sigmoid(log_odds_factor * score)
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
