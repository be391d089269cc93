"""Which columns are categorical, and the order of categories."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuboost.data.categorical import (
    are_texts,
    ascending,
    categorical_columns,
    check_categorical_features,
    places,
    refuse_free_text,
    whole_numbers,
)
from gpuboost.data.columns import columns_of

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.0],
        "colour": pd.Categorical(["red", "blue"]),
        "text": ["x", "y"],
        "yes": [True, False],
    }
)


def chosen_of(table, chosen):
    columns = columns_of(table)
    names = None if columns is None else columns.names
    return categorical_columns(columns, 4, names, chosen)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, []),
        ("auto", [1, 2]),
        (["colour", "a"], [0, 1]),
        ([2, -2, -3], [1, 2]),
        ([False, True, True, False], [1, 2]),
        (np.array([False, True, True, False]), [1, 2]),
        (1, [1]),
        ("auto", [1, 2]),
        ([1, "colour", -3], [1]),
    ],
)
def test_columns_are_chosen_by_what_they_hold_by_name_number_or_mask(chosen, expected):
    for table in (FRAME, pl.from_pandas(FRAME)):
        assert chosen_of(table, chosen) == expected


def test_columns_of_other_tables():
    arrow = pa.table({"a": [1.0], "b": ["x"], "c": pa.array(["y"]).dictionary_encode(), "d": [1]})
    assert chosen_of(arrow, "auto") == [1, 2]
    assert chosen_of(np.array([["a", 1, None, True]], dtype=object), "auto") == [0]
    assert chosen_of(np.zeros((2, 4)), "auto") == []


@pytest.mark.parametrize("chosen", [[4], [-5], [1.5], [None], [True]])
def test_what_is_no_column(chosen):
    with pytest.raises(ValueError, match="must give features by name or by number, 0 to 3; got"):
        chosen_of(FRAME, chosen)


def test_names_that_are_none():
    with pytest.raises(ValueError, match="names a feature that X does not have: 'b'"):
        chosen_of(FRAME, ["b"])
    with pytest.raises(ValueError, match="names the feature 'a', but the columns of X have no na"):
        chosen_of(np.zeros((2, 4)), ["a"])
    with pytest.raises(ValueError, match="must be 'auto', None or a list of columns; got 'from_"):
        check_categorical_features("from_dtype")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "B"], ["B", "a", "b"]),
        (["10", "9", "-1", "0"], ["-1", "0", "9", "10"]),  # as the numbers would be
        (["10", "9", "007"], ["007", "10", "9"]),  # names
        ([10, 9], [9, 10]),
        ([2.5, 1], [1.0, 2.5]),
        ([True, False], [False, True]),
        ([], []),
    ],
)
def test_categories_are_in_one_order_however_they_are_given(values, expected):
    for some in (values, values[::-1], values * 2):
        assert ascending(some, "'c'").tolist() == expected


@given(st.lists(st.from_regex(r"[-+]?[0-9_ \n٣]{0,20}", fullmatch=True), max_size=6))
@example(["9" * 18, "-" + "9" * 18, "0"])
@example(["9" * 19])
@example(["-0"])
@example(["1\n2", "3"])
@example(["--1"])
def test_whole_numbers_are_those_that_python_writes_so(texts):
    def is_whole(text):
        try:
            return str(int(text)) == text and abs(int(text)) < 10**18
        except ValueError:
            return False

    got = whole_numbers(texts)
    if texts and all(map(is_whole, texts)):
        assert got.tolist() == list(map(int, texts))
    else:
        assert got is None


def test_categories_of_two_kinds():
    with pytest.raises(ValueError, match="column 'c' must hold values of one kind; got 'a' and 1"):
        ascending(["a", 1], "'c'")
    with pytest.raises(ValueError, match="column 'c' must hold text or numbers"):
        ascending([1j, 2], "'c'")


def test_places_of_values():
    categories = ascending(["b", "a"], "'c'")
    assert places(["b", "new", "a"], categories).tolist() == [1, -1, 0]
    assert places([2.0, True], ascending([1, 2], "'c'")).tolist() == [1, 0]
    assert places(["a", "b"], categories).tolist() == [0, 1]
    assert are_texts(categories) and not are_texts(np.array([1.0]))


def test_free_text_is_refused_with_what_to_do():
    texts = [f"this is comment number {i}" for i in range(1200)]
    columns = columns_of(pl.DataFrame({"n": range(1200), "comment": texts}))
    with pytest.raises(
        ValueError,
        match=r"column 'comment' of X is free text .*1,200 distinct.*"
        r"in 1,200 rows, such as.*Leave it out.*categorical_features",
    ):
        refuse_free_text(columns, 1)
    refuse_free_text(columns_of(pl.DataFrame({"c": texts * 2})), 0)  # each text twice
    refuse_free_text(columns_of(pl.DataFrame({"c": texts[:999]})), 0)  # not many
    declared = pl.DataFrame({"c": pl.Series(texts, dtype=pl.Categorical)})
    refuse_free_text(columns_of(declared), 0)
