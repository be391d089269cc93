import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import gpuboost as gb
from gpuboost.objectives.constants import LEAST_PRIOR
from gpuboost.objectives.losses import OBJECTIVES, focal_row
from gpuboost.objectives.metrics import (
    exponential_row,
    log_loss_of_shares_row,
    log_loss_row,
    multi_log_loss_row,
)

ROWS = {
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


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(y=st.sampled_from([0.0, 1.0]), raw=st.floats(-6, 6))
def test_focal_derivatives_by_differences(gamma, y, raw):
    g, h = OBJECTIVES["focal"].grad_hess(y, raw, gamma)
    e = 1e-4
    up, at, down = (focal_row(y, raw + step, gamma) for step in (e, 0.0, -e))
    assert g == pytest.approx((up - down) / (2 * e), rel=1e-5, abs=1e-8)
    assert h >= (up - 2 * at + down) / e**2 - 1e-5
    if gamma == 0.0:
        assert (g, h) == pytest.approx(OBJECTIVES["log_loss"].grad_hess(y, raw))


@pytest.mark.parametrize("name", ["log_loss", "exponential", "focal", "cross_entropy"])
@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(y=st.sampled_from([0.0, 1.0]), raw=st.floats(-1e3, 1e3))
def test_gradients_are_finite_wherever_scores_go(name, y, raw):
    objective = OBJECTIVES[name]
    g, h = objective.grad_hess(y, raw, *objective.values)
    assert np.isfinite(g) and np.isfinite(h) and h > 0.0


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
def test_the_best_constant_of_focal_loss(backend, share):
    y = (np.arange(100) < 100 * share).astype(float)
    (score,) = OBJECTIVES["focal"].base_score(y, np.empty(0), 2, backend)
    best = min(np.mean([focal_row(of, c, 2.0) for of in y]) for c in np.linspace(-36, 36, 721))
    assert np.mean([focal_row(of, score, 2.0) for of in y]) <= best + 1e-12


def test_derivatives_of_each_class_against_all_others():
    raw, y = np.array([[0.5], [-1.0], [2.0]]), np.array([2.0])
    g, h = np.empty((3, 1)), np.empty((3, 1))
    objective = OBJECTIVES["multi_one_vs_rest"]
    objective.grad_hess(y, raw, 0, 1, g, h)
    for k in range(3):
        assert (g[k, 0], h[k, 0]) == OBJECTIVES["log_loss"].grad_hess(float(k == 2), raw[k, 0])
    p = 1 / (1 + np.exp(-raw[:, 0]))
    assert log_loss_of_shares_row(2.0, raw, 0) == pytest.approx(-np.log(p[2] / p.sum()))


@pytest.mark.parametrize("objective", ["one_vs_rest", "focal"])
def test_classifiers_on_both_devices(objective, monkeypatch, rng):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x = rng.normal(size=(400, 3))
    y = np.digitize(x[:, 0] + x[:, 1] * x[:, 2], [-0.5, 0.7] if objective == "one_vs_rest" else [0])
    weight = rng.exponential(size=400)
    models = [
        gb.GPUBoostClassifier(
            objective=objective, n_estimators=4, max_depth=3, subsample=0.7, device=device
        ).fit(x, y, weight, eval_set=(x, y))
        for device in ("cpu", "cuda")
    ]
    assert models[0].fingerprint() == models[1].fingerprint()
    assert models[0].evals_result_ == models[1].evals_result_
    p = models[0].predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p, models[1].predict_proba(x))
    if objective == "one_vs_rest":
        (last,) = (of[-1] for of in models[0].evals_result_["validation_0"].values())
        assert last == pytest.approx(log_loss(y, p))


def test_focal_loss_is_for_two_classes():
    x = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="objective='focal' is for two classes, y has 3"):
        gb.GPUBoostClassifier(objective="focal").fit(x, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="gamma must be None with objective='log_loss'.*'focal'"):
        gb.GPUBoostClassifier(gamma=1.0).fit(x, [0, 1, 0, 0, 1, 1])


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
