"""Categorical columns and their category numbers."""

import numpy as np
import pandas as pd
import pytest

from gpuboost.data.categorical import categorical_columns, category_numbers, distinct
from gpuboost.data.features import FeatureMap

FRAME = pd.DataFrame({"a": [1.0, 2.0], "colour": pd.Categorical(["red", "blue"]), "c": [5, 6]})


@pytest.mark.parametrize(
    ("chosen", "columns"),
    [
        (None, []),
        ("from_dtype", [1]),
        (["colour", "a"], [0, 1]),
        ([2, -2], [1, 2]),
        ([False, True, True], [1, 2]),
        (1, [1]),
        ([1, "colour", -2], [1]),
    ],
)
def test_columns_are_chosen_by_dtype_name_number_or_mask(chosen, columns):
    assert categorical_columns(FRAME, chosen) == columns


def test_arrays_have_neither_names_nor_category_dtypes():
    assert categorical_columns(np.zeros((2, 3)), "from_dtype") == []
    with pytest.raises(ValueError, match="names a column that X does not have: 'a'"):
        categorical_columns(np.zeros((2, 3)), ["a"])


@pytest.mark.parametrize("chosen", [[3], [-4], [1.5], [None], [True]])
def test_what_is_no_column(chosen):
    with pytest.raises(ValueError, match="must hold names or numbers of the 3 columns"):
        categorical_columns(FRAME, chosen)


def test_categories_are_numbered_in_ascending_order_and_unknown_ones_are_missing():
    x = np.array([["b", 1.0], ["a", 2.0], [None, 3.0]], dtype=object)
    categories = FeatureMap.of_table(x, [0])
    assert categories.categories[0].tolist() == ["a", "b"]
    other = np.array([["a", 1.0], ["zebra", 2.0], ["b", 3.0]], dtype=object)
    np.testing.assert_array_equal(
        categories.encode(other).astype(float), [[0, 1], [np.nan, 2], [1, 3]]
    )
    assert other[0, 0] == "a"  # the caller's matrix stays as it is
    np.testing.assert_array_equal(categories.is_categorical, [1, 0])


def test_numbers_may_be_categories_too():
    x = np.array([[7.0], [3.0], [np.nan], [7.0]])
    encoded = FeatureMap.of_table(x, [0]).encode(x)
    np.testing.assert_array_equal(encoded, [[1.0], [0.0], [np.nan], [1.0]])


def test_a_frame_keeps_its_other_columns():
    encoded = FeatureMap.of_table(FRAME, ["colour"]).encode(FRAME)
    assert encoded["colour"].tolist() == [1.0, 0.0] and encoded["c"].tolist() == [5, 6]
    assert FRAME["colour"].tolist() == ["red", "blue"]


def test_values_of_another_kind_are_unknown_and_mixed_ones_an_error():
    categories = FeatureMap.of_table(np.array([["a"], ["b"]], dtype=object), [0])
    assert np.isnan(categories.encode(np.array([[1.0], [2.0]], dtype=object)).astype(float)).all()
    with pytest.raises(ValueError, match="must hold values of one kind"):
        FeatureMap.of_table(np.array([["a"], [1.0]], dtype=object), [0])


def test_without_categorical_columns_nothing_is_copied():
    x = np.zeros((2, 2))
    assert FeatureMap.of_table(x, None).encode(x) is x


def test_numbers_are_places_and_unknown_values_are_missing():
    values = distinct(np.array(["b", None, "a", "b"], dtype=object))
    assert values.tolist() == ["a", "b"]
    column = np.array(["b", "c", None, "a"], dtype=object)
    np.testing.assert_array_equal(category_numbers(column, values), [1, np.nan, np.nan, 0])
    np.testing.assert_array_equal(category_numbers(np.array([1.0]), values), [np.nan])
