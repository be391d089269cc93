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
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

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
of_categories = pytest.mark.parametrize(
    "name", [name for name in ALL if "categorical_features" in ALL[name].get_params()]
)

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
    assert peak < x.nbytes // 4 * 2 + 120 * len(x)  # scores, targets, gradients and the like


# --- categories

LETTERS = np.array(["b", "a", "d", "c"], dtype=object)[RNG.integers(0, 4, ROWS)]
NUMBERED = np.searchsorted(["a", "b", "c", "d"], LETTERS.astype(str))
IN_C = (LETTERS == "c").astype(int)


@of_categories
def test_one_model_from_categories_however_they_are_given(name):
    size = NUMBERS["a"]
    text = pd.DataFrame({"letter": LETTERS, "size": size})
    backwards = pd.Categorical(LETTERS, categories=["d", "c", "b", "a", "unused"])
    tables = [
        text,
        text.astype({"letter": "string"}),
        text.assign(letter=backwards),
        pl.DataFrame({"letter": LETTERS, "size": size}),
        pl.DataFrame({"letter": pl.Series(LETTERS, dtype=pl.Categorical), "size": size}),
        pl.DataFrame({"letter": pl.Series(LETTERS, dtype=pl.Enum(list("dcba"))), "size": size}),
        pa.table({"letter": pa.array(LETTERS).dictionary_encode(), "size": size}),
        text.to_numpy(),
        text.to_numpy().tolist(),
        text.assign(letter=pd.Categorical(NUMBERED)),
    ]
    models = [model_of(name).fit(table, IN_C) for table in tables]
    coded = np.column_stack([NUMBERED, size])
    models += [
        model_of(name, categorical_features=chosen).fit(coded, IN_C)
        for chosen in ([0], [True, False], np.array([0]), -2)
    ]
    assert len({model.fingerprint() for model in models}) == 1
    for table in tables[:7]:
        np.testing.assert_array_equal(models[0].predict(table), models[-1].predict(coded))
    assert models[0].features_["letter"].kind == "category (text)"
    ordered = model_of(name, categorical_features=None).fit(coded, IN_C)
    assert ordered.fingerprint() != models[0].fingerprint()


@of_categories
def test_whole_numbers_in_text_are_in_the_order_of_numbers(name):
    numbers = pd.DataFrame({"n": NUMBERED * 9})
    model = model_of(name, categorical_features=["n"]).fit(numbers, IN_C)
    text = numbers.astype(str)
    assert model_of(name).fit(text, IN_C).fingerprint() == model.fingerprint()
    with pytest.raises(ValueError, match="column 'n' holds text, and held numbers"):
        model.predict(text)


@of_categories
def test_new_categories_are_missing_or_an_error(name):
    table = pd.DataFrame({"letter": LETTERS})
    new, gone = table.assign(letter="z"), table.assign(letter=None)
    model = model_of(name).fit(table, IN_C)
    np.testing.assert_array_equal(model.predict(new), model.predict(gone))
    model.set_params(unknown_category="error")
    with pytest.raises(
        ValueError,
        match="column 'letter' of X has a category that training has "
        r"not seen: 'z' \(1 such\); unknown_category='missing' takes it",
    ):
        model.predict(new)
    np.testing.assert_array_equal(
        model.predict(gone), model_of(name).fit(table, IN_C).predict(gone)
    )
    with pytest.raises(ValueError, match="unknown_category must be one of 'missing', 'error'"):
        model_of(name, unknown_category="new").fit(table, IN_C)


@of_categories
def test_text_that_is_no_category_is_refused(name):
    free = pd.DataFrame({"note": [f"remark {i}" for i in range(1000)]})
    with pytest.raises(ValueError, match="column 'note' of X is free text.*Leave it out"):
        model_of(name).fit(free, np.arange(1000) % 2)
    text = pd.DataFrame({"letter": LETTERS})
    with pytest.raises(ValueError, match="X must hold numbers; column 'letter' does not"):
        model_of(name, categorical_features=None).fit(text, IN_C)


@of_categories
def test_columns_of_a_sparse_matrix_are_no_categories(name):
    stored = sparse.csr_array(MATRIX)
    with pytest.raises(TypeError, match="must be None or 'auto' for a sparse X, such as this csr_"):
        model_of(name, categorical_features=[0]).fit(stored, Y)
    assert model_of(name, categorical_features=None).fit(stored, Y).n_features_in_ == 3


@of_categories
def test_a_saved_model_takes_the_same_tables(name, tmp_path):
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(NUMBERS["a"], "D")
    table = pd.DataFrame({"letter": LETTERS, "day": day, "yes": NUMBERS["c"] > 0})
    model = model_of(name).fit(table, IN_C)
    model.save_model(tmp_path / "model.gb")
    loaded = gb.load_model(tmp_path / "model.gb")
    assert loaded.features_ == model.features_ and repr(loaded.features_) == repr(model.features_)
    reordered = pl.from_pandas(table)[["yes", "day", "letter"]]
    with pytest.warns(UserWarning, match="matched by name"):
        np.testing.assert_array_equal(loaded.predict(reordered), model.predict(table))


