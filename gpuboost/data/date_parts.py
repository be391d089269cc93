"""Parts of dates, such as the day of the week, as further columns that trees see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gpuboost.data.feature_options import feature_number
from gpuboost.data.times import DATE, DAY, FIRST, LAST


def _months(seconds: np.ndarray) -> np.ndarray:
    """Whole months since January 1970."""
    return seconds.astype("M8[s]").astype("M8[M]").astype(np.int64)


def _days(seconds: np.ndarray) -> np.ndarray:
    """Whole days since 1970-01-01, a Thursday."""
    return np.floor_divide(seconds, DAY).astype(np.int64)


def _since(seconds: np.ndarray, unit: str) -> np.ndarray:
    """Whole days since the month or year began."""
    days = seconds.astype("M8[s]").astype("M8[D]")
    return (days - days.astype(f"M8[{unit}]").astype("M8[D]")).astype(np.int64)


#: What each part is, of whole seconds since 1970 (UTC).
OF_SECONDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "year": lambda s: _months(s) // 12 + 1970,
    "month": lambda s: _months(s) % 12 + 1,
    "day": lambda s: _since(s, "M") + 1,
    "dayofyear": lambda s: _since(s, "Y") + 1,
    "weekday": lambda s: (_days(s) + 3) % 7,  # 0 is Monday
    "hour": lambda s: s // 3600 % 24,
    "minute": lambda s: s // 60 % 60,
}
PARTS = tuple(OF_SECONDS)


@dataclass(frozen=True)
class DatePart:
    """A column that is made of a column of dates."""

    column: int
    part: Annotated[str, PARTS]

    def of_rows(self, x: np.ndarray) -> np.ndarray:
        """The part of each row, NaN where there is no date between the years 1 and 9999."""
        return part_of(x[:, self.column], self.part)


def part_of(seconds: np.ndarray, part: str) -> np.ndarray:
    """A part of dates that are given in seconds.

    Examples
    --------
    >>> part_of(np.array([0.0, 1e9, np.nan]), "weekday")
    array([ 3.,  6., nan])
    """
    seconds = np.asarray(seconds, np.float64)
    known = (seconds >= FIRST) & (seconds <= LAST)
    out = np.full(len(seconds), np.nan)
    out[known] = OF_SECONDS[part](np.floor(seconds[known]).astype(np.int64))
    return out


def check_date_features(given: Any) -> None:
    """Raise unless these could be parts of dates."""
    if given is None:
        return
    groups = list(given.values()) if isinstance(given, Mapping) else [given]
    if any(isinstance(parts, (str, bytes)) or not isinstance(parts, Sequence) for parts in groups):
        raise TypeError(
            "date_features must be None, a list of parts, or a dict of columns and lists of parts; "
            f"got {given!r}"
        )
    for part in (part for parts in groups for part in parts):
        if part not in PARTS:
            raise ValueError(
                f"date_features must have parts among {', '.join(map(repr, PARTS))}; got {part!r}"
            )


def date_parts(given: Any, holds: Sequence[str], names: Sequence[str] | None) -> list[DatePart]:
    """The columns that ``date_features`` asks for: of all dates, or of those that it names."""
    check_date_features(given)
    if given is None:
        return []
    n_columns, dates = len(holds), [f for f, what in enumerate(holds) if what == DATE]
    if not isinstance(given, Mapping):
        given = dict.fromkeys(dates, given)
    out = [
        DatePart(feature_number("date_features", chosen, names, n_columns), part)
        for chosen, parts in given.items()
        for part in dict.fromkeys(parts)
    ]
    for one in out:
        if one.column not in dates:
            called = one.column if names is None else repr(names[one.column])
            raise ValueError(
                f"date_features names column {called} of X, which holds no dates but "
                f"{holds[one.column]}"
            )
    return out
