"""Sums and rounding of gradients."""

import numpy as np

from gpuboost.dtypes import GROWTH
from gpuboost.kernels.cpu import gradients


def units(unit):
    growth = np.zeros(1, GROWTH)
    growth["gradient_unit"] = growth["hessian_unit"] = unit
    return growth


def test_random_rounding_is_unbiased_and_depends_on_nothing_but_the_row(rng):
    n = 200_000
    g, h = np.full(n, 0.3), np.full(n, 0.7)
    out = np.empty(n, np.int64)
    growth = units(1.0)
    growth["rounding_key"] = 5
    gradients.quantize(np.zeros(1, np.int64), g, h, np.empty(0), growth, False, out)
    hessian = out & 0xFFFFFFFF
    gradient = (out - hessian) >> 32
    assert set(np.unique(gradient)) == {0, 1} and set(np.unique(hessian)) == {0, 1}
    assert abs(gradient.mean() - 0.3) < 5 * np.sqrt(0.21 / n)
    assert abs(hessian.mean() - 0.7) < 5 * np.sqrt(0.21 / n)
    assert abs(np.corrcoef(gradient, hessian)[0, 1]) < 0.01  # two independent draws
    again = np.empty(n // 2, np.int64)
    gradients.quantize(
        np.zeros(1, np.int64), g[: n // 2], h[: n // 2], np.empty(0), growth, False, again
    )
    np.testing.assert_array_equal(again, out[: n // 2])


def test_nearest_rounding_makes_weights_repetitions(rng):
    g, h = rng.normal(size=50), rng.random(50)
    weight = rng.integers(1, 5, 50).astype(float)
    out, single = np.empty(50, np.int64), np.empty(50, np.int64)
    gradients.quantize(np.zeros(1, np.int64), g, h, weight, units(2.0**-14), True, out)
    gradients.quantize(np.zeros(1, np.int64), g, h, np.empty(0), units(2.0**-14), True, single)
    np.testing.assert_array_equal(out, single * weight.astype(int))
