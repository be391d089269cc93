"""Losses: one scalar function each, which every device compiles for itself.

To add a loss with one output, write ``grad_hess(y, raw) -> (gradient, hessian)``, a metric to watch it by (``metrics.py``), a base score,
and list it in ``LOSSES``. Use the functions of ``formulas`` instead of ``math`` or ``numpy``: they give the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.fixed_point import fine_scale
from gpuboost.formulas import exp, log, sigmoid

SMALLEST_HESSIAN = 1e-16


@dataclass(frozen=True)
class Loss:
    """What training needs to know of a loss."""

    name: str
    grad_hess: Callable[..., Any]
    metric: str  # the default metric
    base_score: Callable[..., np.ndarray]  # (y, weight, n_classes, backend) -> (n_outputs,)
    per_row: bool = False  # grad_hess takes all outputs of a row
    constant_hessian: bool = False  # the hessian is 1


def exact_mean(values: np.ndarray, weight: np.ndarray, backend: Any) -> float:
    """Weighted mean from fixed-point sums, the same in any order."""
    magnitude = float(np.abs(values).max(initial=0.0)) or 1.0
    total_weight = float(weight.sum()) if weight.size else float(values.size)
    scale = fine_scale(magnitude * total_weight, values.size)
    weight_scale = fine_scale(total_weight, values.size)
    total = backend.fixed_point_sum(values, weight, scale) / scale
    if not weight.size:
        return float(total / values.size)
    return float(total / (backend.fixed_point_sum(weight, np.empty(0), weight_scale) / weight_scale))


def squared_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Half the squared error."""
    return raw - y, 1.0


def mean_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under squared error."""
    return np.array([exact_mean(y, weight, backend)])


def logistic_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Log loss of sigmoid(raw)."""
    p = sigmoid(raw)
    h = p * (1.0 - p)
    return p - y, h if h > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def log_odds_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under binary log loss."""
    p = exact_mean(y, weight, backend)
    return np.array([log(p) - log(1.0 - p)])


def softmax_grad_hess(y: float, raw: Any, row: int, g: Any, h: Any) -> None:
    """Log loss of softmax(raw). The factor K / (K - 1) makes up for the outputs' common shift, which the diagonal hessian ignores."""
    n = raw.shape[0]
    top = raw[0, row]
    for k in range(1, n):
        top = raw[k, row] if raw[k, row] > top else top
    total = 0.0
    for k in range(n):
        e = exp(raw[k, row] - top)
        g[k, row] = e
        total += e
    factor = n / (n - 1.0)
    for k in range(n):
        p = g[k, row] / total
        q = factor * p * (1.0 - p)
        h[k, row] = q if q > SMALLEST_HESSIAN else SMALLEST_HESSIAN
        g[k, row] = p - 1.0 if y == k else p


def log_prior_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constants under multinomial log loss."""
    return np.array([log(exact_mean((y == k).astype(np.float64), weight, backend)) for k in range(n_classes)])


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("squared_error", squared_grad_hess, "rmse", mean_score, constant_hessian=True),
        Loss("log_loss", logistic_grad_hess, "logloss", log_odds_score),
        Loss("multi_log_loss", softmax_grad_hess, "mlogloss", log_prior_score, per_row=True),
    )
}
