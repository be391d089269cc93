"""The columns of what users give as X, one at a time: frames of any library, arrays and lists.

Frames are read through narwhals, which is imported when the first one comes. Plain arrays of
numbers need none of this: ``columns_of`` returns None for them, and they are taken as they are.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gpuboost.backend import device_of
from gpuboost.data.times import (
    DATE,
    DURATION,
    IN_SECONDS,
    STEPS,
    TIME,
    seconds,
    seconds_of_array,
    seconds_of_object,
)

#: What columns hold. "category" is what its owner calls so, by a dtype; "empty" has no value.
NUMBER, BOOLEAN, TEXT, CATEGORY, EMPTY = "number", "boolean", "text", "category", "empty"
HOLDS = (NUMBER, BOOLEAN, DATE, TIME, DURATION, TEXT, CATEGORY, EMPTY)
#: What tables of Arrow have, those of libraries that narwhals does not know, too.
ARROW = "__arrow_c_stream__"
#: Bytes of rows that are filled together, column by column: they stay in the second-level cache.
STRIPE = 1 << 17


class Columns(ABC):
    """Columns of one table.

    What is asked twice is computed once, as categories are learned from the same columns that are
    then coded.
    """

    names: list[Any] | None = None  # None: they have none
    is_frame = False

    def __init__(self, native: Any, n_rows: int, n_columns: int) -> None:
        self.native, self.n_rows, self._n_columns = native, n_rows, n_columns
        self._levels: dict[int, tuple[np.ndarray, list[Any]]] = {}

    def __len__(self) -> int:
        """How many columns."""
        return self._n_columns

    def called(self, f: int) -> str:
        """A column for messages: its name, or its number."""
        return repr(self.names[f]) if self.names is not None else str(f)

    def levels(self, f: int) -> tuple[np.ndarray, list[Any]]:
        """Each row's place in a list of the distinct values, -1 if it has none, and that list."""
        if f not in self._levels:
            self._levels[f] = self._find_levels(f)
        return self._levels[f]

    def order_levels(self, f: int, order: np.ndarray) -> None:
        """Put the distinct values of a column in another order, given by their places."""
        codes, values = self.levels(f)
        place = np.full(len(order) + 1, -1, np.int32)  # the last one is that of no value
        place[order] = np.arange(len(order), dtype=np.int32)
        self._levels[f] = place[codes], [values[i] for i in order.tolist()]

    def matrix(self) -> np.ndarray | None:
        """All columns as one matrix of numbers, if there is a short way to it."""
        return None

    @abstractmethod
    def holds(self, f: int) -> str:
        """What a column holds, one of ``HOLDS``."""

    @abstractmethod
    def numbers(self, f: int) -> np.ndarray:
        """A column as numbers, NaN where it has no value; times as seconds."""

    @abstractmethod
    def _find_levels(self, f: int) -> tuple[np.ndarray, list[Any]]:
        """What ``levels`` returns."""


def columns_of(x: Any) -> Columns | None:
    """The columns of a table that is no plain matrix of numbers; None for one that is.

    None also for what is on a device, for sparse matrices, and for what is no table: scikit-learn's
    checks say what is wrong with it.
    """
    if isinstance(x, Columns):
        return x
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return None
    if x is None or issparse(x) or device_of(x) is not None:
        return None
    if not isinstance(x, (np.ndarray, list, tuple)) and (
        hasattr(type(x), "columns") or hasattr(type(x), ARROW)
    ):
        return FrameColumns.of(x)
    if isinstance(x, np.ma.MaskedArray):
        x = _filled(x)
    array = _array(x)
    return None if array is None or array.dtype.kind in "biufc" else ArrayColumns(array)


def _array(x: Any) -> np.ndarray | None:
    """Lists and whatever numpy takes as an array of two dimensions, else None."""
    try:
        array = np.asarray(x)
        if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
            array = np.array(x, dtype=object)  # numbers among texts stay numbers
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 2 else None


def take_rows(x: Any, rows: np.ndarray) -> Any:
    """Some rows of a table of any kind, given by their numbers, as a table of this kind."""
    columns = columns_of(x)
    if isinstance(columns, FrameColumns):
        return columns.frame[rows.tolist(), :].to_native()
    return x[rows] if issparse(x) else np.asarray(x)[rows]


def without_column(x: Any, f: int) -> Any:
    """All columns of a table but one."""
    columns = columns_of(x)
    if isinstance(columns, FrameColumns):
        return columns.frame.drop(columns.frame.columns[f]).to_native()
    if issparse(x):
        return x[:, [other for other in range(x.shape[1]) if other != f]]
    return np.delete(np.asarray(x), f, axis=1)


