import numpy as np
import pytest

from gpuboost.objectives.losses import LEAST_PRIOR, OBJECTIVES, exact_mean
from gpuboost.objectives.metrics import (
    exponential_row,
    log_loss_row,
    multi_log_loss_row,
    squared_row,
)

ROWS = {
    "squared_error": lambda y, r: 0.5 * squared_row(y, r),
    "log_loss": log_loss_row,
    "exponential": lambda y, r: exponential_row(y, 2.0 * r),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("raw", [-3.0, -0.1, 0.0, 2.5])
def test_derivatives_by_differences(name, y, raw):
    value = ROWS[name]
    g, h = OBJECTIVES[name].grad_hess(y, raw)
    e = 1e-4
    assert g == pytest.approx((value(y, raw + e) - value(y, raw - e)) / (2 * e), rel=1e-5, abs=1e-9)
    assert h == pytest.approx(
        (value(y, raw + e) - 2 * value(y, raw) + value(y, raw - e)) / e**2, rel=1e-3
    )


def test_softmax_derivatives_by_differences(rng):
    raw = rng.normal(size=(4, 1))
    g, h = np.empty((4, 1)), np.empty((4, 1))
    OBJECTIVES["multi_log_loss"].grad_hess(np.array([2.0]), raw, 0, 1, g, h)
    e = 1e-4
    for k in range(4):
        step = np.zeros((4, 1))
        step[k] = e
        up, down = multi_log_loss_row(2.0, raw + step, 0), multi_log_loss_row(2.0, raw - step, 0)
        assert g[k, 0] == pytest.approx((up - down) / (2 * e), rel=1e-4)
        assert h[k, 0] == pytest.approx(
            4 / 3 * (up - 2 * multi_log_loss_row(2.0, raw, 0) + down) / e**2, rel=1e-3
        )
    assert abs(g.sum()) < 1e-12


def test_base_scores_are_the_best_constants(rng, backend):
    y = rng.normal(size=1000)
    weight = rng.random(1000)
    score = OBJECTIVES["squared_error"].base_score(y, weight, 1, backend)
    np.testing.assert_allclose(score, [np.average(y, weights=weight)], rtol=1e-12)
    label = (y > 0.5).astype(float)
    p = np.average(label, weights=weight)
    np.testing.assert_allclose(
        OBJECTIVES["log_loss"].base_score(label, weight, 2, backend),
        [np.log(p / (1 - p))],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        OBJECTIVES["exponential"].base_score(label, weight, 2, backend),
        [np.log(p / (1 - p)) / 2],
        rtol=1e-12,
    )
    codes = rng.integers(0, 3, 1000).astype(float)
    prior = np.bincount(codes.astype(int), weight) / weight.sum()
    np.testing.assert_allclose(
        OBJECTIVES["multi_log_loss"].base_score(codes, weight, 3, backend),
        np.log(prior),
        rtol=1e-12,
    )


def test_exact_mean_does_not_depend_on_order(rng, backend):
    y = rng.normal(size=5000) * 10.0 ** rng.integers(-3, 4, 5000)
    weight = rng.random(5000)
    order = rng.permutation(5000)
    assert exact_mean(y, weight, backend) == pytest.approx(
        exact_mean(y[order], weight[order], backend), rel=1e-15
    )
    assert exact_mean(y, np.empty(0), backend) == exact_mean(y[order], np.empty(0), backend)


def test_a_class_without_weight_has_a_small_prior(backend):
    y, weight = np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 0.0])
    least = np.log(LEAST_PRIOR)
    for labels, sign in ((y, 1), (1 - y, -1)):
        score = OBJECTIVES["log_loss"].base_score(labels, weight, 2, backend)
        np.testing.assert_allclose(score, [sign * least])
    np.testing.assert_allclose(
        OBJECTIVES["multi_log_loss"].base_score(y, weight, 3, backend), [0.0, least, least]
    )


def test_one_class_has_nothing_to_learn():
    g, h = np.empty((1, 2)), np.empty((1, 2))
    OBJECTIVES["one_class"].grad_hess(np.zeros(2), np.array([[0.0, 3.0]]), 0, 2, g, h)
    assert (g == 0).all() and (h > 0).all() and np.isfinite(h).all()
