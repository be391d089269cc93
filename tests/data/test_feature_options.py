"""Parameters that name features."""

import numpy as np
import pytest

from gpuboost.data.feature_options import (
    feature_costs,
    feature_weights,
    groups_as_bits,
    interaction_groups,
    monotone_directions,
)

NAMES = ["age", "size", "rooms"]


@pytest.mark.parametrize(
    "given",
    [
        {"age": 1, "rooms": -1},
        {0: 1, 2: -1, "size": 0},
        [1, 0, -1],
        (1.0, 0.0, -1.0),
        np.array([1, 0, -1], np.int8),
    ],
    ids=str,
)
def test_ways_to_give_directions(given):
    directions = monotone_directions(given, NAMES, 3)
    assert directions.tolist() == [1, 0, -1] and directions.dtype == np.int32


def test_nothing_is_constrained_by_default():
    assert monotone_directions(None, NAMES, 3).tolist() == [0, 0, 0]


BAD = {
    "a name that is not there": ({"weight": 1}, "feature that X does not have: 'weight'"),
    "a number that is not there": ({3: 1}, "by number, 0 to 2; got 3"),
    "a negative number": ({-1: 1}, "by number, 0 to 2; got -1"),
    "no number": ({1.5: 1}, "by number, 0 to 2; got 1.5"),
    "a flag for a number": ({True: 1}, "by number, 0 to 2; got True"),
    "too few": ([1, 0], "an entry for each of the 3 features of X; got 2"),
    "no direction": ([1, 0, 2], r"-1 \(falls\), 0 \(free\) or 1 \(rises\) for a feature; got 2"),
    "a text": ("rises", "must be None, a dict .*; got 'rises'"),
    "text in a list": (["up", 0, 0], "got 'up'"),
    "one number": (1, "must be None, a dict .*; got 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_directions_are_named(case):
    given, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=f"monotone_constraints .*{message}"):
        monotone_directions(given, NAMES, 3)


def test_names_need_named_columns():
    with pytest.raises(ValueError, match="names the feature 'age', but the columns of X have no"):
        monotone_directions({"age": 1}, None, 3)


@pytest.mark.parametrize("given", [{"age": 4, 2: 0}, [4, 1, 0], np.array([4, 1, 0], np.float32)])
def test_weights_are_shares_of_the_largest(given):
    assert feature_weights(given, NAMES, 3).tolist() == [1.0, 0.25, 0.0]
    assert feature_costs(given, NAMES, 3)[[0, 2]].tolist() == [4.0, 0.0]


def test_what_is_not_mentioned_weighs_1_and_costs_nothing():
    assert feature_weights({"size": 2}, NAMES, 3).tolist() == [0.5, 1.0, 0.5]
    assert feature_weights(None, NAMES, 3).tolist() == [1.0, 1.0, 1.0]
    assert feature_costs({"size": 2}, NAMES, 3).tolist() == [0.0, 2.0, 0.0]
    assert feature_costs(None, NAMES, 3).tolist() == [0.0, 0.0, 0.0]


def test_the_lightest_weights_are_still_weights():
    weights = feature_weights([1e300, 1e-300, 0.0], None, 3)
    assert weights[0] == 1.0 and weights[1] > 0 and weights[2] == 0
    assert np.isfinite(1 / weights[1])


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ([["age", 1]], [{0, 1}, {2}]),
        ([{0}, (1, 2)], [{0}, {1, 2}]),
        ([[0, 1], ["rooms", 1]], [{0, 1}, {1, 2}]),
        ((), [{0, 1, 2}]),
        ("pairwise", [{0, 1}, {0, 2}, {1, 2}]),
        ("no_interactions", [{0}, {1}, {2}]),
    ],
)
def test_groups_of_features(given, groups):
    assert interaction_groups(given, NAMES, 3) == groups


def test_groups_as_bits():
    groups = [{0, 1}] + [{2}] * 70 + [{1}]
    bits = groups_as_bits(groups, 3)
    assert bits.shape == (3, 2) and bits.dtype == np.uint64
    for number, group in enumerate(groups):
        has = bits[:, number // 64] >> np.uint64(number % 64) & np.uint64(1)
        assert set(np.flatnonzero(has)) == group


def test_one_feature_is_one_group():
    for short in ("pairwise", "no_interactions"):
        assert interaction_groups(short, None, 1) == [{0}]
