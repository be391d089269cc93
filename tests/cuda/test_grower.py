"""Trees that grow on the device."""

from dataclasses import asdict

import numpy as np
import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import Summary
from gpuboost.kernels.emulation import control
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.boosting import Booster

pytestmark = pytest.mark.usefixtures("emulated")

PER_STEP = {
    "choose",
    "count_lefts",
    "settle",
    "scatter_rows",
    "build_histograms",
    "scan_pairs",
    "scan_level",
}


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
        done = asdict(control.counters)
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
        control.kernel_counts.clear()
        booster.round(0, [])
        counts = control.kernel_counts
    assert counts["build_histograms"]["shared_atomics"] == 2 * n * n_features
    assert counts["build_histograms:bins"]["load_sectors"] == n * n_features // 32
    assert (
        counts["build_histograms"]["global_atomics"]
        < counts["build_histograms"]["shared_atomics"] / 4
    )


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
