"""Scores of the cuts of a node: the higher the sum over both sides, the better.

A score is minus weight times impurity, up to what no cut changes.

All criteria but the absolute error are functions of the sums of a side: weights of the classes, or
weight times target."""

import numpy as np

from gpuboost.dtypes import ENTROPY, POISSON, SQUARES
from gpuboost.kernels.cpu._jit import helper
from gpuboost.scalar.formulas import log

PER_BIT = 1.4426950408889634  # 1 / log(2)


@helper
def x_log_x(x):
    """x * log2(x), 0 at 0."""
    return x * log(x) * PER_BIT if x > 0.0 else 0.0


@helper
def side_score(criterion, sums, weight, first_channel):
    """Score of one side from its sums."""
    score = 0.0
    if criterion == SQUARES:
        for c in range(sums.shape[0]):
            score += sums[c] * sums[c]
        return score / weight
    for o in range(first_channel.shape[0] - 1):
        top = 0.0
        for c in range(first_channel[o], first_channel[o + 1]):
            if criterion == ENTROPY:
                score += x_log_x(sums[c])
            elif criterion == POISSON:
                if not sums[c] > 0.0:
                    return -np.inf  # a mean of 0 has no Poisson deviance
                score += sums[c] * log(sums[c] / weight)
            else:
                top = max(top, sums[c])
        score += top
        if criterion == ENTROPY:
            score -= x_log_x(weight)
    return score


# --- absolute error: the sum of distances from the median, kept up to date by a tree of partial
# sums over the targets' ranks


@helper
def add_rank(tree, rank, weight, value):
    """Add a row to the partial sums; tree (n + 1, 2): weights and weight times target."""
    i = rank + 1
    while i < tree.shape[0]:
        tree[i, 0] += weight
        tree[i, 1] += value
        i += i & -i


@helper
def distance_from_median(tree, y, total_weight, total_value):
    """Sum of weight times distance from the weighted median, y being the targets by rank."""
    step = 1
    while 2 * step < tree.shape[0]:
        step *= 2
    at, weight, value = 0, np.int64(0), np.int64(0)
    while step > 0:
        if at + step < tree.shape[0] and 2 * (weight + tree[at + step, 0]) < total_weight:
            at += step
            weight += tree[at, 0]
            value += tree[at, 1]
        step >>= 1
    median = y[at]
    return median * (2.0 * weight - total_weight) - (2.0 * value - total_value)


@helper
def score_absolute(
    # (n_rows,) int32, IN: rows of the node by the cut's side: those of the first category first
    order,
    ends,  # (n,) int32, IN: how many of them are on the left of each cut
    weight,  # (n_rows,) int64, IN
    value,  # (n_rows,) int64, IN: weight times target
    rank,  # (n_rows,) int32, IN: rank of the target in the node
    y,  # (n_ranks,) float64, IN: targets by rank, in units of value / weight
    n,
    tree,  # (n_ranks + 1, 2) int64, SCRATCH
    scores,  # (>= n,) float64, INOUT: the sum of both sides' distances is taken off
    unit,
):
    """Score n cuts of one output under the absolute error.

    Once from the left, once from the right.
    """
    n_rows = order.shape[0]
    for side in range(2):
        for i in range(tree.shape[0]):
            tree[i, 0] = 0
            tree[i, 1] = 0
        total_weight, total_value = np.int64(0), np.int64(0)
        at = 0
        for step in range(n):
            j = step if side == 0 else n - 1 - step
            stop = ends[j] if side == 0 else n_rows - ends[j]
            while at < stop:
                i = order[at] if side == 0 else order[n_rows - 1 - at]
                add_rank(tree, rank[i], weight[i], value[i])
                total_weight += weight[i]
                total_value += value[i]
                at += 1
            scores[j] -= distance_from_median(tree, y, total_weight, total_value) * unit
