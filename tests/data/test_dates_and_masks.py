"""Dates and masks become numbers, or an error that says where they are."""

import datetime

import numpy as np
import pandas as pd
import pytest

from gpuboost import DecisionTreeRegressor, GPUBoostRegressor
from gpuboost.data.dates_and_masks import plain_table, refuse_mask

DAYS = ["1970-01-02", "1970-01-03T00:00:00.5", "NaT"]
SECONDS = [86400.0, 172800.5, np.nan]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_seconds_in_any_unit(unit):
    times = np.array(DAYS, f"M8[{unit}]")
    np.testing.assert_array_equal(plain_table(times[:, None])[:, 0], SECONDS)
    lengths = (times - times[:1])[:, None]
    np.testing.assert_array_equal(plain_table(lengths)[:, 0], [0.0, 86400.5, np.nan])


def test_days_and_months_are_seconds_too():
    days = np.array(["1970-01-02", "1970-02-01"], "M8[D]")
    np.testing.assert_array_equal(plain_table(days), [86400.0, 31 * 86400.0])
    np.testing.assert_array_equal(plain_table(days.astype("M8[M]")), [0.0, 31 * 86400.0])
    with pytest.raises(ValueError, match="lengths of time in months or years"):
        plain_table(np.array([1, 2], "m8[M]"))


def test_frames_with_dates_and_numbers():
    times = pd.to_datetime(pd.Series(["1970-01-02", "1970-01-03", None]))
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "when": times})
    frame["there"] = frame["when"].dt.tz_localize("Etc/GMT-1")  # an hour ahead of UTC
    frame["long"] = frame["when"] - frame["when"].iloc[0]
    plain = plain_table(frame)
    np.testing.assert_array_equal(plain["when"], [86400.0, 172800.0, np.nan])
    np.testing.assert_array_equal(plain["there"], [82800.0, 169200.0, np.nan])
    np.testing.assert_array_equal(plain["long"], [0.0, 86400.0, np.nan])
    assert frame["when"].dtype.kind == "M"  # the user's frame stays as it is
    numbers = frame[["n"]]
    assert plain_table(numbers) is numbers


@pytest.mark.parametrize("kind", [GPUBoostRegressor, DecisionTreeRegressor])
def test_missing_times_are_missing_in_training_and_prediction(kind):
    when = pd.date_range("2020-01-01", periods=40)
    frame = pd.DataFrame({"n": np.arange(40.0) % 3, "when": when})
    frame.loc[30:, "when"] = pd.NaT
    y = np.where(np.arange(40) < 30, np.arange(40) % 2, 9.0)
    seconds = frame.assign(when=plain_table(frame)["when"])
    model, other = (kind(max_depth=2).fit(table, y) for table in (frame, seconds))
    assert model.fingerprint() == other.fingerprint()
    np.testing.assert_array_equal(model.predict(frame), other.predict(seconds))
    assert model.predict(frame)[-1] > 5


@pytest.mark.parametrize("kind", [GPUBoostRegressor, DecisionTreeRegressor])
def test_objects_that_are_dates_are_refused_by_the_name_of_their_column(kind):
    frame = pd.DataFrame({"n": [1.0, 2.0], "when": [datetime.date(2020, 1, 1), None]}, dtype=object)
    with pytest.raises(ValueError, match="column 'when' of X holds objects of type date"):
        kind().fit(frame, [0.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_what_is_masked_is_missing(dtype):
    x = np.ma.masked_array(np.arange(12).reshape(6, 2) % 5, dtype=dtype)
    x[2, 1] = np.ma.masked
    plain = plain_table(x)
    assert type(plain) is np.ndarray and plain.dtype == (dtype if dtype == np.float32 else float)
    assert np.isnan(plain[2, 1]) and np.isnan(plain).sum() == 1
    y, weight = np.arange(6.0), np.ones(6)
    for kind in (GPUBoostRegressor, DecisionTreeRegressor):
        model = kind(max_depth=2).fit(x, y, weight)
        assert model.fingerprint() == kind(max_depth=2).fit(plain, y, weight).fingerprint()
        np.testing.assert_array_equal(model.predict(x), model.predict(plain))


def test_masked_times_and_masks_that_hide_nothing():
    times = np.ma.masked_array(np.array(DAYS, "M8[ms]"), mask=[True, False, False])
    np.testing.assert_array_equal(plain_table(times), [np.nan, 172800.5, np.nan])
    nothing = np.ma.masked_array([[1, 2]], mask=False)
    assert plain_table(nothing).dtype == np.asarray(nothing).dtype
    refuse_mask("y", nothing)
    with pytest.raises(ValueError, match="y must not have masked entries, as only X may; 1 are"):
        refuse_mask("y", np.ma.masked_array([1, 2], mask=[True, False]))
