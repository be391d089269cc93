"""Quantiles of residuals on the device are those of the CPU; training is in tests/objectives."""

import numpy as np
import pytest

from gpuboost.backend import get_backend, host_backend

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_all_rows(rng, weighted):
    n = 3000
    y, raw = rng.standard_cauchy(n).round(2), rng.normal(size=n).round(1)
    weight = rng.exponential(size=n) if weighted else np.empty(0)
    rows = np.flatnonzero(rng.random(n) < 0.8).astype(np.int32)
    with get_backend("cuda", 1) as cuda, host_backend(1) as cpu:
        for level in (0.01, 0.5, 0.9):
            found = []
            for backend in (cuda, cpu):
                arrays = (backend.put(a) for a in (rows, y, raw, weight))
                found.append(backend.residual_quantile(*arrays, 2.0**-40, level))
            assert found[0] == found[1]
        share = weight[rows] if weighted else np.ones(len(rows))
        size = np.abs(y - raw)[rows]
        reached = np.cumsum(share[np.argsort(size)]) >= 0.9 * share.sum()
        assert found[0] == np.sort(size)[reached.argmax()] or not weighted
