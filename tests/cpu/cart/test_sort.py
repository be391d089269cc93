"""Sorting."""

import numpy as np
import pytest

from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.sort import sort_order

compiled = exposed(sort_order)


@pytest.mark.parametrize("m", [0, 1, 2, 5, 40, 200])
def test_equal_keys_stand_in_the_order_of_their_places(m, rng):
    key = rng.integers(0, 12, 250).astype(float)
    order = rng.permutation(250)[:m].astype(np.int32)
    wanted = sorted(order.tolist(), key=lambda i: (key[i], i))
    rest = np.array([-7], np.int32)
    everything = np.concatenate([order, rest])
    compiled(everything, m, key)
    assert everything.tolist() == [*wanted, -7]
