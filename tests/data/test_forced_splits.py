"""Forced splits: how they are given, and the table that growers take."""

import json

import numpy as np
import pytest

from gpuboost.data.forced_splits import (
    check_forced_splits,
    check_paths,
    forced_table,
    number_features,
    read_forced_splits,
)

NESTED = {
    "feature": "age",
    "threshold": 2,
    "left": {"feature": 1, "threshold": 0.5, "right": {"feature": "size", "threshold": -1.0}},
    "right": {"feature": 2, "threshold": 7.5},
}
NAMES = ["age", "size", "rooms"]
CUTS = [np.array([1.0, 3.0, 4.0]), np.array([0.4, 0.7]), np.array([5.0])]


def table_of(given, symmetric=False):
    return forced_table(number_features(read_forced_splits(given, symmetric), NAMES, 3), CUTS)


def test_nested_splits_stand_level_by_level():
    """Thresholds become the nearest cuts: 2 is as near to 1 as to 3, and the lower one is taken."""
    assert table_of(NESTED).tolist() == [
        [0, 1, 1, 2],
        [1, 1, -1, 3],
        [2, 1, -1, -1],
        [1, 1, -1, -1],
    ]


@pytest.mark.parametrize(
    ("threshold", "cut"), [(-9, 1.0), (1.9, 1.0), (2.1, 3.0), (3.4, 3.0), (3.6, 4.0), (99, 4.0)]
)
def test_the_nearest_cut(threshold, cut):
    ((feature, last_bin, *_),) = table_of({"feature": 0, "threshold": threshold})
    assert CUTS[feature][last_bin - 1] == cut


def test_levels_follow_one_another():
    levels = [{"feature": 2, "threshold": 5}, {"feature": "age", "threshold": 3}]
    assert table_of(levels, symmetric=True).tolist() == [[2, 1, 1, 1], [0, 2, -1, -1]]


def test_files_hold_the_same(tmp_path):
    path = tmp_path / "forced.json"
    path.write_text(json.dumps(NESTED))
    for given in (path, str(path)):
        np.testing.assert_array_equal(table_of(given), table_of(NESTED))


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_is_forced(nothing):
    assert read_forced_splits(nothing, False) == []


BAD = [
    ({"feature": 0}, False, "must have a feature and a threshold in each split"),
    ({"feature": 0, "threshold": 1, "gain": 2}, False, "may have left and right; got"),
    ({"feature": 0, "threshold": np.nan}, False, "threshold .*forced_splits must be a number"),
    ({"feature": 0, "threshold": "1"}, False, "threshold .*forced_splits must be a number"),
    ({"feature": 3, "threshold": 1}, False, "by number, 0 to 2; got 3"),
    ({"feature": "x", "threshold": 1}, False, "a feature that X does not have: 'x'"),
    ([{"feature": 0, "threshold": 1}], False, "must be None, the name of a JSON file, or a dict"),
    (NESTED, True, "must be a list with a dict for each level for grow_policy='symmetric'"),
    ([{**NESTED}], True, "nothing else with symmetric growth"),
    ("nowhere.json", False, "names no file with JSON in it: 'nowhere.json'"),
]


@pytest.mark.parametrize(("given", "symmetric", "message"), BAD)
def test_bad_splits_are_named(given, symmetric, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        table_of(given, symmetric)
    assert "forced_splits" in str(error.value)


def test_limits_of_trees():
    check_forced_splits(NESTED, False, max_depth=3, max_leaves=5)
    with pytest.raises(ValueError, match="forced_splits has 3 levels, more than max_depth=2"):
        check_forced_splits(NESTED, False, max_depth=2, max_leaves=9)
    with pytest.raises(ValueError, match="has 4 splits, which make more leaves than max_leaves=4"):
        check_forced_splits(NESTED, False, max_depth=3, max_leaves=4)


def test_paths_are_in_one_group():
    splits = number_features(read_forced_splits(NESTED, False), NAMES, 3)
    check_paths(splits, [{0, 1}, {0, 2}])
    with pytest.raises(ValueError, match=r"forced_splits has the features \[0, 2\] on one path"):
        check_paths(splits, [{0, 1}, {2}])


def test_a_constant_feature_cannot_be_split():
    splits = read_forced_splits({"feature": 0, "threshold": 1}, False)
    with pytest.raises(ValueError, match="splits feature 0, which has a single value"):
        forced_table(splits, [np.empty(0)])
