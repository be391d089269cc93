"""Gradients on the device."""

import numpy as np
import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.kernels.emulation import control
from gpuboost.objectives.constants import mean_score
from gpuboost.objectives.links import IDENTITY
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import AreaMetric
from gpuboost.objectives.objective import Objective

pytestmark = pytest.mark.usefixtures("emulated")


def test_a_new_loss_needs_no_cuda_code(monkeypatch):
    def pseudo_huber(y, raw):
        d = raw - y
        s = 1.0 + d * d
        return d / s, 1.0 / s

    monkeypatch.setitem(
        OBJECTIVES,
        "squared_error",
        Objective("mine", pseudo_huber, IDENTITY, "mae", mean_score),
    )
    x, signal, weight = workload.data()
    models = [
        GPUBoostRegressor(n_estimators=3, max_depth=3, device=d).fit(
            x, signal, sample_weight=weight
        )
        for d in ("cpu", "cuda")
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_stay_on_the_device_for_the_area_under_the_curve(weighted):
    """Two numbers come back, and nobody waits for them."""
    _, signal, weight = workload.data()
    arrays = (signal > 0).astype(float), signal[None] ** 3, weight if weighted else np.empty(0)
    with get_backend("cuda", 1) as backend:
        there = [backend.put(array) for array in arrays]
        control.counters.reset()
        score = backend.area_under_curve(AreaMetric(), *there)
        counters = control.counters
        assert counters.synchronizations == counters.uploads == 0
        assert (counters.downloads, counters.download_bytes) == (1, 16)
        assert score.value() == backend.host.area_under_curve(AreaMetric(), *arrays).value() == 1.0
