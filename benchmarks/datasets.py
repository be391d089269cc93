"""Data for the benchmarks: seeded synthetic sets of any size, and a folder of real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Real sets with more rows are sampled down to this many.
MAX_ROWS = 100_000

#: Tasks of the catalogue that are benchmarked, and what each is treated as.
TASKS = {
    "binary": "binary",
    "multiclass": "multiclass",
    "regression": "regression",
    "count": "regression",
}


@dataclass(frozen=True)
class Data:
    """A training and a held-out part; classes are 0, 1, 2, ..."""

    task: str  # "binary", "multiclass" or "regression"
    x_train: np.ndarray  # (n, n_features) float32, C order
    y_train: np.ndarray  # (n,) int32 classes or float32 values
    x_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True)
class RealSet:
    """A whole real set, not yet split."""

    name: str
    task: str
    x: np.ndarray  # (n, n_features) float32, C order; NaN: missing
    y: np.ndarray  # (n,) int32 classes or float64 values


# --- synthetic


def _features(z: np.ndarray) -> np.ndarray:
    """Turn normal columns into differently shaped ones (in place).

    As they are, heavy tails, bounded. All stay continuous.
    """
    z[:, 1::3] = np.exp(z[:, 1::3])
    z[:, 2::3] = np.tanh(z[:, 2::3])
    return z


def _signal(rng: np.random.Generator, z: np.ndarray, n_terms: int = 16) -> np.ndarray:
    """A sum of smooth, stepped and pairwise terms of random columns, with mean 0 and variance 1."""
    total = np.zeros(len(z))
    for k in range(n_terms):
        a, b = (
            z[:, j].astype(np.float64) for j in rng.choice(z.shape[1], 2, replace=z.shape[1] < 2)
        )
        cut, weight = rng.normal(), rng.uniform(0.5, 1.5)
        if k % 4 == 0:
            term = np.sin(1.5 * a + cut)
        elif k % 4 == 1:
            term = np.where(a > 0.5 * cut, 1.0, -1.0) * np.where(b > 0.0, 1.0, -0.5)
        elif k % 4 == 2:
            term = a * b
        else:
            term = np.maximum(a, b)
        total += weight * term
    return (total - total.mean()) / total.std()


def _parts(task: str, x: np.ndarray, y: np.ndarray, n: int) -> Data:
    return Data(task, x[:n], y[:n], x[n:], y[n:])


def _normals(
    n: int, n_features: int, n_test: int | None, seed: int
) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal(
        (n + (n // 4 if n_test is None else n_test), n_features), dtype=np.float32
    )


def binary(n: int, n_features: int, n_test: int | None = None, seed: int = 0) -> Data:
    """Two classes whose log odds are the signal.

    ``n_test`` more rows are held out (a quarter of n by default).
    """
    rng, z = _normals(n, n_features, n_test, seed)
    odds = 2.0 * _signal(rng, z)
    y = (rng.random(len(z)) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int32)
    return _parts("binary", _features(z), y, n)


def regression(n: int, n_features: int, n_test: int | None = None, seed: int = 0) -> Data:
    """The signal plus noise with half its standard deviation."""
    rng, z = _normals(n, n_features, n_test, seed)
    y = (_signal(rng, z) + 0.5 * rng.standard_normal(len(z))).astype(np.float32)
    return _parts("regression", _features(z), y, n)


def multiclass(
    n: int, n_features: int, n_classes: int, n_test: int | None = None, seed: int = 0
) -> Data:
    """A signal of its own for every class, and a class drawn by their softmax."""
    rng, z = _normals(n, n_features, n_test, seed)
    scores = np.stack([2.0 * _signal(rng, z) for _ in range(n_classes)], axis=1)
    # the largest of scores + Gumbel noise: a softmax draw
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(np.int32)
    return _parts("multiclass", _features(z), y, n)


# --- real


def real_sets(folder: str | Path, names: list[str] | None = None) -> Iterator[RealSet]:
    """Sets of a folder with a ``catalog.json``, one after another, in the catalogue's order.

    The catalogue gives for each set its file (parquet, or npz with X and y), its task, its target
    and the columns that are no features. Categories become integer codes, missing ones NaN: the
    same numbers for every library, none of which is told that they are categories."""
    folder = Path(folder)
    catalog: dict[str, dict[str, Any]] = json.loads((folder / "catalog.json").read_text())
    unknown = sorted(set(names or []) - set(catalog))
    if unknown:
        raise ValueError(f"not in the catalogue: {', '.join(unknown)}")
    for name, info in catalog.items():
        if info["task"] in TASKS and (names is None or name in names):
            yield _read(folder, name, info)


def _read(folder: Path, name: str, info: dict[str, Any]) -> RealSet:
    task = TASKS[info["task"]]
    path = folder / info["file"]
    x, y = _read_npz(path) if path.suffix == ".npz" else _read_parquet(path, info)
    known = np.ones(len(y), bool) if y.dtype.kind != "f" else np.isfinite(y)
    rows = np.flatnonzero(known)
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False))
    x, y = np.ascontiguousarray(x[rows], dtype=np.float32), y[rows]
    if task != "regression":
        return RealSet(name, task, x, np.unique(y, return_inverse=True)[1].astype(np.int32))
    return RealSet(name, task, x, y.astype(np.float64))


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


def _read_parquet(path: Path, info: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    frame = pd.read_parquet(path)
    no_features = [
        c for c in (info["split"], info["group"], info["exposure"], info["target"]) if c
    ] + info["not_features"]
    columns = [c for c in frame.columns if c not in no_features]
    x = np.empty((len(frame), len(columns)), np.float32)
    for j, column in enumerate(columns):
        x[:, j] = _numbers(frame[column])
    target = frame[info["target"]]
    return x, _numbers(target, np.float64)


def _numbers(column: Any, dtype: Any = np.float32) -> np.ndarray:
    """A column of a frame as numbers: categories and strings by their codes."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(
        column.dtype
    ):
        codes = column.astype("category").cat.codes.to_numpy().astype(dtype)
        codes[codes < 0] = np.nan
        return codes
    return column.to_numpy(dtype=dtype, na_value=np.nan)


