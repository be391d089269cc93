"""Vector leaves against one tree per output: time and held-out loss, beside XGBoost.

    python -m gpuboost.benchmarks.several_outputs                       20 generated classes, 100,000 rows
    python -m gpuboost.benchmarks.several_outputs --rows 5000           does everything run?
    python -m gpuboost.benchmarks.several_outputs --data FOLDER         the sets with a catalogue there
    python -m gpuboost.benchmarks.several_outputs --xgboost             beside XGBoost's multi_strategy

One thread. The seconds are the shortest of ``--repeat`` turns in which the strategies alternate,
with everything compiled before. Losses are means over ``--seeds`` splits, 70 % of the rows for
training: the log loss of classes, its mean over labels, and of targets the mean over the columns of
the RMSE divided by the column's standard deviation. The separate models are our own single-output
ones in scikit-learn's MultiOutputRegressor and MultiOutputClassifier."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.benchmarks.timing import machine_record, write_json

MULTICLASS = ("letter", "fars", "covertype")
SEVERAL = ("mt_enb", "mt_jura", "mt_wq", "ml_scene", "ml_emotions")
STRATEGIES = ("one_tree_per_output", "vector_leaf")
#: Rows of a real set at most.
MOST_ROWS = 50_000


def generated(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """20 classes."""
    return make_classification(
        n_rows, 30, n_informative=20, n_redundant=5, n_classes=20, n_clusters_per_class=3,
        class_sep=1.5, random_state=0,
    )  # fmt: skip


def real(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set of the catalogue, sampled down if it is large."""
    import pandas as pd

    entry = json.loads((folder / "catalog.json").read_text())[name]
    frame = pd.read_parquet(folder / entry["file"])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame[entry["target"]]
    kept = [c for c in frame.columns if c not in np.atleast_1d(entry["target"])]
    kept = [c for c in kept if c != entry["split"]]
    x = frame[kept].apply(lambda c: c if c.dtype.kind in "fiub" else pd.factorize(c)[0])
    y = y.to_numpy() if y.ndim == 2 else np.unique(y.to_numpy(), return_inverse=True)[1]
    return x.to_numpy(np.float32), y.astype(np.float64 if name.startswith("mt_") else np.int64)


def loss(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """The held-out loss of targets, labels or classes."""
    if not hasattr(model, "predict_proba"):
        error = np.sqrt(np.mean((np.asarray(model.predict(x)) - y) ** 2, axis=0))
        return float(np.mean(error / y.std(axis=0)))
    shares = model.predict_proba(x)
    if y.ndim == 1:
        return float(log_loss(y, shares, labels=np.arange(shares.shape[1])))
    if isinstance(shares, list):  # of MultiOutputClassifier
        shares = np.stack([share[:, -1] for share in shares], axis=1)
    return float(
        np.mean([log_loss(a, p, labels=[0, 1]) for a, p in zip(y.T, shares.T, strict=True)])
    )


def makers(y: np.ndarray, rounds: int, xgboost: bool) -> dict[str, Callable[[], Any]]:
    """How each competitor is made."""
    ours = GPUBoostRegressor if y.dtype.kind == "f" else GPUBoostClassifier
    common = {"n_estimators": rounds, "n_jobs": 1}
    out: dict[str, Callable[[], Any]] = {
        strategy: lambda strategy=strategy: ours(multi_strategy=strategy, **common)
        for strategy in STRATEGIES
    }
    if y.ndim == 2:
        several = MultiOutputRegressor if ours is GPUBoostRegressor else MultiOutputClassifier
        out["separate models"] = lambda: several(ours(**common))
    if xgboost:
        from xgboost import XGBClassifier, XGBRegressor

        theirs = XGBRegressor if ours is GPUBoostRegressor else XGBClassifier
        settings = {"learning_rate": 0.1, "tree_method": "hist", **common}
        for strategy in ("one_output_per_tree", "multi_output_tree"):
            out[f"XGBoost, {strategy}"] = lambda strategy=strategy: theirs(
                multi_strategy=strategy, **settings
            )
    return out


def compare(
    x: np.ndarray, y: np.ndarray, rounds: int, seeds: int, repeat: int, xgboost: bool
) -> dict[str, dict[str, float]]:
    """Seconds and losses of everybody on one set."""
    everybody = makers(y, rounds, xgboost)
    seconds: dict[str, list[float]] = {name: [] for name in everybody}
    losses: dict[str, list[float]] = {name: [] for name in everybody}
    for strategy in STRATEGIES:  # compiles
        everybody[strategy]().set_params(n_estimators=1).fit(x[:2000], y[:2000])
    for seed in range(seeds):
        x_train, x_test, y_train, y_test = train_test_split(
            x, y, test_size=0.3, random_state=seed, stratify=y if y.ndim == 1 else None
        )
        for _ in range(repeat):
            for name, make in everybody.items():
                begin = time.perf_counter()
                model = make().fit(x_train, y_train)
                seconds[name].append(time.perf_counter() - begin)
                losses[name].append(loss(model, x_test, y_test))
    return {
        name: {"seconds": min(seconds[name]), "loss": float(np.mean(losses[name]))}
        for name in everybody
    }


def show(name: str, rounds: int, result: dict[str, dict[str, float]]) -> None:
    """A table of one set."""
    base = result["one_tree_per_output"]
    print(f"{name}, {rounds} rounds")
    for who, figures in result.items():
        times, more = base["seconds"] / figures["seconds"], figures["loss"] / base["loss"] - 1
        print(
            f"  {who:30} {figures['seconds']:8.2f} s {times:6.2f}x   "
            f"loss {figures['loss']:.4f} ({more:+.1%})",
            flush=True,
        )


def main() -> None:
    """Compare, show and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="of the generated set")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a folder with a catalogue of real sets")
    parser.add_argument("--sets", nargs="*", help="names of real sets (default: all)")
    parser.add_argument("--xgboost", action="store_true", help="beside XGBoost")
    parser.add_argument("--out", type=Path, help="a JSON file for the result")
    args = parser.parse_args()
    sets: dict[str, Callable[[], Any]] = {"generated": lambda: generated(args.rows)}
    if args.data is not None:
        names = args.sets or (*MULTICLASS, *SEVERAL)
        sets = {name: lambda name=name: real(args.data, name) for name in names}
    record: dict[str, Any] = {"machine": machine_record(), "rounds": args.rounds}
    for name, read in sets.items():
        x, y = read()
        result = compare(x, y, args.rounds, args.seeds, args.repeat, args.xgboost)
        show(f"{name} {x.shape}", args.rounds, result)
        record[name] = result
    if args.out is not None:
        write_json(args.out, record)


if __name__ == "__main__":
    main()
