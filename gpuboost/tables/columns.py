"""Columns of a table as numbers: what kinds there are, and how each becomes float64.

number
    Numbers; whole numbers beyond 2^53 are rounded to the nearest float64.
bool
    true and false: 1 and 0.
date
    Dates and times of a day in ISO 8601: seconds since 1970-01-01T00:00, in UTC if they have a time
    zone.
clock
    Times without a date, and lengths of time: seconds.
text
    Anything else: category numbers, the places of the values in ascending order.
empty
    No value at all, so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuboost.optional import load
from gpuboost.tables.errors import TableError

#: Most distinct texts of a column; a column with more of them is a name or a number of its row
#: rather than a category.
MAX_TEXTS = 65_535
#: Ticks of a second.
TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
DAY = 86_400.0


def is_number(text: str) -> bool:
    """Whether a text is a number that Python can read."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@lru_cache
def kind_of(arrow_type: Any) -> str | None:
    """The kind of an Arrow type; None if it cannot be a feature."""
    types = load("pyarrow", "reading tables").types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    tests = {
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "text": (
            types.is_string,
            types.is_large_string,
            getattr(types, "is_string_view", types.is_string),
        ),
        "bool": (types.is_boolean,),
        "date": (types.is_date, types.is_timestamp),
        "clock": (types.is_time, types.is_duration),
        "empty": (types.is_null,),
    }
    return next(
        (kind for kind, any_of in tests.items() if any(test(arrow_type) for test in any_of)), None
    )


def joined(a: str, b: str) -> str:
    """The kind of a column that has values of two kinds."""
    if a == "empty" or a == b:
        return b
    return a if b == "empty" else "text"


def fits_float32(arrow_type: Any) -> bool:
    """Whether float32 holds every value of an Arrow type."""
    pa = load("pyarrow", "reading tables")
    small = (
        pa.float32(),
        pa.float16(),
        pa.int8(),
        pa.uint8(),
        pa.int16(),
        pa.uint16(),
        pa.bool_(),
        pa.null(),
    )
    return arrow_type in small or kind_of(arrow_type) == "text"


def to_numbers(column: Any) -> np.ndarray:
    """A column of any kind but text as float64 or float32, NaN where it has no value."""
    if isinstance(column, np.ndarray):
        return column if column.dtype.kind == "f" else column.astype(np.float64)
    pa = load("pyarrow", "reading tables")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = kind_of(column.type)
    if kind in ("date", "clock"):
        return _seconds(pa, column)
    if kind == "empty":
        return np.full(len(column), np.nan)
    if column.type != pa.float32():
        column = column.cast(pa.float64(), safe=False)
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False)
    return numbers


def _seconds(pa: Any, column: Any) -> np.ndarray:
    if pa.types.is_date32(column.type):
        return to_numbers(column.cast(pa.int32())) * DAY
    unit = "ms" if pa.types.is_date64(column.type) else column.type.unit
    whole = pa.int32() if pa.types.is_time32(column.type) else pa.int64()
    return to_numbers(column.cast(whole)) / TICKS[unit]


class Texts:
    """Category numbers of a text column, first in the order in which values turn up."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where
        self.numbers: dict[str, int] = {}

    def code(self, column: Any) -> np.ndarray:
        """Numbers of some rows; NaN where there is no value."""
        codes, values = _encoded(column)
        for value in values:
            self.numbers.setdefault(value, len(self.numbers))
        if len(self.numbers) > MAX_TEXTS:
            raise TableError(
                f"{self.where}: column {self.name!r} has more than {MAX_TEXTS:,} distinct "
                f"texts, such as {values[-1]!r}: no category "
                f"has so many; leave it out with --drop {self.name}"
            )
        table = np.array([*(self.numbers[value] for value in values), np.nan])
        return table.take(codes)

    @property
    def values(self) -> list[str]:
        """The texts, ascending."""
        return sorted(self.numbers)

    def ranks(self) -> np.ndarray:
        """The final number of each provisional one."""
        rank = {value: i for i, value in enumerate(self.values)}
        return np.array([rank[value] for value in self.numbers], np.float64)


class KnownTexts:
    """Category numbers of a text column of a trained model."""

    def __init__(self, values: Iterable[str]) -> None:
        self.numbers = {value: float(i) for i, value in enumerate(values)}
        self.n_unknown, self.example = 0, ""

    def code(self, column: Any) -> np.ndarray:
        """Numbers of some rows; NaN where there is no value, or one that training has not seen."""
        codes, values = _encoded(column)
        known = np.array([value in self.numbers for value in values] + [True])
        if not known.all():
            self.n_unknown += int((~known[codes]).sum())
            self.example = self.example or values[int(np.argmin(known))]
        table = np.array([*(self.numbers.get(value, np.nan) for value in values), np.nan])
        return table.take(codes)


def _encoded(column: Any) -> tuple[np.ndarray, list[str]]:
    """Each row's place in a list of distinct texts, and that list.

    Rows without a value have the place behind the last text.
    """
    if isinstance(column, np.ndarray):
        values, codes = np.unique(column.astype(str), return_inverse=True)
        return codes, [str(value) for value in values]
    pa = load("pyarrow", "reading tables")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind_of(column.type) != "text":
        column = column.cast(pa.string())
    coded = column.dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return codes, values
