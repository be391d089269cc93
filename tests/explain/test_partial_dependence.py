"""Partial dependence by recursion, against scikit-learn's and against all rows predicted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence as by_sklearn

import gpuboost as gb

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X = X.astype(np.float32)


@pytest.mark.parametrize("features", [["bmi"], ["sex"], ["bmi", "s5"]])
@pytest.mark.parametrize(
    "model", [gb.DecisionTreeRegressor(max_depth=5), gb.RandomForestRegressor(5, max_depth=6)]
)
def test_trees_and_forests_as_in_scikit_learn(model, features):
    """A frame's columns by name, one with few values, and two features together."""
    model.fit(X, Y, sample_weight=np.linspace(1, 3, len(Y)))
    own = gb.partial_dependence(model, X, features, grid_resolution=7)
    numbers = [X.columns.get_loc(name) for name in features]
    values = {
        f: grid.astype(np.float32) for f, grid in zip(numbers, own["grid_values"], strict=True)
    }
    native = model.fit(X.to_numpy(), Y, np.linspace(1, 3, len(Y))).to_sklearn()
    theirs = by_sklearn(native, X.to_numpy(), numbers, method="recursion", custom_values=values)
    np.testing.assert_allclose(own["average"], theirs["average"], rtol=1e-12)


def test_the_grid_is_that_of_scikit_learn():
    x = X.to_numpy(np.float64)
    model = gb.DecisionTreeRegressor(max_depth=2).fit(x, Y)
    own = gb.partial_dependence(model, x, 2, percentiles=(0.1, 0.8), grid_resolution=9)
    theirs = by_sklearn(model, x, [2], percentiles=(0.1, 0.8), grid_resolution=9)
    np.testing.assert_allclose(own["grid_values"][0], theirs["grid_values"][0], rtol=1e-6)


def test_boosting_is_the_sum_of_its_trees():
    model = gb.GPUBoostRegressor(n_estimators=8, max_depth=3).fit(X, Y)
    own = gb.partial_dependence(model, X, "bmi", grid_resolution=11)
    grid = own["grid_values"][0].astype(np.float32)[:, None]
    target, total = np.array([X.columns.get_loc("bmi")]), np.zeros(len(grid))
    for member in model.estimators_[:, 0]:
        part = np.zeros(len(grid))
        member.to_sklearn().tree_.compute_partial_dependence(grid, target, part)
        total += part
    np.testing.assert_allclose(own["average"][0], total + model.ensemble_.base_score, rtol=1e-9)


def test_all_features_at_once_are_the_prediction():
    """Nothing is averaged then: every class, rounds up to the best one, votes of hard forests."""
    x, y = load_iris(return_X_y=True)
    x = np.round(x[:, 2:])
    boosted = gb.GPUBoostClassifier(n_estimators=30, early_stopping_rounds=1)
    boosted.fit(x, y, eval_set=(x[::2], 2 - y[::2]))
    forest = gb.RandomForestClassifier(5, voting="hard").fit(x, y)
    two = gb.GPUBoostClassifier(n_estimators=4).fit(x, y > 0)
    for model, predict in [
        (boosted, boosted.decision_function),
        (forest, forest.predict_proba),
        (two, lambda rows: two.decision_function(rows)[:, None]),
    ]:
        result = gb.partial_dependence(model, x, [0, 1])
        rows = np.stack(
            [axis.ravel() for axis in np.meshgrid(*result["grid_values"], indexing="ij")]
        )
        flat = result["average"].reshape(len(result["average"]), -1).T
        np.testing.assert_allclose(flat, predict(rows.T), atol=1e-12)
    share = gb.RandomForestClassifier(5).fit(x, y > 0)
    assert gb.partial_dependence(share, x, 0)["average"].shape[0] == 1


def test_categories_are_the_grid_of_a_nominal_feature():
    frame = pd.DataFrame({"colour": [f"c{i % 90:02}" for i in range(360)], "size": range(360)})
    target = (frame["colour"] > "c40") * 3.0
    model = gb.DecisionTreeRegressor(categorical_features=["colour"], min_data_per_category=1)
    model.fit(frame, target)
    result = gb.partial_dependence(model, frame, "colour")
    assert result["grid_values"][0].tolist() == sorted(set(frame["colour"]))
    np.testing.assert_allclose(result["average"][0], 3.0 * (np.arange(90) > 40))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": "nothing"}, "features must be"),
        ({"features": 10}, "features must be"),
        ({"features": [1, 1]}, "each once"),
        ({"features": 0, "percentiles": (0.9, 0.1)}, "percentiles"),
        ({"features": 0, "percentiles": None}, "percentiles"),
        ({"features": 0, "grid_resolution": 0}, "grid_resolution"),
        ({"features": 0, "X": X.iloc[:, :3]}, "seen at fit time, yet now missing:\n- bp"),
        ({"features": 0, "X": X * np.nan}, "no value of feature 'age'"),
    ],
)
def test_what_is_refused(options, words):
    model = gb.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        gb.partial_dependence(model, **({"X": X} | options))


def test_adaboost_is_refused():
    for model in (gb.AdaBoostRegressor(n_estimators=3), gb.AdaBoostClassifier(n_estimators=3)):
        model.fit(X, Y > 100)
        with pytest.raises(TypeError, match="no sum of its trees"):
            gb.partial_dependence(model, X, 0)
