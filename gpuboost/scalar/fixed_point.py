"""Fixed-point numbers: their scales, and how values are rounded to them.

Coarse sums (the halves of a packed histogram cell) must stay below 2**31 in absolute value, fine
sums (behind the leaf values) below 2**62. The scale comes from the sum of absolute values, not from
the largest one: an outlier costs no precision. Scales are powers of two, so that turning an integer
back into a float is exact.

``begin_tree`` and the ``pack`` functions are compiled by every device for itself, as those of
``formulas`` are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import floor

from gpuboost.scalar.formulas import power_of_two_below, unit_for

COARSE_LIMIT = 2**31 - 1
FINE_LIMIT = 2**62

#: Up to this many rows (and this much weight), coarse values have 18 bits or more for an average
#: row: rounding is to nearest, and a row of weight k counts exactly as k rows. Above, rounding is
#: random, which is unbiased.
NEAREST_ROWS = 8192


def coarse_room(n_rows: int, total_weight: float, nearest: bool) -> float:
    """Largest sum that coarse values may reach before rounding, which may add one step a row."""
    return float(COARSE_LIMIT - n_rows - (math.ceil(total_weight) if nearest else 0))


def fine_room(n_rows: int) -> float:
    """The same for fine values."""
    return float(FINE_LIMIT - n_rows)


def fine_scale(total: float, n_rows: int) -> float:
    """Steps per unit of fine sums of values whose absolute values add up to ``total``."""
    return power_of_two_below(fine_room(n_rows) / total) if total > 0 else 1.0


def weight_unit(total_weight: float) -> float:
    """The unit in which weights are whole numbers that float64 can add up without rounding."""
    return unit_for(2.0**52, total_weight)


def begin_tree(
    split_sums: Any,
    sums: Any,
    coarse_room: float,
    fine_room: float,
    column_key: Any,
    rounding_key: Any,
    growth: Any,
    fine_units: Any,
) -> None:
    """Units and keys of a tree into the GROWTH record, and those of its fine sums.

    ``split_sums`` are the weighted sums of |g| and h that decide on splits, (1, 2), and ``sums``
    those behind the leaf values, (n_values, 2), as are ``fine_units``.
    """
    growth[0].gradient_unit = unit_for(coarse_room, split_sums[0, 0])
    growth[0].hessian_unit = unit_for(coarse_room, split_sums[0, 1])
    growth[0].column_key = column_key
    growth[0].rounding_key = rounding_key
    for k in range(sums.shape[0]):
        fine_units[k, 0] = unit_for(fine_room, sums[k, 0])
        fine_units[k, 1] = unit_for(fine_room, sums[k, 1])


def pack_nearest(g: float, h: float, weight: float) -> Any:
    """Round a pair to nearest in two steps (the value, then its product with the weight).

    A row of weight k counts exactly as k rows.
    """
    qg = np.int64(floor(floor(g + 0.5) * weight + 0.5))
    qh = np.int64(floor(floor(h + 0.5) * weight + 0.5))
    return (qg << np.int64(32)) + qh


def pack_at_random(g: float, h: float, noise: Any) -> Any:
    """Round a pair down after adding a uniform number in [0, 1).

    Each of the two gets 16 bits of the row's noise, so that it is right on average.
    """
    g_noise = np.float64(np.int32(noise & np.uint32(0xFFFF))) * (1.0 / 65536.0)
    h_noise = np.float64(np.int32(noise >> np.uint32(16))) * (1.0 / 65536.0)
    return (np.int64(np.int32(floor(g + g_noise))) << np.int64(32)) + np.int64(
        np.int32(floor(h + h_noise))
    )
