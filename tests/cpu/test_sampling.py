"""Rows and columns that are drawn."""

import numpy as np

from gpuboost.backend import get_backend
from gpuboost.dtypes import GROWTH
from gpuboost.kernels.cpu import sampling


def test_row_and_column_draws(rng):
    usable = np.arange(100_000, dtype=np.int32)
    out = np.empty_like(usable)
    with get_backend("cpu", 2) as backend:
        rows = backend.draw_rows(usable, 0.3, np.uint32(1), out)
    assert abs(len(rows) / 100_000 - 0.3) < 0.01
    assert (np.diff(rows) > 0).all()
    with get_backend("cpu", 1) as alone:
        assert (alone.draw_rows(usable, 0.3, np.uint32(1), np.empty_like(out)) == rows).all()
    # never empty, and then one row, not always the same
    drawn = set()
    with get_backend("cpu", 1) as backend:
        for key in range(50):
            (row,) = backend.draw_rows(usable[:9], 1e-12, np.uint32(key), out)
            drawn.add(int(row))
    assert drawn == set(range(9))
    counts = np.zeros(10)
    growth, features = np.zeros(1, GROWTH), np.empty(3, np.int32)
    for key in range(2000):
        growth["column_key"] = key
        sampling.draw_features(growth, 10, features)
        assert (np.diff(features) > 0).all()
        counts[features] += 1
    assert abs(counts / 2000 - 0.3).max() < 0.05
