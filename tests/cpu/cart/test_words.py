"""Sets of codes as bits."""

import numpy as np
import pytest
from numba import njit

from gpuboost.kernels.cpu.cart.words import mark, take_marked


@njit
def mark_and_take(codes, bits, summary, n_codes, out):
    for code in codes:
        mark(bits, summary, code)
    return take_marked(bits, summary, n_codes, out)


@pytest.mark.parametrize("n_codes", [1, 64, 65, 5000])
def test_marked_codes_come_back_ascending_once_and_leave_no_mark(rng, n_codes):
    bits, summary = np.zeros(80, np.uint64), np.zeros(2, np.uint64)
    codes = np.append(rng.integers(0, n_codes, 30), n_codes - 1)
    out = np.empty(31, np.int32)
    n = mark_and_take(codes, bits, summary, n_codes, out)
    np.testing.assert_array_equal(out[:n], np.unique(codes))
    assert not bits.any() and not summary.any()
