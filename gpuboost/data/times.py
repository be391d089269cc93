"""Dates, times of the day and lengths of time: as seconds, and as people write them."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

#: What becomes seconds: since 1970-01-01T00:00 (UTC), since midnight, in all.
DATE, TIME, DURATION = "date", "time", "duration"
IN_SECONDS = (DATE, TIME, DURATION)
DAY = 86_400
EPOCH = datetime.datetime(1970, 1, 1)
#: Steps of a second in each unit of numpy's and Arrow's times.
STEPS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
#: Seconds that are written as dates: those of the years 1 to 9999.
FIRST, LAST = -62_135_596_800, 253_402_300_799


def seconds(whole: np.ndarray, steps: int) -> np.ndarray:
    """Whole numbers of steps as seconds: the same number for the same time in any unit."""
    return whole // steps + (whole % steps) / steps


def seconds_of_array(times: np.ndarray) -> np.ndarray:
    """Times as float64 seconds, with NaN for NaT."""
    unit, step = np.datetime_data(times.dtype)
    if unit in ("Y", "M") and times.dtype.kind == "m":
        raise ValueError("X has lengths of time in months or years, which are no number of seconds")
    missing = np.isnat(times)
    if unit not in STEPS:
        times, unit, step = times.astype(f"{times.dtype.kind}8[s]"), "s", 1
    whole = np.where(missing, 0, np.ascontiguousarray(times).view(np.int64))
    return np.where(missing, np.nan, seconds(whole * step, STEPS[unit]))


def seconds_of_object(value: Any) -> float:
    """A date, a time of the day or a length of time as seconds."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return float(seconds_of_array(np.array([value]))[0])
    if isinstance(value, datetime.time):
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return float(whole + value.microsecond / 1e6)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        value = value - EPOCH
    elif isinstance(value, datetime.date):
        value = datetime.datetime(value.year, value.month, value.day) - EPOCH
    return float(value.days * DAY + value.seconds + value.microseconds / 1e6)


# --- for people


def written(value: float, holds: str) -> str:
    """Seconds as a date, a time of the day or a length of time, to the millisecond.

    Examples
    --------
    >>> written(86400.0, "date"), written(90061.5, "date")
    ('1970-01-02', '1970-01-02T01:01:01.500')
    >>> written(3723.0, "time"), written(90061.0, "duration"), written(-1.5, "duration")
    ('01:02:03', '1 day 01:01:01', '-00:00:01.500')
    """
    if not np.isfinite(value) or (holds == DATE and not FIRST <= value <= LAST):
        return f"{float(value):g} s"
    ticks = round(float(value) * 1000)
    if holds == DATE:
        moment = str(np.datetime64(ticks, "ms"))
        return moment.removesuffix(".000").removesuffix("T00:00:00")
    days, rest = divmod(abs(ticks), DAY * 1000)
    if holds == TIME:
        days, rest = 0, abs(ticks)
    clock = f"{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}"
    clock += f".{rest % 1000:03}" if rest % 1000 else ""
    whole = f"{days} day{'s' if days > 1 else ''} " if days else ""
    return f"{'-' if ticks < 0 else ''}{whole}{clock}"
