"""Losses of numbers and counts, and their best constants.

Where the second derivative of a loss says too little (it is 0, or next to 0 far from the target),
the hessian is that of the narrowest quadratic that touches the loss at the score and lies above it
everywhere, so that a full step never makes the loss higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import sqrt

from gpuboost.config import Number
from gpuboost.objectives.constants import (
    CONSTANT_STEPS,
    LEAST_PRIOR,
    exact_mean,
    log_mean_score,
    log_odds_score,
    mean_score,
    weighted_quantile,
)
from gpuboost.objectives.links import IDENTITY, LOG, Link
from gpuboost.objectives.metrics import RowMetric, gamma_row, pinball_of_all_row, poisson_row
from gpuboost.objectives.objective import Objective
from gpuboost.scalar.formulas import exp, log, sigmoid, within

SMALLEST_HESSIAN = 1e-16
#: Gradients are kept below this, so that they stay finite wherever scores go.
LARGEST_GRADIENT = 1e300
#: Distances in units of delta from which the square root of 1 + distance**2 is the distance.
FAR = 1e9


def squared_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Half the squared error."""
    return raw - y, 1.0


# --- losses of the distance from a median


def absolute_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """The absolute error."""
    return (1.0 if raw > y else -1.0 if raw < y else 0.0), 1.0


def median_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under absolute error."""
    return np.array([weighted_quantile(y, weight, 0.5, backend)])


def quantile_grad_hess(y: float, raw: float, alpha: float) -> tuple[float, float]:
    """Pinball loss: alpha times the distance of targets above, 1 - alpha times that of others."""
    return (-alpha if raw < y else 1.0 - alpha), 1.0


def quantile_row(y: float, raw: float, alpha: float) -> float:
    """Pinball loss."""
    return alpha * (y - raw) if raw < y else (1.0 - alpha) * (raw - y)


def quantile_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, alpha: float
) -> np.ndarray:
    """The best constant under pinball loss."""
    return np.array([weighted_quantile(y, weight, alpha, backend)])


def quantiles_grad_hess(
    y: Any, raw: Any, begin: int, end: int, g: Any, h: Any, *levels: float
) -> None:
    """Pinball losses of several levels."""
    for k in range(raw.shape[0]):
        level = levels[k]
        for i in range(begin, end):
            g[k, i] = -level if raw[k, i] < y[i] else 1.0 - level
            h[k, i] = 1.0


def quantiles_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, *levels: float
) -> np.ndarray:
    """The best constants under pinball losses."""
    return np.array([weighted_quantile(y, weight, level, backend) for level in levels])


def quantiles_objective(levels: Sequence[float]) -> Objective:
    """Pinball losses of several levels, whose predictions are sorted: they never cross."""
    return Objective(
        "quantile",
        quantiles_grad_hess,
        Link("sorted"),
        "quantile",
        quantiles_score,
        {f"alpha{k}": level for k, level in enumerate(levels)},
        joint=True,
        constant_hessian=True,
        degree=0,
        leaf_level="alpha",
        own_metrics=(RowMetric("quantile", pinball_of_all_row, "sorted"),),
        n_scores=len(levels),
    )


# --- losses between the two: squares near the target, distances far from it


def huber_grad_hess(y: float, raw: float, delta: float) -> tuple[float, float]:
    """Half the square of the error up to delta, and linear beyond."""
    return within(raw - y, -delta, delta), 1.0


def huber_row(y: float, raw: float, delta: float) -> float:
    """Huber's loss."""
    distance = abs(raw - y)
    return delta * (distance - 0.5 * delta) if distance > delta else 0.5 * distance * distance


def huber_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, delta: float
) -> np.ndarray:
    """The best constant under Huber's loss: where the mean of the limited residuals is 0.

    Newton steps from the median; where one leaves the bounds that are known of the constant, the
    middle between the bounds takes its place.
    """
    score = weighted_quantile(y, weight, 0.5, backend)
    counted = y[weight > 0] if weight.size else y
    low, high = float(counted.min()), float(counted.max())
    for _ in range(CONSTANT_STEPS):
        residual = y - score
        mean = exact_mean(residual.clip(-delta, delta), weight, backend)
        if mean == 0.0:
            break
        low, high = (score, high) if mean > 0 else (low, score)
        near = exact_mean((np.abs(residual) < delta).astype(np.float64), weight, backend)
        step = score + mean / near if near > 0 else np.inf
        step = step if low < step < high else 0.5 * low + 0.5 * high
        if abs(step - score) <= 1e-14 * abs(score):
            break
        score = step
    return np.array([score])


def adaptive_huber_grad_hess(
    y: float, raw: float, alpha: float, delta: float
) -> tuple[float, float]:
    """Huber's loss, whose delta is a quantile of the absolute residuals of the round."""
    return within(raw - y, -delta, delta), 1.0


