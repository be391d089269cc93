"""Small fits of every estimator in many variations, and digests of what they predict.

``python tests/recorded_fits.py FILE`` writes the digests; ``tests/test_recorded_fits.py`` compares
them with ``tests/recorded_fits.json``: a change that was not meant to change a model must leave
them alone. Only public names are used, so that the script runs on any version of the library."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings

os.environ.setdefault("GPUBOOST_EMULATE_CUDA", "1")

import numpy as np

import gpuboost as gb

N_ROWS, N_NEW = 700, 1000


def _data(seed=0, n=N_ROWS + N_NEW, d=9):
    """Values that any machine makes alike: integers from PCG64, and sums and quotients of them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**20), 2**20, size=(n, d)) / 2.0**18
    x[:, 3] = np.floor(x[:, 3])
    x[:, 6] = np.floor(2 * x[:, 6])
    noise = rng.integers(-(2**20), 2**20, size=n) / 2.0**20
    signal = x[:, 0] + x[:, 3] * x[:, 1] / 4 + np.abs(x[:, 5]) - noise
    weight = rng.integers(1, 2**12, size=n) / 2.0**11
    weight[::17] = 0.0
    missing = rng.integers(0, 10, size=x.shape) == 0
    return x, np.where(missing, np.nan, x), signal, weight, noise


X, HOLES, SIGNAL, WEIGHT, NOISE = _data()
TARGETS = {
    "values": SIGNAL,
    "two": (SIGNAL > 0.5).astype(int),
    "five": np.digitize(SIGNAL, [-2.0, 0.0, 1.5, 4.0]),
    "text": np.array(["no", "perhaps", "yes"])[np.digitize(SIGNAL, [-1.0, 2.0])],
    "counts": np.maximum(0, np.floor(SIGNAL)),
    "pair": np.stack([SIGNAL, SIGNAL * NOISE], axis=1),
    "two pairs": np.stack([SIGNAL > 0.5, NOISE > 0.2], axis=1).astype(int),
}
NOMINAL = np.where(np.isnan(HOLES), np.nan, np.clip(np.floor(np.nan_to_num(HOLES) * 2) + 5, 0, 9))


def _case(estimator, target="values", *, x=X, weight=None, evals=False, device="cpu", **params):
    return {
        "estimator": estimator,
        "target": target,
        "x": x,
        "weight": weight,
        "evals": evals,
        "params": {"device": device, "n_jobs": 2, "random_state": 3, **params},
    }


