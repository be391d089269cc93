"""What a model must be to predict."""

from dataclasses import replace

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.data.features import Feature, FeatureMap
from gpuboost.model.checks import check_ascending, check_ensemble
from gpuboost.model.file import ModelFormatError


@pytest.fixture
def ensemble(rng):
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    return gb.RandomForestRegressor(n_estimators=3, max_depth=3).fit(x, y).ensemble_


def test_a_model_that_was_trained_is_fine(ensemble):
    check_ensemble(ensemble)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("left", 0, 0, "child does not stand behind it"),
        ("left", 0, 3, "child|parent"),
        ("feature", 0, 2, "a feature that is not among the 2"),
        ("threshold", 0, np.nan, "a threshold is NaN"),
        ("value", 0, np.inf, "more than a number can hold"),
    ],
)
def test_arrays_that_are_no_trees(ensemble, name, place, value, message):
    getattr(ensemble.trees[0], name)[place] = value
    with pytest.raises(ModelFormatError, match=message):
        check_ensemble(ensemble)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([Feature()], "a feature that is not among the 1"),
        ([Feature("categorical"), Feature()], "feature 0 is categorical, and has categories or"),
        ([Feature("numeric", np.arange(2)), Feature()], "feature 0 is numeric"),
        ([Feature("categorical", np.arange(2)), Feature()], "a nominal feature has no set"),
        ([Feature("ordinal", np.array([2, 1])), Feature()], "must be ascending"),
    ],
)
def test_features_that_the_trees_cannot_have(ensemble, features, message):
    ensemble.trees[0].feature[0] = 0
    ensemble.trees[1].feature[0] = 1
    with pytest.raises(ModelFormatError, match=message):
        check_ensemble(replace(ensemble, features=FeatureMap(features)))


@pytest.mark.parametrize("values", [[1, 1], [2, 1], ["b", "a"], [np.nan, 1.0]])
def test_values_that_do_not_ascend(values):
    with pytest.raises(ModelFormatError, match="the classes must be ascending and distinct"):
        check_ascending(np.array(values), "the classes")
