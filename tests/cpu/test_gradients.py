"""Sums and rounding of gradients."""

import numpy as np

from gpuboost.dtypes import GROWTH
from gpuboost.kernels.cpu import gradients
from gpuboost.scalar.formulas import random_sign

#: No list of rows: gradients are those of all of them.
ALL = np.empty(0, np.int32)


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
    gradients.quantize(np.zeros(1, np.int64), ALL, g, h, np.empty(0), growth, False, out)
    hessian = out & 0xFFFFFFFF
    gradient = (out - hessian) >> 32
    assert set(np.unique(gradient)) == {0, 1} and set(np.unique(hessian)) == {0, 1}
    assert abs(gradient.mean() - 0.3) < 5 * np.sqrt(0.21 / n)
    assert abs(hessian.mean() - 0.7) < 5 * np.sqrt(0.21 / n)
    assert abs(np.corrcoef(gradient, hessian)[0, 1]) < 0.01  # two independent draws
    again = np.empty(n // 2, np.int64)
    gradients.quantize(
        np.zeros(1, np.int64), ALL, g[: n // 2], h[: n // 2], np.empty(0), growth, False, again
    )
    np.testing.assert_array_equal(again, out[: n // 2])


def test_nearest_rounding_makes_weights_repetitions(rng):
    g, h = rng.normal(size=50), rng.random(50)
    weight = rng.integers(1, 5, 50).astype(float)
    out, single = np.empty(50, np.int64), np.empty(50, np.int64)
    gradients.quantize(np.zeros(1, np.int64), ALL, g, h, weight, units(2.0**-14), True, out)
    gradients.quantize(np.zeros(1, np.int64), ALL, g, h, np.empty(0), units(2.0**-14), True, single)
    np.testing.assert_array_equal(out, single * weight.astype(int))


def test_a_projection_is_a_sum_of_outputs_with_signs_that_the_key_draws(rng):
    """In blocks, of which the last one is not full."""
    n = gradients.BLOCK + 100
    g, h, weight = rng.normal(size=(5, n)), rng.random((5, n)), rng.random(n)
    factors = rng.random((5, 2))
    signs = set()
    for key in range(40):
        out, blocks, sums = np.empty((2, 1, n)), np.empty((2, 1, 2)), np.empty((1, 2))
        given = g, h, weight, factors, np.uint32(key)
        gradients.project(np.zeros(1, np.int64), *given, *out, blocks)
        gradients.sum_blocks(blocks, sums)
        with np.errstate(over="ignore"):
            own = np.array([random_sign(np.uint32(key), k) for k in range(5)])
        signs.add(tuple(own.tolist()))
        np.testing.assert_allclose(out[0, 0], (own * factors[:, 0]) @ g, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(out[1, 0], factors[:, 1] @ h, rtol=1e-12)
        expected = (np.abs(out[0, 0]) * weight).sum(), (out[1, 0] * weight).sum()
        np.testing.assert_allclose(sums[0], expected, rtol=1e-12)
    assert len(signs) > 20 and {abs(s) for one in signs for s in one} == {1.0}
