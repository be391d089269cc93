"""Classical trees on ``device="cuda"``.

Those of ``device="cpu"``, bit for bit, or an error when ``fit`` starts.
"""

import gc
import itertools
from dataclasses import asdict, fields

import numpy as np
import pytest

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.estimators import classical
from gpuboost.kernels.cuda import compiler, tree_steps, trees
from gpuboost.kernels.emulation import control, cupy_stand_in
from gpuboost.scalar import formulas

pytestmark = pytest.mark.usefixtures("device")

FORESTS = {
    "classes": RandomForestClassifier,
    "numbers": RandomForestRegressor,
    "extra classes": ExtraTreesClassifier,
    "extra numbers": ExtraTreesRegressor,
}

#: How many trees the tests grow.
FEW = {
    kind: {"n_estimators": 2} for kind in (*FORESTS.values(), AdaBoostClassifier, AdaBoostRegressor)
}
FEW |= {DecisionTreeClassifier: {}, DecisionTreeRegressor: {}}


def make(n=180, n_features=5, classes=0, missing=True, seed=0):
    """A matrix with a coarse column, a constant one and one that is always missing; targets.

    Weights, some of them 0.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    x[:, 1] = np.round(x[:, 1])
    signal = x[:, 0] + x[:, 1] * x[:, -1] + 0.5 * rng.normal(size=n)
    x[:, 2] = 7.0
    if missing:
        x[rng.random(x.shape) < 0.15] = np.nan
        x[:, 3] = np.nan
    y = (
        np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
        if classes
        else signal
    )
    return x, y, rng.exponential(size=n) * (rng.random(n) > 0.1)


def assert_same(kind, x, y, weight=None, **options):
    """Train on both devices and compare everything that the trees hold.

    Returns the model of the CPU.
    """
    options = FEW[kind] | options
    cpu, cuda = (
        kind(random_state=3, device=device, **options).fit(x, y, sample_weight=weight)
        for device in ("cpu", "cuda")
    )
    assert cuda.fingerprint() == cpu.fingerprint()
    for a, b in zip(cpu.ensemble_.trees, cuda.ensemble_.trees, strict=True):
        for field in fields(a):
            np.testing.assert_array_equal(
                getattr(a, field.name), getattr(b, field.name), err_msg=field.name
            )
    np.testing.assert_array_equal(cuda.predict(x), cpu.predict(x))
    return cpu


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_classes(kind, classes, criterion, missing):
    x, y, weight = make(classes=classes, missing=missing)
    model = assert_same(kind, x, y, weight if missing else None, criterion=criterion)
    assert max(tree.n_leaves for tree in model.ensemble_.trees) > 20


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_numbers(kind, criterion, missing):
    x, y, weight = make(missing=missing)
    y = np.floor(np.exp(y)) if criterion == "poisson" else y
    assert_same(kind, x, y, weight if missing else None, criterion=criterion)


OPTIONS = {
    "bootstrap": {"bootstrap": True, "max_samples": 0.5},
    "no bootstrap": {"bootstrap": False},
    "one feature": {"max_features": 1},
    "all features": {"max_features": None},
    "max_depth": {"max_depth": 3},
    "max_leaf_nodes": {"max_leaf_nodes": 6},
    "min_samples_split": {"min_samples_split": 30},
    "min_samples_leaf": {"min_samples_leaf": 10},
    "min_weight_fraction_leaf": {"min_weight_fraction_leaf": 0.05},
    "min_impurity_decrease": {"min_impurity_decrease": 0.01},
    "two bins": {"max_bins": 2},
    "few bins": {"max_bins": 7},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("forest", FORESTS)
def test_each_option(forest, name):
    x, y, weight = make(classes=3 if "classes" in forest else 0)
    assert_same(FORESTS[forest], x, y, weight, **OPTIONS[name])


@pytest.mark.parametrize(
    "class_weight", ["balanced", "balanced_subsample", {0: 1.0, 1: 3.5, 2: 0.1}]
)
def test_class_weight(class_weight):
    x, y, weight = make(classes=3)
    assert_same(RandomForestClassifier, x, y, weight, class_weight=class_weight)


@pytest.mark.parametrize("forest", FORESTS)
def test_several_outputs(forest):
    x, a, weight = make(classes=3 if "classes" in forest else 0)
    _, b, _ = make(classes=2 if "classes" in forest else 0, seed=1)
    assert_same(FORESTS[forest], x, np.stack([a, b, a], axis=1), weight)
    if "classes" in forest:
        assert_same(FORESTS[forest], x, np.stack([a, b], axis=1), criterion="entropy")


@pytest.mark.parametrize("forest", FORESTS)
def test_odd_shapes(forest):
    x, y, _ = make(classes=2 if "classes" in forest else 0)
    kind = FORESTS[forest]
    for n in (1, 2, 5):
        assert_same(kind, x[:n], y[:n])
    assert_same(kind, x[:, :1], y)
    assert_same(kind, np.full_like(x, np.nan), y)
    assert_same(kind, np.ones_like(x), y)
    many = np.random.default_rng(5).normal(size=(30, 110))
    many[:, np.arange(110) % 10 > 0] = 1.0  # more constant columns than a node draws
    assert_same(kind, many, y[:30], max_features=7)


def test_heavy_weights_and_far_targets():
    """The halves of a 64-bit sum carry, and sums are negative."""
    x, y, weight = make()
    assert_same(RandomForestRegressor, x, 1e9 * y - 3e9, 1e6 * weight)
    assert_same(RandomForestRegressor, x, 1e-9 * y, 1e-6 * weight)
    assert_same(RandomForestClassifier, x, y > 0, 1e12 * weight)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_decision_trees(kind):
    x, y, weight = make(classes=3 if kind is DecisionTreeClassifier else 0)
    assert_same(kind, x, y, weight, splitter="hist")
    assert_same(kind, x, y, weight, splitter="hist", max_features=2, max_depth=5)
    assert_same(kind, x, y, splitter="hist", ccp_alpha="cv", cv=3)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_adaboost(kind):
    x, y, weight = make(classes=3 if kind is AdaBoostClassifier else 0)
    model = assert_same(kind, x, y, weight, splitter="hist", max_depth=3, n_estimators=5)
    assert model.n_estimators_ > 2


@pytest.mark.parametrize("order", control.ORDERS)
@pytest.mark.parametrize("forest", FORESTS)
def test_the_order_of_threads_and_blocks_does_not_matter(forest, order, device):
    if device != "emulated":
        pytest.skip("a GPU has an order of its own")
    x, y, weight = make(n=300, classes=5 if "classes" in forest else 0)
    with control.configure(order=order, seed=5):
        assert_same(FORESTS[forest], x, y, weight, n_estimators=2)


@pytest.mark.parametrize("forest", FORESTS)
def test_check_mode_finds_nothing(forest, device):
    """With all 255 bins and several outputs.

    ``test_device.py`` runs the trainings of the workload in all orders.
    """
    if device != "emulated":
        pytest.skip("a GPU has no check mode")
    x, a, weight = make(n=400, classes=3 if "classes" in forest else 0)
    _, b, _ = make(n=400, classes=2 if "classes" in forest else 0, seed=1)
    control.findings.clear()
    with control.configure(order="random", seed=2, mode="check"):
        assert_same(
            FORESTS[forest], x, np.stack([a, b], axis=1), weight, max_depth=4, max_features=2
        )
    assert control.findings == []


def test_batches_and_threads_do_not_matter(monkeypatch):
    x, y, _ = make(classes=2)
    expected = assert_same(RandomForestClassifier, x, y, n_estimators=5).fingerprint()
    monkeypatch.setattr(trees, "MAX_TREES", 2)
    assert (
        RandomForestClassifier(5, random_state=3, n_jobs=2, device="cuda:0").fit(x, y).fingerprint()
        == expected
    )


@pytest.mark.filterwarnings("ignore:.*in the bags of all")
def test_out_of_bag_quantiles_and_warm_start():
    x, y, _ = make()
    options = {"oob_score": True, "keep_targets": True, "random_state": 1, "min_samples_leaf": 5}
    cpu, cuda = (
        RandomForestRegressor(10, device=device, **options).fit(x, y) for device in ("cpu", "cuda")
    )
    assert cuda.oob_score_ == cpu.oob_score_
    np.testing.assert_array_equal(
        cuda.predict_quantiles(x, [0.1, 0.9]), cpu.predict_quantiles(x, [0.1, 0.9])
    )
    grown = (
        RandomForestRegressor(4, device="cuda", warm_start=True, **options)
        .fit(x, y)
        .set_params(n_estimators=10)
        .fit(x, y)
    )
    assert grown.fingerprint() == cpu.fingerprint()


def test_launches_follow_the_levels_not_the_nodes(device):
    if device != "emulated":
        pytest.skip("a GPU does not count")
    x, y, _ = make(classes=2)
    control.counters.reset()
    model = RandomForestClassifier(6, max_depth=5, random_state=1, device="cuda").fit(x, y)
    done = asdict(control.counters)
    deepest = max(int(tree.depth.max()) for tree in model.ensemble_.trees)
    assert deepest == 5
    n_rounds = len(tree_steps.rounds(5, 2, 100))
    per_round = dict.fromkeys(("draw_features", "score_cuts", "pick_splits"), deepest * n_rounds)
    assert done["launches"] == {"open_nodes": deepest, "divide_rows": deepest} | per_round
    assert done["downloads"] == deepest + 1  # the splits of each level, and the rows of the leaves
    # the matrix, targets and limits; rows and weights of each tree; the nodes of each level, and
    # those that the last one divides
    assert done["uploads"] == 6 + 2 + 1 + 2 * 6 + deepest + 1


def test_the_logarithm_is_that_of_the_cpu(device):
    if device != "emulated":
        pytest.skip("compiles a kernel for the emulated device")
    kernel = (
        'extern "C" __global__ void logs(const double* x, double* out) { out[blockIdx.x] '
        "= natural_log(x[blockIdx.x]); }"
    )
    x = np.concatenate(
        [
            2.0 ** np.arange(-1074, 1024),
            np.linspace(0.1, 4.0, 999),
            np.random.default_rng(0).exponential(size=999),
            [0.0],
        ]
    )
    out = cupy_stand_in.empty(x.shape)
    module = cupy_stand_in.RawModule(
        code=compiler.source("reduce", 16, False) + kernel, options=compiler.OPTIONS
    )
    module.get_function("logs")((len(x),), (1,), (cupy_stand_in.asarray(x), out))
    np.testing.assert_array_equal(out.get(), [formulas.log(value) for value in x])


@pytest.mark.parametrize("tile_rows", [4096, 50])
def test_any_number_of_classes_and_outputs(tile_rows, monkeypatch):
    """More than shared memory holds at once: they are summed in ranges."""
    monkeypatch.setattr(tree_steps, "TILE_ROWS", tile_rows)
    x, a, weight = make(n=110)
    y, options = np.argsort(np.argsort(a)), {"n_estimators": 1, "max_depth": 2, "max_bins": 7}
    outputs = a[:, None] + np.nan_to_num(x[:, :1]) * np.arange(50)
    with control.configure(shared_bytes=3 << 10, shared_bytes_optin=8 << 10):
        assert_same(RandomForestClassifier, x, y, weight, **options)
        several = np.stack([y, y % 7, y[::-1]], 1)
        assert_same(ExtraTreesClassifier, x, several, criterion="entropy", **options)
        assert_same(RandomForestRegressor, x, outputs, weight, **options)


@pytest.mark.parametrize("forest", FORESTS)
def test_blocks_that_share_the_rows_of_a_node(forest, monkeypatch):
    """Tiles of 20 rows, so that nearly all nodes are large; with ties, weights, two outputs."""
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 20)
    x, y, weight = make(classes=3 if "classes" in forest else 0)
    kind = FORESTS[forest]
    assert_same(kind, np.round(x), y, weight)
    assert_same(kind, x, y, max_features=1, max_leaf_nodes=9)
    assert_same(kind, x, np.stack([y, y[::-1]], 1), weight, max_features=None, min_samples_leaf=4)


PAIRS = {
    "max_leaf_nodes": {"max_leaf_nodes": 5},
    "bootstrap": {"bootstrap": True, "max_samples": 0.7},
    "max_features": {"max_features": 2},
    "min_samples_leaf": {"min_samples_leaf": 6},
    "min_weight_fraction_leaf": {"min_weight_fraction_leaf": 0.03},
    "max_depth": {"max_depth": 4},
    "max_bins": {"max_bins": 5},
}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(PAIRS, 2)))
def test_pairs_of_options(one, other, monkeypatch):
    """Of one large node and smaller ones, in every combination of targets and criteria in turn."""
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 100)
    number = list(itertools.combinations(PAIRS, 2)).index((one, other))
    kinds = (
        (RandomForestClassifier, "gini"), (ExtraTreesClassifier, "entropy"),
        (RandomForestClassifier, "misclassification"), (RandomForestRegressor, "squared_error"),
        (ExtraTreesRegressor, "poisson"),
    )  # fmt: skip
    kind, criterion = kinds[number % len(kinds)]
    classes = 2 + number % 3 if kind in (RandomForestClassifier, ExtraTreesClassifier) else 0
    x, y, weight = make(classes=classes, missing=number % 2 == 0, seed=number)
    y = np.floor(np.exp(y)) if criterion == "poisson" else y
    options = {"criterion": criterion, **PAIRS[one], **PAIRS[other]}
    assert_same(kind, x, y, weight if number % 3 else None, **options)


@pytest.mark.parametrize("kind", [*FORESTS.values(), DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("max_leaf_nodes", [2, 9, 1000])
def test_best_first(kind, max_leaf_nodes):
    """A few coarse columns, so that many splits have the same gain."""
    is_classifier = kind in (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
    x, y, weight = make(classes=3 if is_classifier else 0, seed=max_leaf_nodes)
    options = {"max_leaf_nodes": max_leaf_nodes, "splitter": "hist"}
    model = assert_same(kind, x, y, weight, **options)
    assert max(tree.n_leaves for tree in model.ensemble_.trees) <= max_leaf_nodes
    few = np.random.default_rng(max_leaf_nodes).integers(0, 2, (90, 6)).astype(float)
    same_gains = few[:, 0] + few[:, 1] > 1 if is_classifier else few[:, 0] + few[:, 1]
    assert_same(kind, few, same_gains + few[:, 2] * few[:, 3], **options, min_samples_leaf=2)


def test_best_first_growth_divides_little_more_than_it_keeps(device):
    """Nodes that are searched on the device, against those of the tree."""
    if device != "emulated":
        pytest.skip("a GPU does not count")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4))
    control.kernel_counts.clear()
    with control.configure(mode="count"):
        DecisionTreeRegressor(max_leaf_nodes=12, splitter="hist", device="cuda").fit(
            x, x[:, 0] * x[:, 1]
        )
    searched = control.kernel_counts["open_nodes"]["threads"] // 256
    assert 2 * 12 - 1 <= searched <= 4 * 12


def test_the_exact_splitter_grows_on_the_host_and_says_so_once(caplog):
    x, y, weight = make(classes=2)
    classical.say_that_exact_trees_grow_on_the_host.cache_clear()
    control.counters.reset()
    with caplog.at_level("INFO", "gpuboost"):
        for kind in (DecisionTreeClassifier, AdaBoostClassifier, RandomForestClassifier):
            assert_same(kind, x, y, weight, splitter="exact", max_depth=4)
        assert_same(RandomForestRegressor, x, y, splitter="exact", criterion="absolute_error")
        assert_same(DecisionTreeRegressor, x, y, splitter="exact", max_leaf_nodes=5)
        nominal = {"splitter": "exact", "categorical_features": [1]}
        assert_same(ExtraTreesClassifier, x, y, **nominal)
    assert control.counters.launches == {}
    said = [record.message for record in caplog.records if "exact" in record.message]
    assert said == [
        "splitter='exact' trains on the CPU, whatever device says: the trees are the same; "
        "splitter='hist' trains on the device"
    ]


@pytest.mark.parametrize("kind", [*FEW, GPUBoostClassifier, GPUBoostRegressor])
def test_default_parameters(kind):
    """Of all ten estimators, up to the number of trees."""
    x, y, _ = make(n=60, classes=2)
    few = {"n_estimators": 2} if "n_estimators" in kind().get_params() else {}
    models = [kind(device=device, **few).fit(x, y) for device in ("cpu", "cuda")]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_memory_is_checked_before_and_given_back_after(device):
    if device != "emulated":
        pytest.skip("a GPU has the memory it has")
    x, y, _ = make(n=3000)
    gc.collect()  # what the errors of other tests hold
    pool = cupy_stand_in.get_default_memory_pool()
    pool.free_all_blocks()
    used = pool.used_bytes()
    with (
        control.configure(memory_bytes=pool.total_bytes() + (80 << 10)),
        pytest.raises(MemoryError, match="training needs .*fewer rows or device='cpu'"),
    ):
        RandomForestRegressor(2, device="cuda").fit(x, y)
    assert pool.used_bytes() == used


def test_auto_is_the_cpu():
    x, y, _ = make(classes=2)
    control.counters.reset()
    RandomForestClassifier(2, device="auto").fit(x, y)
    assert control.counters.launches == {}
