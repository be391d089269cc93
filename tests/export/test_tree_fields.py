"""The fields of ``tree_``, against those of scikit-learn's own tree of the same nodes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import gpuboost as gb

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
FIELDS = [
    "node_count", "capacity", "n_leaves", "max_depth", "n_features", "n_outputs", "max_n_classes",
    "n_classes", "children_left", "children_right", "feature", "threshold", "missing_go_to_left",
    "value", "impurity", "n_node_samples", "weighted_n_node_samples",
]  # fmt: skip


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [gb.DecisionTreeClassifier, gb.DecisionTreeRegressor])
def test_fields_and_methods(kind, several):
    x = X.copy()
    x[::5, 3] = np.nan
    y = np.stack([Y, Y[::-1] > 0], axis=1) if several else Y
    model = kind(max_depth=4).fit(x, y, np.linspace(1, 2, len(y)))
    own, theirs = model.tree_, model.to_sklearn().tree_
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(own, name), getattr(theirs, name), err_msg=name)
    np.testing.assert_array_equal(own.predict(x), theirs.predict(x))
    np.testing.assert_array_equal(own.apply(x), theirs.apply(x))
    assert (own.decision_path(x) != theirs.decision_path(x)).nnz == 0
    np.testing.assert_array_equal(own.compute_node_depths(), theirs.compute_node_depths())
    for normalize in (False, True):
        np.testing.assert_allclose(
            own.compute_feature_importances(normalize),
            theirs.compute_feature_importances(normalize),
        )


def test_a_set_of_categories_has_no_threshold():
    frame = pd.DataFrame({"colour": list("abc") * 4})
    model = gb.DecisionTreeRegressor(categorical_features=["colour"])
    fields = model.fit(frame, (frame["colour"] == "b") * 1.0).tree_
    assert np.isnan(fields.threshold[0]) and (fields.threshold[1:] == -2).all()


def test_boosting_has_no_impurities():
    model = gb.GPUBoostClassifier(n_estimators=2).fit(X, Y)
    fields = model.estimators_[1, 2].tree_
    assert np.isnan(fields.impurity).all() and fields.n_node_samples[0] == len(Y)
