"""How categories are ordered and divided."""

import numpy as np
import pytest

from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.categories import keep_set, sort_order
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, SINGLES

compiled_keep_set = exposed(keep_set)
compiled_sort_order = exposed(sort_order)


@pytest.mark.parametrize("m", [1, 2, 7, 50])
def test_places_are_sorted_by_key_and_equal_keys_by_place(rng, m):
    key = rng.integers(0, 5, m + 1).astype(float)
    order = rng.permutation(np.arange(1, m + 1)).astype(np.int32)
    compiled_sort_order(order, m, key)
    assert order.tolist() == sorted(range(1, m + 1), key=lambda k: (key[k], k))


@pytest.mark.parametrize(("kind", "cut", "left"), [(PREFIXES, 1, [70, 3]), (SINGLES, 2, [5])])
def test_a_set_has_a_bit_for_each_category_on_the_left(kind, cut, left):
    order, present = np.array([3, 1, 2], np.int32), np.array([0, 3, 5, 70], np.int32)
    out = np.full(3, 7, np.uint64)
    compiled_keep_set(kind, cut, order, present, 3, 100, out)
    bits = [c for c in range(128) if int(out[c // 64]) >> (c % 64) & 1]
    assert bits == sorted(left) and out[2] == 7  # behind the last word nothing is touched
