"""The area under the ROC curve from integers, so that it does not depend on the order of rows.

The weights of positive and negative rows are added up over the ascending scores, as integers: rows
count one, weights are in fixed point. Rows with equal scores count as one place. What a place
contributes is one expression of such sums, and the places are added in the one order of all devices
(see ``kernels/cpu/gradients.py``), so that every device gets the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import floor

from gpuboost.dtypes import SUM_BLOCK, SUM_LANES
from gpuboost.scalar.fixed_point import fine_room
from gpuboost.scalar.formulas import unit_for


def weight_steps(weight: Any, unit: float) -> Any:
    """A weight, or an array of weights, as a number of steps of this size."""
    return floor(weight / unit + 0.5)


def area_of_place(positive: Any, negative: Any, below: Any) -> Any:
    """Pairs of a place's positive rows with the negative ones below and, as halves, at the place.

    The arguments are sums of weights: numbers, or arrays of several places.
    """
    return np.float64(positive) * (np.float64(below) + 0.5 * np.float64(negative))


def area_and_pairs(y: np.ndarray, score: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Pairs of a positive and a negative row that the scores put in order, and all such pairs.

    Ties are halves, and a pair counts as the product of its weights, in steps. Without weights
    (an empty array) both numbers are exact up to 2**53.
    """
    n = len(y)
    if n == 0:
        return 0.0, 0.0
    order = np.argsort(score, kind="stable")
    steps = np.ones(n, np.int64)
    if weight.size:
        steps = weight_steps(weight[order], unit_for(fine_room(n), sum_in_order(weight))).astype(
            np.int64
        )
    is_positive, ascending = y[order] > 0.5, score[order]
    positive = np.cumsum(np.where(is_positive, steps, 0))
    negative = np.cumsum(np.where(is_positive, 0, steps))
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))
    below = np.append(0, negative[ends[:-1]])
    areas = np.zeros(n)
    areas[ends] = area_of_place(np.diff(positive[ends], prepend=0), negative[ends] - below, below)
    return sum_in_order(areas), float(positive[-1]) * float(negative[-1])


def sum_in_order(values: np.ndarray) -> float:
    """Sum of numbers that are not negative, in the one order of all devices."""
    blocks = _sums_of_blocks(np.asarray(values, np.float64), SUM_BLOCK)
    return float(_sums_of_blocks(blocks, max(SUM_LANES, len(blocks)))[0])


def _sums_of_blocks(values: np.ndarray, block: int) -> np.ndarray:
    """A sum for each block: running sums over its lanes, which are then added in pairs."""
    n_blocks, n_turns = max(1, -(-len(values) // block)), -(-block // SUM_LANES)
    padded = np.zeros((n_blocks, n_turns * SUM_LANES))
    padded.reshape(-1)[: len(values)] = values
    turns = padded.reshape(n_blocks, n_turns, SUM_LANES)
    lanes = np.zeros((n_blocks, SUM_LANES))
    for turn in range(n_turns):
        lanes += turns[:, turn]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]
