"""Gradient boosting of y with several columns: targets, and labels that rows have or not."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import get_scorer, log_loss, make_scorer, root_mean_squared_error
from sklearn.model_selection import cross_val_score

from gpuboost import (
    GPUBoostClassifier,
    GPUBoostRegressor,
    export_text,
    load_model,
    partial_dependence,
)


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
    assert model.classes_.tolist() == [0, 1, 2]
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


@pytest.mark.parametrize("strategy", ["one_tree_per_output", "vector_leaf"])
@pytest.mark.parametrize("task", ["targets", "labels"])
def test_everything_else_knows_of_several_outputs(task, strategy, request, tmp_path):
    x, y = request.getfixturevalue(task)
    kind = GPUBoostRegressor if task == "targets" else GPUBoostClassifier
    x, options = np.nan_to_num(x), {**OPTIONS, "multi_strategy": strategy}
    model = kind(**options).fit(csr_matrix(x), y)
    assert model.fingerprint() == kind(**options).fit(x, y).fingerprint()
    members = model.estimators_
    assert members.shape == (4, 1 if strategy == "vector_leaf" else 3)
    total = sum(one.predict(x) for one in members[:, 0]).reshape(len(x), -1)
    raw = model.predict(x) if task == "targets" else model.decision_function(x)
    np.testing.assert_allclose(raw[:, 0], total[:, 0] + model.ensemble_.base_score[0])
    assert "value" in export_text(model) and model.feature_importances_.sum() == pytest.approx(1)
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


# --- one tree with a value for each output


VECTOR = {"n_estimators": 5, "max_depth": 3, "multi_strategy": "vector_leaf"}


def classes_of(x, n=5):
    signal = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) * x[:, 2]
    return np.digitize(signal, np.quantile(signal, np.arange(1, n) / n))


def test_leaves_hold_a_newton_step_for_each_output(targets, labels, rng):
    """From the true gradients of the rows in a leaf, by numpy."""
    (x, y), (xl, yl) = targets, labels
    weight = rng.integers(0, 3, len(x)).astype(float)
    step = {"n_estimators": 1, "learning_rate": 0.3, "reg_lambda": 2.0, "reg_alpha": 0.5}
    one_hot = np.eye(5)[classes_of(x)]
    share = (one_hot * weight[:, None]).sum(axis=0) / weight.sum()
    odds = (yl * weight[:, None]).sum(axis=0) / weight.sum()
    mean = (y * weight[:, None]).sum(axis=0) / weight.sum()
    for kind, rows, target, g, h in (
        (GPUBoostRegressor, x, y, mean - y, np.ones_like(y)),
        (GPUBoostClassifier, xl, yl, odds - yl, np.tile(odds * (1 - odds), (150, 1))),
        (
            GPUBoostClassifier,
            x,
            classes_of(x),
            share - one_hot,
            np.tile(5 / 4 * share * (1 - share), (150, 1)),
        ),
    ):
        model = kind(**{**VECTOR, **step}).fit(rows, target, sample_weight=weight)
        [tree], leaf = model.ensemble_.trees, model.apply(rows)[:, 0]
        assert tree.n_leaves > 3
        for node in np.unique(leaf):
            own = leaf == node
            g_sum, h_sum = ((a[own] * weight[own, None]).sum(axis=0) for a in (g, h))
            pulled = np.sign(g_sum) * np.maximum(np.abs(g_sum) - 0.5, 0)
            np.testing.assert_allclose(
                tree.value[node], -0.3 * pulled / (h_sum + 2.0), rtol=1e-7, atol=1e-12
            )
            assert tree.cover[node] == pytest.approx(h_sum.mean())
            assert tree.count[node] == (own & (weight > 0)).sum()


@pytest.mark.parametrize("n_leaves", [8, 300])
@pytest.mark.parametrize("n_rows", [20, 3000])
def test_predictions_are_sums_of_leaf_values(n_rows, n_leaves, rng):
    """Few rows and many, trees that label rows and trees that are walked."""
    x = rng.normal(size=(3000, 4))
    y = np.stack([x[:, 0] * x[:, 1], np.sin(3 * x[:, 2]), x[:, 3] ** 2], axis=1)
    options = {"grow_policy": "leafwise", "max_leaves": n_leaves, "multi_strategy": "vector_leaf"}
    model = GPUBoostRegressor(n_estimators=3, **options).fit(x, y, eval_set=(x, y))
    assert model.ensemble_.trees[0].n_leaves == n_leaves
    expected = np.tile(model.ensemble_.base_score, (n_rows, 1))
    for tree, leaf in zip(model.ensemble_.trees, model.apply(x[:n_rows]).T, strict=True):
        expected += tree.value[leaf]
    np.testing.assert_array_equal(model.predict(x[:n_rows]), expected)
    *_, last = model.staged_predict(x[:n_rows])
    np.testing.assert_array_equal(last, expected)
    error = root_mean_squared_error(y, model.predict(x))
    assert model.evals_result_["validation_0"]["rmse"][-1] == pytest.approx(error)


def test_one_output_needs_no_vector(targets, labels):
    """Two classes, and one target: the same model."""
    for kind, x, y in (
        (GPUBoostRegressor, targets[0], targets[1][:, 0]),
        (GPUBoostClassifier, labels[0], labels[1][:, 0]),
        (GPUBoostClassifier, labels[0], np.zeros(150)),
    ):
        vector = kind(**VECTOR).fit(x, y)
        own = {**VECTOR, "multi_strategy": "one_tree_per_output"}
        assert vector.fingerprint() == kind(**own).fit(x, y).fingerprint()


def test_units_of_targets_do_not_matter(targets):
    """Powers of two multiply the predictions, whatever columns they are of."""
    x, y = targets
    options = {**VECTOR, "reg_lambda": 0.0}
    expected = GPUBoostRegressor(**options).fit(x, y).predict(x)
    for factors in ([2.0**12, 2.0**-9, 1.0], [2.0**300] * 3):
        scaled = GPUBoostRegressor(**options).fit(x, y * factors).predict(x)
        np.testing.assert_allclose(scaled, expected * factors, rtol=1e-9)


def test_weights_are_repeated_rows(targets, rng):
    x, y = targets
    weight = rng.integers(0, 4, len(x))
    repeated = np.repeat(np.arange(len(x)), weight)
    for kind, target in ((GPUBoostRegressor, y), (GPUBoostClassifier, classes_of(x))):
        weighted = kind(**VECTOR).fit(x, target, sample_weight=weight)
        plain = kind(**VECTOR).fit(x[repeated], target[repeated])
        for a, b in zip(weighted.ensemble_.trees, plain.ensemble_.trees, strict=True):
            np.testing.assert_array_equal(a.feature, b.feature)
            np.testing.assert_allclose(a.value, b.value, rtol=1e-9, atol=1e-12)


def test_many_classes_are_learned_as_well(rng):
    """In the same rounds, enough of them, at a fraction of the trees."""
    x = rng.normal(size=(1500, 6))
    label = 3 * np.digitize(x[:, 0] + x[:, 1], [-0.7, 0.7]) + np.digitize(x[:, 2], [-0.5, 0.5])
    losses = {}
    for strategy in ("one_tree_per_output", "vector_leaf"):
        model = GPUBoostClassifier(n_estimators=150, multi_strategy=strategy)
        model.fit(x[:1000], label[:1000], eval_set=(x[1000:], label[1000:]))
        losses[strategy] = min(model.evals_result_["validation_0"]["mlogloss"])
        assert len(model.ensemble_.trees) == (150 if strategy == "vector_leaf" else 9 * 150)
    assert losses["vector_leaf"] < 1.01 * losses["one_tree_per_output"]


def test_early_stopping_keeps_whole_rounds(targets, tmp_path):
    x, y = targets
    model = GPUBoostRegressor(
        n_estimators=60, learning_rate=1.0, early_stopping_rounds=2, multi_strategy="vector_leaf"
    )
    model.fit(x[:100], y[:100], eval_set=(x[100:], y[100:]))
    stages = list(model.staged_predict(x))
    assert len(stages) == model.n_estimators_ == len(model.ensemble_.trees)
    np.testing.assert_array_equal(stages[model.best_iteration_], model.predict(x))
    model.save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").best_iteration_ == model.best_iteration_


def test_monotone_features_are_for_trees_of_one_output(targets):
    x, y = targets
    model = GPUBoostRegressor(monotone_constraints={0: 1}, multi_strategy="vector_leaf")
    with pytest.raises(ValueError, match="use multi_strategy='one_tree_per_output' for y with 3"):
        model.fit(x, y)
    model.set_params(multi_strategy="one_tree_per_output").fit(x, y)
    higher = x + [1.0, 0.0, 0.0, 0.0]
    assert (model.predict(higher) >= model.predict(x)).all()
