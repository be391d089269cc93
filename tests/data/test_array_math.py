import numpy as np
import pytest

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


def test_sums_do_not_depend_on_the_order(rng):
    x = rng.normal(size=5000) * 10.0 ** rng.integers(-20, 20, 5000)
    assert array_math.exact_sum(x) == array_math.exact_sum(x[::-1])
    assert array_math.exact_sum(np.array([1e100, 1.0, -1e100])) == 1.0
