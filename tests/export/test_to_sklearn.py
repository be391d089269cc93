"""Models as scikit-learn's own classes: predictions, nodes and tools are the same."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn import ensemble, tree
from sklearn.datasets import load_diabetes, load_iris

import gpuboost as gb

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
X[::7, 2] = np.nan
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
VALUES = np.sqrt(1.0 + Y) + np.nan_to_num(X[:, 0])
WEIGHT = np.linspace(0.5, 2, len(Y))


def parts(values):
    return values if isinstance(values, list) else [values]


@pytest.mark.parametrize("y", [NAMES, np.stack([NAMES, NAMES[::-1] == "setosa"], axis=1)])
@pytest.mark.parametrize(
    "model",
    [
        gb.DecisionTreeClassifier(criterion="entropy", ccp_alpha="cv"),
        gb.DecisionTreeClassifier(splitter="midpoint"),
        gb.RandomForestClassifier(8),
        gb.RandomForestClassifier(8, voting="hard", max_leaf_nodes=9),
        gb.ExtraTreesClassifier(8),
    ],
    ids=repr,
)
def test_classifiers(model, y):
    """Classes that are text, one output and two, missing values, weights, votes."""
    native = model.fit(X, y, WEIGHT).to_sklearn()
    module = tree if isinstance(model, gb.DecisionTreeClassifier) else ensemble
    assert type(native) is getattr(module, type(model).__name__)
    for own, theirs in zip(
        parts(model.predict_proba(X)), parts(native.predict_proba(X)), strict=True
    ):
        np.testing.assert_array_equal(own, theirs)
    np.testing.assert_array_equal(model.predict(X), native.predict(X))
    np.testing.assert_array_equal(model.apply(X), native.apply(X))
    np.testing.assert_allclose(model.feature_importances_, native.feature_importances_)


@pytest.mark.parametrize("y", [VALUES, np.stack([VALUES, VALUES[::-1]], axis=1)])
@pytest.mark.parametrize(
    "model",
    [
        gb.DecisionTreeRegressor(criterion="absolute_error", max_depth=4),
        gb.RandomForestRegressor(8, ccp_alpha=0.01),
        gb.ExtraTreesRegressor(8, bootstrap=True),
    ],
    ids=repr,
)
def test_regressors(model, y):
    native = model.fit(X, y, WEIGHT).to_sklearn()
    np.testing.assert_array_equal(model.predict(X), native.predict(X))
    np.testing.assert_array_equal(model.apply(X), native.apply(X))
    np.testing.assert_allclose(model.feature_importances_, native.feature_importances_)


def test_parameters_and_fitted_attributes():
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = gb.RandomForestClassifier(30, max_depth=3, min_samples_leaf=2, oob_score=True)
    native = forest.fit(frame, NAMES).to_sklearn()
    assert native.get_params()["min_samples_leaf"] == 2 and native.n_estimators == 30
    assert native.feature_names_in_.tolist() == list("abcd") and native.n_features_in_ == 4
    assert native.oob_score_ == forest.oob_score_
    assert native.estimators_[0].max_features_ == 2 and native.estimators_[0].max_depth == 3
    pruned = gb.DecisionTreeClassifier(splitter="hist", ccp_alpha="cv").fit(X, Y)
    native = pruned.to_sklearn()
    assert native.splitter == "best" and native.ccp_alpha == pruned.ccp_alpha_


def test_tools_of_others_take_it():
    """Drawings, text and Shapley values, which look at scikit-learn's own classes."""
    matplotlib.use("Agg")
    x, y = load_diabetes(return_X_y=True)
    model = gb.DecisionTreeRegressor(max_depth=2).fit(x, y)
    assert len(tree.plot_tree(model.to_sklearn())) >= 2 * model.get_n_leaves() - 1
    assert "digraph" in tree.export_graphviz(model.to_sklearn())
    forest = gb.RandomForestRegressor(5, max_depth=3).fit(x, y)
    explainer = shap.TreeExplainer(forest.to_sklearn())
    total = explainer.shap_values(x[:9]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, forest.predict(x[:9]))


def test_nominal_features_are_refused():
    frame = pd.DataFrame({"colour": list("abc") * 4, "size": range(12)})
    model = gb.DecisionTreeRegressor(categorical_features=["colour"]).fit(frame, frame["size"])
    with pytest.raises(ValueError, match="nominal features \\('colour'\\)"):
        model.to_sklearn()
