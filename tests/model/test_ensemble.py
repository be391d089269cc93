"""Trees that are added up."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import gpuboost as gb
from gpuboost.model import ensemble as module
from gpuboost.model.ensemble import ensemble_of, votes


def said_by_tree(ensemble, x, backend):
    """What each tree says of each row, (n_rows, n_trees)."""
    pairs = zip(ensemble.trees, ensemble.leaves(x, backend).T, strict=True)
    return np.stack([tree.value[leaves, 0] for tree, leaves in pairs], axis=1)


@pytest.fixture
def forest(rng):
    x = rng.normal(size=(80, 3))
    model = gb.RandomForestRegressor(n_estimators=4, max_depth=3).fit(x, x[:, 0])
    return ensemble_of(model), x


def test_a_mean_is_the_sum_divided_by_the_weights(forest, backend):
    ensemble, x = forest
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    by_tree = said_by_tree(ensemble, x, backend)
    for combine, own in (("mean", weights), ("sum", np.ones(4))):
        changed = replace(ensemble, tree_weights=own, combine=combine)
        expected = by_tree @ own / (own.sum() if combine == "mean" else 1.0)
        np.testing.assert_allclose(changed.raw(x, backend)[0], expected)


def test_medians_are_by_the_weights_of_the_trees(forest, backend):
    ensemble, x = forest
    median = replace(ensemble, tree_weights=np.array([1.0, 1.0, 5.0, 1.0]), combine="median")
    by_tree, stages = said_by_tree(ensemble, x, backend), list(median.staged_raw(x, backend))
    np.testing.assert_array_equal(stages[1][0], by_tree[:, :2].min(axis=1))
    for raw in (stages[2], stages[3], median.raw(x, backend)):
        np.testing.assert_array_equal(raw[0], by_tree[:, 2])


def test_rows_get_the_trees_that_have_not_seen_them(forest, backend, monkeypatch, rng):
    ensemble, x = forest
    in_bag = rng.random((4, len(x))) < 0.5
    monkeypatch.setattr(module, "TABLE_CELLS", 3 * len(x) // 4)
    said = np.where(in_bag.T, 0.0, said_by_tree(ensemble, x, backend))
    stages = ensemble.staged_unseen_raw(x, lambda i: in_bag[i], [3, 4], backend)
    for end, (sums, n_unseen) in zip([3, 4], stages, strict=True):
        np.testing.assert_array_equal(n_unseen, (~in_bag[:end]).sum(axis=0))
        np.testing.assert_allclose(sums[0], said[:, :end].sum(axis=1))


@pytest.mark.parametrize("combine", ["mean", "median"])
def test_the_last_stage_is_the_prediction(forest, backend, combine):
    ensemble, x = forest
    ensemble = replace(ensemble, combine=combine)
    stages = list(ensemble.staged_raw(x, backend))
    assert len(stages) == ensemble.n_rounds == 4
    np.testing.assert_array_equal(stages[-1], ensemble.raw(x, backend))
    np.testing.assert_array_equal(stages[1], ensemble.raw(x, backend, n_rounds=2))


def test_leaves_come_in_parts_if_the_table_is_large(forest, backend, monkeypatch):
    ensemble, x = forest
    whole = ensemble.leaves(x, backend)
    monkeypatch.setattr(module, "TABLE_CELLS", 3 * len(x))
    for i, tree, leaves in ensemble.leaves_by_tree(x, backend):
        assert tree is ensemble.trees[i]
        np.testing.assert_array_equal(leaves, whole[:, i])


def test_boosting_has_a_tree_for_each_class_in_a_round(rng):
    x = rng.normal(size=(90, 2))
    model = gb.GPUBoostClassifier(n_estimators=3, max_depth=2).fit(x, np.arange(90) % 3)
    ensemble = ensemble_of(model)
    assert (ensemble.trees_per_round, ensemble.n_rounds, len(ensemble.trees)) == (3, 3, 9)
    assert replace(ensemble, n_used=6).used_rounds == 2


def test_importances_are_sums_of_boosting_and_means_of_shares_elsewhere(forest, rng):
    ensemble, x = forest
    shares = [tree.sum_by_feature(tree.gain, 3) for tree in ensemble.trees]
    np.testing.assert_allclose(ensemble.importance(), sum(own / own.sum() for own in shares))
    assert ensemble.importance_shares().sum() == pytest.approx(1.0)
    boosted = ensemble_of(gb.GPUBoostRegressor(n_estimators=2, max_depth=2).fit(x, x[:, 1]))
    splits = [np.bincount(tree.feature[tree.left >= 0], minlength=3) for tree in boosted.trees]
    np.testing.assert_array_equal(boosted.importance("split"), sum(splits))


def test_names_are_those_of_the_data_or_numbers(forest):
    ensemble, _ = forest
    assert ensemble.names() == ["x0", "x1", "x2"]
    assert replace(ensemble, feature_names=["a", "b", "c"]).names() == ["a", "b", "c"]


def test_fingerprints_are_of_what_predictions_depend_on(forest):
    ensemble, _ = forest
    own = ensemble.fingerprint()
    assert ensemble.with_trees(ensemble.trees).fingerprint() == own
    assert replace(ensemble, feature_names=["a", "b", "c"]).fingerprint() == own
    for change in (
        {"combine": "sum"},
        {"base_score": np.ones(1)},
        {"tree_weights": 2 * np.ones(4)},
        {"trees": ensemble.trees[::-1]},
    ):
        assert replace(ensemble, **change).fingerprint() != own, change


def test_pickles_leave_out_what_can_be_derived(forest, backend):
    ensemble, x = forest
    before = len(pickle.dumps(ensemble))
    expected = ensemble.raw(x, backend)
    assert len(pickle.dumps(ensemble)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ensemble)).raw(x, backend), expected)


def test_an_estimator_without_a_model_is_not_fitted():
    with pytest.raises(NotFittedError, match="RandomForestRegressor instance is not fitted yet"):
        ensemble_of(gb.RandomForestRegressor())


def test_votes_go_to_the_first_of_the_highest():
    value = np.array([[0.2, 0.8, 0.5, 0.5, 0.0], [0.6, 0.4, 0.1, 0.4, 0.5]])
    np.testing.assert_array_equal(
        votes(value, np.array([0, 2, 5])), [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    )


def test_the_trees_in_use_are_a_model_of_their_own():
    x, y = load_iris(return_X_y=True)
    model = gb.GPUBoostClassifier(n_estimators=9, early_stopping_rounds=1, learning_rate=1.0)
    ensemble = model.fit(x, y, eval_set=(x, 2 - y)).ensemble_
    assert len(ensemble.in_use.trees) == ensemble.n_used < len(ensemble.trees)
    assert ensemble.in_use.n_used == -1 and ensemble.in_use.in_use is ensemble.in_use
