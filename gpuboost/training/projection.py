"""One number for each row that stands for the gradients of all outputs.

A tree with values for several outputs is grown on it, so that splits cost no more than those of a
tree for one output. The number is the sum of the gradients with random signs (SketchBoost, Iosipoi
and Vakhrushev 2022): the square of its sum over rows is on average the sum of the squares of the
outputs' sums, and other signs in each round leave no output out of sight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuboost.objectives.constants import exact_mean
from gpuboost.objectives.objective import Objective
from gpuboost.scalar.formulas import power_of_two_below


def projection_factors(
    objective: Objective, y: np.ndarray, base_score: np.ndarray, weight: np.ndarray, host: Any
) -> np.ndarray:
    """Factors of the outputs' gradients, and of their hessians, (n_outputs, 2).

    The squares of the first ones add up to 1, so that the hessian is a mean over the outputs.
    Targets in units of their own are brought to about the same size, by powers of two: the mean
    distance from the start value is taken as the unit.
    """
    sizes = np.ones(len(base_score))
    if objective.degree == 1 and y.ndim == 2:
        distances = np.abs(y - base_score[:, None])
        sizes = np.array([exact_mean(of_output, weight, host) for of_output in distances])
        if not sizes.any():
            sizes[:] = 1.0
    factor = np.array([1.0 / power_of_two_below(size) if size > 0 else 0.0 for size in sizes])
    factor /= factor.max()  # before it is squared
    factor /= np.sqrt((factor * factor).sum())
    if objective.constant_hessian:  # the mean is 1, without rounding
        return np.stack([factor, np.arange(len(factor)) == 0], axis=1)
    return np.stack([factor, factor * factor], axis=1)
