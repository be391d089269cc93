"""Parameters that name features."""

import numpy as np
import pytest

from gpuboost.data.feature_options import monotone_directions

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
