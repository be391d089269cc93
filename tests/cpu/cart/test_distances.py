"""The absolute error: distances from the median."""

import numpy as np
import pytest
from numba import njit

from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.distances import (
    add_rank,
    distance_from_median,
    rank_in_node,
    score_absolute,
)

compiled_rank_in_node = exposed(rank_in_node)
compiled_score_absolute = exposed(score_absolute)


@njit
def distance(rank, weight, value, y, tree):
    for i in range(len(rank)):
        add_rank(tree, rank[i], weight[i], value[i])
    return distance_from_median(tree, y, weight.sum(), value.sum())


def least_distance(y, weight):
    """By trying every target as the centre: one of them is a median."""
    return min((weight * abs(y - centre)).sum() for centre in y) if len(y) else 0.0


def case(rng, n):
    y = rng.integers(0, 8, n).astype(float)
    by_rank, rank = np.unique(y, return_inverse=True)
    weight = rng.integers(1, 5, n)
    return y, by_rank, rank.astype(np.int32), weight, (weight * y).astype(np.int64)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_the_distance_is_the_least_one(rng, n):
    y, by_rank, rank, weight, value = case(rng, n)
    found = distance(rank, weight, value, by_rank, np.zeros((len(by_rank) + 1, 2), np.int64))
    assert found == least_distance(y, weight)


def test_scores_of_all_cuts(rng):
    y, by_rank, rank, weight, value = case(rng, 12)
    order, ends = rng.permutation(12).astype(np.int32), np.array([1, 4, 11], np.int32)
    scores, tree = np.zeros(3), np.zeros((len(by_rank) + 1, 2), np.int64)
    compiled_score_absolute(order, ends, weight, value, rank, by_rank, 3, tree, scores, 0.5)
    for end, score in zip(ends, scores, strict=True):
        sides = order[:end], order[end:]
        assert score == -0.5 * sum(least_distance(y[side], weight[side]) for side in sides)


def test_ranks_among_the_targets_of_a_node():
    rows, ranks = np.array([3, 0, 2], np.int32), np.array([70, 1, 5, 5], np.int32)
    bits, summary, place = np.zeros(2, np.uint64), np.zeros(1, np.uint64), np.zeros(80, np.int32)
    own, by_rank = np.empty(3, np.int32), np.empty(3)
    n = compiled_rank_in_node(rows, ranks, np.arange(80.0), bits, summary, place, own, by_rank)
    assert n == 2 and own.tolist() == [0, 1, 0] and by_rank[:2].tolist() == [5.0, 70.0]
