"""Parts of dates."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from gpuboost.data.date_parts import PARTS, DatePart, check_date_features, date_parts, part_of


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_those_of_pandas(part):
    rng = np.random.default_rng(0)
    seconds = np.floor(rng.uniform(-5e9, 5e9, 2000))
    name = {"weekday": "day_of_week"}.get(part, part)
    theirs = getattr(pd.Series(seconds.astype("M8[s]")).dt, name)
    np.testing.assert_array_equal(part_of(seconds + 0.5, part), theirs)


def test_there_are_none_of_what_is_no_date():
    assert np.isnan(part_of([np.nan, np.inf, 1e18, -1e18], "year")).all()
    first = (dt.datetime(1, 1, 1) - dt.datetime(1970, 1, 1)).total_seconds()
    assert part_of([first], "year") == 1
    x = np.array([[1.0, 86400.0 * 31]])
    assert DatePart(1, "month").of_rows(x) == 2


def test_columns_are_those_of_all_dates_or_are_named():
    holds, names = ["number", "date", "date"], ["n", "a", "b"]
    both = date_parts(["hour", "hour"], holds, names)
    assert both == [DatePart(1, "hour"), DatePart(2, "hour")]
    assert date_parts({"b": ["year", "month"]}, holds, names) == [
        DatePart(2, "year"),
        DatePart(2, "month"),
    ]
    assert date_parts({2: ["day"]}, holds, None) == [DatePart(2, "day")]
    assert date_parts(None, holds, names) == date_parts(["day"], ["number"], None) == []


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("hour", TypeError, "must be None, a list of parts, or a dict .*; got 'hour'"),
        ({"a": "hour"}, TypeError, "must be None, a list of parts, or a dict"),
        (5, TypeError, "must be None, a list of parts, or a dict .*; got 5"),
        (["week"], ValueError, "must have parts among 'year', .*; got 'week'"),
    ],
)
def test_what_is_no_part(given, error, message):
    with pytest.raises(error, match=f"date_features {message}"):
        check_date_features(given)


def test_columns_that_are_no_dates():
    with pytest.raises(ValueError, match="column 'n' of X, which holds no dates but number"):
        date_parts({"n": ["hour"]}, ["number"], ["n"])
    with pytest.raises(ValueError, match="date_features names a feature that X does not have: 'b'"):
        date_parts({"b": ["hour"]}, ["date"], ["a"])
