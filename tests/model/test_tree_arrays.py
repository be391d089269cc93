"""Trees as the arrays of a file, and back."""

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.model.file import Arrays, ModelFormatError
from gpuboost.model.tree_arrays import NODE_ARRAYS, put_trees, take_trees


@pytest.fixture
def trees(rng):
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    return gb.RandomForestRegressor(n_estimators=3, max_depth=3).fit(x, y).ensemble_.trees


def arrays_of(trees):
    arrays = {}
    put_trees(trees, arrays)
    return arrays


def test_trees_come_back_as_they_were(trees):
    back = take_trees(Arrays(arrays_of(trees)), 2, 1, {})
    assert len(back) == 3
    for one, other in zip(trees, back, strict=True):
        for name in (*NODE_ARRAYS, "impurity", "sets"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("left", 0, 0, "child does not stand behind it"),
        ("left", 0, 3, "child|parent"),
        ("feature", 0, 2, "a feature that is not among the 2"),
        ("threshold", 0, np.nan, "a threshold is NaN"),
        ("missing_left", 0, 2, "missing_left is neither 0 nor 1"),
        ("value", 0, np.inf, "the value of a node"),
        ("n_nodes", 0, 1, "do not add up"),
    ],
)
def test_arrays_that_are_no_trees(trees, name, place, value, message):
    arrays = arrays_of(trees)
    arrays[f"trees/{name}"][place] = value
    with pytest.raises(ModelFormatError, match=message):
        take_trees(Arrays(arrays), 2, 1, {})
