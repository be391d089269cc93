"""Times as seconds, and seconds as people write times."""

import datetime as dt

import numpy as np
import pytest

from gpuboost.data.times import seconds, seconds_of_array, seconds_of_object, written


def test_equal_times_of_two_units_are_equal_numbers():
    rng = np.random.default_rng(0)
    micros = rng.integers(-(10**15), 2 * 10**15, 1000)
    np.testing.assert_array_equal(seconds(micros, 10**6), seconds(micros * 1000, 10**9))
    np.testing.assert_array_equal(seconds_of_array(micros.view("M8[us]")), seconds(micros, 10**6))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.date(1970, 1, 2), 86400.0),
        (dt.datetime(1970, 1, 1, 0, 0, 1, 500000), 1.5),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), 0.0),
        (dt.time(0, 1, 2, 250000), 62.25),
        (dt.timedelta(days=-1, seconds=1), -86399.0),
        (np.datetime64("1970-01-02"), 86400.0),
        (np.timedelta64(3, "m"), 180.0),
    ],
)
def test_objects(value, expected):
    assert seconds_of_object(value) == expected


@pytest.mark.parametrize(
    ("value", "holds", "text"),
    [
        (0.0, "date", "1970-01-01"),
        (-0.25, "date", "1969-12-31T23:59:59.750"),
        (45296.0, "date", "1970-01-01T12:34:56"),
        (1e20, "date", "1e+20 s"),
        (np.inf, "date", "inf s"),
        (45296.0, "time", "12:34:56"),
        (180000.0, "duration", "2 days 02:00:00"),
        (-0.5, "duration", "-00:00:00.500"),
    ],
)
def test_seconds_are_written_as_people_do(value, holds, text):
    assert written(value, holds) == text
