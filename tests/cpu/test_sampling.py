"""Rows and columns that are drawn."""

import numpy as np

from gpuboost.dtypes import GROWTH
from gpuboost.kernels.cpu import sampling


def test_row_and_column_draws(rng):
    usable = np.arange(100_000, dtype=np.int32)
    out = np.empty_like(usable)
    n = sampling.draw_rows(usable, 0.3, np.uint32(1), out)
    assert abs(n / 100_000 - 0.3) < 0.01
    assert (np.diff(out[:n]) > 0).all()
    # never empty, and then one row, not always the same
    drawn = set()
    for key in range(50):
        assert sampling.draw_rows(usable[:9], 1e-12, np.uint32(key), out) == 1
        drawn.add(int(out[0]))
    assert drawn == set(range(9))
    counts = np.zeros(10)
    growth, features = np.zeros(1, GROWTH), np.empty(3, np.int32)
    for key in range(2000):
        growth["column_key"] = key
        sampling.draw_features(growth, 10, features)
        assert (np.diff(features) > 0).all()
        counts[features] += 1
    assert abs(counts / 2000 - 0.3).max() < 0.05
