"""Trees of a model as estimators of their own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import gpuboost as gb

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
SEQUENCES = [
    gb.RandomForestClassifier(4),
    gb.RandomForestClassifier(4, splitter="midpoint", voting="hard"),
    gb.RandomForestRegressor(4, max_features=0.5, max_bins=20),
    gb.ExtraTreesClassifier(4),
    gb.ExtraTreesRegressor(4, splitter="best"),
    gb.AdaBoostClassifier(n_estimators=4),
    gb.AdaBoostRegressor(n_estimators=4, splitter="hist"),
]


@pytest.mark.parametrize("model", SEQUENCES, ids=repr)
def test_a_sequence_of_fitted_trees(model, tmp_path):
    classifies = hasattr(model, "predict_proba")
    model.fit(X, NAMES if classifies else Y)
    kind = gb.DecisionTreeClassifier if classifies else gb.DecisionTreeRegressor
    assert len(model) == len(model.estimators_) == len(list(model)) == 4
    assert [type(tree) for tree in model[1:3]] == [kind, kind]
    assert model[-1].fingerprint() == model.estimators_[3].fingerprint()
    with pytest.raises(IndexError):
        model[4]
    leaves = model.apply(X)
    for t, tree in enumerate(model):
        np.testing.assert_array_equal(tree.apply(X), leaves[:, t])
        tree.check_parameters()
        tree.save_model(tmp_path / "tree.gb")
        assert gb.load_model(tmp_path / "tree.gb").fingerprint() == tree.fingerprint()
        assert list(tree.feature_names_in_) == list(X.columns)


def test_members_predict_what_the_forest_averages():
    forest = gb.RandomForestClassifier(5).fit(X, NAMES)
    mean = np.mean([tree.predict_proba(X) for tree in forest], axis=0)
    np.testing.assert_allclose(mean, forest.predict_proba(X))
    assert set(forest[0].predict(X)) <= set(NAMES)
    frame = pd.DataFrame({"colour": list("abc") * 20, "size": range(60)})
    forest = gb.RandomForestRegressor(3, categorical_features=["colour"]).fit(frame, range(60))
    mean = np.mean([tree.predict(frame) for tree in forest], axis=0)
    np.testing.assert_allclose(mean, forest.predict(frame))


def test_bags_by_row_numbers():
    forest = gb.RandomForestRegressor(3, max_samples=40).fit(X, Y)
    for i, rows in enumerate(forest.estimators_samples_):
        assert len(rows) == 40
        np.testing.assert_array_equal(np.bincount(rows, minlength=len(X)), forest.bag_counts(i))
    assert not hasattr(
        gb.RandomForestRegressor(3, bootstrap=False).fit(X, Y), "estimators_samples_"
    )


@pytest.mark.parametrize("kind", [gb.GPUBoostClassifier, gb.GPUBoostRegressor])
def test_rounds_of_boosting_add_up_to_the_raw_score(kind):
    model = kind(n_estimators=4).fit(X, Y)
    members = model.estimators_
    assert members.shape == (4, 3 if kind is gb.GPUBoostClassifier else 1)
    total = sum(members[:, -1][r].predict(X) for r in range(4)) + model.ensemble_.base_score[-1]
    scores = model.decision_function(X)[:, -1] if members.shape[1] == 3 else model.predict(X)
    np.testing.assert_allclose(total, scores)


def test_an_unfitted_forest_has_no_trees():
    with pytest.raises(NotFittedError):
        len(gb.RandomForestClassifier())
