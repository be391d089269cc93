"""Histograms against their definition."""

import numpy as np
import pytest
import reference

from gpuboost.dtypes import HIST_STRIDE
from gpuboost.kernels.cpu import histogram
from gpuboost.kernels.cpu._jit import exposed

build = exposed(histogram.build)


@pytest.mark.parametrize("stretch", [False, True])
@pytest.mark.parametrize("n_features", [1, 3, 8, 19])
def test_histogram(rng, n_features, stretch):
    columns = rng.integers(0, 256, (n_features, 500)).astype(np.uint8)
    bins = np.append(
        np.ascontiguousarray(columns.T).reshape(-1), np.zeros(histogram.PADDING, np.uint8)
    )
    gh = rng.integers(-(2**50), 2**50, 500)
    rows = np.flatnonzero(rng.random(500) < 0.3).astype(np.int32)
    if stretch:
        rows = np.arange(100, 400, dtype=np.int32)
    n_bins = np.full(n_features, 255, np.int32)
    expected = reference.histogram(columns, rows, gh)
    everything = np.arange(n_features, dtype=np.int32)
    cells = np.full(n_features * HIST_STRIDE, 7)
    build(bins, n_features, columns, everything, 0, n_features, True, n_bins, rows, gh, cells)
    np.testing.assert_array_equal(cells.reshape(-1, HIST_STRIDE)[:, :256], expected)
    some = everything[::2].copy()
    cells = np.full(len(some) * HIST_STRIDE, 7)
    build(bins, n_features, columns, some, 0, len(some), False, n_bins, rows, gh, cells)
    np.testing.assert_array_equal(cells.reshape(-1, HIST_STRIDE)[:, :256], expected[some])
