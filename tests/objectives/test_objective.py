"""Objectives as objects: parameters, links, and what is refused."""

import numpy as np
import pytest

from gpuboost import GPUBoostRegressor
from gpuboost.kernels.cpu import gradients
from gpuboost.objectives.links import IDENTITY, LOGISTIC, Link
from gpuboost.objectives.losses import OBJECTIVES, mean_score
from gpuboost.objectives.metrics import RowMetric
from gpuboost.objectives.objective import Objective


def expectile_grad_hess(y, raw, alpha):
    w = alpha if raw < y else 1.0 - alpha
    return w * (raw - y), w


def expectile_row(y, raw, alpha):
    return (alpha if raw < y else 1.0 - alpha) * (raw - y) * (raw - y)


def mean_of_any(y, weight, n_classes, backend, *parameters):
    return mean_score(y, weight, n_classes, backend)


def bad_gradient(y, raw, first):
    return (raw - y if abs(raw) < first else np.nan), 1.0


def bad_hessian(y, raw, first):
    return raw - y, (1.0 if abs(raw) < first else -1e-300)


def expectile(alpha):
    return Objective(
        "expectile",
        expectile_grad_hess,
        IDENTITY,
        "expectile",
        mean_of_any,
        {"alpha": alpha},
        own_metrics=(RowMetric("expectile", expectile_row, "identity", parameters=(alpha,)),),
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    return x, x[:, 0] + rng.normal(size=600)


def fit(monkeypatch, objective, x, y, **options):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setitem(OBJECTIVES, "squared_error", objective)
    options = {"n_estimators": 5, "max_depth": 3, **options}
    return GPUBoostRegressor(**options).fit(x, y, eval_set=(x, y))


def test_parameters_are_arguments_of_one_compiled_function(monkeypatch, rows):
    x, y = rows
    means = []
    for alpha in (0.1, 0.5, 0.9):
        models = [fit(monkeypatch, expectile(alpha), x, y, device=d) for d in ("cpu", "cuda")]
        assert models[0].fingerprint() == models[1].fingerprint()
        assert models[0].evals_result_ == models[1].evals_result_
        p = models[0].predict(x)
        value = np.mean(np.where(p < y, alpha, 1 - alpha) * (p - y) ** 2)
        assert models[0].evals_result_["validation_0"]["expectile"][-1] == pytest.approx(value)
        means.append(p.mean())
    assert means == sorted(means) and means[0] < means[2] - 0.1
    kernel = gradients.compile_gradients(expectile_grad_hess, False)
    assert len(kernel.signatures) == 1


def test_parameters_are_part_of_equality():
    assert expectile(0.5) == expectile(0.5) and hash(expectile(0.5)) == hash(expectile(0.5))
    changed = expectile(0.5).with_parameters(alpha=0.25)
    assert changed != expectile(0.5) and changed.values == (0.25,)
    with pytest.raises(ValueError, match="'expectile' has no parameter beta"):
        expectile(0.5).with_parameters(beta=1.0)


def test_links(backend):
    raw = np.array([[-1.0, 0.0, 2.0]])
    np.testing.assert_array_equal(backend.apply_link(raw, IDENTITY), raw[0])
    twice = backend.apply_link(raw, Link("logistic", scale=2.0))
    np.testing.assert_array_equal(twice, backend.apply_link(2.0 * raw, LOGISTIC))
    with pytest.raises(ValueError, match="link must be one of identity, .*; got 'probit'"):
        Link("probit")
    with pytest.raises(ValueError, match="only the logistic link has a scale; got 2.0"):
        Link("identity", scale=2.0)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("function", "problem"),
    [(bad_gradient, "gradient not finite"), (bad_hessian, "hessian below zero or not finite")],
)
def test_bad_gradients_are_refused(monkeypatch, rows, function, problem, weighted, device):
    x, y = rows
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    weight = np.full(len(x), 0.5) if weighted else None
    y = np.abs(y)
    limit = float(np.average(y)) + 1e-9  # the base score is below it, later scores are not
    bad = Objective("bad", function, IDENTITY, "mae", mean_of_any, {"first": limit})
    monkeypatch.setitem(OBJECTIVES, "squared_error", bad)
    model = GPUBoostRegressor(n_estimators=5, max_depth=3, device=device)
    with pytest.raises(ValueError, match=f"objective 'bad' gave a {problem}.* in round 1 "):
        model.fit(x, y, sample_weight=weight)
    assert not hasattr(model, "n_estimators_")
