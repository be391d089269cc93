"""Columns of frames, arrays and lists: what they hold, their numbers and their levels."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gpuboost import DecisionTreeRegressor, GPUBoostRegressor
from gpuboost.data.columns import beside, columns_of, plain_matrix, take_rows, without_column

NAN = np.nan
MOMENT = dt.datetime(2020, 1, 1, 12, 30, 15, 123456)
#: A column of each kind: values, what it holds, its numbers.
KINDS = {
    "float": ([1.5, None, -2.0], "number", [1.5, NAN, -2.0]),
    "int": ([1, None, 3], "number", [1, NAN, 3]),
    "bool": ([True, None, False], "boolean", [1, NAN, 0]),
    "decimal": ([Decimal("1.5"), None, Decimal("2.25")], "number", [1.5, NAN, 2.25]),
    "moment": ([MOMENT, None, dt.datetime(1969, 12, 31, 23)], "date",
               [1577881815.123456, NAN, -3600.0]),
    "day": ([dt.date(2020, 1, 1), None, dt.date(1969, 12, 31)], "date",
            [1577836800.0, NAN, -86400.0]),
    "clock": ([dt.time(1, 2, 3, 500000), None, dt.time(23)], "time", [3723.5, NAN, 82800.0]),
    "length": ([dt.timedelta(days=1, seconds=2), None, dt.timedelta(seconds=-7)], "duration",
               [86402.0, NAN, -7.0]),
    "nothing": ([None, None, None], "empty", [NAN, NAN, NAN]),
}  # fmt: skip
ARROW = pa.table({name: values for name, (values, _, _) in KINDS.items()})
TABLES = {
    "pyarrow": ARROW,
    "polars": pl.from_arrow(ARROW),
    "pandas": ARROW.to_pandas(),
    "pandas with Arrow's dtypes": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of objects": pd.DataFrame({n: v for n, (v, _, _) in KINDS.items()}, dtype=object),
    "objects": np.array([v for v, _, _ in KINDS.values()], dtype=object).T,
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_in_every_table(table, name):
    columns, f = columns_of(TABLES[table]), list(KINDS).index(name)
    _, holds, numbers = KINDS[name]
    assert columns.holds(f) == holds
    np.testing.assert_array_equal(columns.numbers(f), numbers)


def test_nullable_dtypes_of_pandas():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], "Int64"),
            "b": pd.array([True, None], "boolean"),
            "f": pd.array([0.5, None], "Float32"),
        }
    )
    columns = columns_of(frame)
    matrix = beside([columns.numbers(f) for f in range(3)], 2)
    np.testing.assert_array_equal(matrix, [[1, 1, 0.5], [NAN, NAN, NAN]])


TEXTS = ["b", None, "a", "b"]


@pytest.mark.parametrize(
    ("column", "holds"),
    [
        (pl.Series(TEXTS), "text"),
        (pl.Series(TEXTS, dtype=pl.Categorical), "category"),
        (pl.Series(TEXTS, dtype=pl.Enum(["b", "a"])), "category"),
        (pd.Series(TEXTS, dtype=object), "text"),
        (pd.Series(TEXTS, dtype="string"), "text"),
        (pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())), "text"),
        (pd.Series(TEXTS, dtype="category"), "category"),
        (pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))), "category"),
        (pa.chunked_array([TEXTS[:2], TEXTS[2:]]), "text"),
        (pa.array(TEXTS).dictionary_encode(), "category"),
    ],
    ids=str,
)
def test_levels_of_texts_and_categories(column, holds):
    table = pa.table({"c": column}) if isinstance(column, (pa.Array, pa.ChunkedArray)) else None
    table = column.to_frame("c") if table is None else table
    columns = columns_of(table)
    codes, values = columns.levels(0)
    assert columns.holds(0) == holds
    assert [None if c < 0 else values[c] for c in codes] == TEXTS
    assert columns.levels(0)[0] is codes  # computed once


@pytest.mark.parametrize("values", [[3, 1, None], [True, False, None], [2.5, 0.5, None]])
def test_categories_that_are_numbers(values):
    columns = columns_of(pd.DataFrame({"c": pd.Categorical(values)}))
    codes, known = columns.levels(0)
    assert [None if c < 0 else known[c] for c in codes] == values


def test_categories_that_no_row_has_are_no_levels():
    column = pd.Categorical(["c", None, "a"], categories=["d", "c", "b", "a"])
    columns = columns_of(pd.DataFrame({"c": column, "n": column.rename_categories(range(4))}))
    assert columns.levels(0)[1] == ["c", "a"] and columns.levels(1)[1] == [1, 3]
    assert columns.levels(0)[0].tolist() == columns.levels(1)[0].tolist() == [0, -1, 1]
    columns.order_levels(0, np.array([1, 0]))
    assert columns.levels(0)[1] == ["a", "c"] and columns.levels(0)[0].tolist() == [1, -1, 0]
    none = columns_of(pd.DataFrame({"c": pd.Categorical([None], categories=["a"])}))
    assert none.levels(0)[1] == [] and none.levels(0)[0].tolist() == [-1]


def test_numbers_in_lists_beside_texts_stay_numbers():
    columns = columns_of([["a", 1], ["b", 2.5]])
    assert [columns.holds(f) for f in range(2)] == ["text", "number"]
    np.testing.assert_array_equal(columns.numbers(1), [1, 2.5])


@pytest.mark.parametrize("x", [[[1, 2]], np.zeros((2, 2)), np.ma.zeros((2, 2)), [1, 2], None, "ab"])
def test_plain_numbers_and_what_is_no_table_are_left_to_others(x):
    assert columns_of(x) is None


# --- times


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_the_same_seconds_in_any_unit(unit):
    times = np.array(["1970-01-02", "2020-02-29T12:30:15.123", "NaT"], f"M8[{unit}]")
    columns = columns_of(times[:, None])
    np.testing.assert_array_equal(columns.numbers(0), [86400.0, 1582979415.123, NAN])
    frame = columns_of(pd.DataFrame({"t": times}))
    np.testing.assert_array_equal(frame.numbers(0), columns.numbers(0))


def test_days_and_months_are_seconds_too():
    days = np.array([["1970-01-02", "1970-02-01"]], "M8[D]")
    np.testing.assert_array_equal(columns_of(days).numbers(1), [31 * 86400.0])
    np.testing.assert_array_equal(columns_of(days.astype("M8[M]")).numbers(1), [31 * 86400.0])
    with pytest.raises(ValueError, match="lengths of time in months or years"):
        columns_of(np.array([[1], [2]], "m8[M]")).numbers(0)


def test_times_with_a_zone_are_in_utc():
    there = pd.DataFrame({"t": pd.to_datetime(["1970-01-02", None]).tz_localize("Etc/GMT-1")})
    for table in (there, pl.from_pandas(there), there.astype(object)):
        np.testing.assert_array_equal(columns_of(table).numbers(0), [82800.0, NAN])


@pytest.mark.parametrize("kind", [GPUBoostRegressor, DecisionTreeRegressor])
def test_missing_times_are_missing_in_training_and_prediction(kind):
    when = pd.date_range("2020-01-01", periods=40)
    frame = pd.DataFrame({"n": np.arange(40.0) % 3, "when": when})
    frame.loc[30:, "when"] = pd.NaT
    y = np.where(np.arange(40) < 30, np.arange(40) % 2, 9.0)
    seconds = frame.assign(when=columns_of(frame).numbers(1))
    model, other = (kind(max_depth=2).fit(table, y) for table in (frame, seconds))
    assert model.fingerprint() == other.fingerprint()
    np.testing.assert_array_equal(model.predict(frame), other.predict(seconds))
    assert model.predict(frame)[-1] > 5


# --- what cannot be


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": [[1], [2]]}), r"column 'a' of X holds List\(Int64\), which is no"),
        (pd.DataFrame({"a": ["x", 1.5]}), "column 'a' of X holds texts and other objects: 'x' and"),
        (np.array([["x"], [2]], dtype=object), "column 0 of X holds texts and other objects"),
    ],
)
def test_columns_that_are_nothing_are_named(table, message):
    with pytest.raises(ValueError, match=message):
        columns_of(table).holds(0)


def test_texts_are_no_numbers():
    columns = columns_of(pd.DataFrame({"a": ["x", "1"]}))
    with pytest.raises(ValueError, match="X must hold numbers; column 'a' does not"):
        columns.numbers(0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([pd.Period("2020-01"), pd.Period("2020-02")], "not 'Period'"),
        ([[1, 2], [3]], "not 'list'"),
        ([10**400, 1], "int too large"),
    ],
)
def test_objects_that_are_no_numbers_name_their_column(values, reason):
    message = f"must hold numbers; column 'a' does not .*{reason}"
    for table in (pd.DataFrame({"a": values}), pd.DataFrame({"a": values}, dtype=object)):
        with pytest.raises((TypeError, ValueError), match=message):
            columns_of(table).numbers(0)


def test_frames_that_are_not_computed_yet():
    with pytest.raises(TypeError, match=r"X is a polars.*LazyFrame whose rows are not computed"):
        columns_of(pl.LazyFrame({"a": [1]}))


def test_names_that_are_there_twice():
    with pytest.raises(ValueError, match="X must have different names; got .a. 2 times"):
        columns_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))


# --- matrices


def test_frames_of_one_dtype_are_not_copied():
    x = np.random.default_rng(0).normal(size=(9, 3))
    frame = pd.DataFrame(x, columns=list("abc"))
    assert np.shares_memory(columns_of(frame).matrix(), frame.to_numpy())
    assert columns_of(frame.assign(d=1)).matrix() is None
    np.testing.assert_array_equal(columns_of(pl.from_pandas(frame)).matrix(), x)


@pytest.mark.parametrize(
    ("dtypes", "dtype"), [(["f4", "i1"], "f4"), (["f4", "i4"], "f8"), (["f4", "f8"], "f8")]
)
def test_columns_beside_each_other_have_a_dtype_that_holds_all(dtypes, dtype):
    out = beside([np.arange(5, dtype=one) for one in dtypes], 5)
    assert out.dtype == dtype and out.flags.c_contiguous
    np.testing.assert_array_equal(out, np.arange(5)[:, None] + np.zeros((1, 2)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_what_is_masked_is_missing(dtype):
    x = np.ma.masked_array(np.arange(12).reshape(6, 2) % 5, dtype=dtype)
    x[2, 1] = np.ma.masked
    plain = plain_matrix(x)
    assert type(plain) is np.ndarray and plain.dtype == (dtype if dtype == np.float32 else float)
    assert np.isnan(plain[2, 1]) and np.isnan(plain).sum() == 1
    y, weight = np.arange(6.0), np.ones(6)
    for kind in (GPUBoostRegressor, DecisionTreeRegressor):
        model = kind(max_depth=2).fit(x, y, weight)
        assert model.fingerprint() == kind(max_depth=2).fit(plain, y, weight).fingerprint()
        np.testing.assert_array_equal(model.predict(x), model.predict(plain))


def test_masked_times_and_masks_that_hide_nothing():
    times = np.array([["1970-01-01"], ["1970-01-02"]], "M8[ms]")
    masked = np.ma.masked_array(times, mask=[[True], [False]])
    np.testing.assert_array_equal(columns_of(masked).numbers(0), [NAN, 86400.0])
    nothing = np.ma.masked_array([[1, 2]], mask=False)
    assert plain_matrix(nothing).dtype == np.asarray(nothing).dtype


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, None])
def test_parts_of_tables(kind):
    data = {"a": [1, 2, 3], "b": [4, 5, 6]}
    table = np.array(list(data.values())).T if kind is None else kind(data)
    rows = take_rows(table, np.array([2, 0]))
    assert type(rows) is type(table)
    np.testing.assert_array_equal(np.asarray(rows), [[3, 6], [1, 4]])
    np.testing.assert_array_equal(np.asarray(without_column(table, 0)), [[4], [5], [6]])


class Plain:
    """An object that has no text of its own."""


def frame_of(values):
    """A column of objects, and one of numbers."""
    return pd.DataFrame({"a": np.arange(len(values)), "c": pd.Series(values, dtype=object)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1], [2]], "column 'c' does not .*not 'list'"),
        ([{"x": 1}, {"x": 2}], "column 'c' does not .*not 'dict'"),
        ([1j, 2.0], "column 'c' does not .*not 'complex'"),
        ([pd.Period("2020"), pd.Period("2021")], "column 'c' does not .*not 'Period'"),
        ([10**400, 1], "column 'c' does not .*int too large"),
        ([b"\xff", b"x"], "column 'c' of X has values that are no categories: .*0xff"),
    ],
)
def test_objects_that_are_nothing_are_named(values, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GPUBoostRegressor().fit(frame_of(values), [0.0, 1.0])


def test_objects_with_a_text_are_categories_of_a_dtype():
    """Intervals, which pandas.cut makes, and whatever else does not change."""
    numbers = np.arange(40.0) % 20
    bands = pd.DataFrame({"band": pd.cut(numbers, [-1, 4, 9, 14, 19])})
    texts = bands.astype(str)
    models = [DecisionTreeRegressor().fit(table, numbers // 5 % 2) for table in (bands, texts)]
    assert models[0].fingerprint() == models[1].fingerprint()
    assert models[0].features_["band"].levels == 4
    np.testing.assert_array_equal(models[0].predict(bands), models[0].predict(texts))
    for values in ([(1, 2), (3, 4)], [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]):
        columns = columns_of(pd.DataFrame({"c": pd.Categorical(values)}))
        assert sorted(columns.levels(0)[1]) == list(map(str, values))
    decimals = columns_of(frame_of([Decimal("1.50"), Decimal("1.5")]))
    assert decimals.levels(1)[1] == [1.5]
    for values, message in (([Plain(), Plain()], "Plain has no text"), ([[1], [2]], "unhashable")):
        model = DecisionTreeRegressor(categorical_features=["c"])
        with pytest.raises(ValueError, match=f"'c' of X has values that are no cat.*{message}"):
            model.fit(frame_of(values), [0.0, 1.0])


def test_numbers_that_numpy_does_not_have():
    large = pl.DataFrame({"a": pl.Series([1, None, 2**100], dtype=pl.Int128)})
    np.testing.assert_array_equal(columns_of(large).numbers(0), [1.0, NAN, 2.0**100])


def test_tables_of_libraries_that_speak_arrow():
    """Batches of records, and what only hands out Arrow's interface."""

    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            return ARROW.__arrow_c_stream__(requested_schema)

    for table in (ARROW.to_batches()[0], Table()):
        columns = columns_of(table)
        assert columns.names == ARROW.column_names
        np.testing.assert_array_equal(columns.numbers(0), columns_of(ARROW).numbers(0))
    text = pa.table({"c": ["u", "v", None] * 8, "n": range(24)})
    model = DecisionTreeRegressor().fit(text.to_batches()[0], np.arange(24) % 3)
    assert model.feature_names_in_.tolist() == ["c", "n"]
    np.testing.assert_array_equal(model.predict(text), np.arange(24) % 3)
    assert columns_of(pl.Series([1.0, 2.0])) is None


def test_views_of_text():
    views = pa.table({"c": pa.array(["v", None, "u"], pa.string_view())})
    codes, values = columns_of(views).levels(0)
    assert [values[code] if code >= 0 else None for code in codes] == ["v", None, "u"]
