"""Columns of a table as numbers: what kinds there are, and how each becomes float64.

number
    Numbers; whole numbers beyond 2^53 are rounded to the nearest float64.
bool
    true and false: 1 and 0.
date
    Dates and times of a day: seconds since 1970-01-01T00:00, in UTC if they have a time zone.
clock
    Times without a date, and lengths of time: seconds.
text
    Anything else: category numbers, the places of the values in ascending order.
empty
    No value at all, so far.

Texts that are all numbers or dates as people write them ($1,234.50, 31/12/2024) are numbers or
dates.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuboost.data.categorical import ascending
from gpuboost.data.formatted_values import candidates, is_date, parsed
from gpuboost.data.times import DAY, STEPS, seconds
from gpuboost.optional import load
from gpuboost.tables.errors import TableError

#: Most distinct texts of a column; a column with more of them is a name or a number of its row
#: rather than a category.
MAX_TEXTS = 65_535
#: Rows whose texts show whether they may be formatted numbers.
LOOKED_AT = 1_000


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
    """As ``data/columns.py`` makes them of a frame: equal times are equal numbers."""
    if pa.types.is_date32(column.type):
        return to_numbers(column.cast(pa.int32())) * DAY
    unit = "ms" if pa.types.is_date64(column.type) else column.type.unit
    whole = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
    known = whole.is_valid().to_numpy(zero_copy_only=False)
    numbers = seconds(whole.fill_null(0).to_numpy(zero_copy_only=False), STEPS[unit])
    return np.where(known, numbers, np.nan)


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
        """The texts, in the order of their numbers."""
        return list(ascending(self.numbers, repr(self.name)))

    def ranks(self) -> np.ndarray:
        """The final number of each provisional one."""
        rank = {value: i for i, value in enumerate(self.values)}
        return np.array([rank[value] for value in self.numbers], np.float64)


class MaybeFormatted:
    """A text column whose values may all be numbers or dates in one format.

    Parameters
    ----------
    typed : bool
        Whether the table says that the column is text; plain numbers then stay text.
    decimal_comma : bool
        Whether decimal commas are likelier than points.
    """

    def __init__(self, typed: bool, decimal_comma: bool) -> None:
        self._typed, self._decimal_comma = typed, decimal_comma
        #: Formats that all values so far are in, the likeliest first; None before the first value.
        self.formats: list[str] | None = None
        #: A value that is no plain number, and what it was taken for.
        self.example: tuple[str, float] | None = None
        #: Whether earlier rows were taken for something else: the table must be read again.
        self.misread = False
        self._given = False

    def read(self, column: Any) -> np.ndarray | None:
        """Some rows as numbers; None if the column is text."""
        texts = as_texts(column)
        if self.formats is None:
            self.formats = self._guess(texts)
        if self.formats is None:
            return np.full(len(texts), np.nan)
        readings = [(form, *parsed(texts, form)) for form in self.formats]
        good = [(form, numbers) for form, numbers, fits in readings if fits.all()]
        first, self.formats = self.formats[:1], [form for form, _ in good]
        if self._given and self.formats[:1] != first:
            self.example, self.misread = None, True
        if not good:
            return None
        self._given = True
        numbers = good[0][1]
        if self.example is None:
            unusual = next(
                (i for i, t in enumerate(texts.to_pylist()) if t and not is_number(t)), -1
            )
            self.example = (texts[unusual].as_py(), numbers[unusual]) if unusual >= 0 else None
        return numbers

    def begin(self, first_text: str | None) -> None:
        """The table is read from its beginning; it may be known which value makes this text."""
        self._given = self.misread = False
        if self.formats is None and first_text is not None:
            self.formats = candidates(first_text, self._decimal_comma)

    def note(self, name: str) -> str:
        """A sentence about what its values were taken for."""
        assert self.formats and self.example is not None
        text, value = self.example
        if is_date(self.formats[0]):
            what, shown = f"dates ({self.formats[0]}), in seconds since 1970", _iso(value)
        else:
            what, shown = "numbers", f"{value:.15g}"
        others = [form for form in self.formats[1:] if form[1:] == self.formats[0][1:]]
        others += [form for form in self.formats[1:] if is_date(form)]
        doubt = ""
        if others:
            pa = load("pyarrow", "reading tables")
            other = float(parsed(pa.array([text]), others[0])[0][0])
            if other != value:
                shown_other = _iso(other) if is_date(others[0]) else f"{other:.15g}"
                doubt = f"; no value tells that it is not {shown_other}"
        return (
            f"column {name!r} is read as {what}: {text!r} is {shown}{doubt} "
            f"(--text {shlex.quote(name)} keeps it text)"
        )

    def _guess(self, texts: Any) -> list[str] | None:
        """Formats that some of the first values may be in; None if there is no value."""
        some = [text for text in texts.slice(0, LOOKED_AT).unique().to_pylist() if text is not None]
        some = some or [text for text in texts.unique().to_pylist() if text is not None]
        if not some:
            return None
        if self._typed and all(map(is_number, some)):
            return []
        formats = [candidates(text, self._decimal_comma) for text in some]
        return list(dict.fromkeys(form for of_text in formats for form in of_text))


def _iso(seconds: float) -> str:
    """A moment in ISO 8601; the day alone at midnight."""
    moment = str(np.datetime64(int(seconds), "s"))
    return moment.removesuffix("T00:00:00")


class KnownTexts:
    """Category numbers of a text column of a trained model."""

    def __init__(self, values: Iterable[str], number_of_new: float = np.nan) -> None:
        self.numbers = {value: float(i) for i, value in enumerate(values)}
        self.number_of_new = number_of_new
        self.n_unknown, self.example = 0, ""

    def code(self, column: Any) -> np.ndarray:
        """Numbers of some rows; NaN where there is no value."""
        codes, values = _encoded(column)
        known = np.array([value in self.numbers for value in values] + [True])
        if not known.all():
            self.n_unknown += int((~known[codes]).sum())
            self.example = self.example or values[int(np.argmin(known))]
        table = np.array(
            [*(self.numbers.get(value, self.number_of_new) for value in values), np.nan]
        )
        return table.take(codes)


def as_texts(column: Any) -> Any:
    """A column of text as an Arrow array of texts."""
    pa = load("pyarrow", "reading tables")
    if isinstance(column, np.ndarray):
        return pa.array(column.astype(str))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string())


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
