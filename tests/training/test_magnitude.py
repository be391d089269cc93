"""Targets of any size."""

import numpy as np
import pytest

from gpuboost import (
    AdaBoostRegressor,
    DecisionTreeRegressor,
    GPUBoostRegressor,
    RandomForestRegressor,
)
from gpuboost.config import BoostParams
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.magnitude import Magnitude


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3))
    return x, x[:, 0] * x[:, 1] + rng.normal(size=150), rng.random(150)


def model(scale, **options):
    """Penalties and limits in the unit of the targets."""
    units = {"min_split_gain": 2, "reg_alpha": 1, "max_delta_step": 1}
    limits = {name: np.ldexp(0.1, power * scale) for name, power in units.items()}
    return GPUBoostRegressor(n_estimators=4, max_depth=3, **limits, **options)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("scale", [-450, 180, 450])
def test_a_power_of_two_on_the_targets_is_one_on_the_predictions(rows, scale, device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y, weight = rows
    options = {"eval_metric": ["rmse", "mae", largest_error], "device": device}
    one = model(0, **options).fit(x, y, weight, eval_set=(x, y))
    far = np.ldexp(y, scale)
    other = model(scale, **options).fit(x, far, weight, eval_set=(x, far))
    np.testing.assert_array_equal(other.predict(x), np.ldexp(one.predict(x), scale))
    for name, values in one.evals_result_["validation_0"].items():
        expected = np.ldexp(values, scale)
        np.testing.assert_array_equal(other.evals_result_["validation_0"][name], expected)
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


def largest_error(y, prediction):
    return np.abs(y - prediction).max()


@pytest.mark.parametrize("size", [1e154, 1e-200, 1e300, 1e-300])
def test_targets_far_from_one_are_trained_on(rows, size):
    x, y, _ = rows
    predicted = GPUBoostRegressor(n_estimators=20).fit(x, size * y).predict(x) / size
    assert np.corrcoef(predicted, y)[0, 1] > 0.85


def test_rows_without_weight_may_hold_anything(rows):
    x, y, _ = rows
    weight = np.ones(len(y))
    weight[:9] = 0.0
    far = np.where(weight > 0, 1e-200 * y, 1e300)
    np.testing.assert_array_equal(
        GPUBoostRegressor(n_estimators=3).fit(x, far, weight).predict(x),
        GPUBoostRegressor(n_estimators=3).fit(x[9:], far[9:]).predict(x),
    )


@pytest.mark.parametrize("size", [1e154, 1e-200])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, AdaBoostRegressor])
def test_classical_trees_refuse_what_cannot_be_squared(rows, kind, size):
    x, y, _ = rows
    with pytest.raises(ValueError, match="largest absolute value of y must be 0 or between"):
        kind().fit(x, size * y)


def test_a_model_that_float64_cannot_hold_is_an_error(rows):
    x, y, _ = rows
    with pytest.raises(ValueError, match="too large for float64: try a lower learning_rate"):
        GPUBoostRegressor(n_estimators=1, learning_rate=1e300).fit(x, 1e100 * y)


def test_parameters_follow_and_stay_above_zero():
    y = np.array([1e300])
    magnitude = Magnitude.of(y, np.empty(0), OBJECTIVES["squared_error"])
    assert 900 < magnitude.exponent < 1000
    assert 1 <= magnitude.divide(y, np.empty(0))[0] < 2
    scaled = magnitude.params(BoostParams(reg_alpha=2.0, max_delta_step=1e-30))
    assert scaled.reg_alpha == 2.0 * 2.0**-magnitude.exponent
    assert scaled.max_delta_step > 0 and scaled.min_split_gain == 0 and scaled.reg_lambda == 1
    near = Magnitude.of(np.array([1e50, -1e-300]), np.empty(0), OBJECTIVES["squared_error"])
    assert near == Magnitude() and near.params(BoostParams()) == BoostParams()


def test_what_follows_the_unit_depends_on_the_loss():
    y, none = np.array([2.0**300]), np.empty(0)
    params = BoostParams(reg_alpha=2.0, min_split_gain=3.0, max_delta_step=2.0**301)
    absolute = Magnitude.of(y, none, OBJECTIVES["absolute_error"]).params(params)
    assert (absolute.reg_alpha, absolute.min_split_gain, absolute.max_delta_step) == (2, 3, 2)
    huber = OBJECTIVES["huber"].with_parameters(delta=2.0**299)
    assert Magnitude.of(y, none, huber).objective(huber).parameters == {"delta": 0.5}
    assert Magnitude.of(y, none, OBJECTIVES["poisson"]) == Magnitude()
