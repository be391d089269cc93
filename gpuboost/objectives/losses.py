"""Losses: one scalar function each, which every device compiles for itself.

To add a loss with one output, write ``grad_hess(y, raw) -> (gradient, hessian)``, a metric to watch
it by (``metrics.py``), a base score, and list it in ``OBJECTIVES``. Use the functions of
``formulas`` instead of ``math`` or ``numpy``: they give the same bits everywhere. Losses of numbers
are in ``regression.py``, those of classes here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuboost.objectives.constants import (
    CONSTANT_STEPS,
    LEAST_PRIOR,
    exact_mean,
    log_odds_score,
)
from gpuboost.objectives.links import LOGISTIC, SOFTMAX, Link
from gpuboost.objectives.metrics import RowMetric, multi_error_row, multi_log_loss_row
from gpuboost.objectives.objective import Objective
from gpuboost.objectives.regression import (
    REGRESSION,
    SMALLEST_HESSIAN,
    logistic_grad_hess,
)
from gpuboost.scalar.formulas import exp, log, sigmoid, softplus


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


def focal_grad_hess(y: float, raw: float, gamma: float) -> tuple[float, float]:
    """Log loss times the probability of the wrong class to the power of gamma.

    The hessian has the terms of the second derivative that are above 0.
    """
    sign = 2.0 * y - 1.0
    z = sign * raw  # log odds of the right class
    right, loss = sigmoid(z), softplus(-z)
    wrong = sigmoid(-z)
    share = exp(-gamma * softplus(z))  # wrong**gamma
    g = -share * (gamma * right * loss + wrong)
    h = share * right * (gamma * gamma * right * loss + wrong * (1.0 + 2.0 * gamma))
    return sign * g, h if h > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def focal_row(y: float, raw: float, gamma: float) -> float:
    """Focal loss."""
    z = (2.0 * y - 1.0) * raw
    return exp(-gamma * softplus(z)) * softplus(-z)


def focal_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, gamma: float
) -> np.ndarray:
    """The best constant under focal loss, by halving the interval that it is in."""
    share, low, high = exact_mean(y, weight, backend), log(LEAST_PRIOR), -log(LEAST_PRIOR)
    for _ in range(CONSTANT_STEPS):
        middle = 0.5 * (low + high)
        positive, negative = (focal_grad_hess(of, middle, gamma)[0] for of in (1.0, 0.0))
        rises = share * positive + (1.0 - share) * negative > 0.0
        low, high = (low, middle) if rises else (middle, high)
    return np.array([0.5 * (low + high)])


def one_vs_rest_grad_hess(y: Any, raw: Any, begin: int, end: int, g: Any, h: Any) -> None:
    """Log loss of each class against all others."""
    for k in range(raw.shape[0]):
        for i in range(begin, end):
            p = sigmoid(raw[k, i])
            q = p * (1.0 - p)
            g[k, i] = p - 1.0 if y[i] == k else p
            h[k, i] = q if q > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def log_odds_of_each(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constants of each class against all others."""
    classes = [(y == k).astype(np.float64) for k in range(n_classes)]
    return np.concatenate([log_odds_score(one, weight, 2, backend) for one in classes])


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
            "focal",
            focal_grad_hess,
            LOGISTIC,
            "focal",
            focal_score,
            {"gamma": 2.0},
            own_metrics=(RowMetric("focal", focal_row, "logistic"),),
        ),
        Objective("one_vs_rest", logistic_grad_hess, LOGISTIC, "logloss", log_odds_score),
        Objective(
            "multi_one_vs_rest",
            one_vs_rest_grad_hess,
            Link("one_vs_rest"),
            "mlogloss",
            log_odds_of_each,
            joint=True,
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
