"""Losses of numbers and counts: derivatives, constants, worked examples, refusals, both devices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn import metrics as sk

import gpuboost as gb
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import (
    absolute_row,
    gamma_row,
    log_loss_row,
    log_normal_row,
    normal_row,
    poisson_row,
    squared_row,
)
from gpuboost.objectives.regression import (
    REGRESSION,
    expectile_row,
    huber_row,
    log_cosh_row,
    pseudo_huber_row,
    quantile_row,
    tweedie_row,
)

#: The loss of one row; gradients are those of this.
LOSSES = {
    "squared_error": lambda y, r: 0.5 * squared_row(y, r),
    "absolute_error": absolute_row,
    "huber": huber_row,
    "adaptive_huber": lambda y, r, alpha, delta: huber_row(y, r, delta),
    "pseudo_huber": pseudo_huber_row,
    "log_cosh": log_cosh_row,
    "quantile": quantile_row,
    "expectile": lambda y, r, alpha: 0.5 * expectile_row(y, r, alpha),
    "poisson": lambda y, r: 0.5 * poisson_row(y, r),
    "gamma": lambda y, r: 0.5 * gamma_row(y, r),
    "tweedie": lambda y, r, power: 0.5 * tweedie_row(y, r, power),
    "cross_entropy": log_loss_row,
}
#: Losses whose hessian is that of a quadratic above the loss, not the second derivative.
FROM_ABOVE = {"huber", "adaptive_huber", "pseudo_huber", "log_cosh"}
#: Losses with corners, whose leaves are quantiles.
CORNERS = {"absolute_error", "quantile"}
PARAMETERS = {
    "huber": {"delta": 0.75},
    "adaptive_huber": {"delta": 0.75},
    "pseudo_huber": {"delta": 0.75},
    "quantile": {"alpha": 0.3},
    "expectile": {"alpha": 0.3},
    "tweedie": {"power": 1.25},
}
NAMES = list(LOSSES)


def test_every_loss_is_tested():
    assert {objective.name for objective in REGRESSION} == {*NAMES, "normal", "log_normal"}


#: Losses of targets above 0.
COUNTS = {"poisson", "gamma", "tweedie"}


def objective_of(name):
    return OBJECTIVES[name].with_parameters(**PARAMETERS.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(y=st.floats(0.01, 5), raw=st.floats(-5, 5))
def test_derivatives_by_differences(name, y, raw):
    objective = objective_of(name)
    corners = [0.0] if name not in ("huber", "adaptive_huber") else [-0.75, 0.75]
    e = 1e-4
    if name not in COUNTS and any(abs(raw - y - corner) < 3 * e for corner in corners):
        return

    def loss(r):
        return LOSSES[name](y, r, *objective.values)

    g, h = objective.grad_hess(y, raw, *objective.values)
    assert g == pytest.approx((loss(raw + e) - loss(raw - e)) / (2 * e), rel=1e-5, abs=1e-6)
    second = (loss(raw + e) - 2 * loss(raw) + loss(raw - e)) / e**2
    if name in FROM_ABOVE:
        assert h >= second - 1e-5
        for step in (-3.0, -g / h, 0.5, 4.0):
            assert loss(raw + step) <= loss(raw) + g * step + 0.5 * h * step**2 + 1e-9
    elif name in CORNERS:
        assert h == 1.0
    else:
        assert h == pytest.approx(second, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(
    y=st.sampled_from([0.0, 1e-300, 1.0, 1e9, 1e100]) | st.floats(0, 1e6),
    raw=st.sampled_from([-1e3, -800.0, -0.0, 0.0, 1e-9, 800.0, 1e3]) | st.floats(-1e3, 1e3),
)
def test_gradients_are_finite_wherever_scores_go(name, y, raw):
    objective = objective_of(name)
    with np.errstate(over="ignore"):  # which is cut off
        g, h = objective.grad_hess(y, raw, *objective.values)
    assert np.isfinite(g) and np.isfinite(h) and h >= 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_base_scores_are_the_best_constants(rng, backend, name, weighted):
    y = rng.gamma(2.0, size=101) / (20.0 if name == "cross_entropy" else 1.0)
    weight = rng.exponential(size=101) * (rng.random(101) < 0.9) if weighted else np.empty(0)
    share = weight if weighted else np.ones(101)
    objective = objective_of(name)
    (score,) = objective.base_score(y, weight, 1, backend)
    if name == "adaptive_huber":
        median = OBJECTIVES["absolute_error"].base_score(y, weight, 1, backend)[0]
        order = np.argsort(abs(y - median))
        reached = np.cumsum(share[order]) >= 0.9 * share.sum() * (1 - 1e-12)
        objective = objective.with_parameters(delta=abs(y - median)[order][reached.argmax()])

    def loss(r):
        values = [LOSSES[name](of_row, r, *objective.values) for of_row in y]
        return np.average(values, weights=share)

    best = minimize_scalar(loss, bounds=(-3, 10), method="bounded", options={"xatol": 1e-10})
    assert loss(score) <= best.fun + 1e-12


X4 = np.array([[1.0], [2.0], [3.0], [4.0]])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_worked_example_of_absolute_error(device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    model = gb.GPUBoostRegressor(
        objective="absolute_error", n_estimators=1, max_depth=1, learning_rate=1.0, device=device
    ).fit(X4, [1, 2, 4, 100])
    (tree,) = model.ensemble_.trees
    assert model.ensemble_.base_score.tolist() == [3.0]
    assert tree.threshold[0] == 2.5 and tree.value[1:, 0].tolist() == [-1.5, 49.0]
    assert model.predict(X4).tolist() == [1.5, 1.5, 52.0, 52.0]


def test_worked_example_of_squared_error():
    model = gb.GPUBoostRegressor(n_estimators=2, max_depth=1, learning_rate=0.5, reg_lambda=0)
    first, second = model.fit(X4, [1, 1, 5, 9]).staged_predict(X4)
    assert first.tolist() == [2.5, 2.5, 5.5, 5.5]
    np.testing.assert_allclose(second, [23 / 12, 23 / 12, 59 / 12, 7.25], rtol=1e-12)


# --- metrics


def predictions(rng, name, **options):
    x = rng.normal(size=(300, 3))
    y = rng.gamma(2.0, np.exp(x[:, 0] / 3)) if name in COUNTS else x[:, 0] + rng.normal(size=300)
    weight = rng.exponential(size=300)
    options = {"n_estimators": 4, "max_depth": 2, **PARAMETERS.get(name, {}), **options}
    if name == "adaptive_huber":
        options.pop("delta")
    model = gb.GPUBoostRegressor(objective=name, **options)
    model.fit(x, y, eval_set=(x, y), eval_sample_weight=[weight])
    last = {m: of[-1] for m, of in model.evals_result_["validation_0"].items()}
    return y, model.predict(x), weight, last


@pytest.mark.parametrize("name", ["squared_error", "gamma"])
def test_metrics_of_any_loss_are_those_of_scikit_learn(rng, name):
    names = ["rmse", "mae", "mape"]
    y, p, w, last = predictions(rng, name, eval_metric=names)
    expected = [
        sk.root_mean_squared_error(y, p, sample_weight=w),
        sk.mean_absolute_error(y, p, sample_weight=w),
        sk.mean_absolute_percentage_error(y, p, sample_weight=w),
    ]
    np.testing.assert_allclose([last[m] for m in names], expected)


def test_rmsle_is_that_of_scikit_learn(rng):
    y, p, w, last = predictions(rng, "gamma", eval_metric="rmsle")
    assert last["rmsle"] == pytest.approx(sk.root_mean_squared_log_error(y, p, sample_weight=w))
    x = np.arange(20.0)[:, None]
    for objective in ("squared_error", "poisson"):
        model = gb.GPUBoostRegressor(objective=objective, n_estimators=2, eval_metric="rmsle")
        last = model.fit(x, x[:, 0], eval_set=(x, x[:, 0])).evals_result_["validation_0"]["rmsle"]
        expected = sk.root_mean_squared_log_error(x[:, 0], model.predict(x))
        assert last[-1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("quantile", lambda y, p, w: sk.mean_pinball_loss(y, p, alpha=0.3, sample_weight=w)),
        ("poisson", lambda y, p, w: sk.mean_poisson_deviance(y, p, sample_weight=w)),
        ("gamma", lambda y, p, w: sk.mean_gamma_deviance(y, p, sample_weight=w)),
        ("tweedie", lambda y, p, w: sk.mean_tweedie_deviance(y, p, power=1.25, sample_weight=w)),
        (
            "expectile",
            lambda y, p, w: np.average(np.where(p < y, 0.3, 0.7) * (p - y) ** 2, weights=w),
        ),
        ("huber", lambda y, p, w: np.average([*map(huber_row, y, p, [0.75] * 300)], weights=w)),
    ],
)
def test_the_metric_of_a_loss(rng, name, expected):
    y, p, w, last = predictions(rng, name)
    (value,) = last.values()
    assert value == pytest.approx(expected(y, p, w))


def test_names_of_other_libraries_are_told_ours():
    model = gb.GPUBoostRegressor(n_estimators=1, eval_metric="l1")
    with pytest.raises(ValueError, match="eval_metric .* got 'l1', which is called 'mae' here"):
        model.fit(X4, [1, 2, 3, 4], eval_set=(X4, [1, 2, 3, 4]))


# --- parameters and targets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha must be a number above 0 and below 1; got 1.5"),
        ({"objective": "poisson", "power": 1.5}, "power must be None .* 'tweedie' only"),
        ({"objective": "adaptive_huber", "delta": 1.0}, "delta must be None .* 'huber'"),
        ({"objective": "quantile", "alpha": 1.0}, "alpha must be a number above 0 and below 1"),
        ({"objective": "tweedie", "power": 2}, "power must be a number above 1 and below 2; got 2"),
        ({"objective": "huber", "delta": 0}, "delta must be a number above 0; got 0"),
        ({"base_score": np.nan}, "base_score must be finite; got nan"),
        ({"base_score": "zero"}, "base_score must be None, a finite number or a list"),
        ({"base_score": [1.0, 2.0]}, "base_score .* each of the 1 raw scores; got 2 numbers"),
    ],
)
def test_parameters_that_cannot_be_meant(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gb.GPUBoostRegressor(n_estimators=1, **options).fit(X4, [1, 2, 3, 4])


def test_alpha_without_effect_is_told():
    model = gb.GPUBoostRegressor(n_estimators=1, alpha=0.5)
    with pytest.warns(UserWarning, match="alpha has no effect with objective='squared_error'"):
        model.fit(X4, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1, 2, -1, 0], "y must be at least 0 for objective='poisson'; got -1.0 at row"),
        ("tweedie", [1, 2, -1, 0], "y must be at least 0 for objective='tweedie'"),
        ("gamma", [1, 2, 0, 3], "y must be above 0 for objective='gamma'; got 0.0 at row 2"),
    ],
)
def test_targets_that_a_loss_has_no_value_for(name, y, message):
    model = gb.GPUBoostRegressor(objective=name, n_estimators=1)
    with pytest.raises(ValueError, match=message):
        model.fit(X4, y)
    with pytest.raises(ValueError, match=message.replace("y must", "y of eval_set.0. must")):
        model.fit(X4, [1, 2, 3, 4], eval_set=(X4, y))
    with pytest.raises(ValueError, match="at row 2 in column 1"):
        model.fit(X4, np.stack([[1, 2, 3, 4], y], axis=1))


@pytest.mark.parametrize("name", NAMES)
def test_a_given_base_score_is_taken(name):
    model = gb.GPUBoostRegressor(objective=name, n_estimators=1, base_score=0)
    assert model.fit(X4, [0.1, 0.2, 0.3, 0.4]).ensemble_.base_score.tolist() == [0.0]
    model = gb.GPUBoostRegressor(objective=name, n_estimators=1, base_score=[0.5, 1])
    assert model.fit(X4, np.ones((4, 2))).ensemble_.base_score.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("name", ["absolute_error", "quantile", "huber", "pseudo_huber"])
def test_targets_of_any_size(rng, name):
    x = rng.normal(size=(200, 2))
    y = x[:, 0] + rng.normal(size=200)
    for exponent in (900, -900):
        size = 2.0**exponent
        options = {"delta": size} if "huber" in name else {}
        model = gb.GPUBoostRegressor(objective=name, n_estimators=3, **options)
        large = model.fit(x, y * size, eval_set=(x, y * size))
        plain = gb.GPUBoostRegressor(objective=name, n_estimators=3).fit(x, y, eval_set=(x, y))
        np.testing.assert_allclose(large.predict(x), plain.predict(x) * size, rtol=1e-12)
        (found,) = large.evals_result_["validation_0"].values()
        (wanted,) = plain.evals_result_["validation_0"].values()
        if name in ("absolute_error", "quantile"):
            np.testing.assert_allclose(found, np.multiply(wanted, size))


# --- both devices


OPTIONS = [
    {"subsample": 0.5, "sampling_method": "mvs", "categorical_features": [3], "weights": True},
    {"monotone_constraints": {0: 1, 1: -1}, "subsample": 0.7},
    {"grow_policy": "symmetric", "early_stopping_rounds": 1, "learning_rate": 1.0},
    {"outputs": True, "multi_strategy": "vector_leaf", "max_delta_step": 0.5, "weights": True},
]
#: Losses that need more than a Newton step of one row's numbers are tried with all options.
OFTEN = ("absolute_error", "adaptive_huber")
CASES = [
    (name, options)
    for k, name in enumerate([*NAMES, "quantiles", "normal", "log_normal"])
    for options in (OPTIONS if name in OFTEN else [OPTIONS[k % 3]])
]


@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda v: v if isinstance(v, str) else next(iter(v))
)
def test_both_devices_train_the_same_model(name, options, monkeypatch, rng):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    options = dict(options)
    x = rng.normal(size=(500, 4))
    x[:, 3] = rng.integers(0, 7, 500)
    y = np.exp(x[:, 0] / 2) * rng.gamma(2.0, size=500)
    y = y / y.max() if name == "cross_entropy" else y
    weight = rng.exponential(size=500) * (rng.random(500) < 0.9)
    weight = weight if options.pop("weights", False) else None
    y = np.stack([y, y[::-1] + x[:, 3]], axis=1) if options.pop("outputs", False) else y
    several = {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]}
    models = []
    for device in ("cpu", "cuda"):
        loss = several if name == "quantiles" else {"objective": name}
        model = gb.GPUBoostRegressor(n_estimators=3, max_depth=3, device=device, **loss, **options)
        models.append(model.fit(x, y, weight, eval_set=(x[:200], y[:200])))
    assert models[0].fingerprint() == models[1].fingerprint()
    assert models[0].evals_result_ == models[1].evals_result_
    np.testing.assert_array_equal(*(model.predict(x) for model in models))
    if "monotone_constraints" in options and name not in ("normal", "log_normal"):
        for feature, direction in ((0, 1), (1, -1)):
            grid = np.tile(x[:50], (9, 1, 1))
            grid[:, :, feature] = np.linspace(-2, 2, 9)[:, None]
            p = models[0].predict(grid.reshape(-1, 4)).reshape(9, 50, -1)
            assert (np.diff(p, axis=0) * direction >= 0).all()


# --- several quantiles, distributions


def test_several_quantiles_never_cross(rng, tmp_path):
    x = rng.normal(size=(2000, 3))
    y = x[:, 0] + np.exp(x[:, 1] / 2) * rng.normal(size=2000)
    levels = np.arange(1, 10) / 10
    options = {"objective": "quantile", "n_estimators": 40, "max_depth": 3}
    model = gb.GPUBoostRegressor(alpha=list(levels), **options).fit(x, y, eval_set=(x, y))
    new = rng.normal(size=(100_000, 3)) * 2
    assert (np.diff(model.predict(new), axis=1) >= 0).all()
    p = model.predict(x)
    together = [sk.mean_pinball_loss(y, p[:, k], alpha=a) for k, a in enumerate(levels)]
    assert model.evals_result_["validation_0"]["quantile"][-1] == pytest.approx(np.mean(together))
    alone = [
        sk.mean_pinball_loss(y, gb.GPUBoostRegressor(alpha=a, **options).fit(x, y).predict(x),
                             alpha=a)
        for a in levels
    ]  # fmt: skip
    assert np.mean(together) <= 1.01 * np.mean(alone)
    model.save_model(tmp_path / "model.gpuboost")
    loaded = gb.load_model(tmp_path / "model.gpuboost")
    np.testing.assert_array_equal(loaded.predict(x), p)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([0.5, 0.1], "alpha must be a number, or a list of them that ascend"),
        ([], "alpha must be a number, or a list"),
        ([0.1, 1.0], r"alpha\[1\] must be a number above 0 and below 1"),
    ],
)
def test_levels_that_cannot_be_meant(alpha, message):
    with pytest.raises(ValueError, match=message):
        gb.GPUBoostRegressor(objective="quantile", alpha=alpha).fit(X4, [1, 2, 3, 4])


def test_several_quantiles_and_distributions_are_of_one_target():
    for options in ({"objective": "quantile", "alpha": [0.1, 0.9]}, {"objective": "normal"}):
        with pytest.raises(ValueError, match="y must have one column for objective"):
            gb.GPUBoostRegressor(n_estimators=1, **options).fit(X4, np.ones((4, 2)))


@pytest.mark.parametrize("name", ["normal", "log_normal"])
def test_distributions(rng, name):
    x = rng.normal(size=(3000, 2))
    y = x[:, 0] + np.exp(x[:, 1] / 2) * rng.normal(size=3000)
    y = y if name == "normal" else np.exp(y / 2)
    model = gb.GPUBoostRegressor(objective=name, n_estimators=80, max_depth=3)
    model.fit(x[:2000], y[:2000], eval_set=(x, y))
    found = model.predict_dist(x)
    (nll,) = model.evals_result_["validation_0"].values()
    assert nll[-1] == pytest.approx(-found.logpdf(y).mean())
    np.testing.assert_allclose(model.predict(x), found.mean(), rtol=1e-12)
    low, high = found.interval(0.8)
    assert 0.74 < ((low < y) & (y < high))[2000:].mean() < 0.86
    assert np.corrcoef(np.log(high[2000:] - low[2000:]), x[2000:, 1])[0, 1] > (
        0.8 if name == "normal" else 0.3
    )


def test_derivatives_of_a_distribution(rng):
    for name, row in (("normal", normal_row), ("log_normal", log_normal_row)):
        raw, y, e = rng.normal(size=(2, 1)), np.array([2.5]), 1e-5
        g, h = np.empty((2, 1)), np.empty((2, 1))
        OBJECTIVES[name].grad_hess(y, raw, 0, 1, g, h)
        slope = []
        for k in range(2):
            step = np.zeros((2, 1))
            step[k] = e
            slope.append((row(2.5, raw + step, 0) - row(2.5, raw - step, 0)) / (2 * e))
        variance = np.exp(2 * raw[1, 0])
        assert g[0, 0] == pytest.approx(slope[0] * variance, rel=1e-5)  # the natural gradient
        assert g[1, 0] == pytest.approx(slope[1], rel=1e-5)
        assert h[0, 0] == 1.0 and h[1, 0] > 0


def test_a_distribution_is_asked_of_a_model_that_has_one():
    model = gb.GPUBoostRegressor(n_estimators=1).fit(X4, [1, 2, 3, 4])
    with pytest.raises(AttributeError, match="predict_dist is there for objective='normal'"):
        model.predict_dist(X4)


def test_shares_and_probabilities(rng):
    x = rng.normal(size=(500, 2))
    y = 1 / (1 + np.exp(-x[:, 0]))
    model = gb.GPUBoostRegressor(objective="cross_entropy", n_estimators=60).fit(
        x, y, eval_set=(x, y)
    )
    p = model.predict(x)
    assert ((p > 0) & (p < 1)).all() and np.abs(p - y).max() < 0.1
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    assert model.evals_result_["validation_0"]["logloss"][-1] == pytest.approx(expected)
    with pytest.raises(ValueError, match="y must be at least 0 and at most 1 .*got 2.0 at row 1"):
        model.fit(X4, [0, 2, 1, 1])


def test_adaptive_huber_is_not_led_away_by_gross_outliers(rng):
    x = rng.normal(size=(1500, 4))
    clean = 3 * x[:, 0] + np.sin(2 * x[:, 1])
    y = clean + 0.3 * rng.normal(size=1500)
    y[rng.random(1500) < 0.05] += 100.0
    mae = {
        name: np.abs(
            gb.GPUBoostRegressor(objective=name, n_estimators=60, max_depth=3).fit(x, y).predict(x)
            - clean
        ).mean()
        for name in ("squared_error", "adaptive_huber")
    }
    assert mae["adaptive_huber"] < 0.2 * mae["squared_error"]
