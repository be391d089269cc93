"""One number for the gradients of all outputs."""

import numpy as np
import pytest

from gpuboost.backend import host_backend
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.projection import projection_factors


@pytest.fixture
def host():
    with host_backend(1) as backend:
        yield backend


def test_classes_count_the_same(host):
    y = np.array([0.0, 1.0, 2.0, 2.0])
    factors = projection_factors(OBJECTIVES["multi_log_loss"], y, np.zeros(3), np.empty(0), host)
    np.testing.assert_allclose(factors, [[3**-0.5, 1 / 3]] * 3)


def test_targets_are_brought_to_one_size(host, rng):
    """By powers of two; a target that does not vary has nothing to say."""
    y = rng.normal(size=(4, 500)) * np.array([[1.0], [1000.0], [2.0**-20], [0.0]])
    squared = OBJECTIVES["squared_error"]
    factors = projection_factors(squared, y, np.zeros(4), np.empty(0), host)
    spread = factors[:3, 0] * np.abs(y[:3]).mean(axis=1)
    assert spread.max() <= 2 * spread.min() and factors[3, 0] == 0
    assert (factors[:, 0] ** 2).sum() == pytest.approx(1.0)
    assert factors[:, 1].tolist() == [1, 0, 0, 0]  # every hessian is 1, and so is their mean
    scaled = projection_factors(squared, 2.0**30 * y, np.zeros(4), np.empty(0), host)
    np.testing.assert_array_equal(scaled, factors)
    # a row of weight 3 is three rows
    weight = rng.integers(0, 4, 500)
    repeated = np.repeat(y, weight, axis=1)
    np.testing.assert_array_equal(
        projection_factors(squared, y, np.zeros(4), weight.astype(float), host),
        projection_factors(squared, repeated, np.zeros(4), np.empty(0), host),
    )
    alike = projection_factors(squared, 0 * y, np.zeros(4), np.empty(0), host)
    assert alike[:, 0].tolist() == [0.5] * 4


def test_the_square_of_a_sum_is_on_average_that_of_the_outputs(rng):
    """Over the signs: what splits are scored by is not biased towards any output."""
    sums, signs = rng.normal(size=6), rng.choice([-1.0, 1.0], (100_000, 6))
    squares = ((signs @ sums) ** 2 / 6).mean()
    assert squares == pytest.approx((sums**2).mean(), rel=0.02)
