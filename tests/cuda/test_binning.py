"""Cuts that are found on the device."""

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import SAMPLE_ROWS, Summary
from gpuboost.dtypes import MAX_VALUE_BINS
from gpuboost.kernels.cuda import binning as cuda_binning


def both_cuts(cp, x, weight, max_bins=256):
    n_values = min(max_bins, MAX_VALUE_BINS)
    with get_backend("cpu", 1) as backend:
        host = Summary.of(x, weight).cuts(n_values, backend)
    with get_backend("cuda", 1) as backend:
        return host, Summary.of(cp.asarray(x), weight).cuts(n_values, backend)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [2, 17, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_cuts_are_those_of_the_host(cp, dtype, max_bins, weighted, monkeypatch):
    monkeypatch.setattr(cuda_binning, "CUT_BYTES", 1 << 19)  # a few columns at once
    rng = np.random.default_rng(4)
    n = 4000
    x = np.column_stack([rng.normal(size=n) * 50, rng.integers(0, 5, n), np.where(rng.random(n) < 0.8, 0, rng.normal(size=n) * 900),
                         rng.exponential(size=n) ** 9, np.full(n, 7.0), rng.integers(0, 300, n)])  # fmt: skip
    if dtype is not np.int64:
        x = np.column_stack(
            [x, rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308], n), np.full(n, np.nan)]
        )
        x[rng.random(x.shape) < 0.05] = np.nan
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else np.empty(0)
    for host, found in zip(*both_cuts(cp, x, weight, max_bins), strict=True):
        np.testing.assert_array_equal(host, found)
        np.testing.assert_array_equal(np.signbit(host), np.signbit(found))


@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_of_sampled_rows(cp, weighted):
    """Columns with few values, with many, and with few in the sample only.

    The last two kinds need all rows.
    """
    n = SAMPLE_ROWS + 5000
    rng = np.random.default_rng(5)
    rare = np.where(np.arange(n) % 20_000 == 7, np.arange(n), rng.integers(0, 9, n))
    x = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 9, n),
            rare,
            np.where(rng.random(n) < 0.995, 0.0, rng.normal(size=n)),
        ]
    )
    weight = rng.integers(0, 4, n).astype(float) if weighted else np.empty(0)
    for host, found in zip(*both_cuts(cp, x, weight), strict=True):
        np.testing.assert_array_equal(host, found)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_codes_and_their_borders_are_those_of_the_host(cp, dtype, weighted, monkeypatch):
    """Zeros of both signs too, of which the first row's is kept."""
    monkeypatch.setattr(cuda_binning, "CUT_BYTES", 1 << 16)  # a few columns at once
    rng = np.random.default_rng(6)
    n = 700
    x = np.column_stack([rng.normal(size=n) * 9, rng.integers(0, 4, n), np.full(n, 7.0)])
    if dtype is not np.int64:
        zeros = rng.choice([0.0, -0.0, 1.0, -1e-300, np.inf], n)
        x = np.column_stack([x, zeros, np.full(n, np.nan)])
        x[rng.random(x.shape) < 0.05] = np.nan
    x = x.astype(dtype)
    weight = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    found = []
    for device, place in (("cpu", x), ("cuda", cp.asarray(x))):
        with get_backend(device, 1) as backend:
            features = FeatureMap.of_numbers(x.shape[1])
            found.append(features.matrix_with_borders(place, weight, 17, backend))
    host, there = found
    assert isinstance(there.columns, cp.ndarray) and there.by_rows.size == 0
    np.testing.assert_array_equal(cp.asnumpy(there.columns), host.columns)
    for name in ("n_codes", "begin", "lower", "upper", "is_categorical"):
        np.testing.assert_array_equal(getattr(there, name), getattr(host, name))
    for name in ("lower", "upper"):
        np.testing.assert_array_equal(*(np.signbit(getattr(own, name)) for own in found))
