"""Evaluation metrics: a value per row from the raw score, averaged in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.objectives.scores import auc
from gpuboost.scalar.formulas import exp, log, softplus


@dataclass(frozen=True)
class Score:
    """A metric's value that is there already.

    A device may hand out others, whose value comes later.
    """

    number: float

    def ready(self) -> bool:
        """Whether ``value`` returns at once."""
        return True

    def value(self) -> float:
        """The value."""
        return self.number


@dataclass(frozen=True)
class Metric:
    """A named metric; ``score`` maps a backend's arrays (y, raw.

    Weight) and the backend to a score.
    """

    name: str
    score: Callable[..., Any]
    higher_is_better: bool = False


@dataclass(frozen=True)
class RowMetric:
    """A metric that is the weighted mean of a scalar function of each row."""

    name: str
    row_value: Callable[..., float]
    tasks: tuple[str, ...]
    per_row: bool = False
    root: bool = False

    def score(self, total: float, total_weight: float) -> Score:
        """The metric from the sums over all rows."""
        mean = float(total) / float(total_weight)
        return Score(math.sqrt(mean) if self.root else mean)


def squared_row(y: float, raw: float) -> float:
    """Squared error."""
    return (raw - y) * (raw - y)


def absolute_row(y: float, raw: float) -> float:
    """Absolute error."""
    return abs(raw - y)


def log_loss_row(y: float, raw: float) -> float:
    """Binary log loss."""
    return softplus(raw) - y * raw


def half_log_loss_row(y: float, raw: float) -> float:
    """Binary log loss where raw scores are half of the log odds."""
    return softplus(2.0 * raw) - 2.0 * y * raw


def exponential_row(y: float, raw: float) -> float:
    """Exponential loss of two classes where raw scores are the log odds."""
    return exp((0.5 - y) * raw)


def half_exponential_row(y: float, raw: float) -> float:
    """Exponential loss of two classes where raw scores are half of the log odds."""
    return exp((1.0 - 2.0 * y) * raw)


def error_row(y: float, raw: float) -> float:
    """1 if the more probable of two classes is wrong."""
    return 0.0 if (raw > 0.0) == (y > 0.5) else 1.0


def multi_log_loss_row(y: float, raw: Any, row: int) -> float:
    """Multinomial log loss."""
    top = raw[0, row]
    for k in range(1, raw.shape[0]):
        top = raw[k, row] if raw[k, row] > top else top
    total = 0.0
    for k in range(raw.shape[0]):
        total += exp(raw[k, row] - top)
    value: float = log(total) + top - raw[int(y), row]
    return value


def multi_error_row(y: float, raw: Any, row: int) -> float:
    """1 if the most probable class is wrong."""
    best = 0
    for k in range(1, raw.shape[0]):
        if raw[k, row] > raw[best, row]:
            best = k
    return 0.0 if best == y else 1.0


#: By task: "exponential" has two classes like "binary", with raw scores that are half of the log
#: odds.
ROW_METRICS = (
    RowMetric("rmse", squared_row, ("regression",), root=True),
    RowMetric("mae", absolute_row, ("regression",)),
    RowMetric("logloss", log_loss_row, ("binary",)),
    RowMetric("logloss", half_log_loss_row, ("exponential",)),
    RowMetric("exponential", exponential_row, ("binary",)),
    RowMetric("exponential", half_exponential_row, ("exponential",)),
    RowMetric("error", error_row, ("binary", "exponential")),
    RowMetric("mlogloss", multi_log_loss_row, ("multiclass",), per_row=True),
    RowMetric("merror", multi_error_row, ("multiclass",), per_row=True),
)


def resolve_metrics(
    eval_metric: Any, task: str, default: str, predict: Callable[[Any, np.ndarray], np.ndarray]
) -> list[Metric]:
    """Metrics named by ``eval_metric`` (a name, a callable, a list of them, or None).

    Ready to be called on raw scores.
    """
    chosen = eval_metric if isinstance(eval_metric, (list, tuple)) else [eval_metric]
    return [_resolve(one, task, default, predict) for one in chosen]


def _resolve(
    one: Any, task: str, default: str, predict: Callable[[Any, np.ndarray], np.ndarray]
) -> Metric:
    if callable(one):
        name = getattr(one, "__name__", type(one).__name__)
        return Metric(
            name, _on_host(lambda backend, y, raw, weight: float(one(y, predict(backend, raw))))
        )
    name = default if one is None else one
    rows = {m.name: m for m in ROW_METRICS if task in m.tasks}
    known = [*rows, *(["auc"] if "error" in rows else [])]
    if name not in known:
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, known))} or a callable for a "
            f"{task} task; got {name!r}"
        )
    if name == "auc":
        return Metric(
            "auc",
            _on_host(lambda _, y, raw, weight: auc(y, raw[0], weight if weight.size else None)),
            higher_is_better=True,
        )
    return Metric(
        name, lambda y, raw, weight, backend: backend.mean_of_rows(rows[name], y, raw, weight)
    )


def _on_host(function: Callable[..., float]) -> Callable[..., Score]:
    """A metric computed on the host, from copies of the arrays."""

    def score(y: Any, raw: Any, weight: Any, backend: Any) -> Score:
        return Score(function(backend, *(backend.to_host(array) for array in (y, raw, weight))))

    return score
