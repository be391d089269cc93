"""Gradient boosting of y with several columns: targets, and labels that rows have or not."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import get_scorer, log_loss, make_scorer, root_mean_squared_error
from sklearn.model_selection import cross_val_score

from gpuboost import GPUBoostClassifier, GPUBoostRegressor, load_model, partial_dependence


@pytest.fixture
def targets(rng):
    x = rng.normal(size=(150, 4))
    x[::9, 1] = np.nan
    return x, np.stack([x[:, 0] + x[:, 2], 1e3 * x[:, 3], np.abs(x[:, 0])], axis=1)


@pytest.fixture
def labels():
    return make_multilabel_classification(150, 5, n_classes=3, random_state=0)


OPTIONS = {"n_estimators": 4, "max_depth": 3, "subsample": 0.8, "colsample_bytree": 0.7}


def alone(kind, x, y, **fit):
    """A model of each column."""
    return [kind(**OPTIONS).fit(x, column, **fit) for column in y.T]


def test_each_target_is_predicted_as_by_a_model_of_its_own(targets, rng):
    """The same bits: rounding, rows and columns that are drawn do not depend on the others."""
    x, y = targets
    weight = rng.exponential(size=len(x))
    model = GPUBoostRegressor(**OPTIONS).fit(x, y, sample_weight=weight)
    own = alone(GPUBoostRegressor, x, y, sample_weight=weight)
    assert model.estimators_.shape == (4, 3) and model.apply(x).shape == (150, 12)
    np.testing.assert_array_equal(model.predict(x).T, [one.predict(x) for one in own])
    *_, last = model.staged_predict(x)
    np.testing.assert_array_equal(last, model.predict(x))
    for k, one in enumerate(own):
        for tree, expected in zip(model.ensemble_.trees[k::3], one.ensemble_.trees, strict=True):
            np.testing.assert_array_equal(tree.gain, expected.gain)


def test_each_label_is_predicted_as_by_a_model_of_its_own(labels):
    x, y = labels
    model, own = GPUBoostClassifier(**OPTIONS).fit(x, y), alone(GPUBoostClassifier, x, y)
    expected = np.stack([one.predict_proba(x)[:, 1] for one in own], axis=1)
    np.testing.assert_array_equal(model.predict_proba(x), expected)
    np.testing.assert_array_equal(model.predict(x), expected > 0.5)
    np.testing.assert_array_equal(model.decision_function(x) > 0, expected > 0.5)
    assert model.predict(x).dtype == y.dtype
    assert [values.tolist() for values in model.classes_] == [[0, 1]] * 3
    *_, last = model.staged_predict_proba(x)
    np.testing.assert_array_equal(last, expected)
    assert cross_val_score(model, x, y, cv=3, scoring="roc_auc").mean() > 0.7


def test_metrics_are_means_over_the_outputs(targets, labels):
    x, y = targets
    custom = make_scorer(root_mean_squared_error, greater_is_better=False)
    model = GPUBoostRegressor(
        **OPTIONS, eval_metric=["rmse", "mae", custom, root_mean_squared_error]
    )
    model.fit(x[:100], y[:100], eval_set=(x[100:], y[100:]), eval_sample_weight=[x[100:, 3] ** 2])
    found = {name: values[-1] for name, values in model.evals_result_["validation_0"].items()}
    error, weight = model.predict(x[100:]) - y[100:], x[100:, 3] ** 2
    rmse = np.sqrt(np.average(error**2, axis=0, weights=weight)).mean()
    mae = np.average(np.abs(error), axis=0, weights=weight).mean()
    np.testing.assert_allclose(list(found.values()), [rmse, mae, -rmse, rmse])

    x, y = labels

    def brier(y, probability):
        assert y.shape == probability.shape == (50, 3)
        return np.mean((y - probability) ** 2)

    metrics = ["logloss", "error", "auc", brier, get_scorer("f1_micro"), get_scorer("roc_auc")]
    model = GPUBoostClassifier(**OPTIONS, eval_metric=metrics)
    model.fit(x[:100], y[:100], eval_set=(x[100:], y[100:]))
    p, values = model.predict_proba(x[100:]), model.evals_result_["validation_0"]
    loss = np.mean([log_loss(y[100:, k], p[:, k]) for k in range(3)])
    assert values["logloss"][-1] == pytest.approx(loss)
    assert values["error"][-1] == pytest.approx(np.mean((p > 0.5) != y[100:]))
    assert values["brier"][-1] == pytest.approx(np.mean((p - y[100:]) ** 2))
    scores = [get_scorer(name)(model, x[100:], y[100:]) for name in ("f1_micro", "roc_auc")]
    found = [values[name][-1] for name in ("f1_score", "roc_auc_score")]
    np.testing.assert_allclose(found, scores)
    assert values["auc"][-1] == pytest.approx(scores[1])


def test_early_stopping_goes_by_the_mean(targets):
    x, y = targets
    model = GPUBoostRegressor(n_estimators=40, learning_rate=1.0, early_stopping_rounds=2)
    model.fit(x[:100], y[:100], eval_set=(x[100:], y[100:]))
    means = [root_mean_squared_error(y[100:], s) for s in model.staged_predict(x[100:])]
    assert np.argmin(means) == model.best_iteration_ < model.n_estimators_ - 1
    assert model.best_score_ == pytest.approx(min(means))


@pytest.mark.parametrize("task", ["targets", "labels"])
def test_everything_else_knows_of_several_outputs(task, request, tmp_path):
    x, y = request.getfixturevalue(task)
    kind = GPUBoostRegressor if task == "targets" else GPUBoostClassifier
    x = np.nan_to_num(x)
    model = kind(**OPTIONS).fit(csr_matrix(x), y)
    assert model.fingerprint() == kind(**OPTIONS).fit(x, y).fingerprint()
    model.save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(x), model.predict(csr_matrix(x)))
    assert partial_dependence(model, x, 0)["average"].shape[0] == 3
    model.report(tmp_path / "report.html", x, y)
    assert "3 outputs" in (tmp_path / "report.html").read_text()


def test_labels_that_no_row_or_every_row_has(labels):
    x, y = labels
    y = np.stack([np.zeros(len(x)), np.ones(len(x)), y[:, 0]], axis=1)
    model = GPUBoostClassifier(n_estimators=2, class_weight="balanced").fit(x, y)
    np.testing.assert_array_equal(model.predict(x)[:, :2], y[:, :2])


def test_targets_far_from_one(targets):
    """Divided by one power of two for all columns."""
    x, y = targets
    expected = GPUBoostRegressor(n_estimators=3).fit(x, y).predict(x)
    large = GPUBoostRegressor(n_estimators=3).fit(x, np.ldexp(y, 600)).predict(x)
    np.testing.assert_array_equal(large, np.ldexp(expected, 600))
    y[:, 1] *= 1e-200
    with pytest.raises(ValueError, match="columns of y are of too different sizes: .* column 1"):
        GPUBoostRegressor().fit(x, y)


@pytest.mark.parametrize(
    ("kind", "y", "fit", "message"),
    [
        (GPUBoostRegressor, [[0, 1], [1, np.nan]], {}, "y contains NaN"),
        (GPUBoostRegressor, [["a", "b"]] * 2, {}, r"y\[:, 0\] must hold numbers"),
        (
            GPUBoostClassifier,
            [[0, 1], [2, 0]],
            {},
            "must hold 0 and 1.* got 2.0 in column 0 at row 1",
        ),
        (GPUBoostClassifier, [["a", "b"]] * 2, {}, r"y\[:, 0\] must hold numbers"),
        (
            GPUBoostRegressor,
            [[0, 1], [1, 2]],
            {"eval_set": ([[0.0], [1.0]], [1.0, 2.0])},
            r"y of eval_set\[0\] must have 2 columns, as y has; got shape \(2,\)",
        ),
        (
            GPUBoostRegressor,
            [0.0, 1.0],
            {"eval_set": ([[0.0], [1.0]], [[1.0, 2.0]] * 2)},
            r"y of eval_set\[0\] must have one entry for each of the 2 rows .* got shape \(2, 2\)",
        ),
        (
            GPUBoostClassifier,
            [[0, 1], [1, 0]],
            {"eval_set": ([[0.0]], [[0.0, 3.0]])},
            r"y of eval_set\[0\] with several columns must hold 0 and 1.* got 3.0 in column 1",
        ),
    ],
)
def test_targets_that_cannot_be(kind, y, fit, message):
    with pytest.raises(ValueError, match=message):
        kind(n_estimators=1).fit([[0.0], [1.0]], y, **fit)