def plain_matrix(x: Any) -> Any:
    """A matrix of numbers without a mask; what is masked is NaN."""
    return _filled(x) if isinstance(x, np.ma.MaskedArray) else x


def _filled(x: np.ma.MaskedArray) -> np.ndarray:
    out, mask = np.array(x.data), np.ma.getmaskarray(x)
    if not mask.any() or out.dtype.kind == "c":  # complex numbers are refused later
        return out
    if out.dtype.kind in "biu":
        out = out.astype(np.float64)
    missing: Any = np.nan
    if out.dtype.kind in "mM":
        missing = np.array("NaT", out.dtype)
    elif out.dtype.kind in "US":
        out, missing = out.astype(object), None
    out[mask] = missing
    return out


def beside(columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
    """Columns of numbers beside each other, stored by rows, in a dtype that holds all of them."""
    dtype = np.result_type(np.float32, *columns) if columns else np.dtype(np.float64)
    out = np.empty((n_rows, len(columns)), dtype)
    fill(out, columns)
    return out


def fill(out: np.ndarray, columns: Sequence[np.ndarray]) -> None:
    """Put columns beside each other into a matrix that is stored by rows."""
    step = max(64, STRIPE // max(out.itemsize * out.shape[1], 1))
    for begin in range(0, len(out), step):
        stripe = out[begin : begin + step]
        for f, column in enumerate(columns):
            stripe[:, f] = column[begin : begin + step]


# --- frames


class FrameColumns(Columns):
    """Columns of a frame that narwhals understands."""

    is_frame = True

    def __init__(self, frame: Any, native: Any) -> None:
        super().__init__(native, *frame.shape)
        self.frame, self.names = frame, list(frame.columns)

    @classmethod
    def of(cls, x: Any) -> FrameColumns | None:
        """Of a frame of any library that narwhals knows; None for anything else."""
        import narwhals.stable.v2 as nw  # not with the library: only frames need it

        try:
            frame = nw.from_native(x, pass_through=True)
            if not isinstance(frame, nw.DataFrame) and hasattr(type(x), ARROW):
                frame = _of_arrow(x)
                x = frame.to_native() if isinstance(frame, nw.DataFrame) else x
            if isinstance(frame, nw.DataFrame):
                return cls(frame, x)
        except nw.exceptions.DuplicateError as error:
            twice = [line.removeprefix("- ") for line in str(error).splitlines()[1:]]
            raise ValueError(
                f"the columns of X must have different names; got {', '.join(twice)}"
            ) from error
        if isinstance(frame, nw.LazyFrame):
            raise TypeError(
                f"X is a {type(x).__module__}.{type(x).__qualname__} whose rows are not computed "
                "yet: call its method collect(), or what makes a frame in memory of it"
            )
        return None

    @cached_property
    def _dtypes(self) -> list[Any]:
        return list(self.frame.schema.values())

    @cached_property
    def _series(self) -> list[Any]:
        import narwhals.stable.v2 as nw

        columns = list(self.frame.iter_columns())
        if not self.frame.implementation.is_pyarrow():
            return columns
        # Arrow can neither filter nor look up views of texts
        return [
            one.cast(nw.String) if str(one.to_native().type) == "string_view" else one
            for one in columns
        ]

    def reordered(self, names: Sequence[Any]) -> FrameColumns:
        """The same columns in another order."""
        frame = self.frame.select(*names)
        return FrameColumns(frame, frame.to_native())

    def matrix(self) -> np.ndarray | None:
        """All columns as one matrix, if they are of one float dtype: mostly without a copy.

        Not of Arrow: narwhals takes seven times as long for it as columns, one by one (2026-11).
        """
        dtypes = set(self._dtypes)
        dtype = str(next(iter(dtypes), ""))
        is_slow = self.frame.implementation.is_pyarrow()
        if is_slow or len(dtypes) != 1 or dtype not in ("Float32", "Float64"):
            return None
        matrix: np.ndarray = self.frame.to_numpy()
        return matrix if matrix.dtype == dtype.lower() else None

    def holds(self, f: int) -> str:
        """By the dtype of the column; objects by what they are."""
        dtype = self._dtypes[f]
        if dtype.is_numeric():
            return NUMBER
        import narwhals.stable.v2 as nw

        if dtype == nw.Boolean:
            return BOOLEAN
        by_dtype = {
            nw.Date: DATE, nw.Datetime: DATE, nw.Time: TIME, nw.Duration: DURATION,
            nw.Categorical: CATEGORY, nw.Enum: CATEGORY,
        }  # fmt: skip
        for kind, what in by_dtype.items():
            if dtype == kind:
                return what
        if dtype == nw.String:  # pandas: also a column of objects without any value
            series = self._series[f]
            return EMPTY if series.null_count() == len(series) else TEXT
        if dtype in (nw.Object, nw.Unknown):
            return _held_by_objects(self._known(f)[1].to_list(), self.called(f))
        raise ValueError(
            f"column {self.called(f)} of X holds {dtype}, which is no number, text, date or "
            "category: make numbers of it, or leave it out"
        )

    def _known(self, f: int) -> tuple[np.ndarray, Any]:
        """Which rows have a value, and the values."""
        series = self._series[f]
        known = ~np.asarray(series.is_null().to_numpy(), np.bool_)
        return known, series if known.all() else series.filter(known.tolist())

    def numbers(self, f: int) -> np.ndarray:
        """A column as numbers."""
        import narwhals.stable.v2 as nw

        holds, series = self.holds(f), self._series[f]
        if holds == EMPTY:
            return np.full(len(series), np.nan, np.float32)
        if holds == BOOLEAN and series.dtype == nw.Boolean:
            return np.asarray(series.cast(nw.Float32).to_numpy(), np.float32)
        if holds == NUMBER and series.dtype.is_numeric():
            if series.dtype in (nw.Int128, nw.UInt128, nw.Decimal):  # which numpy has not
                series = series.cast(nw.Float64)
            numbers = np.asarray(series.to_numpy())
            kept = numbers.dtype.kind in "iuf" and numbers.dtype != np.float16
            return numbers if kept else np.asarray(numbers, np.float64)
        known, values = self._known(f)
        out = np.full(len(known), np.nan)
        if series.dtype in (nw.Date, nw.Datetime, nw.Duration):
            out[known] = _seconds_of_series(values)
        else:
            out[known] = _numbers_of_objects(values.to_list(), holds, self.called(f))
        return out

    def _find_levels(self, f: int) -> tuple[np.ndarray, list[Any]]:
        import narwhals.stable.v2 as nw

        series = self._series[f]
        if series.implementation.is_pandas() and hasattr(series.to_native(), "cat"):
            return _levels_of_categorical(series.to_native().cat, self.called(f))
        known, series = self._known(f)
        codes = np.full(len(known), -1, np.int32)
        if not known.any():
            return codes, []
        if series.dtype in (nw.String, nw.Categorical, nw.Enum):
            values = series.unique().to_list()
            if isinstance(values[0], str):
                place = list(range(len(values)))
                places = series.replace_strict(values, place, return_dtype=nw.Int32)
                codes[known] = places.to_numpy()
                return codes, values
        codes[known], values = _coded(np.asarray(series.to_numpy()), self.called(f))
        return codes, values


def _of_arrow(x: Any) -> Any:
    """A frame of what hands out a table in Arrow's interface; ``x`` itself if it is no table."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    try:
        table = pa.table(x)
    except (TypeError, ValueError):  # a single column, say
        return x
    return nw.from_native(table)


def _levels_of_categorical(column: Any, called: str) -> tuple[np.ndarray, list[Any]]:
    """``levels`` of a categorical column of pandas, by its codes."""
    codes = np.asarray(column.codes)
    n_rows = np.bincount(codes[codes >= 0], minlength=len(column.categories))
    used = np.flatnonzero(n_rows)
    categories = column.categories if n_rows.all() else column.categories.take(used)
    values = categories.to_numpy()
    place = np.full(len(n_rows) + 1, -1, np.int32)  # the last one is that of no value
    if len(values) and isinstance(values[0], str):
        place[used] = np.arange(len(used), dtype=np.int32)
        return place[codes], values.tolist()
    place[used], known = _coded(values, called)
    return place[codes], known


def _seconds_of_series(values: Any) -> np.ndarray:
    """Seconds of times that are all there; equal times of any unit give equal numbers."""
    unit = getattr(values.dtype, "time_unit", "ms")
    if str(values.dtype).startswith("Duration"):
        unit = {"s": "ms"}.get(unit, unit)
        words = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
        whole = getattr(values.dt, f"total_{words[unit]}")()
    else:
        unit = {"s": "ms"}.get(unit, unit)
        whole = values.dt.timestamp(unit)
    return seconds(np.asarray(whole.to_numpy(), np.int64), STEPS[unit])


# --- arrays and lists


class ArrayColumns(Columns):
    """Columns of a matrix of times, texts or objects; numbers, if some of them are categories."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array, *array.shape)
        self._array = array
        self._held: dict[int, str] = {}

    def holds(self, f: int) -> str:
        """By the dtype of the matrix; objects by what they are."""
        if f not in self._held:
            self._held[f] = self._find_held(f)
        return self._held[f]

    def _find_held(self, f: int) -> str:
        kind = self._array.dtype.kind
        if kind == "O":
            column = self._array[:, f]
            return _held_by_objects(column[_has_value(column)].tolist(), self.called(f))
        by_kind = {"m": DURATION, "M": DATE, "U": TEXT, "S": TEXT, "b": BOOLEAN}
        return by_kind.get(kind, NUMBER)

    def numbers(self, f: int) -> np.ndarray:
        """A column as numbers."""
        column, kind = self._array[:, f], self._array.dtype.kind
        if kind in "mM":
            return seconds_of_array(column)
        if kind not in "OUS":
            return column.astype(np.float32) if kind == "b" else column
        known, out = _has_value(column), np.full(len(column), np.nan)
        out[known] = _numbers_of_objects(column[known].tolist(), self.holds(f), self.called(f))
        return out

    def _find_levels(self, f: int) -> tuple[np.ndarray, list[Any]]:
        column = self._array[:, f]
        known = _has_value(column)
        codes = np.full(len(column), -1, np.int32)
        if not known.any():
            return codes, []
        codes[known], values = _coded(column[known], self.called(f))
        return codes, values


def _has_value(column: np.ndarray) -> np.ndarray:
    """Where a column has one."""
    if column.dtype.kind != "O":
        return column == column
    return np.array([not is_missing(value) for value in column], bool)


def is_missing(value: Any) -> bool:
    """Whether an object stands for no value: None, NaN, NaT, and pandas' NA."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA of pandas is neither equal nor different
        return type(value).__name__ == "NAType"


def _coded(values: np.ndarray, called: str) -> tuple[np.ndarray, list[Any]]:
    """Places in the list of the distinct values, and that list."""
    if values.dtype.kind in "mM":
        values = np.datetime_as_string(values) if values.dtype.kind == "M" else values.astype(str)
    if values.dtype.kind == "S":
        values = values.astype(object)
    if values.dtype.kind != "O":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), distinct.tolist()
    place: dict[Any, int] = {}
    try:
        codes = np.array([place.setdefault(_level(value), len(place)) for value in values])
    except (TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"column {called} of X has values that are no categories: {error}") from (
            error
        )
    return codes.astype(np.int32), list(place)


def _level(value: Any) -> Any:
    """A category as text or as a number: intervals, times and what else has a text are texts."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, decimal.Decimal):
        return float(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (str, numbers.Number)):
        return value
    hash(value)  # a category does not change
    kind: Any = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise TypeError(f"{kind.__name__} has no text")
    return str(value)


# --- Python objects


def _held_by_objects(values: list[Any], called: str) -> str:
    """What a column of objects holds, from those that are there."""
    kinds = set(map(type, values))
    for types, what in (
        ((str, bytes), TEXT),
        ((bool, np.bool_), BOOLEAN),
        ((datetime.date, np.datetime64), DATE),  # with times of a day, too
        ((datetime.time,), TIME),
        ((datetime.timedelta, np.timedelta64), DURATION),
    ):
        if kinds and all(issubclass(kind, types) for kind in kinds):
            return what
    if not kinds:
        return EMPTY
    if any(issubclass(kind, (str, bytes)) for kind in kinds):
        texts = next(value for value in values if isinstance(value, (str, bytes)))
        other = next(value for value in values if not isinstance(value, (str, bytes)))
        raise ValueError(
            f"column {called} of X holds texts and other objects: {texts!r} and {other!r}; make "
            "texts or numbers of all of them"
        )
    return NUMBER


def _numbers_of_objects(values: list[Any], holds: str, called: str) -> np.ndarray:
    """Objects, all of which are there, as numbers."""
    if holds in IN_SECONDS:
        return np.array([seconds_of_object(value) for value in values], np.float64)
    try:
        return np.array([float(value) for value in values], np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # as scikit-learn asks for
        raise kind(
            f"X must hold numbers; column {called} does not ({error}): name it in "
            "categorical_features, make numbers of it, or leave it out"
        ) from error
