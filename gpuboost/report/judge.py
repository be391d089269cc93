"""How good the answers are.

Metrics beside a plain baseline, confusions, calibration, curves over the rounds, permuted columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuboost.explain.importance import Importance
from gpuboost.objectives import scores
from gpuboost.report.subject import Answer, Output, Rows, Subject

#: Rows that columns are permuted in, columns, and times each.
MAX_ROWS, MAX_COLUMNS, N_REPEATS = 2_000, 20, 5
#: Rows times trees that permutations and curves may walk, so that a report takes seconds; it takes
#: fewer rows, but not fewer than this.
BUDGET, FEWEST_ROWS = 50_000_000, 200
#: Metrics of which more is better.
HIGHER_IS_BETTER = ("AUC", "accuracy", "R²")


def measures(output: Output, y: np.ndarray, weight: np.ndarray, answer: Answer) -> dict[str, float]:
    """Metrics of one output by name; NaN where the rows do not define one."""
    with np.errstate(over="ignore", invalid="ignore"):
        prediction, shares = answer.prediction, answer.shares
        if shares is None:
            return {
                "RMSE": scores.rmse(y, prediction, weight),
                "MAE": scores.absolute_error(y, prediction, weight),
                "R²": scores.r2(y, prediction, weight),
            }
        of_classes = {
            "log loss": scores.log_loss(y, shares, weight),
            "accuracy": scores.accuracy(y, prediction, weight),
        }
        if output.task != "binary":
            return of_classes
        return {
            "AUC": scores.auc(y, shares[:, 1], weight),
            **of_classes,
            "Brier score": scores.squared_error(y, shares[:, 1], weight),
        }


def baseline(output: Output, y: np.ndarray, weight: np.ndarray, n_rows: int) -> Answer:
    """The same answer for every row: the class shares, or the mean, of the rows (y, weight)."""
    if output.classes is None:
        return Answer(np.full(n_rows, np.average(y, weights=weight)), None)
    prior = np.bincount(y, weight, len(output.classes)) / weight.sum()
    return Answer(np.full(n_rows, prior.argmax()), np.tile(prior, (n_rows, 1)))


# --- classes


def confusion(output: Output, y: np.ndarray, weight: np.ndarray, answer: Answer) -> np.ndarray:
    """Weight of the rows of each class (row) that are predicted as each class (column)."""
    n = len(output.labels)
    return np.bincount(y * n + answer.prediction, weight, n * n).reshape(n, n)


def precision_and_recall(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Part of each class's predictions that is right, and part of its rows predicted as it.

    They are NaN where a class has no predictions, or no rows.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.diag(table) / table.sum(axis=0), np.diag(table) / table.sum(axis=1)


@dataclass(frozen=True)
class Calibration:
    """Rows in bins of equal counts by their predicted probability."""

    predicted: np.ndarray  # (n_bins,) mean probability
    observed: np.ndarray  # (n_bins,) share of the second class
    #: (n_bins,) where the share lies with a chance of about 95 % (Wilson's interval)
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray  # (n_bins,) rows


def calibration(y: np.ndarray, weight: np.ndarray, p: np.ndarray, n_bins: int = 10) -> Calibration:
    """Compare probabilities of the second class with how often it came.

    Equal probabilities are never in different bins.
    """
    edges = (
        np.unique(np.quantile(p, np.linspace(0, 1, min(n_bins, len(p)) + 1)[1:-1]))
        if len(p) > 1
        else np.empty(0)
    )
    place = np.searchsorted(edges, p)
    total, z = np.bincount(place, weight), 1.96
    used = total > 0
    counts = np.bincount(place)[used]
    predicted, observed = (np.bincount(place, weight * v)[used] / total[used] for v in (p, y))
    middle = (observed + z**2 / (2 * counts)) / (1 + z**2 / counts)
    half = (
        z
        / (1 + z**2 / counts)
        * np.sqrt(observed * (1 - observed) / counts + z**2 / (4 * counts**2))
    )
    return Calibration(
        predicted,
        observed,
        np.minimum(middle - half, observed),
        np.maximum(middle + half, observed),
        counts,
    )


def roc(
    y: np.ndarray, weight: np.ndarray, p: np.ndarray, most: int = 400
) -> tuple[np.ndarray, np.ndarray]:
    """At most so many false and true positive rates, from the highest threshold to the lowest."""
    order = np.argsort(-p, kind="stable")
    # of rows with equal probability
    last = np.append(np.flatnonzero(np.diff(p[order])), len(p) - 1)
    true = np.cumsum(weight[order] * y[order])[last]
    false = np.cumsum(weight[order] * (1 - y[order]))[last]
    true, false = np.append(0.0, true) / true[-1], np.append(0.0, false) / false[-1]
    chosen = np.unique(np.linspace(0, len(true) - 1, most).astype(np.int64))
    return false[chosen], true[chosen]


# --- over the rounds


def rounds_on_rows(subject: Subject, rows: Rows) -> tuple[str, list[float], int] | None:
    """(metric, its value after each round, on how many rows); None for models without rounds."""
    numbers = subject.outputs[0].classes is None
    name, score = ("RMSE", scores.rmse) if numbers else ("log loss", scores.log_loss)
    stages = getattr(subject.plain, "staged_predict" if numbers else "staged_predict_proba", None)
    if stages is None:
        return None
    rows, several = rows.sample(affordable(len(subject.trees))), len(subject.outputs) > 1

    def mean_over_outputs(stage: np.ndarray) -> float:
        parts = [stage]
        if several:  # of each label the stage has one probability
            parts = list(stage.T if numbers else np.stack([1.0 - stage.T, stage.T], axis=-1))
        return float(
            np.mean([score(*pair, rows.weight) for pair in zip(rows.y, parts, strict=True)])
        )

    return name, [mean_over_outputs(stage) for stage in stages(rows.x)], len(rows)


def affordable(n_trees: int) -> int:
    """Rows that may be walked through so many trees."""
    return int(np.clip(BUDGET // max(n_trees, 1), FEWEST_ROWS, MAX_ROWS))


# --- permuted columns


def permutation(subject: Subject, rows: Rows, columns: np.ndarray) -> tuple[Importance, int]:
    """How much worse the log loss, or R², gets when a column is permuted, and on how many rows.

    NaN for other columns.
    """
    rows = rows.sample(affordable(len(subject.trees) * len(columns) * N_REPEATS))
    rng, x, whole = np.random.default_rng(0), rows.x.copy(), _mean_loss(subject, rows, rows.x)
    values, errors = (np.full(len(subject.names), np.nan) for _ in range(2))
    losses = np.empty(N_REPEATS)
    for f in columns:
        for k in range(N_REPEATS):
            x[:, f] = rows.x[rng.permutation(len(x)), f]
            losses[k] = _mean_loss(subject, rows, x)
        x[:, f] = rows.x[:, f]
        values[f], errors[f] = (losses - whole).mean(), losses.std(ddof=1) / np.sqrt(N_REPEATS)
    return Importance("permutation", subject.names, values, errors), len(rows)


def _mean_loss(subject: Subject, rows: Rows, x: np.ndarray) -> float:
    """Mean over the outputs of the loss of what the model says of x."""
    losses = [
        _loss(y, answer, rows.weight) for y, answer in zip(rows.y, subject.answers(x), strict=True)
    ]
    return float(np.mean(losses))


def _loss(y: np.ndarray, answer: Answer, weight: np.ndarray) -> float:
    """The log loss, or the squared error as a part of the variance (as it is if there is none)."""
    if answer.shares is not None:
        return scores.log_loss(y, answer.shares, weight)
    variance = scores.variance(y, weight) or 1.0
    return scores.squared_error(y, answer.prediction, weight) / variance
