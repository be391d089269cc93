"""Quantiles by counting: keys that are ordered as numbers are, and where a quantile is.

``kernels/cuda/leaf_quantiles.cu`` has the same in C.
"""

from typing import Any

import numpy as np

from gpuboost.scalar.formulas import within

SIGN, NO_BITS = np.uint64(1 << 63), np.uint64(0)
#: A share of the whole weight that is missed by this part of the whole counts as reached.
ROUNDING = 2.0**-48
#: Limited distances times weights add up to less than this many units.
MEAN_ROOM = 2.0**61


def key_of(x: float) -> Any:
    """An unsigned integer that is larger for a larger number; both zeros have the same."""
    bits = np.float64(x + 0.0).view(np.uint64)
    return ~bits if bits & SIGN != NO_BITS else bits | SIGN


def value_of(key: Any) -> Any:
    """The number that has this key."""
    bits = key & ~SIGN if key & SIGN != NO_BITS else ~key
    return np.uint64(bits).view(np.float64)


def whole_weight(weight: float, unit: float) -> Any:
    """A weight above 0 in whole units, at least one."""
    steps = np.int64(np.floor(weight / unit + 0.5))
    return steps if steps > np.int64(0) else np.int64(1)


def is_reached(so_far: Any, total: Any, level: float) -> Any:
    """Whether a quantile is among things of this weight, which are the lowest."""
    whole = np.float64(total)
    return so_far > 0 and np.float64(so_far) >= level * whole - ROUNDING * whole


def is_edge(so_far: Any, total: Any, level: float) -> Any:
    """Whether a quantile is between the things of this weight and the next one."""
    whole = np.float64(total)
    return so_far < total and np.float64(so_far) <= level * whole + ROUNDING * whole


def order_leaves(
    nodes: Any, n_nodes: int, n_bins: Any, directions: Any, values: Any, ranges: Any
) -> None:
    """Move leaf values just as far as monotone features need it.

    Where the leaves on the two sides of a split are not in order, the middle between those that are
    farthest out of order becomes a bound of both sides. ``ranges`` (n_nodes, 4) is scratch: bounds
    of the leaves below each node, and the lowest and the highest of them.
    """
    for back in range(n_nodes):
        i = n_nodes - 1 - back  # children have higher ids than their parents
        left, right = nodes[i].left, nodes[i].right
        ranges[i, 0], ranges[i, 1] = -np.inf, np.inf
        if left < 0:
            ranges[i, 2], ranges[i, 3] = values[i, 0], values[i, 0]
        else:
            feature = nodes[i].split.feature
            direction = directions[feature] if nodes[i].split.bin < n_bins[feature] else 0
            low, high = (left, right) if direction > 0 else (right, left)
            if direction != 0 and ranges[low, 3] > ranges[high, 2]:
                middle = 0.5 * ranges[low, 3] + 0.5 * ranges[high, 2]
                ranges[low, 1], ranges[high, 0] = middle, middle
                for k in range(2, 4):
                    ranges[low, k] = within(ranges[low, k], -np.inf, middle)
                    ranges[high, k] = within(ranges[high, k], middle, np.inf)
            ranges[i, 2] = within(ranges[left, 2], -np.inf, ranges[right, 2])
            ranges[i, 3] = within(ranges[left, 3], ranges[right, 3], np.inf)
    for i in range(n_nodes):
        low_bound, high_bound = ranges[i, 0], ranges[i, 1]
        if nodes[i].left < 0:
            values[i, 0] = within(values[i, 0], low_bound, high_bound)
        else:
            for child in (nodes[i].left, nodes[i].right):
                for k in range(2):
                    ranges[child, k] = within(ranges[child, k], low_bound, high_bound)
