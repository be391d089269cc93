"""Which columns are categorical, and the numbers of their values."""

import numpy as np
import pandas as pd
import pytest

from gpuboost.data.categorical import categorical_columns, category_numbers, distinct

FRAME = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", "y"]), "c": [3, 4]})


@pytest.mark.parametrize(
    ("chosen", "columns"),
    [
        (None, []),
        ("from_dtype", [1]),
        (["c", "a"], [0, 2]),
        ([-1], [2]),
        ([True, False, True], [0, 2]),
    ],
)
def test_columns_by_dtype_name_number_and_mask(chosen, columns):
    assert categorical_columns(FRAME, chosen) == columns


@pytest.mark.parametrize("chosen", ["b", ["d"], [3], [1.0], [True]])
def test_other_choices_are_refused(chosen):
    with pytest.raises(ValueError, match="categorical_features"):
        categorical_columns(FRAME, chosen)


def test_numbers_are_places_and_unknown_values_are_missing():
    values = distinct(np.array(["b", None, "a", "b"], dtype=object))
    assert values.tolist() == ["a", "b"]
    column = np.array(["b", "c", None, "a"], dtype=object)
    np.testing.assert_array_equal(category_numbers(column, values), [1, np.nan, np.nan, 0])
    np.testing.assert_array_equal(category_numbers(np.array([1.0]), values), [np.nan])


def test_numbers_and_texts_in_one_column_are_refused():
    with pytest.raises(ValueError, match="values of one kind"):
        distinct(np.array(["a", 1], dtype=object))
