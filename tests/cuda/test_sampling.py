"""Rows that are drawn on the device are those of the CPU."""

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.dtypes import ROW
from gpuboost.exchange import GradientSample

pytestmark = pytest.mark.usefixtures("device")


def drawn(device, how, weighted, n=2600):
    """(rows, factor, gradients, hessians, sums), on the host."""
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=(2, n)) ** 3, rng.random((2, n))
    weight = rng.exponential(size=n) * (rng.random(n) > 0.1) if weighted else np.empty(0)
    usable = np.flatnonzero(weight > 0) if weighted else np.arange(n)
    with get_backend(device, 2) as backend:
        arrays = [backend.put(a) for a in (g, h, weight, np.ones((2, 2)), usable.astype(ROW))]
        factor, out = backend.empty((n,), np.float64), backend.empty((len(usable),), ROW)
        g, h, weight, sums, usable = arrays
        given = usable, how, g, h, weight, sums, np.uint32(7), factor, out
        rows = backend.draw_by_gradient(*given).rows
        if isinstance(rows, tuple):
            rows = backend.to_host(rows[0])[: int(backend.to_host(rows[1])[0])]
        return [rows, *(backend.to_host(a) for a in (factor, g, h, sums))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_size", [False, True])
def test_rows_by_gradients(by_size, weighted):
    how = GradientSample(by_size, 700.0, 400.0, 0.5)
    for cpu, cuda in zip(drawn("cpu", how, weighted), drawn("cuda", how, weighted), strict=True):
        np.testing.assert_array_equal(cpu, cuda)


def test_units_of_rows():
    n = 2600
    rng = np.random.default_rng(1)
    units, shares = rng.integers(0, 300, n).astype(np.int32), rng.random(n)
    found = []
    for device in ("cpu", "cuda"):
        with get_backend(device, 1) as backend:
            usable, there = backend.put(np.arange(n, dtype=ROW)), backend.put(units)
            factor, out = backend.empty((n,), np.float64), backend.empty((n,), ROW)
            backend.draw_units(usable, there, backend.put(shares), np.uint32(3), factor, out)
            found.append(backend.to_host(factor))
    np.testing.assert_array_equal(*found)
