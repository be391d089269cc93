"""Splits of every kind on ``device="cuda"``: those of ``device="cpu"``, bit for bit.

Nominal features, the random and the midpoint splitter, and the absolute error.
"""

import gc
import json
from pathlib import Path

import numpy as np
import pytest
from test_trees import assert_same, make

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.dtypes import ABSOLUTE, BEST, MIDPOINT, RANDOM, SQUARES
from gpuboost.exchange import FeatureMatrix
from gpuboost.kernels.cuda import tree_search, tree_steps
from gpuboost.kernels.cuda.tree_search import NOMINAL, NUMBERS_IN_BINS, OTHER_NUMBERS, kinds_of
from gpuboost.kernels.emulation import control, cupy_stand_in

pytestmark = pytest.mark.usefixtures("device")

DIVISIONS = ("auto", "fisher", "one_vs_rest", "exhaustive")


def with_categories(n=100, most=25, classes=0, missing=True, seed=0):
    """Numbers, and two columns of categories: few of them, and many."""
    x, y, weight = make(n=n, classes=classes, missing=missing, seed=seed)
    rng = np.random.default_rng(seed + 100)
    few, many = rng.integers(0, 5, n), rng.integers(0, most, n)
    by_chance = rng.normal(size=most)[many] + np.array([0.0, 2.0, -1.0, 0.5, 1.0])[few]
    y = (y + np.digitize(by_chance, [-1.0, 1.0])) % classes if classes else y + by_chance
    columns = np.stack([few, many], axis=1).astype(np.float64)
    if missing:
        columns[rng.random(columns.shape) < 0.1] = np.nan
    return np.concatenate([x[:, :3], columns], axis=1), y, weight


NAMED = {"categorical_features": [3, 4]}


def sets_in(model):
    return sum(int((tree.first_word >= 0).sum()) for tree in model.ensemble_.trees)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("division", DIVISIONS)
def test_categories(division, classes, missing):
    x, y, weight = with_categories(classes=classes, missing=missing)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    options = {"splitter": "hist", "categorical_split": division, "max_depth": 4, **NAMED}
    assert sets_in(assert_same(kind, x, y, weight if missing else None, **options)) > 0


@pytest.mark.parametrize("criterion", ["entropy", "misclassification", "poisson", "absolute_error"])
@pytest.mark.parametrize("division", DIVISIONS)
def test_categories_under_each_criterion(division, criterion):
    of_numbers = criterion in ("poisson", "absolute_error")
    kind = RandomForestRegressor if of_numbers else RandomForestClassifier
    x, y, weight = with_categories(n=80, classes=0 if of_numbers else 3)
    y = np.floor(np.exp(y / 2)) if criterion == "poisson" else y
    options = {"categorical_split": division, "criterion": criterion, "max_depth": 4, **NAMED}
    assert sets_in(assert_same(kind, x, y, weight, **options)) > 3


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("classes", [0, 3])
def test_categories_and_several_outputs(classes, division):
    x, a, weight = with_categories(n=80, classes=classes)
    y = np.stack([a, np.roll(a, 1), a**2], axis=1)
    kind = RandomForestClassifier if classes else RandomForestRegressor
    assert_same(kind, x, y, weight, categorical_split=division, max_depth=3, **NAMED)


