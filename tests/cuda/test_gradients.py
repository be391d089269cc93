"""Gradients on the device."""

import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.objectives.links import IDENTITY
from gpuboost.objectives.losses import OBJECTIVES, mean_score
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
