"""Trees that grow on the device."""

from dataclasses import asdict

import numpy as np
import pytest
import workload
from scipy.sparse import csr_array

from gpuboost import GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.sparse import sparse_rows
from gpuboost.data.summary import Summary
from gpuboost.dtypes import DEPTHWISE, GROWTH, LEAFWISE, SYMMETRIC, record_of
from gpuboost.exchange import SplitRules
from gpuboost.kernels.cuda.grower import scan_features_for
from gpuboost.kernels.cuda.records import STATE
from gpuboost.kernels.emulation import control
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.boosting import Booster

pytestmark = pytest.mark.usefixtures("emulated")

PER_STEP = {
    "choose",
    "count_lefts",
    "divide_nodes",
    "build_histograms",
    "scan_pairs",
    "scan_level",
}


LEAFWISE_STEP = PER_STEP - {"scan_level"}


def make_booster(backend, x, y, rules=None, **options):
    params = BoostParams(**options)
    none = np.empty(0)
    features = FeatureMap.of_numbers(x.shape[1]).with_cuts(
        Summary.of(x, none), params.max_bins, backend
    )
    binned = features.matrix(x, backend, by_rows=True)
    loss = OBJECTIVES["log_loss"]
    return Booster(features, binned, y, none, np.zeros(1), loss, params, 0, backend, rules=rules)


@pytest.mark.parametrize("kind", ["numbers", "stored values", "monotone"])
@pytest.mark.parametrize("policy", ["depthwise", "leafwise", "symmetric"])
def test_nothing_is_waited_for_or_read_back_while_trees_grow(policy, kind):
    x, signal, _ = workload.data()
    build, rules = "build_histograms", None
    if kind == "stored values":
        x, build = sparse_rows(csr_array(np.nan_to_num(x)), False), "build_sparse_histograms"
    if kind == "monotone":
        rules = SplitRules(np.resize(np.array([1, 0, -1], np.int32), x.shape[1]))
    limit = {"max_leaves": 9} if policy == "leafwise" else {"max_depth": 4}
    with get_backend("cuda", 1) as backend:
        booster = make_booster(
            backend,
            x,
            (signal > 0).astype(float),
            rules,
            grow_policy=policy,
            subsample=0.7,
            colsample_bytree=0.7,
            **limit,
        )
        control.counters.reset()
        for number in range(4):
            booster.round(number, [])
        done = asdict(control.counters)
    assert done["synchronizations"] == done["downloads"] == done["uploads"] == 0
    n_steps = booster.limits.max_steps
    assert (
        done["graph_launches"] == 3
    )  # the first tree is launched one by one, the second is recorded
    assert done["launches"]["choose"] == 4 * n_steps
    # each step has five launches, but that the last one has no histograms to build and scan, and
    # the root has these two alone; six more begin and end a tree
    per_step = PER_STEP - {"build_histograms"} | {build}
    assert sum(n for name, n in done["launches"].items() if name in per_step) == 4 * 5 * n_steps
    ends = ("start_tree", "list_leaves", "sum_leaves", "sum_children", "leaf_values")
    assert all(done["launches"][name] == 4 for name in ends)


def test_the_work_of_kernels_of_nodes_follows_their_number():
    """What they read doubles with the nodes.

    It would be four times as much if they looked at all others for each.
    """
    rng = np.random.default_rng(0)
    x = rng.random((4096, 4)).astype(np.float32)
    y = x @ np.array([8.0, 4.0, 2.0, 1.0]) / 15  # splits in the middle
    options = {"min_child_weight": 0.0, "reg_lambda": 0.01}
    sizes, loads = [], {"choose": [], "list_leaves": [], "sum_children": [], "leaf_values": []}
    for depth in (7, 8, 9):
        with control.configure(mode="count"), get_backend("cuda", 1) as backend:
            booster = make_booster(backend, x, y, max_depth=depth, **options)
            control.kernel_counts.clear()
            booster.round(0, [])
            booster.collect_trees(everything=True)
            tree = booster.trees[-1]
            sizes.append(len(tree.value))
            for name, found in loads.items():
                found.append(control.kernel_counts[name]["load_bytes"])
    more_nodes = np.diff(sizes)
    assert sizes[-1] > 800 and more_nodes[1] > 1.5 * more_nodes[0]
    for name, found in loads.items():
        a_node = np.diff(found) / more_nodes
        assert 0 < a_node[1] < 1.3 * a_node[0], (name, found, sizes)


