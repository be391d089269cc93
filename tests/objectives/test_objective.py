"""Objectives as objects: parameters, links, further arrays, groups, leaf values, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from numba.extending import register_jitable

from gpuboost import GPUBoostRegressor
from gpuboost.data.checks import check_weight
from gpuboost.data.features import FeatureMap
from gpuboost.kernels.cpu import gradients
from gpuboost.objectives.constants import mean_score
from gpuboost.objectives.links import IDENTITY, LOGISTIC, Link
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import RowMetric
from gpuboost.objectives.objective import Objective
from gpuboost.objectives.regression import squared_grad_hess
from gpuboost.scalar.formulas import sigmoid


def expectile_grad_hess(y, raw, alpha):
    w = alpha if raw < y else 1.0 - alpha
    return w * (raw - y), w


def expectile_row(y, raw, alpha):
    return (alpha if raw < y else 1.0 - alpha) * (raw - y) * (raw - y)


def mean_of_any(y, weight, n_classes, backend, *parameters):
    return mean_score(y, weight, n_classes, backend)


def expectile(alpha):
    return Objective(
        "expectile",
        expectile_grad_hess,
        IDENTITY,
        "expectile",
        mean_of_any,
        {"alpha": alpha},
        own_metrics=(RowMetric("expectile", expectile_row, "identity"),),
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    return x, x[:, 0] + rng.normal(size=600)


class AnyObjective(GPUBoostRegressor):
    """A regressor that takes an objective and its further arrays."""

    def train(self, objective, x, y, weight=None, arrays=None, eval_arrays=None):
        self.n_features_in_ = x.shape[1]
        params, weight = self._check_params(), check_weight(weight, len(x))
        evals = [(x, y, weight)]
        more = arrays, None if eval_arrays is None else [eval_arrays]
        features = FeatureMap.of_numbers(x.shape[1])
        fitted = self._fit_boosting(x, features, y, weight, evals, objective, None, params, *more)
        self._set_fitted(*fitted, params)
        return self


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


def fit(objective, x, y, weight=None, arrays=None, eval_arrays=None, **options):
    options = {"n_estimators": 5, "max_depth": 3, **options}
    eval_arrays = arrays if eval_arrays is None else eval_arrays
    return AnyObjective(**options).train(objective, x, y, weight, arrays, eval_arrays)


def fit_on_both(*args, **options):
    """A model that both devices agree on."""
    cpu, cuda = (fit(*args, device=device, **options) for device in ("cpu", "cuda"))
    assert cpu.fingerprint() == cuda.fingerprint()
    assert cpu.evals_result_ == cuda.evals_result_
    return cpu


def test_parameters_are_arguments_of_one_compiled_function(rows):
    x, y = rows
    means = []
    for alpha in (0.1, 0.5, 0.9):
        model = fit_on_both(expectile(alpha), x, y)
        p = model.predict(x)
        value = np.mean(np.where(p < y, alpha, 1 - alpha) * (p - y) ** 2)
        assert model.evals_result_["validation_0"]["expectile"][-1] == pytest.approx(value)
        means.append(p.mean())
    assert means == sorted(means) and means[0] < means[2] - 0.1
    kernel = gradients.compile_gradients(expectile_grad_hess, False, 0)
    assert len(kernel.signatures) == 1


def test_parameters_are_part_of_equality():
    assert expectile(0.5) == expectile(0.5) and hash(expectile(0.5)) == hash(expectile(0.5))
    changed = expectile(0.5).with_parameters(alpha=0.25)
    assert changed != expectile(0.5) and changed.values == (0.25,)
    assert changed.metrics["expectile"].parameters == (0.25,)
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


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(ValueError, match="alpha of objective 'expectile' .* finite .*; got nan"):
        expectile(np.nan)
    with pytest.raises(ValueError, match="must be a finite number; got '0.5'"):
        expectile(0.5).with_parameters(alpha="0.5")
    arguments = "o", squared_grad_hess, IDENTITY, "mae", mean_of_any
    with pytest.raises(ValueError, match="either joint=True or groups, not both; got groups='q'"):
        Objective(*arguments, joint=True, groups="q")
    with pytest.raises(ValueError, match="must not be among its row_arrays; got 'q'"):
        Objective(*arguments, row_arrays=("q",), groups="q")


# --- further arrays


def censored_grad_hess(y, raw, low, high, slope):
    if raw < low:
        return slope * (raw - low), slope
    return (slope * (raw - high) if raw > high else 0.0), slope


def censored_row(y, raw, low, high, slope):
    outside = low - raw if raw < low else raw - high if raw > high else 0.0
    return slope * outside


def middle_of_bounds(y, weight, n_classes, backend, low, high, slope):
    assert len(low) == len(high) == len(y)
    return np.array([np.median(np.clip(0.0, low, high))])


CENSORED = Objective(
    "censored",
    censored_grad_hess,
    IDENTITY,
    "outside",
    middle_of_bounds,
    {"slope": 0.5},
    own_metrics=(RowMetric("outside", censored_row, "identity"),),
    row_arrays=("low", "high"),
)


def bounds(x, rng):
    low = x[:, 0] + rng.normal(size=len(x))
    high = low + rng.exponential(size=len(x))
    low[::5], high[1::5] = -np.inf, np.inf
    return {"low": low, "high": high}


def test_further_arrays(rows, rng):
    x, y = rows
    arrays = bounds(x, rng)
    model = fit_on_both(CENSORED, x, y, arrays=arrays, n_estimators=60)
    p = model.predict(x)
    outside = np.maximum(0, arrays["low"] - p) + np.maximum(0, p - arrays["high"])
    history = model.evals_result_["validation_0"]["outside"]
    assert history[-1] == pytest.approx(0.5 * outside.mean())
    assert history[-1] < 0.65 * history[0]
    shifted = {name: array + 2.0 for name, array in arrays.items()}
    model = fit(CENSORED, x, y, arrays=arrays, eval_arrays=shifted)
    p = model.predict(x)
    outside = np.maximum(0, shifted["low"] - p) + np.maximum(0, p - shifted["high"])
    assert model.evals_result_["validation_0"]["outside"][-1] == pytest.approx(0.5 * outside.mean())


def joint_censored_grad_hess(y, raw, begin, end, g, h, low, high, slope):
    for i in range(begin, end):
        g[0, i], h[0, i] = censored_grad_hess(y[i], raw[0, i], low[i], high[i], slope)


def test_further_arrays_of_ranges_of_rows(rows, rng):
    x, y = rows
    arrays = bounds(x, rng)
    register_jitable(censored_grad_hess)
    joint = replace(CENSORED, grad_hess=joint_censored_grad_hess, joint=True)
    by_ranges, by_rows = (fit_on_both(o, x, y, arrays=arrays) for o in (joint, CENSORED))
    assert by_ranges.fingerprint() == by_rows.fingerprint()


def test_further_arrays_that_are_missing_or_wrong(rows):
    x, y = rows
    good = {"low": y - 1, "high": y + 1}
    with pytest.raises(ValueError, match="'censored' needs the array 'low' .* not given"):
        fit(CENSORED, x, y)
    with pytest.raises(ValueError, match="needs the array 'high' .* the rows of eval_set.0."):
        fit(CENSORED, x, y, arrays=good, eval_arrays={"low": y})
    with pytest.raises(ValueError, match=r"'high' must have .* shape \(600,\); got shape \(599,\)"):
        fit(CENSORED, x, y, arrays={**good, "high": y[1:]}, eval_arrays=good)
    with pytest.raises(ValueError, match="'high' must not have NaN; row 3 of the training rows"):
        fit(
            CENSORED,
            x,
            y,
            arrays={**good, "high": np.where(np.arange(600) == 3, np.nan, y)},
            eval_arrays=good,
        )
    with pytest.raises(ValueError, match="no further arrays than low, high .*; got middle"):
        fit(CENSORED, x, y, arrays={**good, "middle": y}, eval_arrays=good)
    with pytest.raises(ValueError, match="'expectile' takes no further arrays .*; got low"):
        fit(expectile(0.5), x, y, arrays={"low": y})


# --- groups


def pairs_grad_hess(y, raw, rows, g, h, steepness):
    """Log loss of every pair of a group of which one target is higher."""
    for a in range(rows.shape[0]):
        gradient, hessian = 0.0, 0.0
        for b in range(rows.shape[0]):
            difference = y[rows[a]] - y[rows[b]]
            if difference != 0.0:
                sign = 1.0 if difference > 0.0 else -1.0
                p = sigmoid(-sign * steepness * (raw[0, rows[a]] - raw[0, rows[b]]))
                gradient -= sign * steepness * p
                hessian += steepness * steepness * p * (1.0 - p)
        g[0, rows[a]] = gradient
        h[0, rows[a]] = hessian


def nothing(y, weight, n_classes, backend, *more):
    return np.zeros(1)


PAIRS = Objective(
    "pairs", pairs_grad_hess, IDENTITY, "rmse", nothing, {"steepness": 2.0}, groups="query"
)


def ordered_pairs(y, p, query):
    """Share of the pairs of a group that are in the right order."""
    same = query[:, None] == query
    higher = same & (y[:, None] > y)
    return (p[:, None] > p)[higher].mean()


@pytest.fixture
def queries(rng):
    """Groups of one row and more, in no order, with an offset that hides what is common."""
    x = rng.normal(size=(600, 3))
    query = rng.integers(0, 40, 600).astype(float)
    query[7] = 1000.0
    return x, x[:, 0] + 0.3 * rng.normal(size=600) + 100.0 * query, query


def test_gradients_of_groups(queries):
    x, y, query = queries
    model = fit_on_both(PAIRS, x, y, arrays={"query": query}, n_estimators=20)
    assert ordered_pairs(y, model.predict(x), query) > 0.85
    plain = fit(OBJECTIVES["squared_error"], x, y, n_estimators=20)
    assert ordered_pairs(y, plain.predict(x), query) < 0.7
    other_numbers = fit(PAIRS, x, y, arrays={"query": -3.0 * query}, n_estimators=20)
    assert other_numbers.fingerprint() == model.fingerprint()


def test_gradients_of_groups_as_numpy_has_them(queries, backend):
    x, y, query = queries
    weight = np.ones(600)
    weight[::7] = 0.0
    raw = x[None, :, 1].copy()
    usable = np.flatnonzero(weight).astype(np.int32)
    groups = PAIRS.group_rows({"query": query}, usable, 600)
    assert sorted(groups[0]) == list(usable) and groups[1][-1] == len(usable)
    g, h, sums = np.zeros((1, 600)), np.zeros((1, 600)), np.empty((1, 2))
    backend.gradients(PAIRS, y, raw, weight, np.empty((0, 600)), groups, g, h, sums)
    kept = weight > 0
    pairs = (query[:, None] == query) & kept & kept[:, None]
    sign = np.sign(y[:, None] - y) * pairs
    p = 1 / (1 + np.exp(sign * 2.0 * (raw[0][:, None] - raw[0])))
    np.testing.assert_allclose(g[0], (-sign * 2.0 * p).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(h[0], (abs(sign) * 4.0 * p * (1 - p)).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(sums[0], [np.abs(g).sum(), h.sum()])


def test_rows_without_weight_are_in_no_group(queries):
    x, y, query = queries
    weight = np.where(np.arange(600) % 3 == 0, 0.0, 1.0)
    kept = weight > 0
    everything = fit_on_both(PAIRS, x, y, weight, {"query": query})
    only_kept = fit(PAIRS, x[kept], y[kept], weight[kept], {"query": query[kept]})
    assert everything.fingerprint() == only_kept.fingerprint()


def test_groups_of_one_row_teach_nothing(queries):
    x, y, _ = queries
    model = fit_on_both(PAIRS, x, y, arrays={"query": np.arange(600.0)})
    np.testing.assert_array_equal(model.predict(x), 0.0)


def test_groups_must_be_there(queries):
    x, y, _ = queries
    with pytest.raises(ValueError, match="'pairs' needs the array 'query' .* the training rows"):
        fit(PAIRS, x, y)


# --- leaf values


def quantile_grad_hess(y, raw, alpha):
    return (1.0 - alpha if raw > y else -alpha), 1.0


QUANTILE = Objective(
    "quantile",
    quantile_grad_hess,
    IDENTITY,
    "mae",
    mean_of_any,
    {"alpha": 0.8},
    leaf_level="alpha",
)


def test_leaf_values_from_rows(rows):
    x, y = rows
    options = {"n_estimators": 1, "learning_rate": 0.5}
    newton = fit(replace(QUANTILE, leaf_level=None), x, y, **options).predict(x)
    model = fit_on_both(QUANTILE, x, y, **options)
    found = model.predict(x)
    assert len(np.unique(found)) > 4
    for value in np.unique(newton):
        own = newton == value
        expected = np.quantile(y[own] - y.mean(), 0.8, method="averaged_inverted_cdf")
        np.testing.assert_allclose(found[own], y.mean() + 0.5 * expected)
    mae = model.evals_result_["validation_0"]["mae"][-1]
    assert mae == pytest.approx(np.abs(found - y).mean())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.5},
        {"grow_policy": "leafwise", "max_depth": None, "max_leaves": 20},
        {"grow_policy": "symmetric", "max_depth": 6, "reg_lambda": 0.0},
        {"monotone_constraints": {0: 1, 1: -1}},
        {"max_depth": 12, "min_child_weight": 0.0},  # room for more than 256 leaves
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaf_values_on_both_devices(rows, rng, options, weighted):
    x, y = rows
    weight = np.where(rng.random(600) < 0.2, 0.0, rng.exponential(size=600)) if weighted else None
    model = fit_on_both(QUANTILE, x, y, weight, n_estimators=8, learning_rate=0.5, **options)
    p = model.predict(x)
    assert np.average(y <= p, weights=weight) == pytest.approx(0.8, abs=0.12)


# --- refusals


def one_bad_gradient(y, raw, limit, bad):
    return (raw - y if abs(raw) < limit else bad), 1.0


def one_bad_hessian(y, raw, limit, bad):
    return raw - y, (1.0 if abs(raw) < limit else bad)


def bad_objective(function, y, bad):
    """An objective that is good as long as raw scores are near the mean."""
    limit = float(y.mean()) + 1e-9
    base = "bad", function, IDENTITY, "mae", mean_of_any
    if np.isfinite(bad):
        return Objective(*base, {"limit": limit, "bad": bad})
    number = np.float64(bad)  # parameters are finite: a constant of the function instead

    def grad_hess(y, raw, limit):
        return function(y, raw, limit, number)

    register_jitable(function)
    return Objective("bad", grad_hess, *base[2:], {"limit": limit})


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("function", "bad", "problem"),
    [
        (one_bad_gradient, np.nan, "gradient not finite"),
        (one_bad_gradient, np.inf, "gradient not finite"),
        (one_bad_gradient, -np.inf, "gradient not finite"),
        (one_bad_hessian, np.nan, "hessian below zero or not finite"),
        (one_bad_hessian, np.inf, "hessian below zero or not finite"),
        (one_bad_hessian, -1.0, "hessian below zero or not finite"),
        (one_bad_hessian, -1e-300, "hessian below zero or not finite"),
    ],
)
def test_bad_gradients_are_refused(rows, function, bad, problem, weighted, device):
    x, y = rows[0], np.abs(rows[1])
    weight = np.full(len(x), 0.5) if weighted else None
    objective = bad_objective(function, y, bad)
    with pytest.raises(ValueError, match=f"objective 'bad' gave a {problem}.* in round 1 "):
        fit(objective, x, y, weight, device=device)


def bad_group(y, raw, rows, g, h, bad):
    for i in range(rows.shape[0]):
        g[0, rows[i]], h[0, rows[i]] = raw[0, rows[i]] - y[rows[i]], bad


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_bad_gradients_of_groups_are_refused(rows, device):
    x, y = rows
    arrays = {"query": np.arange(600) // 10}
    objective = Objective(
        "bad", bad_group, IDENTITY, "mae", mean_of_any, {"bad": -1.0}, groups="query"
    )
    with pytest.raises(ValueError, match="gave a hessian below zero or not finite.* in round 0 "):
        fit(objective, x, y, arrays=arrays, device=device)
    assert fit(objective.with_parameters(bad=0.5), x, y, arrays=arrays, device=device)


def test_a_refused_fit_leaves_the_estimator_alone(monkeypatch, rows):
    x, y = rows[0], np.abs(rows[1])
    monkeypatch.setitem(OBJECTIVES, "squared_error", bad_objective(one_bad_hessian, y, -1.0))
    model = GPUBoostRegressor(n_estimators=5)
    with pytest.raises(ValueError, match="hessian below zero"):
        model.fit(x, y)
    assert not hasattr(model, "n_estimators_")
