"""Scores of a side: minus weight times impurity, up to what no cut changes."""

import numpy as np
import pytest

from gpuboost.dtypes import ENTROPY, MISCLASSIFICATION, POISSON, SQUARES
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.scores import side_score, x_log_x

score = exposed(side_score)
FIRST = np.array([0, 3], np.int32)


def impurity(criterion, share):
    if criterion == SQUARES:
        return 1 - (share**2).sum()
    if criterion == ENTROPY:
        return -(share[share > 0] * np.log2(share[share > 0])).sum()
    return 1 - share.max()


@pytest.mark.parametrize("criterion", [SQUARES, ENTROPY, MISCLASSIFICATION])
@pytest.mark.parametrize("sums", [[1.0, 2.0, 5.0], [0.0, 4.0, 0.0]])
def test_class_scores_are_minus_weight_times_impurity(criterion, sums):
    sums = np.array(sums)
    weight = sums.sum()
    constant = 0.0 if criterion == ENTROPY else weight
    expected = constant - weight * impurity(criterion, sums / weight)
    assert score(criterion, sums, weight, FIRST) == pytest.approx(expected)


def test_several_outputs_add_their_scores():
    first = np.array([0, 2, 4], np.int32)
    sums = np.array([1.0, 3.0, 2.0, 2.0])
    both = score(ENTROPY, sums, 4.0, first)
    one = np.array([0, 2], np.int32)
    assert both == pytest.approx(
        score(ENTROPY, sums[:2], 4.0, one) + score(ENTROPY, sums[2:], 4.0, one)
    )


def test_poisson_takes_the_logarithm_of_the_mean_and_refuses_zero():
    one = np.array([0, 1], np.int32)
    assert score(POISSON, np.array([6.0]), 2.0, one) == pytest.approx(6 * np.log(3))
    assert score(POISSON, np.array([0.0]), 2.0, one) == -np.inf


def test_x_log_x_is_zero_at_zero():
    values = exposed(x_log_x)
    assert values(0.0) == 0.0 and values(8.0) == pytest.approx(24.0)