@pytest.mark.parametrize(
    "limits",
    [
        {"grow_policy": "leafwise", "leaves_per_step": 1, "max_leaves": 40},
        {"grow_policy": "leafwise", "leaves_per_step": 3, "max_leaves": 40},
        {"grow_policy": "leafwise", "leaves_per_step": 300, "max_leaves": 700},
        {"grow_policy": "depthwise", "max_depth": 12, "max_leaves": 45},
    ],
    ids=str,
)
def test_the_highest_gains_are_chosen_and_the_lowest_of_equal_nodes(limits):
    """Cells of a board, whose gains are the same in many nodes."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 64, (6000, 2)).astype(float)
    y = x.sum(axis=1) % 2 + (x[:, 0] % 8 == 0) + np.floor(x[:, 1] / 16)
    options = {"n_estimators": 1, "reg_lambda": 0.0, "min_child_weight": 0.0, **limits}
    cpu, cuda = (GPUBoostRegressor(device=d, **options).fit(x, y) for d in ("cpu", "cuda"))
    assert cpu.fingerprint() == cuda.fingerprint()
    gains = cpu.ensemble_.trees[0].gain
    assert len(np.unique(gains)) < len(gains)


def test_launches_after_the_tree_is_complete_are_nearly_free():
    """Three splits exhaust the rows: further steps read the state of the tree and nothing else."""
    x = np.repeat(np.arange(4.0), 512)[:, None].astype(np.float32)
    totals = []
    for max_leaves in (8, 64):
        with control.configure(mode="count"), get_backend("cuda", 1) as backend:
            limits = {"grow_policy": "leafwise", "max_leaves": max_leaves}
            booster = make_booster(backend, x, x[:, 0] / 3, **limits)
            control.kernel_counts.clear()
            booster.round(0, [])
            booster.collect_trees(everything=True)
            tree = booster.trees[-1]
            totals.append({name: dict(control.kernel_counts[name]) for name in LEAFWISE_STEP})
        assert len(tree.value) == 7
    for name in LEAFWISE_STEP:
        more = {what: totals[1][name][what] - totals[0][name][what] for what in totals[0][name]}
        assert more["launches"] == 64 - 8
        assert more["load_bytes"] <= STATE.itemsize * more["threads"], name
        assert more["store_bytes"] == more["global_atomics"] == more["shared_atomics"] == 0


@pytest.mark.parametrize("n_features", [1, 2, 31, 32, 33, 700, 3000])
def test_features_are_drawn_as_on_the_cpu(n_features):
    shares = {1, n_features, -(-n_features // 3), n_features - n_features // 10}
    for n_wanted in shares:
        for key in (0, 1, 2**32 - 1, 123456789):
            drawn = []
            for device in ("cpu", "cuda"):
                with get_backend(device, 1) as backend:
                    growth = backend.put(record_of(GROWTH, {"column_key": key}))
                    out = backend.put(np.zeros(n_wanted, np.int32))
                    backend.draw_features(n_features, growth, out)
                    drawn.append(backend.to_host(out))
            np.testing.assert_array_equal(*drawn)


def test_blocks_of_the_scan():
    """A step of leaf-wise growth has two nodes: one block would be one multiprocessor's work."""
    features = [1, 28, 256, 300, 2048, 5000]
    assert [scan_features_for(LEAFWISE, n) for n in features] == [4, 4, 4, 8, 32, 32]
    assert [scan_features_for(DEPTHWISE, n) for n in features] == [32] * 6
    assert [scan_features_for(SYMMETRIC, n) for n in features] == [1] * 6


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
