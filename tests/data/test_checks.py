"""Checks of weights, targets and dtypes."""

import numpy as np
import pandas as pd
import pytest

from gpuboost.data.checks import (
    check_class_labels,
    check_class_weight,
    check_numbers,
    check_squares,
    check_weight,
    class_codes,
    refuse_mask,
    refuse_times,
    to_native,
)


@pytest.mark.parametrize(
    ("dtype", "native"),
    [
        ("float32", "float32"),
        ("int8", "int8"),
        ("float16", "float32"),
        ("bool", "uint8"),
        (">f8", "float64"),
        ("longdouble", "float64"),
    ],
)
def test_dtypes_that_kernels_take(dtype, native):
    x = np.array([[0, 1]], dtype)
    out = to_native(x)
    assert out.dtype == native and out.dtype.isnative and out.tolist() == [[0, 1]]
    assert np.shares_memory(x, out) == (dtype in ("float32", "int8", "bool"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], r"w must have one entry for each of the 2 rows of X; got shape \(1,\)"),
        ([[1.0], [2.0]], r"got shape \(2, 1\)"),
        (["a", "b"], "w must hold numbers"),
        ([1.0, np.inf], r"w contains NaN or infinity: inf at row 1 \(1 such rows\)"),
    ],
)
def test_numbers_for_each_row(values, message):
    with pytest.raises(ValueError, match=message):
        check_numbers("w", values, 2)


def test_weights():
    assert check_weight(None, 3).size == 0
    assert check_weight(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert check_weight([0, 1, 0], 3).dtype == np.float64
    with pytest.raises(ValueError, match="must not be negative: -1.0 at row 1"):
        check_weight([0, -1, 0], 3)
    with pytest.raises(ValueError, match="must not be all zero"):
        check_weight([0, 0, 0], 3)


def test_names_of_class_weights():
    for good in (None, "balanced", {0: 2.0}):
        check_class_weight(good)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        check_class_weight("even")


def test_classes_become_their_places():
    classes = np.array(["a", "c", "e"])
    assert class_codes("y", np.array(["e", "a", "c"]), classes).tolist() == [2, 0, 1]
    for unknown in ("b", "z"):
        with pytest.raises(ValueError, match=f"y has a class .* does not have: '{unknown}'"):
            class_codes("y", np.array(["a", unknown]), classes)


@pytest.mark.parametrize("size", [1e140, 1e-140])
def test_targets_whose_squares_cannot_be_written(size):
    y, weight = np.array([[1.0, 0.0], [2.0, size]]), np.ones(2)
    with pytest.raises(ValueError, match="largest absolute value of y must be 0 or between"):
        check_squares("y", y, weight)
    check_squares("y", y, np.array([1.0, 0.0]))  # a row without weight is not there


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], "y must not have missing values; got None"),
        (["a", float("nan")], "y must not have missing values; got nan"),
        ([1, pd.NA], "y must not have missing values; got <NA>"),
        ([["a", "b"], ["a", None]], "y must not have missing values; got None"),
        (["a", 1], "y must hold classes of one type; got 'a' and 1"),
        ([True, "a"], "y must hold classes of one type; got 'a' and True"),
    ],
)
def test_labels_have_an_order(labels, message):
    with pytest.raises(ValueError, match=message):
        check_class_labels("y", np.array(labels, object))
    check_class_labels("y", np.array(["a", "b"], object))
    check_class_labels("y", np.array([1, True, 0.5], object))
    check_class_labels("y", None)  # no labels at all: scikit-learn's checks say so


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_times_are_no_targets(dtype):
    with pytest.raises(ValueError, match="y must hold real numbers; got dtype"):
        refuse_times("y", np.zeros(2, dtype))
    refuse_times("y", [1.0, 2.0])


def test_masked_targets_are_refused():
    refuse_mask("y", np.ma.masked_array([[1, 2]], mask=False))
    with pytest.raises(ValueError, match="y must not have masked entries, as only X may; 1 are"):
        refuse_mask("y", np.ma.masked_array([1, 2], mask=[True, False]))