def adaptive_huber_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, alpha: float, delta: float
) -> np.ndarray:
    """The best constant under Huber's loss with the delta that goes with the median."""
    median = weighted_quantile(y, weight, 0.5, backend)
    delta = weighted_quantile(np.abs(y - median), weight, alpha, backend)
    return huber_score(y, weight, n_classes, backend, delta) if delta > 0 else np.array([median])


def pseudo_huber_grad_hess(y: float, raw: float, delta: float) -> tuple[float, float]:
    """delta**2 (sqrt(1 + (error / delta)**2) - 1), which has all derivatives."""
    error = raw - y
    t = error / delta
    if abs(t) > FAR:
        return (delta if error > 0.0 else -delta), delta / abs(error)
    h = 1.0 / sqrt(1.0 + t * t)
    return error * h, h


def pseudo_huber_row(y: float, raw: float, delta: float) -> float:
    """Pseudo-Huber loss."""
    error = abs(raw - y)
    t = error / delta
    if t > FAR:
        return delta * (error - delta)
    return delta * error * t / (1.0 + sqrt(1.0 + t * t))


def log_cosh_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """log(cosh(error)): half the square of small errors, the size of large ones less log 2."""
    error = raw - y
    distance = abs(error)
    if distance < 1e-4:  # tanh(x) = x - x**3 / 3 + ...
        h = 1.0 - error * error / 3.0
        return error * h, h
    fall = exp(-2.0 * distance)
    tanh = (1.0 - fall) / (1.0 + fall)
    return (tanh if error > 0.0 else -tanh), tanh / distance


def log_cosh_row(y: float, raw: float) -> float:
    """log(cosh(error))."""
    error = abs(raw - y)
    if error < 1e-4:
        return 0.5 * error * error
    return error + log(0.5 + 0.5 * exp(-2.0 * error))


def expectile_grad_hess(y: float, raw: float, alpha: float) -> tuple[float, float]:
    """Half the squared error, times alpha where the target is above the score, else 1 - alpha."""
    weight = alpha if raw < y else 1.0 - alpha
    return weight * (raw - y), weight


def expectile_row(y: float, raw: float, alpha: float) -> float:
    """Squared error, times alpha where the target is above the score, else 1 - alpha."""
    return (alpha if raw < y else 1.0 - alpha) * (raw - y) * (raw - y)


def best_start(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, *parameters: float
) -> np.ndarray:
    """The median: Newton steps lead on to the best constant."""
    return median_score(y, weight, n_classes, backend)


# --- losses of counts and amounts, whose logarithm is what trees add up


def poisson_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Half the Poisson deviance of e**raw."""
    mean = exp(raw)
    mean = mean if mean < LARGEST_GRADIENT else LARGEST_GRADIENT
    return mean - y, mean if mean > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def gamma_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Half the gamma deviance of e**raw."""
    ratio = y * exp(-raw)
    ratio = ratio if ratio < LARGEST_GRADIENT else LARGEST_GRADIENT
    return 1.0 - ratio, ratio if ratio > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def tweedie_grad_hess(y: float, raw: float, power: float) -> tuple[float, float]:
    """Half the Tweedie deviance of e**raw, for a variance that grows with mean**power."""
    a, b = y * exp((1.0 - power) * raw), exp((2.0 - power) * raw)
    a = a if a < LARGEST_GRADIENT else LARGEST_GRADIENT
    b = b if b < LARGEST_GRADIENT else LARGEST_GRADIENT
    h = (power - 1.0) * a + (2.0 - power) * b
    return b - a, h if h > SMALLEST_HESSIAN else SMALLEST_HESSIAN


def tweedie_row(y: float, raw: float, power: float) -> float:
    """Tweedie deviance of e**raw."""
    one, two = 1.0 - power, 2.0 - power
    own = exp(two * log(y)) if y > 0.0 else 0.0
    return 2.0 * (own / (one * two) - y * exp(one * raw) / one + exp(two * raw) / two)


def tweedie_score(
    y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any, power: float
) -> np.ndarray:
    """The best constant, which is that of all deviances: the logarithm of the mean."""
    return log_mean_score(y, weight, n_classes, backend)


def logistic_grad_hess(y: float, raw: float) -> tuple[float, float]:
    """Log loss of sigmoid(raw); the target may be a probability, too."""
    p = sigmoid(raw)
    h = p * (1.0 - p)
    return p - y, h if h > SMALLEST_HESSIAN else SMALLEST_HESSIAN


# --- distributions: a mean, and the logarithm of a scale


def normal_grad_hess(y: Any, raw: Any, begin: int, end: int, g: Any, h: Any) -> None:
    """Natural gradient of the negative log likelihood of a normal distribution.

    The step of a leaf's log scale, (m - 1) / (m + 1) for a mean square m of the residuals in
    units of the scale, is next to log(m) / 2, which is the best one, and never above 1.
    """
    for i in range(begin, end):
        distance = y[i] - raw[0, i]
        z = distance * exp(-raw[1, i])
        square = z * z
        square = square if square < LARGEST_GRADIENT else LARGEST_GRADIENT
        g[0, i], h[0, i] = -distance, 1.0
        g[1, i], h[1, i] = 1.0 - square, 1.0 + square