def split_rows(
    task: str, y: np.ndarray, seed: int, test_share: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of a random training and test part.

    Each class is shared out for itself, so none is missing from the training part.
    """
    rng = np.random.default_rng(seed)
    groups = (
        [np.arange(len(y))]
        if task == "regression"
        else [np.flatnonzero(y == c) for c in np.unique(y)]
    )
    train, test = [], []
    for rows in groups:
        mixed = rng.permutation(rows)
        n_test = int(test_share * len(rows))
        test.append(mixed[:n_test])
        train.append(mixed[n_test:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


# --- how a prediction is judged

METRICS = {"binary": "log loss", "multiclass": "log loss", "regression": "RMSE"}


def row_losses(task: str, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Log loss or squared error of each row; computed here, in float64, for every library alike."""
    p = np.asarray(prediction, dtype=np.float64)
    if task == "regression":
        return (p - y) ** 2
    if task == "binary":
        p = np.stack([1.0 - p, p], axis=1)
    p = np.clip(p, 1e-15, None)
    return -np.log(p[np.arange(len(y)), y] / p.sum(axis=1))


def mean_loss(task: str, losses: np.ndarray) -> float:
    """Log loss of classes, or root mean squared error of values, from the losses of the rows."""
    mean = float(np.mean(losses))
    return float(np.sqrt(mean)) if task == "regression" else mean


def held_out_loss(task: str, y: np.ndarray, prediction: np.ndarray) -> float:
    """Log loss of probabilities, or root mean squared error of values."""
    return mean_loss(task, row_losses(task, y, prediction))
