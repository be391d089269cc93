"""``device="cuda"`` trains the model of ``device="cpu"``, bit for bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.kernels.cuda.device import cupy
from gpuboost.objectives.metrics import AreaMetric

pytestmark = pytest.mark.usefixtures("device")

POLICIES = ["depthwise", "leafwise", "symmetric"]
#: Named options; "missing" and "weights" are properties of the data.
OPTIONS = {
    "missing": {},
    "weights": {},
    "subsample": {"subsample": 0.7},
    "mvs": {"subsample": 0.5, "sampling_method": "mvs"},
    "bytree": {"colsample_bytree": 0.6},
    "bylevel": {"colsample_bylevel": 0.6},
    "bynode": {"colsample_bynode": 0.6},
    "early": {"early_stopping_rounds": 1},
    "monotone": {"monotone_constraints": {0: 1, 6: -1, 11: 1}},
    "interactions": {"interaction_constraints": [[0, 6, 11, 2], [0, 3, 4], [6, 7, 11]]},
    "of weights": {"feature_weights": {0: 3.0, 5: 0.0, 6: 7.5}, "colsample_bynode": 0.5},
    "penalties": {"feature_penalties": {0: 1.0, 6: 20.0, 3: 2.0, 5: 1e3}},
    "vector": {"multi_strategy": "vector_leaf"},
    "categories": {"categorical_features": [1, 4]},
}
#: How many classes options are for, if not for all of 0 (numbers), 2 and 5.
CLASSES = {"monotone": (0, 2), "vector": (5,)}
#: Options that are one parameter's two values, or do not go together.
ALTERNATIVES = {("subsample", "mvs"), ("monotone", "vector")}
PAIRS = [
    (a, b)
    for i, a in enumerate(OPTIONS)
    for b in list(OPTIONS)[i + 1 :]
    if (a, b) not in ALTERNATIVES
]


def make(n, n_features, classes, missing, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, n_features // 2] = np.round(x[:, n_features // 2])
    signal = x[:, 0] + x[:, -1] * x[:, n_features // 2] + 0.5 * rng.normal(size=n)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    y = (
        signal
        if not classes
        else np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    )
    return x, y, rng.exponential(size=n)


def both(x, y, classes, weight=None, n_estimators=3, eval_rows=0, **options):
    """Models trained on the CPU and on CUDA."""
    kind = GPUBoostClassifier if classes else GPUBoostRegressor
    models = []
    for device in ("cpu", "cuda"):
        model = kind(n_estimators=n_estimators, random_state=3, device=device, **options)
        evals = {"eval_set": [(x[:eval_rows], y[:eval_rows])]} if eval_rows else {}
        models.append(model.fit(x, y, sample_weight=weight, **evals))
    return models


def assert_same(cpu, cuda):
    assert cuda.fingerprint() == cpu.fingerprint()
    assert cuda.evals_result_ == cpu.evals_result_
    for a, b in zip(cpu.ensemble_.trees, cuda.ensemble_.trees, strict=True):
        for name in ("gain", "cover", "count"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def options_of(names, policy):
    options = {
        "grow_policy": policy,
        "max_leaves" if policy == "leafwise" else "max_depth": 12 if policy == "leafwise" else 4,
    }
    for name in names:
        options |= OPTIONS[name]
    return options


def check(n, n_features, classes, policy, names, **more):
    x, y, weight = make(n, n_features, classes, "missing" in names)
    if "categories" in names:  # some seven, and some 300, of which the last share a code
        x[:, 1], x[:, 4] = np.round(x[:, 1]), np.round(60 * x[:, 4])
    early = (
        {"eval_rows": n // 4, "n_estimators": 6, "learning_rate": 1.0} if "early" in names else {}
    )
    assert_same(
        *both(
            x,
            y,
            classes,
            weight if "weights" in names else None,
            **early,
            **options_of(names, policy),
            **more,
        )
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("classes", [0, 2, 5])
def test_plain(classes, policy):
    check(20_000, 12, classes, policy, [])


def test_rows_with_large_gradients_are_kept():
    more = {"sampling_method": "goss", "top_rate": 0.1, "oob_score": True}
    check(3000, 12, 5, "depthwise", ["subsample", "missing", "weights"], **more)


def test_groups_of_rows_and_shares_of_classes():
    x, y, _ = make(3000, 12, 2, True)
    models = [
        GPUBoostClassifier(
            n_estimators=3, max_depth=3, subsample={0: 0.3, 1: 0.9}, oob_score=True, device=device
        ).fit(x, y, groups=np.arange(3000) // 7)
        for device in ("cpu", "cuda")
    ]
    assert_same(*models)


@pytest.mark.parametrize("policy", POLICIES)
def test_exponential_objective(policy):
    check(3000, 12, 2, policy, ["missing", "weights", "early"], objective="exponential")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("name", "classes"), [(n, c) for n in OPTIONS for c in CLASSES.get(n, (0, 2, 5))]
)
def test_each_option(name, classes, policy):
    check(3000, 12, classes, policy, [name])


def training_of(pair):
    """Number of classes (0: numbers) and order of growth that a pair is tried with."""
    turn = PAIRS.index(pair)
    known = [c for c in (0, 2, 5) if all(c in CLASSES.get(name, (c,)) for name in pair)]
    return known[turn % len(known)], POLICIES[turn // 3 % 3]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_of_options(pair):
    check(2500, 12, *training_of(pair), pair)


ODD = {
    "one row": (1, 3, {}),
    "two rows": (2, 1, {}),
    "one feature": (3000, 1, {}),
    "1,000 features": (300, 1000, {}),
    "2 bins": (3000, 6, {"max_bins": 2}),
    "256 bins": (9000, 6, {"max_bins": 256}),
    "rows counted": (3000, 6, {"min_samples_leaf": 40}),
    "penalties": (
        3000,
        6,
        {
            "reg_alpha": 2.0,
            "reg_lambda": 0.0,
            "max_delta_step": 0.3,
            "min_split_gain": 0.5,
            "min_child_weight": 3.0,
        },
    ),
    "many leaves": (6000, 6, {"max_depth": 9}),
    "several leaves at once": (3000, 6, {"leaves_per_step": 4, "max_leaves": 20}),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("policy", POLICIES)
def test_odd_shapes_and_limits(name, policy):
    n, n_features, options = ODD[name]
    if policy == "symmetric" and "max_leaves" in options:
        options = {"max_depth": 5}
    elif policy == "depthwise":
        options = {name: value for name, value in options.items() if name != "leaves_per_step"}
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    y = (x[:, 0] > 0) + x[:, -1] * 2 + 0.1 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.05] = np.nan
    assert_same(*both(x, y, 0, rng.exponential(size=n), grow_policy=policy, **options))


@pytest.mark.parametrize("policy", POLICIES)
def test_columns_without_information_and_rare_classes(policy):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4000, 5))
    x[:, 1] = np.nan
    x[:, 2] = 7.0
    y = np.where(np.arange(4000) < 3, 2, (x[:, 0] > 0).astype(int))  # three rows of the third class
    assert_same(*both(x, y, 3, grow_policy=policy))
    x[:] = np.nan
    assert_same(*both(x, y, 3, grow_policy=policy))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 300, 2000, 9000])
def test_area_under_the_curve(n, weighted):
    """On scores with many ties and with none, of rows in more than one block."""
    rng = np.random.default_rng(n)
    y, metric = (rng.random(n) < 0.3).astype(float), AreaMetric()
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else np.empty(0)
    for raw in (rng.normal(size=(1, n)).round(1), rng.normal(size=(1, n)), np.zeros((1, n))):
        values = []
        for device in ("cpu", "cuda"):
            with get_backend(device, 1) as backend:
                arrays = (backend.put(a) for a in (y, raw, weight))
                values.append(backend.area_under_curve(metric, *arrays).value())
        np.testing.assert_array_equal(*values)  # NaN where there is one class


def test_training_by_the_area_under_the_curve():
    x, y, weight = make(1500, 5, 2, True)
    options = {"eval_metric": ["logloss", "auc"], "early_stopping_rounds": 2, "n_estimators": 12}
    cpu, cuda = both(x, y, 2, weight, eval_rows=700, max_depth=2, learning_rate=1.0, **options)
    assert_same(cpu, cuda)
    assert cpu.best_score_ == cuda.best_score_ > 0.5


def test_scores_do_not_come_to_the_host_for_the_area(device):
    if device != "emulated":
        pytest.skip("a GPU does not count")
    from gpuboost.kernels.emulation import control

    x, y, _ = make(2000, 5, 2, False)
    options = {"eval_metric": "auc", "n_estimators": 5, "max_depth": 1}
    control.counters.reset()
    GPUBoostClassifier(device="cuda", **options).fit(x, y, eval_set=(x, y))
    assert control.counters.download_bytes < 2000 * 8


@pytest.mark.parametrize("order", ["reverse", "random"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_order_of_threads_and_blocks_does_not_matter(policy, order, device):
    if device != "emulated":
        pytest.skip("a GPU has an order of its own")
    from gpuboost.kernels.emulation import control

    with control.configure(order=order, seed=5):
        check(20_000, 12, 5, policy, ["missing", "weights", "subsample", "bynode"])


@pytest.mark.parametrize("policy", POLICIES)
def test_sparse_matrices(policy):
    """The same model from stored values, with eval rows and rows that are left out."""
    x, y, weight = make(500, 20, 3, missing=True)
    x[np.abs(x) < 1.2] = 0.0
    options = {"grow_policy": policy, "subsample": 0.7, "min_samples_leaf": 3}
    options |= {"colsample_bytree": 0.7, "eval_rows": 200}
    dense, _ = both(x, y, 3, weight, **options)
    sparse, cuda = both(csr_array(x), y, 3, weight, **options)
    assert sparse.fingerprint() == dense.fingerprint()
    assert_same(sparse, cuda)
    np.testing.assert_array_equal(cuda.predict_proba(csr_array(x)), dense.predict_proba(x))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", ["one_tree_per_output", "vector_leaf"])
def test_several_targets_and_labels(policy, strategy):
    """With everything that pairs of options do not try together."""
    x, signal, weight = make(1200, 12, 0, missing=True)
    targets = np.stack([signal, 1000 * signal**2, np.round(signal)], axis=1)
    labels = (targets > np.median(targets, axis=0)).astype(int)
    options = {"grow_policy": policy, "multi_strategy": strategy, "max_depth": 4}
    options |= {"subsample": 0.8, "colsample_bynode": 0.6, "min_samples_leaf": 5, "reg_alpha": 0.1}
    for classes, y in ((0, targets), (2, labels)):
        cpu, cuda = both(x, y, classes, weight, eval_rows=300, **options)
        assert_same(cpu, cuda)
        np.testing.assert_array_equal(cuda.predict(x), cpu.predict(x))
        here = cupy().asarray(x)
        np.testing.assert_array_equal(cupy().asnumpy(cuda.predict(here)), cpu.predict(x))
        if classes:
            probability = cupy().asnumpy(cuda.predict_proba(here))
            np.testing.assert_array_equal(probability, cpu.predict_proba(x))
    # leaves that a byte cannot count, and values of a sparse matrix
    large = {"max_depth": 9} if policy != "leafwise" else {"max_leaves": 300}
    assert_same(*both(x, targets, 0, **{**options, **large, "min_samples_leaf": 1}))
    assert_same(*both(csr_array(np.nan_to_num(x)), targets, 0, weight, **options))
