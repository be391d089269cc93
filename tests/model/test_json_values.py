"""Values of parameters as JSON and arrays, and back."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from gpuboost.model.file import ModelFormatError
from gpuboost.model.json_values import MOST_BITS, NotStorable, decode, encode


def there_and_back(value):
    arrays = {}
    text = json.dumps(encode(value, "parameter", arrays))
    return decode(json.loads(text), "parameter", arrays)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -(2**200), 1.5, "text", [1, [2, "a"]], (1, 2), {0: 1.5, "a": None},
        {(1, 2): [True]}, np.int32(3), np.float32(0.1), np.bool_(True), np.str_("a"), [(), {}],
        math.inf, -math.inf,
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back_with_their_types(value):
    back = there_and_back(value)
    assert back == value and type(back) is type(value)


def test_nan_comes_back():
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.array(["a", "bc"]), np.array([True, False]), np.empty(0)],
)
def test_arrays_come_back_with_shape_and_dtype(array):
    back = there_and_back([array])[0]
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype


def test_an_index_becomes_an_array_and_objects_a_list_of_values():
    np.testing.assert_array_equal(there_and_back(pd.Index([3, 4])), [3, 4])
    back = there_and_back(np.array(["a", None, 2], dtype=object))
    assert back.dtype == object and back.tolist() == ["a", None, 2]


def test_equal_dicts_are_equal_texts():
    assert encode({1: 2, 3: 4}, "p", {}) == encode({3: 4, 1: 2}, "p", {})


@pytest.mark.parametrize("value", [print, object(), 1j, 2 ** (MOST_BITS + 1)])
def test_what_cannot_be_stored_says_so(value):
    with pytest.raises(NotStorable):
        encode(value, "p", {})


@pytest.mark.parametrize(
    "value", [{"float": "1.0"}, {"a": 1, "b": 2}, {"set": [1]}, {"array": "other"}, {"numpy": [3]}]
)
def test_what_is_no_value_is_an_error_of_the_file(value):
    with pytest.raises(ModelFormatError):
        decode(value, "p", {})
