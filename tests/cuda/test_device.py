"""What the CUDA engine promises besides the bits: launches, waiting, memory, errors.

And that the kernels are free of races.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import workload

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import Summary
from gpuboost.kernels.emulation import control
from gpuboost.objectives.links import IDENTITY
from gpuboost.objectives.losses import OBJECTIVES, mean_score
from gpuboost.objectives.objective import Objective
from gpuboost.training.boosting import Booster

PER_STEP = {
    "choose",
    "count_lefts",
    "settle",
    "scatter_rows",
    "build_histograms",
    "scan_pairs",
    "scan_level",
}


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


def make_booster(backend, x, y, **options):
    params = BoostParams(**options)
    none = np.empty(0)
    features = FeatureMap.of_numbers(x.shape[1]).with_cuts(
        Summary.of(x, none), params.max_bins, backend
    )
    binned = features.matrix(x, backend, by_rows=True)
    loss = OBJECTIVES["log_loss"]
    return Booster(features, binned, y, none, np.zeros(1), loss, params, 0, backend)


@pytest.mark.parametrize("policy", ["depthwise", "leafwise", "symmetric"])
def test_nothing_is_waited_for_or_read_back_while_trees_grow(policy):
    x, signal, _ = workload.data()
    limit = {"max_leaves": 9} if policy == "leafwise" else {"max_depth": 4}
    with get_backend("cuda", 1) as backend:
        booster = make_booster(
            backend,
            x,
            (signal > 0).astype(float),
            grow_policy=policy,
            subsample=0.7,
            colsample_bytree=0.7,
            **limit,
        )
        control.counters.reset()
        for number in range(4):
            booster.round(number, [])
        done = control.counters.snapshot()
    assert done["synchronizations"] == 0 and done["downloads"] == 0
    n_steps = booster.limits.max_steps
    assert (
        done["graph_launches"] == 3
    )  # the first tree is launched one by one, the second is recorded
    assert sum(n for name, n in done["launches"].items() if name in PER_STEP) <= 4 * 6 * (
        n_steps + 1
    )
    assert done["launches"]["choose"] == 4 * n_steps


def test_atomics_and_reads_of_the_histogram_kernel():
    """At the root: two shared atomics a (row, feature).

    Every byte of the bins read once in whole sectors.
    """
    n, n_features = 4096, 32
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    with control.configure(mode="count"), get_backend("cuda", 1) as backend:
        booster = make_booster(backend, x, (x[:, 0] > 0).astype(float), max_depth=1)
        booster.grower.bins.allocation.label = "bins"
        control.clear_kernel_counts()
        booster.round(0, [])
        counts = control.kernel_counts()
    assert counts["build_histograms"]["shared_atomics"] == 2 * n * n_features
    assert counts["build_histograms:bins"]["load_sectors"] == n * n_features // 32
    assert (
        counts["build_histograms"]["global_atomics"]
        < counts["build_histograms"]["shared_atomics"] / 4
    )


def test_check_mode_finds_nothing():
    expected = {name: train("cpu").fingerprint() for name, train in workload.trainings().items()}
    control.clear_reports()
    for order, device in zip(control.ORDERS, workload.DEVICES, strict=True):
        with control.configure(order=order, seed=1, mode="check", **device):
            for name, train in workload.trainings().items():
                assert train("cuda").fingerprint() == expected[name]
    assert control.reports() == []


def test_memory_is_checked_before_and_given_back_after():
    x, signal, _ = workload.data()
    from gpuboost.kernels.emulation import cupy_stand_in

    used = cupy_stand_in.get_default_memory_pool().used_bytes()
    model = GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda").fit(x, signal)
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used
    before = model.fingerprint()
    with (
        control.configure(memory_bytes=used + (2 << 20)),
        pytest.raises(MemoryError, match=r"training needs \d+ MiB on the device \(pool"),
    ):
        model.set_params(max_depth=10).fit(x, signal)
    assert model.fingerprint() == before
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used


@pytest.mark.parametrize("shared_bytes", [48 << 10, 25 << 10, 13 << 10, 4 << 10])
def test_any_amount_of_shared_memory_gives_the_same_model(shared_bytes):
    """Groups of 16, 8 and 4 features, and none: histograms in global memory."""
    x, signal, _ = workload.data()
    expected = GPUBoostRegressor(n_estimators=2, max_depth=3).fit(x, signal).fingerprint()
    with control.configure(shared_bytes=shared_bytes):
        assert (
            GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda")
            .fit(x, signal)
            .fingerprint()
            == expected
        )


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


def test_predictions_on_the_device_are_those_of_the_cpu():
    x, signal, _ = workload.data(n=9000)
    for y in (signal > 0, np.digitize(signal, [-1, 0, 1])):
        model = GPUBoostClassifier(n_estimators=4, max_depth=4).fit(x, y)
        expected = model.predict_proba(x)
        model.device = "cuda"
        np.testing.assert_array_equal(model.predict_proba(x), expected)