@pytest.mark.parametrize("kind", [gb.GPUBoostClassifier, gb.GPUBoostRegressor])
def test_evaluation_sets_are_matched_by_name_too(kind):
    table = pd.DataFrame(NUMBERS)
    stops = kind(n_estimators=8, max_depth=3, early_stopping_rounds=2)
    model = clone(stops).fit(table, Y, eval_set=(table, Y))
    reordered = pl.from_pandas(table)[["c", "b", "a"]]
    with pytest.warns(UserWarning, match="matched by name"):
        other = stops.fit(table, Y, eval_set=(reordered, Y))
    assert other.fingerprint() == model.fingerprint() and other.best_score_ == model.best_score_
    with pytest.raises(ValueError, match="now missing:\n- b"):
        kind().fit(table, Y, eval_set=(FRAME[["a", "c"]], Y))


def test_one_hot_columns_of_a_pipeline():
    table = pd.DataFrame({"letter": LETTERS, "other": LETTERS[::-1]})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), gb.GPUBoostClassifier())
    assert model.fit(table, IN_C).score(table, IN_C) == 1.0


@pytest.mark.parametrize("frame", [pl.from_pandas, pa.Table.from_pandas, lambda table: table])
def test_explanations_take_frames(frame, tmp_path):
    table = pd.DataFrame({"letter": LETTERS, "b": NUMBERS["b"]})
    rows = frame(table)
    model = gb.RandomForestClassifier(n_estimators=4, max_depth=3).fit(rows, IN_C)
    effect = gb.partial_dependence(model, rows, "letter")
    assert effect.grid_values[0].tolist() == ["a", "b", "c", "d"]
    assert effect.average.argmax() == 2
    for measure in ("drop_column", "ufi"):
        importance = getattr(gb.importance, measure)(model, rows, IN_C)
        assert importance.names == ["letter", "b"] and importance.values.argmax() == 0
    model.report(tmp_path / "page.html", rows, IN_C)
    assert "sets of categories: a, b, c, d" in (tmp_path / "page.html").read_text("utf-8")


# --- parts of dates

WHEN = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 300 * 24, ROWS), "h")
DATES = pd.DataFrame({"when": WHEN, "a": NUMBERS["a"]})
BY_HAND = DATES.assign(weekday=WHEN.day_of_week.astype(float), hour=WHEN.hour.astype(float))
WEEKEND = (WHEN.day_of_week >= 4).astype(int)


@each
def test_parts_of_dates_are_further_columns_of_one_feature(name, tmp_path):
    model = model_of(name, date_features=["weekday", "hour"]).fit(DATES, WEEKEND)
    by_hand = model_of(name).fit(BY_HAND, WEEKEND)
    for table in (DATES, pl.from_pandas(DATES)):
        np.testing.assert_array_equal(model.predict(table), by_hand.predict(BY_HAND))
    when, a, weekday, hour = by_hand.feature_importances_
    np.testing.assert_allclose(model.feature_importances_, [when + weekday + hour, a])
    assert model.n_features_in_ == 2 and model.fingerprint() != by_hand.fingerprint()
    assert model.features_["when"].taken.endswith("UTC, weekday, hour")
    model.save_model(tmp_path / "model.gb")
    loaded = gb.load_model(tmp_path / "model.gb")
    np.testing.assert_array_equal(loaded.predict(DATES), model.predict(DATES))
    assert loaded.fingerprint() == model.fingerprint()


def test_parts_of_dates_in_words_and_effects(tmp_path):
    model = gb.DecisionTreeClassifier(max_depth=2, date_features={"when": ["weekday"]})
    model.fit(DATES, WEEKEND)
    assert "weekday of when <= 3.50" in gb.export_text(model)
    days = pd.date_range("2024-01-01", periods=14)  # two weeks
    effect = gb.partial_dependence(model, DATES.iloc[:14].assign(when=days), "when")
    np.testing.assert_array_equal(effect.average[0] > 0.5, days.day_of_week >= 4)
    model.report(tmp_path / "page.html", DATES, WEEKEND)
    with pytest.raises(
        ValueError, match="to_sklearn cannot write DecisionTreeClassifier with date"
    ):
        model.to_sklearn()
    forest = gb.RandomForestClassifier(n_estimators=3, date_features=["hour"]).fit(DATES, WEEKEND)
    with pytest.raises(ValueError, match="ufi asks for one column at a time, and with date_featu"):
        gb.importance.ufi(forest, DATES, WEEKEND)
    rising = gb.GPUBoostRegressor(date_features=["hour"], monotone_constraints={"when": 1})
    with pytest.raises(ValueError, match="must be 0 for dates with date_features.*'when'"):
        rising.fit(DATES, WEEKEND)


@each
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["week"], "date_features must have parts among 'year'"),
        ("hour", "date_features must be None, a list of parts, or a dict"),
        ({"a": ["hour"]}, "date_features names column 'a' of X, which holds no dates but number"),
    ],
)
def test_parts_that_cannot_be(name, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        model_of(name, date_features=given).fit(DATES, WEEKEND)