def cases():
    """{name: case}."""
    out = {}

    def add(name, *args, **options):
        assert name not in out, name
        out[name] = _case(*args, **options)

    boosts = [
        ("GPUBoostRegressor", "values"),
        ("GPUBoostClassifier", "two"),
        ("GPUBoostClassifier", "five"),
    ]
    small = {"n_estimators": 8}
    for device in ("cpu", "cuda"):
        rounds = {"n_estimators": 8 if device == "cpu" else 3}
        for estimator, target in boosts:
            for policy in ("depthwise", "leafwise", "symmetric"):
                add(
                    f"{device} {target} {policy}",
                    estimator,
                    target,
                    grow_policy=policy,
                    device=device,
                    **rounds,
                )
            add(
                f"{device} {target} holes weights rows columns", estimator, target, x=HOLES,
                weight=WEIGHT, device=device, subsample=0.7, colsample_bytree=0.8,
                colsample_bylevel=0.8, colsample_bynode=0.8, **rounds,
            )  # fmt: skip
        options = {
            "min_samples_leaf": 20, "reg_alpha": 0.5, "reg_lambda": 2.0, "max_delta_step": 0.7,
            "min_split_gain": 0.1, "min_child_weight": 3.0, "max_bins": 32, "learning_rate": 0.3,
        }  # fmt: skip
        for name, value in options.items():
            add(
                f"{device} {name}",
                "GPUBoostClassifier",
                "two",
                x=HOLES,
                weight=WEIGHT,
                device=device,
                **{name: value},
                **rounds,
            )
        add(
            f"{device} exponential",
            "GPUBoostClassifier",
            "two",
            objective="exponential",
            x=HOLES,
            device=device,
            **rounds,
        )
        add(
            f"{device} leaves per step", "GPUBoostRegressor", grow_policy="leafwise", max_leaves=12,
            leaves_per_step=3, device=device, **rounds,
        )  # fmt: skip
        add(
            f"{device} early stopping", "GPUBoostRegressor", evals=True, early_stopping_rounds=2,
            learning_rate=0.9, device=device, n_estimators=15,
        )  # fmt: skip
        for estimator, target in (
            ("RandomForest", "values"),
            ("ExtraTrees", "values"),
            ("RandomForest", "five"),
            ("ExtraTrees", "five"),
        ):
            kind = estimator + ("Regressor" if target == "values" else "Classifier")
            add(
                f"{device} {kind}",
                kind,
                target,
                x=HOLES,
                weight=WEIGHT,
                n_estimators=4,
                max_depth=5,
                device=device,
            )
        for kind, target in (
            ("DecisionTreeRegressor", "values"),
            ("DecisionTreeClassifier", "text"),
        ):
            add(
                f"{device} {kind} hist",
                kind,
                target,
                x=HOLES,
                splitter="hist",
                max_bins=40,
                max_depth=5,
                device=device,
            )
    add("objects", "GPUBoostClassifier", "text", x=HOLES, **small)
    add("class weight", "GPUBoostClassifier", "five", class_weight="balanced", **small)
    add("float32", "GPUBoostRegressor", x=HOLES.astype(np.float32), **small)
    add("integers", "GPUBoostRegressor", x=np.floor(X).astype(np.int32), **small)
    add("depth 12", "GPUBoostRegressor", max_depth=12, min_child_weight=0.0, n_estimators=3)
    add("leafwise 300", "GPUBoostRegressor", grow_policy="leafwise", max_leaves=300, n_estimators=2)
    add("weights", "GPUBoostRegressor", weight=WEIGHT, **small)
    add("rows", "GPUBoostClassifier", "five", subsample=0.5, **small)
    for splitter in ("exact", "hist", "random", "midpoint"):
        add(
            f"tree {splitter} values",
            "DecisionTreeRegressor",
            x=HOLES,
            splitter=splitter,
            min_samples_leaf=3,
        )
        add(
            f"tree {splitter} classes",
            "DecisionTreeClassifier",
            "five",
            x=HOLES,
            weight=WEIGHT,
            splitter=splitter,
            max_depth=7,
        )
    for criterion in ("gini", "entropy", "log_loss"):
        add(
            f"tree {criterion}",
            "DecisionTreeClassifier",
            "text",
            x=HOLES,
            criterion=criterion,
            max_leaf_nodes=20,
        )
    add(
        "tree misclassification",
        "DecisionTreeClassifier",
        "five",
        criterion="misclassification",
        max_depth=5,
    )
    add("tree absolute", "DecisionTreeRegressor", x=HOLES, criterion="absolute_error", max_depth=4)
    add("tree poisson", "DecisionTreeRegressor", "counts", criterion="poisson", max_depth=5)
    add("tree two outputs", "DecisionTreeRegressor", "pair", max_depth=5)
    add("tree two classes", "DecisionTreeClassifier", "two pairs", max_depth=5)
    for split in ("auto", "fisher", "one_vs_rest", "exhaustive"):
        for target in ("values", "five"):
            kind = "DecisionTreeRegressor" if target == "values" else "DecisionTreeClassifier"
            add(
                f"tree categories {split} {target}", kind, target, x=NOMINAL,
                categorical_features=[0, 1, 5], categorical_split=split, max_depth=5,
            )  # fmt: skip
    add("tree pruned", "DecisionTreeRegressor", ccp_alpha=0.02)
    add("tree pruned by cv", "DecisionTreeClassifier", "two", ccp_alpha="cv", cv=3)
    add(
        "tree columns",
        "DecisionTreeClassifier",
        "two",
        max_features="sqrt",
        class_weight="balanced",
    )
    add("forest votes", "RandomForestClassifier", "five", voting="hard", n_estimators=5)
    add(
        "forest balanced bags",
        "RandomForestClassifier",
        "five",
        class_weight="balanced_subsample",
        n_estimators=5,
    )
    add(
        "forest categories",
        "RandomForestClassifier",
        "two",
        x=NOMINAL,
        categorical_features=[0, 1, 5],
        n_estimators=5,
    )
    add("forest outputs", "RandomForestRegressor", "pair", n_estimators=4, max_samples=0.5)
    add("forest classes", "ExtraTreesClassifier", "two pairs", n_estimators=4)
    add(
        "forest out of bag",
        "RandomForestRegressor",
        oob_score=True,
        keep_targets=True,
        n_estimators=8,
    )
    add(
        "forest absolute",
        "RandomForestRegressor",
        criterion="absolute_error",
        n_estimators=2,
        max_depth=4,
    )
    add("forest leaves", "ExtraTreesRegressor", max_leaf_nodes=9, n_estimators=4)
    for target in ("two", "five", "text"):
        add(
            f"adaboost {target}",
            "AdaBoostClassifier",
            target,
            x=HOLES,
            weight=WEIGHT,
            n_estimators=6,
            max_depth=2,
        )
    for loss in ("linear", "square", "exponential"):
        add(
            f"adaboost {loss}", "AdaBoostRegressor", x=HOLES, loss=loss, n_estimators=5, max_depth=3
        )
    add(
        "adaboost categories",
        "AdaBoostClassifier",
        "two",
        x=NOMINAL,
        categorical_features=[0, 1, 5],
        n_estimators=4,
    )
    add(
        "cuda adaboost", "AdaBoostClassifier", "two", splitter="hist", n_estimators=4, device="cuda"
    )
    return out


