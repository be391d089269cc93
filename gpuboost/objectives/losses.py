"""Losses: one scalar function each, which every device compiles for itself.

To add a loss with one output, write ``grad_hess(y, raw) -> (gradient, hessian)``, a metric to watch
it by (``metrics.py``), a base score, and list it in ``OBJECTIVES``. Use the functions of
``formulas`` instead of ``math`` or ``numpy``: they give the same bits everywhere. Losses of numbers
are in ``regression.py``, those of classes here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuboost.objectives.constants import LEAST_PRIOR, exact_mean
from gpuboost.objectives.links import LOGISTIC, SOFTMAX, Link
from gpuboost.objectives.metrics import RowMetric, multi_error_row, multi_log_loss_row
from gpuboost.objectives.objective import Objective
from gpuboost.objectives.regression import REGRESSION, SMALLEST_HESSIAN
from gpuboost.scalar.formulas import exp, log, sigmoid


def logistic_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Log loss of sigmoid(raw)."""
    p = sigmoid(raw)
    h = p * (1.0 - p)
    return p - y, h if h > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def log_odds_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under binary log loss."""
    p = min(max(exact_mean(y, weight, backend), LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    return np.array([log(p) - log(1.0 - p)])


def exponential_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """exp(-raw) for the second class, exp(raw) for the first: the loss that AdaBoost goes down."""
    sign = 2.0 * y - 1.0
    loss = exp(-sign * raw)
    return -sign * loss, loss if loss > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def half_log_odds_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any
) -> np.ndarray:
    """The best constant under exponential loss."""
    return 0.5 * log_odds_score(y, weight, n_classes, backend)


def softmax_grad_hess(y: Any, raw: Any, begin: int, end: int, g: Any, h: Any) -> None:
    """Log loss of softmax(raw).

    The factor K / (K - 1) makes up for the outputs' common shift, which the diagonal hessian
    ignores.

    Loops over outputs with rows innermost vectorise; ``row`` is first the largest score of each
    row, then the sum of exponentials.
    """
    n = raw.shape[0]
    factor = n / (n - 1.0) if n > 1 else 1.0
    row = h[0, begin:end]
    for i in range(row.shape[0]):
        row[i] = raw[0, begin + i]
    for k in range(1, n):
        score = raw[k, begin:end]
        for i in range(row.shape[0]):
            row[i] = score[i] if score[i] > row[i] else row[i]
    for k in range(n):
        score, gradient = raw[k, begin:end], g[k, begin:end]
        for i in range(row.shape[0]):
            gradient[i] = exp(score[i] - row[i])
    for i in range(row.shape[0]):
        row[i] = g[0, begin + i]
    for k in range(1, n):
        gradient = g[k, begin:end]
        for i in range(row.shape[0]):
            row[i] += gradient[i]
    label = y[begin:end]
    for back in range(n):
        k = n - 1 - back  # the first output last: its hessian takes the place of the sum
        gradient, hessian = g[k, begin:end], h[k, begin:end]
        for i in range(row.shape[0]):
            p = gradient[i] / row[i]
            q = factor * p * (1.0 - p)
            hessian[i] = q if q > SMALLEST_HESSIAN else SMALLEST_HESSIAN
            gradient[i] = p - 1.0 if label[i] == k else p


def log_prior_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constants under multinomial log loss."""
    shares = [exact_mean((y == k).astype(np.float64), weight, backend) for k in range(n_classes)]
    return np.array([log(max(share, LEAST_PRIOR)) for share in shares])


OBJECTIVES = {
    objective.name: objective
    for objective in (
        *REGRESSION,
        Objective("log_loss", logistic_grad_hess, LOGISTIC, "logloss", log_odds_score),
        Objective(
            "exponential",
            exponential_grad_hess,
            Link("logistic", scale=2.0),
            "exponential",
            half_log_odds_score,
        ),
        Objective(
            "multi_log_loss", softmax_grad_hess, SOFTMAX, "mlogloss", log_prior_score, joint=True
        ),
        # one class: its probability is 1, whatever the loss, and gradients are 0
        Objective(
            "one_class",
            softmax_grad_hess,
            SOFTMAX,
            "mlogloss",
            log_prior_score,
            joint=True,
            own_metrics=(
                RowMetric("logloss", multi_log_loss_row, "softmax"),
                RowMetric("exponential", multi_log_loss_row, "softmax"),
                RowMetric("error", multi_error_row, "softmax"),
            ),
        ),
    )
}
