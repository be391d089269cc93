"""Rounds that are there before training: their scores, and what they have paid for."""

import numpy as np
import pytest

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.backend import host_backend
from gpuboost.data.features import FeatureMap
from gpuboost.exchange import SplitRules
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.start import Start, same_features

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=80)


def test_scores_begin_at_the_base_the_margin_or_the_trees():
    features, objective = FeatureMap.of_numbers(3), OBJECTIVES["squared_error"]
    margin = RNG.normal(size=(1, 80))
    with host_backend(1) as backend:
        raw = Start(np.array([2.0])).raw(X, 80, None, features, objective, backend)
        np.testing.assert_array_equal(raw, np.full((1, 80), 2.0))
        raw = Start(np.zeros(1)).raw(X, 80, margin, features, objective, backend)
        np.testing.assert_array_equal(raw, margin)
        model = GPUBoostRegressor(n_estimators=3).fit(X, Y)
        start = Start.behind(model.ensemble_, 0, None)
        raw = start.raw(X, 80, None, features, objective, backend)
    np.testing.assert_array_equal(raw[0], model.predict(X))
    assert start.n_rounds == 3


def test_units_of_targets():
    model = GPUBoostRegressor(n_estimators=2).fit(X, Y)
    start = Start.behind(model.ensemble_, 3, None)
    assert start.base_score * 8 == model.ensemble_.base_score
    np.testing.assert_array_equal(start.trees[1].value * 8, model.ensemble_.trees[1].value)


def test_features_that_were_used_cost_nothing():
    model = GPUBoostRegressor(n_estimators=1, max_depth=1).fit(X, Y)
    rules = Start.behind(model.ensemble_, 0, None).rules(SplitRules(costs=np.ones(3)))
    assert rules.costs.tolist() == [0, 1, 1]
    assert Start(np.zeros(1)).rules(SplitRules(costs=np.ones(3))).costs.tolist() == [1, 1, 1]


@pytest.mark.parametrize("encoding", ["partition", "target"])
def test_maps_are_compared_with_all_they_hold(encoding):
    def features(x, y=Y > 0):
        model = GPUBoostClassifier(
            n_estimators=1, categorical_features=[0], categorical_encoding=encoding
        )
        return model.fit(x, y).ensemble_.features

    x = np.column_stack([np.arange(80) % 5, X[:, 1]])
    other = np.column_stack([np.arange(80) % 6, X[:, 1]])
    assert same_features(features(x), features(x))
    assert not same_features(features(x), features(other))
    assert same_features(features(x), features(x, Y > 0.5)) == (encoding == "partition")
