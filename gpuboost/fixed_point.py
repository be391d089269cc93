"""Scales of the fixed-point sums.

Coarse sums (the halves of a packed histogram cell) must stay below 2**31 in absolute value, fine sums (behind the leaf values) below
2**62. The scale comes from the sum of absolute values, not from the largest one: an outlier costs no precision. Scales are powers of two,
so that turning an integer back into a float is exact.
"""

from __future__ import annotations

import math

from gpuboost.formulas import power_of_two_below

COARSE_LIMIT = 2**31 - 1
FINE_LIMIT = 2**62

#: Up to this many rows (and this much weight), coarse values have 18 bits or more for an average row: rounding is to nearest, and a row of
#: weight k counts exactly as k rows. Above, rounding is random, which is unbiased.
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
