"""Constants that minimise losses: means and quantiles, the same in any order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuboost.scalar.fixed_point import fine_scale, weight_unit
from gpuboost.scalar.formulas import log

#: Probability from which a class starts at least, and at most below 1: that of a class whose rows
#: have no weight. Its log odds are -36. Counts that are all 0 start from it, too.
LEAST_PRIOR = 2.0**-52

#: Most steps to a best constant that has no formula.
CONSTANT_STEPS = 100


def exact_mean(values: np.ndarray, weight: np.ndarray, backend: Any) -> float:
    """Weighted mean from fixed-point sums, the same in any order."""
    magnitude = float(np.abs(values).max(initial=0.0)) or 1.0
    total_weight = float(weight.sum()) if weight.size else float(values.size)
    scale = fine_scale(magnitude * total_weight, values.size)
    total = backend.fixed_point_sum(values, weight, scale) / scale
    if weight.size:
        scale = fine_scale(total_weight, values.size)
        total_weight = backend.fixed_point_sum(weight, np.empty(0), scale) / scale
    return float(total / total_weight)


def weighted_quantile(values: np.ndarray, weight: np.ndarray, level: float, backend: Any) -> float:
    """The lowest value up to which the weight reaches a share of the whole.

    If it is exactly this share, the middle between this value and the next one.
    """
    if weight.size:
        values, weight = values[weight > 0], weight[weight > 0]
    unit = weight_unit(float(weight.sum())) if weight.size else 1.0
    return float(backend.weighted_quantile(values, weight, unit, level))


def mean_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under squared error."""
    return np.array([exact_mean(y, weight, backend)])


def log_mean_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under deviances of counts and amounts."""
    mean = exact_mean(y, weight, backend)
    return np.array([log(mean if mean > 0 else LEAST_PRIOR)])


def log_odds_score(y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any) -> np.ndarray:
    """The best constant under binary log loss."""
    p = min(max(exact_mean(y, weight, backend), LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    return np.array([log(p) - log(1.0 - p)])
