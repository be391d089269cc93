import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboost.data import array_math
from gpuboost.scalar import formulas


@pytest.mark.parametrize("name", ["exp", "log"])
def test_bits_are_those_of_the_scalar_functions(rng, name):
    x = np.concatenate(
        [rng.normal(size=3000), rng.normal(size=500) * 300, [0.0, -1e6, 1e6, 1e-320]]
    )
    x = np.abs(x) if name == "log" else x
    with np.errstate(over="ignore"):
        wanted = np.array([getattr(formulas, name)(float(value)) for value in x])
    found = getattr(array_math, name)(x)
    np.testing.assert_array_equal(found.view(np.int64), wanted.view(np.int64))
    assert getattr(array_math, name)(np.ones((2, 3))).shape == (2, 3)


@given(
    st.lists(st.floats(-1e100, 1e100).map(lambda number: number if abs(number) > 1e-80 else 0.0))
)
def test_sums_are_rounded_once(numbers):
    total = math.fsum(numbers)
    assert array_math.exact_sum(np.array(numbers, float)) == total


def test_sums_do_not_depend_on_the_order(rng):
    x = rng.normal(size=5000) * 10.0 ** rng.integers(-20, 20, 5000)
    assert array_math.exact_sum(x) == array_math.exact_sum(x[::-1]) == math.fsum(x)
    assert array_math.exact_sum(np.array([1e100, 1.0, -1e100])) == 1.0


def test_sums_of_nothing_and_of_what_is_not_finite():
    assert array_math.exact_sum(np.empty(0)) == 0.0
    assert array_math.exact_sum(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(array_math.exact_sum(np.array([1.0, np.nan])))
