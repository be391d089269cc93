"""How the categories of a nominal feature are divided."""

import numpy as np

from gpuboost.dtypes import AUTOMATIC, EXHAUSTIVE, MAX_EXHAUSTIVE, ONE_VS_REST, RANDOM
from gpuboost.kernels.cpu._jit import helper
from gpuboost.kernels.cpu.cart.codes import cell_sums
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, SINGLES, SUBSETS, is_in_set
from gpuboost.kernels.cpu.cart.words import ONE, WORD
from gpuboost.scalar.formulas import hash32


@helper
def sort_order(order, m, key):
    """Sort ``order`` by key, equal keys by place."""
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            moving, j = order[i], i
            while j >= gap and (
                key[order[j - gap]] > key[moving]
                or (key[order[j - gap]] == key[moving] and order[j - gap] > moving)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 3


@helper
def order_categories(
    attempt, m, key, growth, with_classes, n_outputs, n_channels, cells, n_cell, n_weights, present,
    order, sort_key, left,
):  # fmt: skip
    """The way in which the categories are divided at an attempt: (kind, cuts, the only cut or -1).

    Sets the order. Without cuts there are no more attempts.
    """
    p = growth[0]
    two_or_numbers = n_outputs == 1 and (not with_classes or n_channels == 2)
    for k in range(m):
        order[k] = k + 1
    if p.splitter == RANDOM:  # each category left or right by chance
        n_left = 0
        for k in range(m):
            is_left = hash32(key, present[k + 1]) & np.uint32(1) != 0
            sort_key[k + 1] = 0.0 if is_left else 1.0
            n_left += is_left
        sort_order(order, m, sort_key)
        return PREFIXES, m - 1 if attempt == 0 else 0, min(max(n_left - 1, 0), m - 2)
    if p.division == ONE_VS_REST:
        return SINGLES, m if attempt == 0 else 0, -1
    if (
        p.division == EXHAUSTIVE or (p.division == AUTOMATIC and not two_or_numbers)
    ) and 2 < m <= MAX_EXHAUSTIVE:
        return SUBSETS, (1 << (m - 1)) - 1 if attempt == 0 else 0, -1
    # by the mean, or by the share of each class in turn; of two classes one is enough
    channel = attempt + (1 if two_or_numbers and with_classes else 0)
    if channel >= n_channels:
        return PREFIXES, 0, -1
    for k in range(m):
        weight = cell_sums(
            cells, np.int64(k + 1), n_cell, with_classes, n_weights, growth, left, False
        )
        mean = left[channel] / weight
        sort_key[k + 1] = mean if mean == mean else np.inf  # nothing there: behind all others
    sort_order(order, m, sort_key)
    return PREFIXES, m - 1, -1


@helper
def keep_set(kind, cut, order, present, m, n_codes, out):
    """The categories on the left of a cut as bits."""
    for w in range((n_codes + 63) // 64):
        out[w] = 0
    for k in range(m):
        if is_in_set(kind, cut, k, m):
            code = np.uint64(present[order[k]])
            out[code // WORD] |= ONE << code % WORD