def test_hundreds_of_categories():
    """Codes of four bytes, sets of several words; sums that shared memory does not hold."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 5000, 700), rng.normal(size=700)], axis=1)
    x[::9, 0] = np.nan
    y = np.digitize(np.sin(x[:, 0]) + 0.1 * x[:, 1], [-0.5, 0.5])
    options = {"categorical_features": [0], "max_depth": 3, "min_data_per_category": 1}
    for kind, target in ((RandomForestClassifier, y), (RandomForestRegressor, np.sin(x[:, 0]))):
        model = assert_same(kind, x, np.nan_to_num(target), **options)
        assert max(len(tree.sets) for tree in model.ensemble_.trees) > 2 * 500 // 64
    options.pop("min_data_per_category")
    assert_same(ExtraTreesClassifier, x, y, **options)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("rails", [
    {"min_data_per_category": 1, "cat_smooth": 0.0},
    {"min_data_per_category": 9, "max_cat_threshold": 3},
    {"cat_smooth": 0.7, "max_cat_threshold": 1, "categorical_split": "exhaustive"},
    {"min_data_per_category": 6, "categorical_split": "one_vs_rest"},
], ids=lambda rails: " ".join(map(str, rails.values())))  # fmt: skip
def test_guard_rails_of_categories(rails, classes, missing):
    x, y, weight = with_categories(n=200, classes=classes, missing=missing)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    options = {"splitter": "hist", "max_depth": 4, **rails, **NAMED}
    assert sets_in(assert_same(kind, x, y, weight if missing else None, **options)) > 0


def test_many_classes():
    x, _, _ = with_categories(n=300)
    y = np.arange(300) % 70
    assert_same(RandomForestClassifier, x, y, max_depth=3, n_estimators=1, **NAMED)


@pytest.mark.parametrize("options", [
    {"splitter": "hist", "categorical_split": "fisher", **NAMED},
    {"splitter": "random", **NAMED},
    {"splitter": "midpoint"},
    {"splitter": "hist", "criterion": "entropy", **NAMED},
], ids=lambda options: " ".join(map(str, options.values())))  # fmt: skip
def test_best_first_growth(options):
    """Sets of splits that are found and not made are kept, as on the CPU."""
    x, y, weight = with_categories(classes=3)
    for most in (2, 6):
        assert_same(DecisionTreeClassifier, x, y, weight, max_leaf_nodes=most, **options)


@pytest.mark.parametrize(
    "forest", [ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier]
)
def test_forests_with_categories(forest):
    x, y, weight = with_categories(classes=3 if forest is not ExtraTreesRegressor else 0)
    assert sets_in(assert_same(forest, x, y, weight, bootstrap=True, **NAMED)) > 3
    assert_same(forest, x, y, min_samples_leaf=4, max_features=2, max_bins=9, **NAMED)
    if forest is not ExtraTreesRegressor:
        assert_same(forest, x, y, weight, class_weight="balanced_subsample", **NAMED)


def test_a_category_whose_rows_weigh_nothing():
    """Its weight is 0 in fixed point, and its mean is no number."""
    x, y, weight = with_categories(missing=False)
    assert weight.max() > 0
    weight = np.where((x[:, 3] == 2) | (x[:, 4] < 4), 1e-30, weight + 0.1)
    y = np.where(weight < 1e-20, 0.0, y)
    for criterion in ("squared_error", "absolute_error"):
        assert_same(RandomForestRegressor, x, y - y.mean(), weight, criterion=criterion, **NAMED)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("splitter", ["random", "midpoint"])
@pytest.mark.parametrize("classes", [0, 3])
def test_cuts_by_chance_and_in_the_middle(classes, splitter, missing):
    """More distinct values than a byte has."""
    x, y, weight = make(n=300, classes=classes, missing=missing)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = assert_same(kind, x, y, weight if missing else None, splitter=splitter, max_depth=7)
    assert model.ensemble_.trees[0].n_leaves > 20
    small = slice(0, 60)  # codes are bytes
    assert_same(kind, x[small], y[small], splitter=splitter)


def test_cuts_by_chance_over_a_range_that_no_number_can_hold():
    x, y, _ = make(n=60, missing=False)
    x[:, 0] = np.tile([1e308, -1e308, 0.0], 20)
    assert_same(DecisionTreeRegressor, x, y, splitter="random")
    assert_same(DecisionTreeRegressor, x, y, splitter="midpoint")
    wide = np.random.default_rng(0).uniform(-1, 1, (300, 2)) * 1e308
    assert_same(DecisionTreeRegressor, wide, wide[:, 0] > 0, splitter="random")


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesRegressor])
def test_forests_that_halve_cells(forest):
    x, y, weight = make(n=120, classes=3 if forest is RandomForestClassifier else 0)
    assert_same(forest, x, y, weight, splitter="midpoint")


def test_features_that_are_drawn_by_probability():
    x, y, weight = make(n=300, classes=3)
    options = {"splitter": "midpoint", "max_depth": 7}
    for parts in ([1, 2, 3, 0, 5], [0, 1, 0, 0, 0], [1e-300, 1, 0.1, 0.1, 1e-9]):
        assert_same(DecisionTreeClassifier, x, y, weight, feature_probabilities=parts, **options)
    assert_same(DecisionTreeClassifier, x[:, :1], y, feature_probabilities=[1], **options)


@pytest.mark.parametrize("splitter", ["hist", "random", "midpoint"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_the_absolute_error(missing, ties, splitter):
    x, y, weight = make(n=100, missing=missing)
    options = {"criterion": "absolute_error", "splitter": splitter}
    y = np.round(y) if ties else y
    assert_same(DecisionTreeRegressor, x, y, weight if missing else None, **options)


def test_the_absolute_error_of_several_outputs():
    x, y, weight = make(n=90)
    y = np.stack([y, np.round(y), -1e6 * y], axis=1)
    for forest in (RandomForestRegressor, ExtraTreesRegressor):
        assert_same(forest, x, y, weight, criterion="absolute_error", min_samples_leaf=2)


@pytest.mark.parametrize("chunk_cells", [1, 300, 1 << 16])
def test_where_chunks_of_targets_begin_does_not_matter(chunk_cells, monkeypatch):
    """Targets that fill several chunks, and chunks with many targets."""
    monkeypatch.setattr(tree_search, "CHUNK_CELLS", chunk_cells)
    x, y, weight = make(n=350)
    y[:150], y[150:200] = 0.25, -3.0
    options = {"criterion": "absolute_error", "max_depth": 3, "max_bins": 12}
    assert_same(RandomForestRegressor, x, y, weight, **options)


@pytest.mark.parametrize("splitter", ["hist", "midpoint"])
def test_the_absolute_error_and_best_first_growth(splitter, monkeypatch):
    """Rows of a node over several blocks, in each of their orders."""
    monkeypatch.setattr(tree_steps, "TILE_ROWS", 20)
    x, y, weight = make(n=120)
    options = {"criterion": "absolute_error", "splitter": splitter, "max_leaf_nodes": 7}
    assert_same(DecisionTreeRegressor, x, np.stack([y, np.round(y)], axis=1), weight, **options)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_adaboost(kind):
    x, y, weight = with_categories(classes=3 if kind is AdaBoostClassifier else 0)
    options = {"max_depth": 2, "n_estimators": 3}
    assert_same(kind, x, y, weight, splitter="hist", **NAMED, **options)
    if kind is AdaBoostRegressor:
        assert_same(kind, x, y, splitter="hist", criterion="absolute_error", **options)


@pytest.mark.parametrize("options", [
    {"splitter": "hist", **NAMED},
    {"splitter": "random"},
    {"splitter": "midpoint"},
    {"splitter": "hist", "criterion": "absolute_error"},
], ids=lambda options: " ".join(map(str, options.values())))  # fmt: skip
def test_odd_shapes(options):
    x, y, _ = with_categories()
    for n in (1, 2, 5):
        assert_same(DecisionTreeRegressor, x[:n], y[:n], **options)
    for constant in (np.full_like(x, np.nan), np.ones_like(x)):
        assert_same(DecisionTreeRegressor, constant, y, **options)
    many = np.tile(x[:20, [0, 2, 3, 2, 2]], 9)  # more constant columns than others
    named = {"categorical_features": [2]} if "categorical_features" in options else {}
    assert_same(DecisionTreeRegressor, many, y[:20], **options | named)


#: Trainings that together run all of the kernels.
EVERY_KIND = {
    "categories": (RandomForestClassifier, 3, {"categorical_split": "fisher", **NAMED}),
    "every set": (RandomForestRegressor, 0, {"categorical_split": "exhaustive", **NAMED}),
    "one category": (RandomForestClassifier, 2, {"categorical_split": "one_vs_rest", **NAMED}),
    "by chance": (ExtraTreesRegressor, 0, NAMED),
    "halves": (RandomForestRegressor, 0, {"splitter": "midpoint"}),
    "distances": (RandomForestRegressor, 0, {"criterion": "absolute_error", **NAMED}),
}


@pytest.mark.parametrize("shared_bytes", [48 << 10, 2 << 10])
@pytest.mark.parametrize("name", EVERY_KIND)
def test_check_mode_finds_nothing_in_any_order(name, shared_bytes, device):
    if device != "emulated":
        pytest.skip("a GPU has no check mode and an order of its own")
    kind, classes, options = EVERY_KIND[name]
    x, y, weight = with_categories(n=100, classes=classes)
    control.findings.clear()
    for order, mode in (("random", "check"), ("reverse", "check"), ("random", "fast")):
        settings = {"order": order, "seed": 3, "mode": mode, "n_multiprocessors": 3}
        with control.configure(**settings, shared_bytes=shared_bytes):
            assert_same(kind, x, y, weight, max_depth=3, **options)
    assert control.findings == []


def test_as_many_trees_at_once_as_memory_holds(device):
    if device != "emulated":
        pytest.skip("a GPU has the memory it has")
    x, y, _ = with_categories(n=200)
    expected = RandomForestRegressor(4, random_state=3, max_depth=3, **NAMED).fit(x, y)
    launches = []
    for megabytes in (400, 18):
        control.counters.reset()
        with control.configure(memory_bytes=megabytes << 20, n_multiprocessors=1):
            model = RandomForestRegressor(
                4, random_state=3, max_depth=3, device="cuda", **NAMED
            ).fit(x, y)
        assert model.fingerprint() == expected.fingerprint()
        launches.append(control.counters.launches["search_features"])
    assert launches[0] <= launches[1]


def test_memory_is_checked_first(device):
    if device != "emulated":
        pytest.skip("a GPU has the memory it has")
    x = np.random.default_rng(0).integers(0, 4000, (600, 1)).astype(float)
    gc.collect()  # what the errors of other tests hold
    pool = cupy_stand_in.get_default_memory_pool()
    pool.free_all_blocks()
    with (
        control.configure(memory_bytes=pool.total_bytes() + (200 << 10)),
        pytest.raises(MemoryError, match="fewer categories or classes or device='cpu'"),
    ):
        RandomForestClassifier(1, device="cuda", categorical_features=[0]).fit(x, x[:, 0] % 7)


def test_there_is_room_for_what_the_kernel_shares_besides():
    table = json.loads((Path(__file__).parent / "compile_table.json").read_text())
    static = [
        kernels["cart_search"]["search_features"]["shared"]
        for targets in table.values()
        for kernels in targets.values()
    ]
    assert 0 < max(static) <= tree_search.STATIC_BYTES


def test_which_search_looks_at_a_feature():
    def coded(dtype, is_categorical):
        return FeatureMatrix(
            np.empty((2, 1), dtype), None, None, 1, is_categorical=np.array(is_categorical)
        )

    def kinds(dtype, splitter=BEST, criterion=SQUARES, is_categorical=(0, 1)):
        growth = {"splitter": splitter, "criterion": criterion}
        return kinds_of(coded(dtype, is_categorical), growth).tolist()

    assert kinds(np.uint8) == kinds(np.uint8, RANDOM) == [NUMBERS_IN_BINS, NOMINAL]
    assert kinds(np.uint32) == kinds(np.uint8, criterion=ABSOLUTE) == [OTHER_NUMBERS, NOMINAL]
    assert kinds(np.uint8, MIDPOINT, is_categorical=(0, 0)) == [OTHER_NUMBERS] * 2
