"""Tables of every kind give one model, and what does not fit is named, by all estimators."""

import datetime as dt
import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import gpuboost as gb

RNG = np.random.default_rng(0)
ROWS = 60
SMALL = {"n_estimators": 4, "max_depth": 3}
ALL = {
    name: getattr(gb, name)(**(SMALL if "n_estimators" in getattr(gb, name)().get_params() else {}))
    for name in gb.__all__
    if hasattr(getattr(gb, name), "fit")
}
each = pytest.mark.parametrize("name", ALL)

NUMBERS = {
    "a": RNG.integers(0, 5, ROWS).astype(float),
    "b": np.where(RNG.random(ROWS) < 0.2, np.nan, RNG.normal(size=ROWS)),
    "c": RNG.normal(size=ROWS) * (RNG.random(ROWS) < 0.4),
}
MATRIX = np.column_stack(list(NUMBERS.values()))
Y = (np.nan_to_num(MATRIX) @ [1.0, 2.0, 3.0] > 2).astype(int)
FRAME = pd.DataFrame(NUMBERS)


def model_of(name, **parameters):
    model = ALL[name]
    return type(model)(**model.get_params()).set_params(**parameters)


@each
def test_one_model_from_tables_of_every_kind(name):
    tables = [
        MATRIX,
        MATRIX.tolist(),
        np.asfortranarray(MATRIX),
        MATRIX.astype(object),
        FRAME,
        FRAME.convert_dtypes(),
        FRAME.convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        sparse.csc_matrix(MATRIX),
        sparse.coo_array(MATRIX),
        sparse.csr_array(MATRIX),
    ]
    models = [model_of(name).fit(table, Y) for table in tables]
    assert len({model.fingerprint() for model in models}) == 1
    expected = models[4].predict(FRAME)
    for table in (pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)):
        np.testing.assert_array_equal(models[4].predict(table), expected)


@each
def test_reordered_columns_are_matched_by_name(name):
    model = model_of(name).fit(FRAME, Y)
    expected = model.predict(FRAME)
    for table in (FRAME[["c", "a", "b"]], pl.from_pandas(FRAME)[["b", "c", "a"]]):
        with pytest.warns(UserWarning, match="another order than in training; they are matched"):
            np.testing.assert_array_equal(model.predict(table), expected)


@each
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (FRAME.drop(columns="b"), "now missing:\n- b"),
        (FRAME.assign(z=1.0), "unseen at fit time:\n- z"),
        (FRAME.rename(columns={"b": "B"}), "unseen at fit time:\n- B\n.*now missing:\n- b"),
        (FRAME.assign(b="text"), "column 'b' holds text, and held numbers"),
        (FRAME.assign(b=pd.Timestamp("2020")), "column 'b' holds dates, and held numbers"),
    ],
)
def test_columns_that_do_not_fit_are_named(name, table, message):
    model = model_of(name).fit(FRAME, Y)
    for kind in (table, pl.from_pandas(table)):
        with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
            model.predict(kind)


@each
def test_values_that_are_not_stored_may_be_missing(name):
    zeros = MATRIX.copy()
    zeros[zeros == 0] = np.nan
    stored = sparse.csr_array(MATRIX)
    y = (MATRIX[:, 2] == 0).astype(int)  # between the others, or beside them
    as_missing = model_of(name, sparse_missing=True).fit(stored, y)
    dense = model_of(name).fit(zeros, y)
    assert as_missing.fingerprint() == dense.fingerprint()
    np.testing.assert_array_equal(as_missing.predict(stored), dense.predict(zeros))
    assert as_missing.fingerprint() != model_of(name).fit(MATRIX, y).fingerprint()
    with pytest.raises((TypeError, ValueError), match="sparse_missing must be True or False; got"):
        model_of(name, sparse_missing="yes").fit(stored, y)


@each
def test_dates_and_booleans_are_numbers(name):
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(a)) for a in NUMBERS["a"]]
    flags = [None if np.isnan(b) else bool(b > 0) for b in NUMBERS["b"]]
    table = pl.DataFrame({"day": days, "flag": flags})
    numbers = np.column_stack(
        [
            18262 * 86400 + NUMBERS["a"] * 86400,
            np.where(np.isnan(NUMBERS["b"]), np.nan, NUMBERS["b"] > 0),
        ]
    )
    model, other = model_of(name).fit(table, Y), model_of(name).fit(numbers, Y)
    assert model.fingerprint() == other.fingerprint()
    pandas = pd.DataFrame({"day": pd.to_datetime(days), "flag": pd.array(flags, "boolean")})
    np.testing.assert_array_equal(model.predict(pandas), other.predict(numbers))
    assert [row.kind for row in model.features_] == ["date", "true or false"]


@each
def test_gaps_where_training_had_none_go_to_the_heavier_side(name):
    """Eight rows of ten have the value 1: a gap is predicted as they are."""
    x = np.repeat([[0.0], [1.0]], [20, 80], axis=0)
    y = (x[:, 0] > 0).astype(int)
    for rows, heavier in ((x, 1.0), (1 - x, 0.0)):
        model = model_of(name).fit(rows, y)
        gap, heavy, light = (model.apply([[v]]) for v in (np.nan, heavier, 1 - heavier))
        np.testing.assert_array_equal(gap, heavy)
        assert (gap != light).any()


@pytest.mark.parametrize("kind", [gb.GPUBoostClassifier, gb.GPUBoostRegressor])
def test_a_matrix_of_float32_is_not_copied(kind):
    """Only the bins are allocated, one byte for each value by columns and one by rows."""
    x = RNG.random((40_000, 200), np.float32)
    y = (x[:, 0] > 0.5).astype(int)
    model = kind(n_estimators=1, max_depth=1, n_jobs=1)
    model.fit(x[:100], y[:100])  # compiles
    tracemalloc.start()
    model.fit(x, y)
    model.predict(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes // 4 * 2 + 100 * len(x)
