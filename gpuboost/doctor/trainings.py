"""Small trainings of all estimators and their options, on the CPU and on CUDA."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gpuboost
from gpuboost.doctor.checks import Check, Sizes, outcome
from gpuboost.model.tree import Tree


@dataclass(frozen=True)
class Training:
    """An estimator, its parameters, and what its data are like."""

    estimator: str
    target: str
    options: dict[str, Any]
    large: bool = False
    n_features: int = 18
    missing: bool = True
    weights: bool = False
    eval_set: bool = False
    on_device: bool = False
    sparse: bool = False
    categories: bool = False  # in columns 3 and 4
    groups: bool = False  # of three rows


def _boosting() -> dict[str, Training]:
    """Boosting: objectives by orders of growth, then single options."""
    kinds = {
        "values": "GPUBoostRegressor",
        "two": "GPUBoostClassifier",
        "five": "GPUBoostClassifier",
    }
    small: dict[str, Any] = {"n_estimators": 4, "random_state": 1}
    sizes: dict[str, dict[str, Any]] = {
        "depthwise": {"max_depth": 5},
        "leafwise": {"max_leaves": 12, "max_depth": None},
        "symmetric": {"max_depth": 4},
    }
    out = {
        f"{kinds[target]}, {target}, {order}": Training(
            kinds[target], target, {"grow_policy": order, **sizes[order], **small}
        )
        for target in kinds
        for order in sizes
    }
    options: dict[str, dict[str, Any]] = {
        "exponential": {"objective": "exponential"},
        "rows drawn": {"subsample": 0.6},
        "rows drawn by size": {"subsample": 0.4, "sampling_method": "mvs"},
        "rows drawn, large gradients kept": {"subsample": 0.4, "sampling_method": "goss"},
        "columns drawn": {
            "colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.8,
        },
        "limits of leaves": {"min_samples_leaf": 20, "min_child_weight": 3.0},
        "penalties": {"reg_alpha": 0.5, "reg_lambda": 2.0, "max_delta_step": 0.7},
        "least gain": {"min_split_gain": 0.5},
        "few bins": {"max_bins": 16},
        "several leaves a step": {
            "grow_policy": "leafwise", "max_leaves": 31, "max_depth": None, "leaves_per_step": 4,
        },
        "depth 12": {"max_depth": 12, "min_child_weight": 0.0},
    }  # fmt: skip
    losses: dict[str, dict[str, Any]] = {
        "absolute error": {"objective": "absolute_error"},
        "absolute error, monotone": {
            "objective": "absolute_error", "monotone_constraints": {0: 1},
        },
        "adaptive Huber": {"objective": "adaptive_huber", "subsample": 0.6},
        "three quantiles": {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]},
        "expectile": {"objective": "expectile", "alpha": 0.8},
        "distribution": {"objective": "normal"},
    }  # fmt: skip
    for name, parameters in losses.items():
        out[f"boosting, {name}"] = Training("GPUBoostRegressor", "values", small | parameters)
    for name, parameters in options.items():
        out[f"boosting, {name}"] = Training("GPUBoostClassifier", "two", small | parameters)
    regressor, classifier = "GPUBoostRegressor", "GPUBoostClassifier"
    stops = {"n_estimators": 20, "early_stopping_rounds": 2, "learning_rate": 0.9}
    out |= {
        "boosting, weights": Training(classifier, "two", small, weights=True),
        "boosting, weights of values": Training(regressor, "values", small, weights=True),
        "boosting, groups drawn, out of bag": Training(
            classifier, "two", small | {"subsample": 0.6, "oob_score": True}, groups=True
        ),
        "boosting, leaves of several outputs": Training(
            classifier, "five", small | {"multi_strategy": "vector_leaf"}
        ),
        "boosting, several targets": Training(regressor, "pair", small),
        "boosting, means of targets by category": Training(
            classifier,
            "five",
            small | {"categorical_features": [3, 4], "categorical_encoding": "both"},
            categories=True,
        ),
        "boosting, nothing missing": Training(regressor, "values", small, missing=False),
        "boosting, early stopping": Training(regressor, "values", stops, eval_set=True),
        "boosting, 300 columns": Training(classifier, "two", small, n_features=300),
        "boosting, X on the device": Training(classifier, "two", small, on_device=True),
        "boosting, area under the curve": Training(
            classifier, "two", small | {"eval_metric": ["auc", "logloss"]}, eval_set=True
        ),
        "boosting, many rows": Training(classifier, "two", small, large=True),
        "boosting, many rows, symmetric": Training(
            regressor, "values", small | {"grow_policy": "symmetric"}, large=True
        ),
        "boosting, many rows, 64 leaves": Training(
            classifier, "five", small | sizes["leafwise"] | {"max_leaves": 64}, large=True
        ),
    }
    monotone = {"monotone_constraints": {0: 1, 5: -1}}
    rules = {
        "interaction_constraints": [[0, 5, 17], [1, 2, 5]], "feature_weights": {0: 5.0, 3: 0.0},
        "feature_penalties": {0: 9.0, 17: 3.0}, "colsample_bytree": 0.8, "colsample_bynode": 0.7,
    }  # fmt: skip
    root = {"feature": 5, "threshold": 0.0}
    forced: dict[str, dict[str, Any]] = {
        "depthwise": {"forced_splits": root | {"left": {"feature": 1, "threshold": 0.5}}},
        "leafwise": {"forced_splits": root | {"right": {"feature": 2, "threshold": 1.0}}},
        "symmetric": {"forced_splits": [root, {"feature": 1, "threshold": 0.5}]},
    }
    for order, size in sizes.items():
        parameters = small | size | {"grow_policy": order}
        out[f"boosting, forced splits, {order}"] = Training(
            classifier, "two", parameters | forced[order]
        )
        out[f"boosting, monotone features, {order}"] = Training(
            regressor, "values", parameters | monotone
        )
        out[f"boosting, rules of features, {order}"] = Training(
            regressor, "values", parameters | rules
        )
        out[f"boosting, categories, {order}"] = Training(
            regressor, "values",
            parameters | {"categorical_features": [3, 4], "subsample": 0.7}, categories=True,
        )  # fmt: skip
        out[f"boosting, sparse matrix, {order}"] = Training(
            regressor, "values", parameters | {"subsample": 0.7}, sparse=True
        )
    out["boosting, sparse matrix, rows counted, monotone"] = Training(
        classifier, "two", small | {"min_samples_leaf": 5} | monotone, sparse=True
    )
    return out


def _classical() -> dict[str, Training]:
    """Trees, forests and AdaBoost."""
    forest: dict[str, Any] = {"n_estimators": 5, "max_depth": 6, "random_state": 1}
    tree: dict[str, Any] = {"splitter": "hist", "max_depth": 6, "random_state": 1}
    boosted: dict[str, Any] = {
        "splitter": "hist", "max_depth": 3, "n_estimators": 5, "random_state": 1,
    }  # fmt: skip
    pairs = {"Regressor": "values", "Classifier": "five"}
    out = {}
    for kind, target in pairs.items():
        for name, options in (
            ("DecisionTree", tree), ("RandomForest", forest), ("ExtraTrees", forest),
            ("AdaBoost", boosted),
        ):  # fmt: skip
            out[f"{name}{kind}"] = Training(name + kind, target, options)
    criteria = {"entropy": "five", "misclassification": "five", "poisson": "counts"}
    for criterion, target in criteria.items():
        kind = "RandomForestRegressor" if target == "counts" else "RandomForestClassifier"
        out[f"forest, {criterion}"] = Training(kind, target, forest | {"criterion": criterion})
    options_of_forests: dict[str, dict[str, Any]] = {
        "limits of leaves": {"min_samples_leaf": 8, "min_samples_split": 30},
        "parts of the rows": {"max_samples": 0.5},
        "out of bag": {"oob_score": True, "bootstrap": True},
        "hard voting": {"voting": "hard"},
        "all features": {"max_features": None},
        "no limit of depth": {"max_depth": None},
    }
    for name, parameters in options_of_forests.items():
        out[f"forest, {name}"] = Training("RandomForestClassifier", "five", forest | parameters)
    out |= {
        "forest, weights": Training("RandomForestClassifier", "five", forest, weights=True),
        "forest, two outputs": Training("RandomForestRegressor", "pair", forest),
        "forest, many rows": Training("RandomForestClassifier", "two", forest, large=True),
        "tree, many rows": Training(
            "DecisionTreeRegressor", "values", tree | {"max_depth": 3}, large=True
        ),
        "forest, X on the device": Training(
            "ExtraTreesRegressor", "values", forest, weights=True, on_device=True
        ),
    }
    return out | _splits_of_every_kind(tree, forest)


def _splits_of_every_kind(tree: dict[str, Any], forest: dict[str, Any]) -> dict[str, Training]:
    """Splits that numbers in bins do not have, and trees that grow in another order."""
    classifier, regressor = "DecisionTreeClassifier", "DecisionTreeRegressor"
    nominal = tree | {"categorical_features": [3, 4]}
    distances = {"criterion": "absolute_error", "max_depth": 4}
    halves = {"splitter": "midpoint", "feature_probabilities": [1.0] * 17 + [2.0]}
    best_first = {"max_leaf_nodes": 12, "max_depth": None}
    rest = {"categorical_split": "one_vs_rest"}
    every = {"categorical_split": "exhaustive", "categorical_features": [3], "max_depth": 4}
    return {
        "tree, categories": Training(regressor, "values", nominal, categories=True),
        "tree, categories of five classes": Training(classifier, "five", nominal, categories=True),
        "tree, categories one against the rest": Training(
            classifier, "five", nominal | rest, categories=True
        ),
        "tree, all sets of categories": Training(
            regressor, "values", nominal | every, categories=True
        ),
        "forest, categories by chance": Training(
            "ExtraTreesClassifier", "five", forest | {"categorical_features": [3, 4]},
            categories=True,
        ),
        "tree, absolute error": Training(regressor, "values", tree | distances, weights=True),
        "forest, absolute error": Training("ExtraTreesRegressor", "pair", forest | distances),
        "tree, cuts by chance": Training(classifier, "five", tree | {"splitter": "random"}),
        "tree, cuts in the middle": Training(classifier, "five", tree | halves),
        "tree, best first": Training(regressor, "values", tree | best_first),
        "forest, best first": Training("RandomForestClassifier", "five", forest | best_first),
        "tree, exact": Training(classifier, "five", tree | {"splitter": "exact"}),
    }  # fmt: skip


TRAININGS = _boosting() | _classical()


def run_training(name: str, sizes: Sizes) -> Check:
    """Train on both devices and compare the models."""
    training = TRAININGS[name]
    data = Data.of(training, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an estimator says of the data is not at issue
        cpu, cuda = (data.fit(training, device) for device in ("cpu", "cuda"))
    expected = cpu.fingerprint()
    difference = ""
    if cuda.fingerprint() != expected:
        trees = first_difference(cpu.ensemble_.trees, cuda.ensemble_.trees)
        difference = f"the model is NOT the CPU's: {trees}"
    check = outcome("trainings", name, difference, f"fingerprint {expected[:16]} on both")
    check.figures.update(rows=len(data.x), cpu=expected, cuda=cuda.fingerprint())
    return check


@dataclass(frozen=True)
class Data:
    """Rows, their targets, and what else ``fit`` gets."""

    x: np.ndarray
    y: np.ndarray
    fit_options: dict[str, Any]

    @classmethod
    def of(cls, training: Training, sizes: Sizes) -> Data:
        """Values with and without gaps, rounded ones among them."""
        n = sizes.large if training.large else sizes.small
        rng = np.random.default_rng(7)
        x = rng.normal(size=(n, training.n_features)).astype(np.float32)
        x[:, 5] = np.round(x[:, 5])
        signal = x[:, 0] + x[:, 5] * x[:, 17] + 0.3 * rng.normal(size=n)
        weight = rng.exponential(size=n)
        if training.sparse:
            x[np.abs(x) < 1.0] = 0.0
        elif training.missing:
            x[rng.random(x.shape) < 0.1] = np.nan
        if training.categories:
            few, many = rng.integers(0, 5, n), rng.integers(0, 25, n)
            signal = signal + few % 3 + rng.normal(size=25)[many]
            x[:, 3], x[:, 4] = few, many
        y = {
            "values": signal,
            "two": (signal > 0).astype(int),
            "five": np.digitize(signal, [-1.0, -0.3, 0.3, 1.0]),
            "counts": np.floor(np.abs(signal)),
            "pair": np.stack([signal, np.abs(signal)], axis=1),
        }[training.target]
        options: dict[str, Any] = {"sample_weight": weight} if training.weights else {}
        if training.groups:
            options["groups"] = np.arange(n) // 3
        if training.eval_set:
            options["eval_set"] = x[: n // 4], y[n // 4 : 2 * (n // 4)]  # of other rows: it stops
        return cls(x, y, options)

    def fit(self, training: Training, device: str) -> Any:
        """Train on a device."""
        x = csr_array(self.x) if training.sparse else self.x
        if training.on_device and device == "cuda":
            x = import_module("gpuboost.kernels.cuda.device").cupy().asarray(x)
        estimator = getattr(gpuboost, training.estimator)(device=device, **training.options)
        return estimator.fit(x, self.y, **self.fit_options)


def first_difference(expected: list[Tree], actual: list[Tree]) -> str:
    """Where two lists of trees begin to differ."""
    if len(expected) != len(actual):
        return f"{len(actual)} trees instead of {len(expected)}"
    for t, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if len(a.left) != len(b.left):
            return f"tree {t} is the first that differs: {len(b.left)} nodes, not {len(a.left)}"
        for field in fields(Tree):
            one, other = getattr(a, field.name), getattr(b, field.name)
            if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                node = int(np.argwhere((one != other).reshape(len(one), -1).any(axis=1))[0, 0])
                return (
                    f"tree {t} is the first that differs, its node {node} in {field.name}: "
                    f"{other[node]} instead of {one[node]}"
                )
    return "the trees are the same, but not what else the models hold"
