"""Fitted models of every kind to save and load, and what it means that two are the same."""

import importlib.util
import warnings
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import gpuboost as gb
from gpuboost.export.tree_fields import TreeFields

ROOT = Path(__file__).parents[1]
FOREST = {"n_estimators": 4, "max_depth": 5}


def load_fuzz():
    spec = importlib.util.spec_from_file_location(
        "fuzz_files", ROOT / "tests" / "model" / "fuzz_files.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = load_fuzz()


def data(n=90, seed=0):
    """Rows with missing values and a nominal column, numbers, and classes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 2] = rng.integers(0, 70, n)
    x[rng.random(x.shape) < 0.1] = np.nan
    value = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) ** 2 + 0.1 * rng.normal(size=n)
    return x, value, np.digitize(value, [0.0, 1.0])


X, Y, CLASSES = data()
WEIGHT = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
FRAME = pd.DataFrame(
    {
        "a long name, with ünïcode": X[:, 0],
        "kind": pd.Categorical(np.array(["red", "green", "blue"])[CLASSES]),
        "number": X[:, 1],
        "flag": X[:, 3] > 0,
    }
)
TWO, TEXTS = CLASSES > 0, np.array(["low", "middle", "high"])[CLASSES]
BOTH, PAIR = np.stack([CLASSES, TWO], axis=1), np.stack([Y, -Y], axis=1)
VALID = {"eval_set": [(X, CLASSES), (X[:30], CLASSES[:30])]}
EARLY = {"early_stopping_rounds": 1, "n_estimators": 30, "learning_rate": 2.0}
NOMINAL = {"categorical_features": [2]}


def boosted(kind, y, fit=None, **options):
    return kind(**{"n_estimators": 4, "max_depth": 3, **options}).fit(X, y, **(fit or {}))


#: Every estimator in many variations.
MODELS = {
    "boost": lambda: boosted(gb.GPUBoostRegressor, Y),
    "boost of huge numbers": lambda: boosted(gb.GPUBoostRegressor, Y * 1e300),
    "boost with weights": lambda: boosted(
        gb.GPUBoostRegressor, Y, {"sample_weight": WEIGHT}, grow_policy="symmetric", subsample=0.7
    ),
    "boost of a constant": lambda: boosted(
        gb.GPUBoostRegressor, np.ones(len(X)), grow_policy="leafwise"
    ),
    "boost, early": lambda: boosted(
        gb.GPUBoostRegressor, Y, {"eval_set": (X[:20], -Y[:20])}, **EARLY
    ),
    "boost of names": lambda: gb.GPUBoostRegressor(n_estimators=2).fit(
        FRAME[["number", "flag"]], Y
    ),
    "boost of integers": lambda: gb.GPUBoostRegressor(
        n_estimators=2, random_state=2**40, n_jobs=-1
    ).fit(X[:, :2].round(), Y),
    "classes": lambda: boosted(
        gb.GPUBoostClassifier, CLASSES, VALID, eval_metric=["merror", "mlogloss"], **EARLY
    ),
    "one metric twice": lambda: boosted(
        gb.GPUBoostClassifier, CLASSES, VALID, eval_metric=["merror", "merror"]
    ),
    "bool classes": lambda: boosted(
        gb.GPUBoostClassifier, TWO, objective="exponential", class_weight={False: 1.5, True: 2}
    ),
    "float classes": lambda: boosted(
        gb.GPUBoostClassifier,
        TWO.astype(np.float32),
        class_weight={np.float32(0): 1, 1.0: np.int8(2)},
    ),
    "text classes": lambda: boosted(
        gb.GPUBoostClassifier, TEXTS, class_weight="balanced", verbose=np.int64(0)
    ),
    "object classes": lambda: boosted(gb.GPUBoostClassifier, TEXTS.astype(object)),
    "wide text classes": lambda: boosted(gb.GPUBoostClassifier, TEXTS.astype("U100")),
    "small classes": lambda: boosted(gb.GPUBoostClassifier, CLASSES.astype(np.uint8)),
    "tree": lambda: gb.DecisionTreeRegressor().fit(X, Y),
    "tree of huge numbers": lambda: gb.DecisionTreeRegressor(max_depth=3).fit(X, Y * 1e80),
    "tree by medians": lambda: gb.DecisionTreeRegressor(
        criterion="absolute_error", max_leaf_nodes=7, **NOMINAL
    ).fit(X, Y, WEIGHT),
    "tree of two": lambda: gb.DecisionTreeRegressor(
        ccp_alpha="cv", cv=3, max_features=np.int32(2)
    ).fit(X, PAIR),
    "tree, pruned by another risk": lambda: gb.DecisionTreeClassifier(
        ccp_alpha=0.02, pruning_risk="misclassification"
    ).fit(X, CLASSES),
    "exact forest": lambda: gb.RandomForestClassifier(splitter="exact", **FOREST).fit(X, CLASSES),
    "exact extra trees": lambda: gb.ExtraTreesRegressor(splitter="exact", **FOREST).fit(X, PAIR),
    "forest of middles": lambda: gb.RandomForestRegressor(splitter="midpoint", **FOREST).fit(X, Y),
    "tree, pruned": lambda: (
        gb.DecisionTreeRegressor().fit(X, Y).prune_reduced_error(X[:30], Y[:30])
    ),
    "tree by midpoints": lambda: gb.DecisionTreeRegressor(
        splitter="midpoint", max_depth=4, feature_probabilities=[1, 2, 3, 4]
    ).fit(X, Y),
    "tree of classes": lambda: gb.DecisionTreeClassifier(
        splitter="hist",
        max_features="sqrt",
        class_weight={"high": 2.0, "low": 1, "middle": 1},
        min_data_per_category=1,
        **NOMINAL,
    ).fit(X, TEXTS),
    "tree of both": lambda: gb.DecisionTreeClassifier(
        class_weight=[{0: 1, 1: 2, 2: 3}, {0: 1, 1: 5}], max_depth=3
    ).fit(X, BOTH),
    "tree of one class": lambda: gb.DecisionTreeClassifier().fit(X, np.zeros(len(X))),
    "tree of a frame": lambda: gb.DecisionTreeClassifier(categorical_features="auto").fit(
        FRAME, CLASSES
    ),
    "tree by misclassification": lambda: gb.DecisionTreeClassifier(
        criterion="misclassification", ccp_alpha=np.float16(0.01)
    ).fit(X, TWO),
    "forest": lambda: gb.RandomForestRegressor(
        **FOREST, oob_score=True, max_samples=0.5, criterion="poisson"
    ).fit(X, Y**2, WEIGHT),
    "forest with targets": lambda: gb.RandomForestRegressor(
        **FOREST, keep_targets=True, oob_score=True
    ).fit(X, PAIR, WEIGHT),
    "forest of classes": lambda: gb.RandomForestClassifier(
        **FOREST, **NOMINAL, oob_score=True, voting="hard", max_samples=20
    ).fit(X, TEXTS),
    "forest of both": lambda: gb.RandomForestClassifier(
        **FOREST, oob_score=True, class_weight="balanced_subsample"
    ).fit(X, BOTH),
    "forest without bags": lambda: gb.RandomForestClassifier(
        **FOREST, bootstrap=False, class_weight={0: 1, 1: 2, 2: 3}
    ).fit(X, CLASSES),
    "extra trees": lambda: gb.ExtraTreesRegressor(
        **FOREST, keep_targets=True, max_features=0.5, **NOMINAL
    ).fit(X, Y),
    "extra trees of a frame": lambda: gb.ExtraTreesClassifier(
        **FOREST, categorical_features=["kind"], bootstrap=True
    ).fit(FRAME, CLASSES),
    "adaboost": lambda: gb.AdaBoostClassifier(n_estimators=4).fit(X, TWO),
    "adaboost of names": lambda: gb.AdaBoostClassifier(n_estimators=4, max_depth=2, **NOMINAL).fit(
        X, TEXTS, WEIGHT
    ),
    "adaboost of numbers": lambda: gb.AdaBoostRegressor(
        n_estimators=4, loss="square", categorical_features=(2,)
    ).fit(X, Y),
    "adaboost of a frame": lambda: gb.AdaBoostRegressor(
        n_estimators=2, categorical_features=np.array(["kind"])
    ).fit(FRAME, Y),
}


def fit(name):
    """A model of ``MODELS``, fitted anew."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # rows without out-of-bag prediction, AdaBoost that stops early
        return MODELS[name]()


@cache
def fitted(name):
    """The same, fitted once for all tests, which must leave it as it is."""
    return fit(name)


def round_trip(model, folder):
    model.save_model(folder / "model.gb")
    return gb.load_model(folder / "model.gb")


def assert_same(a, b, where="model"):
    """Equal in type, dtype and every bit, all the way down."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, where
        if a.dtype == object:
            assert_same(a.tolist(), b.tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
    elif isinstance(a, dict):
        assert {(type(key), key) for key in a} == {(type(key), key) for key in b}, where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif is_dataclass(a):
        for field in fields(a):
            if field.compare:
                assert_same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, (BaseEstimator, TreeFields)):
        own = {name: value for name, value in vars(a).items() if name != "_model"}
        assert_same(own, {name: vars(b)[name] for name in own}, where)
    elif isinstance(a, (float, np.floating)):
        assert a == b or (a != a and b != b), where
    else:
        assert a == b, where


def everything_said(model):
    """All that a fitted model can be asked, by name."""
    x = X if not hasattr(model, "feature_names_in_") else FRAME[list(model.feature_names_in_)]
    x = x if model.n_features_in_ == x.shape[1] else X[:, : model.n_features_in_].round()
    out = {"fingerprint": model.fingerprint(), "importances": model.feature_importances_}
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply"):
        if hasattr(model, name):
            out[name], out[f"{name} of few"] = getattr(model, name)(x), getattr(model, name)(x[:3])
    for name in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        if hasattr(model, name):
            out[name] = list(getattr(model, name)(x))
    if hasattr(model, "decision_path"):
        paths = model.decision_path(x)
        out["paths"] = (paths[0] if isinstance(paths, tuple) else paths).toarray()
    if getattr(model, "leaf_targets_", None) is not None:
        out["quantiles"] = model.predict_quantiles(x, [0.0, 0.3, 1.0])
    if getattr(model, "bags_", None) is not None:
        out["bag"] = model.bag_counts(1)
    return out
