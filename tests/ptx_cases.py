"""Small trainings and predictions that together run every kernel, as far as possible every way.

Each case is a function of the device that returns what must not depend on it.
"""

import ast
import functools
import re
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.sparse import csr_array

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
from gpuboost.doctor.operations import GROUP_LOSS
from gpuboost.kernels.cuda import backend, compiler, gradients, grower, tree_steps
from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation import cupy_stand_in as cupy
from gpuboost.kernels.emulation.ptx import device as ptx_device
from gpuboost.training import boosting as training

#: Architectures that CI runs, and the compiler for each.
TARGETS = (("sm_75", "cu12"), ("sm_80", "cu13"), ("sm_90", "cu12"), ("sm_100", "cu13"))
ALL_TARGETS = tuple(
    (f"sm_{n}", nvrtc)
    for nvrtc in control.COMPILERS
    for n in (70, 75, 80, 86, 89, 90, 100, 120)
    if (n, nvrtc) != (70, "cu13")
)
ORDERS = (*control.ORDERS, "preempted")


@functools.cache
def data(n=1500, n_features=18, seed=0):
    """Rows over two tiles, two groups of features, some values missing; targets and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    x[:, 5] = np.round(x[:, 5])
    signal = x[:, 0] + x[:, 5] * x[:, -1] + 0.3 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, 3] = 7.0
    return x, signal, rng.exponential(size=n) * (rng.random(n) > 0.1)


def targets(signal, classes):
    cuts = np.quantile(signal, np.arange(1, classes) / classes) if classes else None
    return np.digitize(signal, cuts) if classes else signal


PENALTIES = {
    "reg_alpha": 0.3,
    "max_delta_step": 0.4,
    "min_split_gain": 0.01,
    "min_child_weight": 0.5,
}
FEATURE_WEIGHTS = {0: 5.0, 5: 2.5, 3: 0.0}
DRAWN_COLUMNS = {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.8}


RULES = {
    "interaction_constraints": [[0, 5, 17], [1, 2, 5], [5, 6]], "feature_weights": FEATURE_WEIGHTS,
    "feature_penalties": {17: 3.0, 0: 9.0},
}  # fmt: skip

#: More features than blocks and warps take in one turn.
WIDE = {"n": 300, "n_features": 170}
MONOTONE = {"monotone_constraints": {0: 1, 5: -1}}


def boosting(
    classes, *, n=1500, n_features=18, missing=True, weighted=False, evals=(), held=400, **options
):
    def fit(device):
        x, signal, weight = data(n, n_features)
        x = x if missing else np.nan_to_num(x)
        y = targets(signal, classes)
        kind = GPUBoostClassifier if classes else GPUBoostRegressor
        every = {"n_estimators": 3, "random_state": 3, **options}
        if evals:
            every["eval_metric"] = list(evals)
        model = kind(device=device, **every)
        held_out = {"eval_set": (x[:held], y[:held])} if evals else {}
        model.fit(x, y, sample_weight=weight if weighted else None, **held_out)
        return model.fingerprint(), model.evals_result_

    return fit


def leaves_from_residuals(*options, **common):
    """Fits of losses whose leaves hold quantiles of residuals."""

    def fit(device):
        fits = [{"max_depth": 3, "n_estimators": 2, **common, **own} for own in options]
        return [boosting(0, **own)(device) for own in fits]

    return fit


#: Three orders of growth, with and without penalties and columns that are drawn.
OF_EVERY_ORDER = (
    {"max_depth": 4, **PENALTIES, **DRAWN_COLUMNS},
    {"max_depth": 5, "max_leaves": 11},
    {"grow_policy": "leafwise", "max_leaves": 24, "leaves_per_step": 3, **DRAWN_COLUMNS},
    {"grow_policy": "leafwise", "max_leaves": 7, **PENALTIES},
    {"grow_policy": "symmetric", "max_depth": 3, **PENALTIES, **DRAWN_COLUMNS},
    {"grow_policy": "symmetric", "max_depth": 3},
)
OF_DRAWN_COLUMNS = tuple(order | DRAWN_COLUMNS for order in OF_EVERY_ORDER)
FORCED = {
    "feature": 5, "threshold": 0, "right": {"feature": 1, "threshold": 0.5},
    "left": {"feature": 2, "threshold": 1},
}  # fmt: skip
FORCED_LEVELS = [{"feature": 5, "threshold": 0}, {"feature": 1, "threshold": 0.5}]


def in_every_order(classes, orders=OF_EVERY_ORDER, forced=False, **rules):
    """What is compiled for some rules has parts for each order of growth."""

    def fit(device):
        answers = []
        for order in orders:
            options = order | rules
            if forced:
                by_level = order.get("grow_policy") == "symmetric"
                options["forced_splits"] = FORCED_LEVELS if by_level else FORCED
            answers.append(boosting(classes, n=700, n_estimators=1, **options)(device))
        return answers

    return fit


def rounded_at_random(device):
    """As with so many rows that sums of gradients rounded to nearest could drift."""
    with mock.patch.object(training, "NEAREST_ROWS", 100):
        return boosting(0, max_depth=3, weighted=True)(device)


def stored_values(*every, **rules):
    """A sparse matrix, with rows that are left out and rows that are evaluated."""

    def fit(device):
        x, signal, weight = data(500, 170)
        x = csr_array(np.where(np.abs(x) < 1.0, 0.0, x))
        answers = []
        for options in every:
            model = GPUBoostRegressor(
                n_estimators=1, random_state=3, device=device, **options, **rules
            )
            model.fit(x, signal, sample_weight=weight, eval_set=(x[:300], signal[:300]))
            answers += [model.fingerprint(), model.evals_result_]
        return answers

    return fit


def small_tiles(device):
    """Rows over many tiles: of nodes, of leaves, of rows that are drawn and of sorted rows."""
    with mock.patch.object(grower, "MIN_TILE_ROWS", 256):
        return [
            boosting(2, evals=["auc"], held=1500, max_depth=4, n_estimators=2, **more)(device)
            for more in ({"weighted": True, "min_samples_leaf": 3}, {"subsample": 0.7})
        ]


def rows_by_gradients(device):
    """Rows drawn by their gradients, in groups and by class, and those that are left out."""
    x, signal, weight = data(900)
    answers = []
    for classes, options, fit in (
        (0, {"sampling_method": "mvs"}, {"sample_weight": weight[:900]}),
        (3, {"sampling_method": "goss"}, {}),
        (2, {"oob_score": True}, {"groups": np.arange(900) // 3}),
    ):
        kind = GPUBoostClassifier if classes else GPUBoostRegressor
        model = kind(n_estimators=2, max_depth=3, subsample=0.4, device=device, **options)
        model.fit(x, targets(signal, classes), **fit)
        answers += [model.fingerprint(), model.evals_result_]
    return answers


def several_labels(device):
    """Predictions are made on the device too."""
    x, signal, _ = data(300)
    y = np.stack([signal > 0, signal > 1], axis=1).astype(int)
    model = GPUBoostClassifier(n_estimators=1, max_depth=2, device=device).fit(x, y)
    rows = cupy.asarray(x) if device == "cuda" else x
    probability = model.predict_proba(rows)
    return model.fingerprint(), np.asarray(cupy.asnumpy(probability)).tolist()


def sets_of_categories(device):
    """Few and many categories, with and without counted rows, rows that are evaluated."""
    x, signal, weight = data(900)
    x = x[:, :9].copy()
    x[:, 6], x[:, 7] = np.round(x[:, 6]), np.round(20 * x[:, 7])
    answers = []
    for options in (
        *(order | {"min_samples_leaf": 3, "subsample": 0.8} for order in OF_EVERY_ORDER),
        *(order | {"max_cat_to_onehot": 20} for order in OF_EVERY_ORDER),
        {"grow_policy": "symmetric", "max_depth": 3, "min_data_per_category": 2},
    ):
        every = {"n_estimators": 1, "random_state": 3, "categorical_features": [5, 6, 7]}
        sets = {"categorical_encoding": "partition", **every}
        model = GPUBoostRegressor(device=device, **sets, **options)
        model.fit(x, signal, sample_weight=weight, eval_set=(x[:300], signal[:300]))
        answers += [model.fingerprint(), model.evals_result_]
    return answers


def little_shared_memory(device):
    """Histograms that do not fit into shared memory are built in global memory."""
    with control.configure(shared_bytes=4 << 10):
        return boosting(2, max_depth=3, min_samples_leaf=3, n_estimators=1)(device)


def on_device(classes, dtype, weighted):
    """Arrays on the device go in: cuts and bins are made there, and predictions."""

    def fit(device):
        x, signal, weight = data(1100, 6, seed=1)
        x, y = np.nan_to_num(100 * x).astype(dtype), targets(signal, classes)
        if dtype != np.int64:
            x[::7, 2] = np.nan
        there = cupy.asarray if device == "cuda" else np.asarray
        kind = GPUBoostClassifier if classes else GPUBoostRegressor
        model = kind(n_estimators=2, max_depth=3, max_bins=40, random_state=1, device=device)
        model.fit(there(x), there(y), sample_weight=there(weight) if weighted else None)
        names = ("predict", "predict_proba") if classes else ("predict",)
        answers = [cupy.asnumpy(getattr(model, name)(there(x))).tobytes() for name in names]
        return model.fingerprint(), answers

    return fit


def host_rows(device):
    """Predictions for many rows on the host are made on the device, too."""
    x, signal, _ = data()
    y = targets(signal, 3)
    model = GPUBoostClassifier(n_estimators=2, max_depth=3, device=device).fit(x, y)
    with mock.patch.object(backend, "FEW_ROWS", 100):
        return model.predict_proba(x).tobytes(), model.predict(np.float64(x)).tobytes()


def classical(kind, classes, *, n=500, missing=True, weighted=True, outputs=1, **options):
    def fit(device):
        x, signal, weight = data(n)
        x = x if missing else np.nan_to_num(x)
        y = targets(signal, classes)
        if options.get("criterion") == "poisson":
            y = np.abs(y)
        if outputs > 1:
            y = np.stack([np.roll(y, k) for k in range(outputs)], axis=1)
        every = {"max_depth": 4, "max_bins": 60, "random_state": 3, "device": device, **options}
        model = kind(**every).fit(x, y, sample_weight=weight if weighted else None)
        return model.fingerprint(), predicted(model, x)

    return fit


def with_categories(kind, classes, *, rows=300, outputs=1, weighted=False, **options):
    """Splits that numbers in bins do not have: of categories, by distances, by chance."""

    def fit(device):
        x, signal, weight = data(rows)
        rng = np.random.default_rng(9)
        few, many = rng.integers(0, 5, rows), rng.integers(0, 25, rows)
        x = np.column_stack([x[:, :2], few, many])
        y = targets(signal + few % 3 + rng.normal(size=25)[many], classes)
        y = np.stack([y, np.round(y)], axis=1) if outputs == 2 else y
        model = kind(random_state=1, max_depth=3, device=device, **options)
        model.fit(x, y, sample_weight=weight if weighted else None)
        return model.fingerprint(), predicted(model, x)

    return fit


def predicted(model, x):
    """What it says of rows, even if they are few, where the model was trained."""
    with mock.patch.object(backend, "FEW_ROWS", 100):
        return model.predict(x).tobytes()


def large_nodes(device):
    """Nodes of many rows are divided among blocks."""
    categories = {"categorical_features": [2, 3], "splitter": "hist"}
    with mock.patch.object(tree_steps, "TILE_ROWS", 50):
        return [
            *(
                classical(kind, classes, **FOREST)(device)
                for kind, classes in ((RandomForestClassifier, 6), (ExtraTreesRegressor, 0))
            ),
            with_categories(DecisionTreeRegressor, 0, **categories)(device),
            classical(DecisionTreeClassifier, 3, splitter="random", max_bins=256)(device),
        ]


def classical_on_device(kind, names, **options):
    """Classical trees of arrays on the device, and what methods say of its rows."""

    def fit(device):
        x, signal, _ = data(400, 6, seed=1)
        there = (cupy.asarray if device == "cuda" else np.asarray)(x)
        model = kind(max_depth=4, max_bins=40, random_state=1, device=device, **options)
        model.fit(there, signal)
        answers = [cupy.asnumpy(getattr(model, name)(there)).tobytes() for name in names]
        outside = getattr(model, "oob_prediction_", np.empty(0))
        return model.fingerprint(), answers, outside.tobytes()

    return fit


def loss_of_groups(device):
    """Its kernel alone: ``device`` "cpu" is the body as a loop."""
    _, y, _ = data()
    raw, none = np.full((1, len(y)), 0.25), np.empty((0, len(y)))
    rows = np.arange(len(y))[::-1].astype(np.int32)
    begin = np.arange(0, len(y) + 1, 10).astype(np.int64)
    g, h = cupy.zeros(raw.shape), cupy.zeros(raw.shape)
    host = control.configure(ptx="", order="forward")
    with host if device == "cpu" else control.configure():
        gradients.group_gradients(GROUP_LOSS.grad_hess, 0)(
            len(begin) - 1, *map(cupy.asarray, (y, raw, rows, begin, none)), g, h, np.float64(0.5)
        )
        return g.get().tobytes(), h.get().tobytes()


FOREST = {"n_estimators": 2}
BOOSTING = {
    "depthwise, binary, weights, penalties, drawn columns": boosting(
        2, weighted=True, max_depth=4, min_samples_leaf=3, evals=("logloss", "error", "auc"),
        **PENALTIES, **DRAWN_COLUMNS,
    ),
    "rows by the size of their gradients": rows_by_gradients,
    "depthwise, numbers": boosting(
        0, max_depth=5, missing=False, max_bins=256, evals=("rmse", "mae"), n_estimators=2
    ),
    "depthwise, exponential, weights, penalties, drawn columns": boosting(
        2, objective="exponential", max_depth=3, evals=("exponential",), weighted=True,
        colsample_bynode=0.6, **PENALTIES,
    ),
    "leafwise, numbers, drawn rows, two leaves a step, penalties": boosting(
        0, grow_policy="leafwise", max_leaves=9, leaves_per_step=2, subsample=0.6, **PENALTIES
    ),
    "leafwise, classes, rows counted": boosting(
        3, grow_policy="leafwise", max_leaves=7, min_samples_leaf=4, subsample=0.8,
        n_estimators=2, **DRAWN_COLUMNS,
    ),
    "symmetric, classes, rows counted, drawn columns": boosting(
        7, grow_policy="symmetric", max_depth=3, min_samples_leaf=5, n=700,
        evals=("mlogloss", "merror"), n_estimators=1, **DRAWN_COLUMNS,
    ),
    "many features, depthwise, rows counted": boosting(
        2, max_depth=3, min_samples_leaf=2, n_estimators=1, **DRAWN_COLUMNS, **WIDE
    ),
    "many features, leafwise": boosting(
        0, grow_policy="leafwise", max_leaves=7, n_estimators=2, **DRAWN_COLUMNS, **WIDE
    ),
    "many features, symmetric": boosting(
        0, grow_policy="symmetric", max_depth=3, n_estimators=2, **DRAWN_COLUMNS, **WIDE
    ),
    "many features, symmetric, rows counted": boosting(
        0, grow_policy="symmetric", max_depth=3, n_estimators=1, min_samples_leaf=3,
        **PENALTIES, **WIDE,
    ),
    "many leaves": boosting(
        0, max_depth=10, n_estimators=2, min_child_weight=0.0, reg_lambda=0.01, n=900
    ),
    "many leaves, rows counted, best first": boosting(
        0, max_depth=10, n_estimators=1, min_child_weight=0.0, reg_lambda=0.01, n=900,
        min_samples_leaf=2, max_leaves=280,
    ),
    "small tiles": small_tiles,
    "monotone, rows counted": in_every_order(0, min_samples_leaf=3, weighted=True, **MONOTONE),
    "monotone, many features, rows counted": boosting(
        2, grow_policy="leafwise", max_leaves=24, leaves_per_step=3, min_samples_leaf=2,
        n_estimators=2, **MONOTONE, **WIDE,
    ),
    "leafwise, numbers, rows counted, three leaves a step": boosting(
        0, grow_policy="leafwise", max_leaves=24, leaves_per_step=3, min_samples_leaf=2,
        n_estimators=1,
    ),
    "leafwise, numbers, rows not counted, three leaves a step": boosting(
        0, grow_policy="leafwise", max_leaves=24, leaves_per_step=3, n_estimators=1, weighted=True
    ),
    "depthwise, few leaves, rows counted": boosting(
        2, max_depth=6, max_leaves=11, min_samples_leaf=2, n_estimators=1, weighted=True,
        **PENALTIES,
    ),
    "rules of features": in_every_order(0, OF_DRAWN_COLUMNS, **RULES),
    "rules of features, rows counted": in_every_order(
        2, OF_DRAWN_COLUMNS, min_samples_leaf=4, **RULES
    ),
    "rules of many features": boosting(
        0, max_depth=3, n_estimators=1, **RULES, **DRAWN_COLUMNS, **WIDE
    ),
    "rules of many features, rows counted": boosting(
        2, grow_policy="leafwise", max_leaves=6, min_samples_leaf=2, n_estimators=1, **RULES,
        **DRAWN_COLUMNS, **WIDE,
    ),
    "forced splits": in_every_order(2, forced=True),
    "forced splits, rows counted": in_every_order(0, forced=True, min_samples_leaf=3),
    "leaves of several values": boosting(
        4, max_depth=3, multi_strategy="vector_leaf", weighted=True, evals=("mlogloss",),
        n_estimators=2,
    ),
    "several labels": several_labels,
    "leaf values from residuals": leaves_from_residuals(
        {"objective": "absolute_error", "weighted": True},
        {"objective": "huber", "delta": 0.4, "subsample": 0.6, "sampling_method": "goss"},
        {"objective": "adaptive_huber", "weighted": True, "subsample": 0.7},
        {"objective": "quantile", "alpha": [0.2, 0.5], "weighted": True, "subsample": 0.6,
         "sampling_method": "mvs"},
        {"objective": "quantile", "alpha": 0.25, "n": 64, "missing": False},
    ),
    "leaf values from residuals, monotone": leaves_from_residuals(
        {"objective": "absolute_error", "weighted": True},
        {"objective": "huber", "delta": 0.4, "subsample": 0.6, "sampling_method": "goss"},
        {"objective": "adaptive_huber", "n": 60, "weighted": True},
        min_samples_leaf=2, **WIDE, **MONOTONE,
    ),
    "depthwise, rounded at random": rounded_at_random,
    "depthwise, little shared memory": little_shared_memory,
    "sets of categories": sets_of_categories,
    "stored values": stored_values(*OF_EVERY_ORDER),
    "stored values, rows counted": stored_values(
        *OF_EVERY_ORDER, min_samples_leaf=3, subsample=0.8
    ),
    "stored values, monotone": stored_values(*OF_EVERY_ORDER, **MONOTONE),
    "symmetric, numbers, weights, penalties": boosting(
        0, grow_policy="symmetric", max_depth=4, weighted=True, **PENALTIES
    ),
}  # fmt: skip
CLASSICAL = {
    "forest, entropy": classical(RandomForestClassifier, 3, criterion="entropy", **FOREST),
    "forest, gini, two outputs": classical(RandomForestClassifier, 2, outputs=2, **FOREST),
    "forest, misclassification": classical(
        RandomForestClassifier, 3, criterion="misclassification", missing=False, **FOREST
    ),
    "forest, numbers": classical(RandomForestRegressor, 0, min_samples_leaf=3, **FOREST),
    "forest, counts": classical(RandomForestRegressor, 0, criterion="poisson", **FOREST),
    "extra trees, classes": classical(ExtraTreesClassifier, 3, **FOREST),
    "extra trees, numbers": classical(ExtraTreesRegressor, 0, outputs=2, **FOREST),
    "decision tree, classes": classical(DecisionTreeClassifier, 2, splitter="hist"),
    "decision tree, numbers": classical(DecisionTreeRegressor, 0, splitter="hist"),
    "AdaBoost, classes": classical(AdaBoostClassifier, 3, splitter="hist", **FOREST),
    "AdaBoost, numbers": classical(AdaBoostRegressor, 0, splitter="hist", **FOREST),
    "categories in order": with_categories(
        DecisionTreeClassifier, 3, splitter="hist", categorical_features=[2, 3], weighted=True
    ),
    "categories in all ways": with_categories(
        DecisionTreeRegressor, 0, splitter="hist", criterion="absolute_error", rows=150,
        categorical_split="exhaustive", categorical_features=[2],
    ),
    "categories by chance": with_categories(
        ExtraTreesClassifier, 3, categorical_features=[2, 3], **FOREST
    ),
    "distances": with_categories(
        DecisionTreeRegressor, 0, splitter="hist", criterion="absolute_error", outputs=2,
        categorical_split="one_vs_rest", categorical_features=[2, 3], max_bins=9, weighted=True,
    ),
    "large nodes": large_nodes,
    "halves of features drawn by probability": classical(
        DecisionTreeClassifier, 3, splitter="midpoint", max_bins=256, max_features=None,
        feature_probabilities=[0, *range(1, 17), 0], weighted=False,
    ),
    "cuts by chance, classes": with_categories(
        DecisionTreeClassifier, 3, splitter="random", max_features=2, weighted=True
    ),
    "cuts by chance, numbers": with_categories(
        DecisionTreeRegressor, 0, splitter="random", criterion="absolute_error", outputs=2,
        categorical_split="fisher", categorical_features=[3],
    ),
    "categories one against the rest": with_categories(
        DecisionTreeClassifier, 2, splitter="hist", categorical_split="one_vs_rest",
        categorical_features=[2, 3], criterion="entropy",
    ),
    "categories within guard rails": with_categories(
        DecisionTreeClassifier, 3, splitter="hist", categorical_features=[3], max_cat_threshold=3,
        min_data_per_category=12, rows=400,
    ),
    "every set within guard rails": with_categories(
        DecisionTreeRegressor, 0, splitter="hist", categorical_features=[3],
        categorical_split="exhaustive", min_data_per_category=9, weighted=True,
    ),
    "categories of counts": with_categories(
        DecisionTreeRegressor, 0, splitter="hist", outputs=2, categorical_split="exhaustive",
        categorical_features=[2],
    ),
    "most important nodes first": classical(
        RandomForestClassifier, 3, max_leaf_nodes=6, **FOREST
    ),
}  # fmt: skip
ARRAYS = {
    "arrays on the device, float32, numbers": on_device(0, np.float32, False),
    "arrays on the device, float64, weights, binary": on_device(2, np.float64, True),
    "arrays on the device, integers, classes": on_device(3, np.int64, False),
    "forest of arrays on the device": classical_on_device(
        RandomForestRegressor, ("predict", "apply"), oob_score=True, max_samples=0.4, n_estimators=8
    ),
    "AdaBoost of arrays on the device": classical_on_device(
        AdaBoostRegressor, ("predict",), splitter="hist", n_estimators=9
    ),
    "pruned tree of arrays on the device": classical_on_device(
        DecisionTreeRegressor, ("predict",), splitter="hist", ccp_alpha="cv", cv=3
    ),
    "rows on the host": host_rows,
    "a loss of groups": loss_of_groups,
}
CASES = {**BOOSTING, **CLASSICAL, **ARRAYS}


@functools.cache
def expected(name):
    """What a case gives on the CPU."""
    return CASES[name]("cpu")


def agrees(name, target, order, seed=0):
    """Whether a case gives the same with compiled kernels of a target, in an order."""
    wanted = expected(name)
    architecture, nvrtc = target
    # a small device gives each block many tiles to go through, a larger one few or none
    n_multiprocessors = 1 if order in ("reverse", "preempted") else 4
    changes = {"ptx": architecture, "nvrtc": nvrtc, "order": order, "seed": seed}
    with control.configure(n_multiprocessors=n_multiprocessors, **changes):
        return CASES[name]("cuda") == wanted


# --- what there is to be run


def kernels():
    """Names of all kernels: those of the CUDA sources, and bodies with one thread a row."""
    sources = "".join(compiler.source(name, 16, True) for name in compiler.FILES)
    found = re.findall(r'extern "C"\s+__global__\s+void\s+[^{;]*?(\w+)\(\s', sources)
    return set(found) | row_kernels()


def row_kernels():
    """Names of the bodies with one thread a row."""
    return {
        node.args[0].id
        for path in Path(compiler.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RowKernel"
    }


def executed(target):
    """Names of the kernels that have been launched for a target."""
    number, nvrtc = int(target[0].removeprefix("sm_")), target[1]
    return {
        kernel for t, kernel in ptx_device.launches if (t.architecture, t.nvrtc) == (number, nvrtc)
    }


def coverage():
    """{kernel: (basic blocks that have been run, basic blocks)} over all texts in use."""
    ours, out = kernels(), {}
    for (_, kernel, _), blocks in ptx_device.coverage().items():
        if kernel in ours:
            run, of = out.get(kernel, (0, 0))
            out[kernel] = run + sum(blocks.values()), of + len(blocks)
    return out


def share(covered):
    """The share of basic blocks that have been run."""
    return sum(run for run, _ in covered.values()) / sum(of for _, of in covered.values())
