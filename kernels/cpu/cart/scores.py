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
