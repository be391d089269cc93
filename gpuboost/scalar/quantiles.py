"""Cuts of a sorted column, as loops that every device compiles for itself.

A call works on one column, in one thread.
"""

from typing import Any

import numpy as np

LOWEST = -1.7976931348623157e308


def distinct_values(values: Any, weight: Any, out: Any, out_weight: Any) -> int:
    """Distinct values and the weight of each; returns how many there are.

    ``values`` (n,) ascend, none is missing; ``weight`` (n,) is in the same order, or empty; ``out``
    and ``out_weight`` have n entries.
    """
    n = 0
    for i in range(values.shape[0]):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        if n > 0 and out[n - 1] == values[i]:
            out_weight[n - 1] += w
        else:
            out[n] = values[i]
            out_weight[n] = w
            n += 1
    return n


def cut_between(a: float, b: float) -> float:
    """A number c with a <= c < b, in the middle where that can be written."""
    c = a * 0.5 + b * 0.5
    if c >= a and c < b and abs(c) < np.inf:
        return c
    if a == -np.inf and b > LOWEST:
        return LOWEST  # finite, as every other threshold of a model
    return a + 0.0  # a zero without sign: which of -0.0 and 0.0 comes first is up to the sort


def quantile_cuts(values: Any, weight: Any, max_bins: int, out: Any) -> int:
    """Cuts that give bins of about equal weight, into ``out`` (max_bins - 1,).

    Returns how many there are.

    A value that outweighs an even share gets a bin of its own, and the others share what is left:
    on a column that is mostly zeros, the zeros take one bin and not most of them. ``values`` are
    distinct and ascend; with max_bins of them or fewer ``weight`` is not read.
    """
    n: int = values.shape[0]
    if n <= max_bins:
        for i in range(n - 1):
            out[i] = cut_between(values[i], values[i + 1])
        return max(n - 1, 0)
    left_weight = 0.0
    for i in range(n):
        left_weight += weight[i]
    left_bins = max_bins
    heavy = left_weight / left_bins  # values of this weight have a bin of their own
    for i in range(n):
        if weight[i] >= heavy:
            left_weight -= weight[i]
            left_bins -= 1
    share = left_weight / max(left_bins, 1)
    n_cuts = 0
    filled = 0.0
    for i in range(n - 1):
        if n_cuts == max_bins - 1:
            break
        filled += weight[i]
        if weight[i] < heavy:
            left_weight -= weight[i]
        if (
            weight[i] >= heavy
            or filled >= share
            or (weight[i + 1] >= heavy and filled >= 0.5 * share)
        ):
            out[n_cuts] = cut_between(values[i], values[i + 1])
            n_cuts += 1
            filled = 0.0
            if weight[i] < heavy:
                left_bins -= 1
                share = left_weight / max(left_bins, 1)
    return n_cuts
