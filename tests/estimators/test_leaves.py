"""``apply`` and ``decision_path`` of all families."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gpuboost as gb

X, Y = load_iris(return_X_y=True)
SEVERAL = [
    gb.RandomForestClassifier(4),
    gb.ExtraTreesRegressor(4),
    gb.AdaBoostClassifier(n_estimators=4),
    gb.AdaBoostRegressor(n_estimators=4),
    gb.GPUBoostRegressor(n_estimators=4),
    gb.GPUBoostClassifier(n_estimators=4),
]


@pytest.mark.parametrize("model", SEVERAL, ids=lambda model: type(model).__name__)
def test_leaves_and_paths_of_each_tree(model):
    """Values of the leaves add up to the prediction, and paths end in the leaves."""
    model.fit(X, Y)
    leaves, (paths, begins) = model.apply(X), model.decision_path(X)
    trees = model.ensemble_.trees
    assert leaves.shape == (len(X), len(trees)) and len(begins) == len(trees) + 1
    paths = paths.toarray()
    for t, tree in enumerate(trees):
        own = paths[:, begins[t] : begins[t + 1]]
        assert own.shape[1] == len(tree.left) and own[:, 0].all()
        assert own[np.arange(len(X)), leaves[:, t]].all() and (tree.left[leaves[:, t]] < 0).all()
        np.testing.assert_array_equal(own.sum(axis=1), tree.depth[leaves[:, t]] + 1)


def test_the_values_of_the_leaves_are_the_prediction():
    model = gb.GPUBoostClassifier(n_estimators=5).fit(X, Y)
    leaves = model.apply(X)
    raw = np.repeat(model.ensemble_.base_score[None], len(X), axis=0)
    for t, tree in enumerate(model.ensemble_.trees):
        raw[:, t % 3] += tree.value[leaves[:, t], 0]
    np.testing.assert_array_equal(raw, model.decision_function(X))


def test_rounds_behind_the_best_one_are_left_out():
    model = gb.GPUBoostClassifier(n_estimators=20, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(X[::2], Y[::2], eval_set=(X[1::2], Y[::2][::-1]))
    n_used = 3 * (model.best_iteration_ + 1)
    assert n_used < len(model.ensemble_.trees)
    assert model.apply(X).shape == (len(X), n_used)
    assert len(model.decision_path(X)[1]) == n_used + 1


def test_a_single_tree_has_no_second_dimension():
    model = gb.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    assert model.apply(X).shape == (len(X),)
    assert model.decision_path(X).shape == (len(X), model.tree_.node_count)