def normal_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """Mean and log standard deviation."""
    mean = exact_mean(y, weight, backend)
    square = exact_mean((y - mean) * (y - mean), weight, backend)
    return np.array([mean, 0.5 * log(square if square > 0 else LEAST_PRIOR)])


def log_normal_grad_hess(y: Any, raw: Any, begin: int, end: int, g: Any, h: Any) -> None:
    """The same for the logarithm of the target."""
    for i in range(begin, end):
        distance = log(y[i]) - raw[0, i]
        z = distance * exp(-raw[1, i])
        square = z * z
        square = square if square < LARGEST_GRADIENT else LARGEST_GRADIENT
        g[0, i], h[0, i] = -distance, 1.0
        g[1, i], h[1, i] = 1.0 - square, 1.0 + square


def log_normal_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """Mean and log standard deviation of the logarithm."""
    return normal_score(np.array([log(value) for value in y]), weight, n_classes, backend)


REGRESSION = (
    Objective(
        "squared_error",
        squared_grad_hess,
        IDENTITY,
        "rmse",
        mean_score,
        constant_hessian=True,
        degree=1,
    ),
    Objective(
        "absolute_error",
        absolute_grad_hess,
        IDENTITY,
        "mae",
        median_score,
        constant_hessian=True,
        degree=0,
        leaf_level=0.5,
    ),
    Objective(
        "huber",
        huber_grad_hess,
        IDENTITY,
        "huber",
        huber_score,
        {"delta": 1.0},
        constant_hessian=True,
        degree=1,
        in_targets=("delta",),
        leaf_level=0.5,
        leaf_limit="delta",
        own_metrics=(RowMetric("huber", huber_row, "identity", unit_power=2),),
    ),
    Objective(
        "adaptive_huber",
        adaptive_huber_grad_hess,
        IDENTITY,
        "mae",
        adaptive_huber_score,
        {"alpha": 0.9, "delta": 1.0},
        constant_hessian=True,
        degree=1,
        leaf_level=0.5,
        leaf_limit="delta",
        adapts=("delta", "alpha"),
    ),
    Objective(
        "pseudo_huber",
        pseudo_huber_grad_hess,
        IDENTITY,
        "pseudo_huber",
        best_start,
        {"delta": 1.0},
        refine_base=True,
        degree=1,
        in_targets=("delta",),
        own_metrics=(RowMetric("pseudo_huber", pseudo_huber_row, "identity", unit_power=2),),
    ),
    Objective(
        "log_cosh",
        log_cosh_grad_hess,
        IDENTITY,
        "log_cosh",
        best_start,
        refine_base=True,
        own_metrics=(RowMetric("log_cosh", log_cosh_row, "identity"),),
    ),
    Objective(
        "quantile",
        quantile_grad_hess,
        IDENTITY,
        "quantile",
        quantile_score,
        {"alpha": 0.5},
        constant_hessian=True,
        degree=0,
        leaf_level="alpha",
        own_metrics=(RowMetric("quantile", quantile_row, "identity"),),
    ),
    Objective(
        "expectile",
        expectile_grad_hess,
        IDENTITY,
        "expectile",
        best_start,
        {"alpha": 0.5},
        refine_base=True,
        degree=1,
        own_metrics=(RowMetric("expectile", expectile_row, "identity", unit_power=2),),
    ),
    Objective(
        "poisson",
        poisson_grad_hess,
        LOG,
        "poisson_deviance",
        log_mean_score,
        targets=Number(0),
        own_metrics=(RowMetric("poisson_deviance", poisson_row, "log"),),
    ),
    Objective(
        "gamma",
        gamma_grad_hess,
        LOG,
        "gamma_deviance",
        log_mean_score,
        targets=Number(0, low_open=True),
        own_metrics=(RowMetric("gamma_deviance", gamma_row, "log"),),
    ),
    Objective(
        "tweedie",
        tweedie_grad_hess,
        LOG,
        "tweedie_deviance",
        tweedie_score,
        {"power": 1.5},
        targets=Number(0),
        own_metrics=(RowMetric("tweedie_deviance", tweedie_row, "log"),),
    ),
    Objective(
        "cross_entropy",
        logistic_grad_hess,
        Link("probability"),
        "logloss",
        log_odds_score,
        targets=Number(0, 1),
    ),
    Objective(
        "normal", normal_grad_hess, Link("normal"), "nll", normal_score, joint=True, n_scores=2
    ),
    Objective(
        "log_normal",
        log_normal_grad_hess,
        Link("log_normal"),
        "nll",
        log_normal_score,
        joint=True,
        targets=Number(0, low_open=True),
        n_scores=2,
    ),
)
