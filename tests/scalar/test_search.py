"""Binary search."""

import numpy as np
import pytest
from numba import njit

from gpuboost.kernels.cpu import _jit  # noqa: F401 (kernels can call it from then on)
from gpuboost.scalar.search import first_from


@njit
def compiled(values, low, high, value):
    return first_from(values, low, high, value)


@pytest.mark.parametrize("function", [first_from, compiled])
@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint32])
def test_the_place_is_that_of_numpy(function, dtype, rng):
    values = np.sort(rng.integers(0, 30, 40)).astype(dtype)
    for low, high in ((0, 40), (7, 23), (5, 5)):
        for value in range(32):
            place = low + np.searchsorted(values[low:high], value)
            assert function(values, low, high, dtype(value)) == place
