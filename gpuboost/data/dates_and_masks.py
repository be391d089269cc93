"""Dates and masks of a user's table, which numpy would turn into numbers that mean nothing.

Dates and times become seconds since 1970-01-01 (UTC if they have a time zone), lengths of time
seconds, as in tables read by the command line; NaT and masked entries become NaN.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from gpuboost.backend import device_of


def plain_table(x: Any) -> Any:
    """A matrix or frame with seconds for dates, and NaN for what is masked.

    What is on a device has neither.
    """
    if device_of(x) is not None:
        return x
    if isinstance(x, np.ma.MaskedArray):
        x = _filled(x)
    if isinstance(x, np.ndarray):
        return _seconds(x) if x.dtype.kind in "mM" else x
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return _plain_frame(x)
    return x


def refuse_mask(name: str, values: Any) -> None:
    """Raise if targets or weights are masked: only X may have missing values."""
    if np.ma.is_masked(values):
        n = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must not have masked entries, as only X may; {n} are masked")


def _filled(x: np.ma.MaskedArray) -> np.ndarray:
    out, mask = np.array(x.data), np.ma.getmaskarray(x)
    if not mask.any() or out.dtype.kind == "c":  # complex numbers are refused later
        return out
    if out.dtype.kind in "biu":
        out = out.astype(np.float64)
    out[mask] = np.datetime64("NaT") if out.dtype.kind in "mM" else np.nan
    return out


def _seconds(times: np.ndarray) -> np.ndarray:
    """Times as float64 seconds, with NaN for NaT."""
    unit = np.datetime_data(times.dtype)[0]
    if unit in ("Y", "M") and times.dtype.kind == "m":
        raise ValueError("X has lengths of time in months or years, which are no number of seconds")
    per_second = {"ms": 1e3, "us": 1e6, "ns": 1e9, "ps": 1e12, "fs": 1e15, "as": 1e18}
    missing = np.isnat(times)
    if unit not in per_second:
        times = times.astype(f"{times.dtype.kind}8[s]")
    step = np.datetime_data(times.dtype)[1]
    return np.where(missing, np.nan, times.view(np.int64) * (step / per_second.get(unit, 1.0)))


def _plain_frame(frame: Any) -> Any:
    """A frame of pandas: a copy if a column holds dates."""
    out = frame
    for f, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if getattr(dtype, "kind", "") in ("m", "M"):
            column = frame.iloc[:, f]
            if getattr(dtype, "tz", None) is not None:
                column = column.dt.tz_convert("UTC").dt.tz_localize(None)
            times = np.asarray(column)
            if times.dtype.kind not in "mM":
                raise ValueError(
                    f"column {name!r} of X holds {dtype}, which is not understood; convert it to "
                    "numbers"
                )
            out = frame.copy(deep=False) if out is frame else out
            out.isetitem(f, _seconds(times))
        elif getattr(dtype, "kind", "") == "O":
            _check_objects(name, frame.iloc[:, f])
    return out


def _check_objects(name: Any, column: Any) -> None:
    """Raise if a column of Python objects holds dates: scikit-learn's error does not say where."""
    kinds = (datetime.date, datetime.timedelta, datetime.time, np.datetime64, np.timedelta64)
    known = column[column.notna()]
    if len(known) and isinstance(known.iloc[0], kinds):
        raise ValueError(
            f"column {name!r} of X holds objects of type {type(known.iloc[0]).__name__}; convert "
            "it with pandas.to_datetime, or to numbers"
        )