def predictions(case):
    """Arrays that a fit of this case predicts for new rows."""
    x, y = case["x"], TARGETS[case["target"]]
    train, new = slice(0, N_ROWS), slice(N_ROWS, None)
    model = getattr(gb, case["estimator"])(**case["params"])
    options = {} if case["weight"] is None else {"sample_weight": case["weight"][train]}
    if case["evals"]:
        options["eval_set"] = x[new], y[new]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[train], y[train], **options)
        predicted = {"few": model.predict(x[new][:7]), "predict": model.predict(x[new])}
        if hasattr(model, "predict_proba"):
            predicted["proba"] = model.predict_proba(x[new])
        if hasattr(model, "decision_function"):
            predicted["scores"] = model.decision_function(x[new])
        if hasattr(model, "staged_predict"):
            predicted["staged"] = list(model.staged_predict(x[new][:100]))
        if hasattr(model, "apply"):
            predicted["leaves"] = model.apply(x[new])
        if hasattr(model, "oob_prediction_"):
            predicted["oob"] = model.oob_prediction_
            predicted["quantiles"] = model.predict_quantiles(x[new][:50], [0.1, 0.5])
    return predicted


def digest(predicted):
    """{what: short digest of its bits}."""
    out = {}
    for name, values in predicted.items():
        parts = values if isinstance(values, list) else [values]
        sha = hashlib.sha256()
        for part in parts:
            part = np.ascontiguousarray(part)
            text = part.dtype.kind in "OUS"
            sha.update(
                "\0".join(map(str, part.ravel())).encode() if text else part.astype("<f8").tobytes()
            )
        out[name] = sha.hexdigest()[:16]
    return out


if __name__ == "__main__":
    record = {name: digest(predictions(case)) for name, case in cases().items()}
    with open(sys.argv[1], "w") as file:
        json.dump(record, file, indent=1, sort_keys=True)
        file.write("\n")
    print(len(record), "fits")
