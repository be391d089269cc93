"""Training on parts of a table and measuring on others."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuboost.cli.common import CliError
from gpuboost.objectives import scores
from gpuboost.progress import Progress
from gpuboost.tables import Part


def number_of_folds(text: str) -> int:
    """The argument of ``--cv``."""
    try:
        k = int(text)
    except ValueError:
        k = 0
    if k < 2:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 2; got {text!r}")
    return k


def fit(
    model: Any, train: Part, y: np.ndarray, valid: Part | None, y_valid: np.ndarray | None
) -> Any:
    """Train a model, which watches the validation rows if it can."""
    if valid is None or not hasattr(model, "eval_metric"):
        return model.fit(train.x, y, train.weight)
    weights = None if valid.weight is None else [valid.weight]
    return model.fit(
        train.x, y, train.weight, eval_set=(valid.x, y_valid), eval_sample_weight=weights
    )


def metrics_of(
    model: Any, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> dict[str, float]:
    """Metrics by name; ``y`` holds places in ``model.classes_``, or numbers."""
    if not hasattr(model, "classes_"):
        prediction = model.predict(x)
        metrics = {
            "rmse": scores.rmse(y, prediction, weight),
            "mae": scores.absolute_error(y, prediction, weight),
            "r2": scores.r2(y, prediction, weight),
        }
        return {name: value for name, value in metrics.items() if not np.isnan(value)}
    shares = model.predict_proba(x)
    wrong = scores.error(y, shares.argmax(axis=1), weight)
    metrics = {"logloss": scores.log_loss(y, shares, weight), "error": wrong}
    if shares.shape[1] > 2:
        return {f"m{name}": value for name, value in metrics.items()}
    area = scores.auc(y, shares[:, 1], weight)
    return metrics | ({"auc": area} if np.isfinite(area) else {})


def fold_numbers(y: np.ndarray, k: int, seed: int, classes: bool) -> np.ndarray:
    """Deal rows to k folds at random, always in the same way.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Codes of classes, or numbers.
    k : int
        Folds.
    seed : int
        Seed of the draw.
    classes : bool
        Whether every fold gets its share of each class. The only row of a class is in no fold: a
        model that has not seen a class cannot be judged on it.

    Returns
    -------
    ndarray of shape (n_rows,)
        Numbers from 0; -1 for rows in no fold.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    >>> folds = fold_numbers(y, 2, seed=0, classes=True)
    >>> [np.bincount(y[folds == fold]).tolist() for fold in (0, 1)]
    [[2, 2], [2, 2]]
    """
    if len(y) < k:
        raise CliError(f"--cv {k} needs at least {k} rows with a target; there are {len(y)}")
    mixed = np.random.default_rng(seed).permutation(len(y))
    if classes:
        mixed = mixed[np.argsort(y[mixed], kind="stable")]
    folds = np.empty(len(y), np.int64)
    folds[mixed] = np.arange(len(y)) % k
    if classes:
        folds[np.bincount(y)[y] == 1] = -1
    return folds


def cross_validate(
    make: Callable[[], Any],
    train: Part,
    y: np.ndarray,
    folds: np.ndarray,
    watched: tuple[Part | None, np.ndarray | None],
    verbose: int,
) -> dict[str, list[float]]:
    """Metrics of each fold, by a model that was trained on the others.

    ``watched`` is what models stop early by; no fold is in it.
    """
    by_fold = []
    k = int(folds.max()) + 1
    with Progress(k, "cross-validation", "folds", verbose) as progress:
        for fold in range(k):
            held = folds == fold
            model = fit(make(), _rows(train, ~held), y[~held], *watched)
            part = _rows(train, held)
            by_fold.append(metrics_of(model, part.x, y[held], part.weight))
            progress.advance()
    return {
        name: [metrics[name] for metrics in by_fold]
        for name in by_fold[0]
        if all(name in metrics for metrics in by_fold)
    }


def _rows(part: Part, chosen: np.ndarray) -> Part:
    weight = None if part.weight is None else part.weight[chosen]
    return Part(part.x[chosen], part.y[chosen], weight)


def mean_and_spread(values: list[float]) -> tuple[float, float]:
    """The mean of the folds, and their standard deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1))
