"""Gradient boosting behind the API of scikit-learn."""

import numpy as np
import pytest

from gpuboost import GPUBoostClassifier, GPUBoostRegressor


@pytest.fixture
def data(rng):
    x = rng.normal(size=(120, 3))
    return x, x[:, 0] + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_and_labels_agree(data, n_classes):
    x, signal = data
    y = np.array(["a", "b", "c"])[np.digitize(signal, [-0.5, 0.5][: n_classes - 1])]
    model = GPUBoostClassifier(n_estimators=3, max_depth=2).fit(x, y)
    probability = model.predict_proba(x)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(x), model.classes_[probability.argmax(axis=1)])
    *_, last = model.staged_predict_proba(x)
    np.testing.assert_array_equal(last, probability)


def test_stages_end_at_the_prediction_and_early_stopping_goes_back(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=30, learning_rate=1.0, early_stopping_rounds=3)
    model.fit(x[:60], y[:60], eval_set=(x[60:], y[60:]))
    stages = list(model.staged_predict(x))
    np.testing.assert_array_equal(stages[model.best_iteration_], model.predict(x))
    errors = [np.sqrt(np.mean((stage[60:] - y[60:]) ** 2)) for stage in stages]
    assert np.argmin(errors) == model.best_iteration_
    assert min(errors) == pytest.approx(model.best_score_)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        ({"eval_set": []}, "eval_set must be a pair"),
        ({"eval_set": [(1, 2, 3)]}, "eval_set must be a pair"),
        ({"eval_sample_weight": [None]}, "eval_sample_weight was given without an eval_set"),
    ],
)
def test_eval_sets_that_are_none(data, fit, message):
    with pytest.raises(ValueError, match=message):
        GPUBoostRegressor(n_estimators=1).fit(*data, **fit)


def test_a_failed_fit_changes_nothing(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=2).fit(x, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(x, np.where(y > 0, np.nan, y))
    assert vars(model) == before


def test_exponential_loss_is_for_two_classes():
    with pytest.raises(ValueError, match="exponential"):
        GPUBoostClassifier(objective="exponential").fit(np.arange(6.0)[:, None], [0, 1, 2] * 2)
