"""How the categories of a nominal feature are divided."""

import numpy as np

from gpuboost.dtypes import AUTOMATIC, EXHAUSTIVE, MAX_EXHAUSTIVE, ONE_VS_REST, RANDOM
from gpuboost.kernels.cpu._jit import helper
from gpuboost.kernels.cpu.cart.codes import cell_sums
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, SINGLES, SUBSETS, is_in_set
from gpuboost.kernels.cpu.cart.sort import sort_order
from gpuboost.kernels.cpu.cart.words import ONE, WORD
from gpuboost.scalar.formulas import hash32


@helper
def has_rails(nominal, n_codes, growth):
    """Whether a feature has so many categories that small ones could fit anything."""
    return nominal and n_codes > MAX_EXHAUSTIVE + 1 and growth[0].splitter != RANDOM


@helper
def smoothed(channel_sum, weight, total, node_weight, extra):
    """Mean of a category to which some weight of the node's mean is added."""
    return (channel_sum + extra * (total / node_weight)) / (weight + extra)


@helper
def set_keys(
    channel, m, n, rails, growth, with_classes, cells, counts, n_cell, n_weights, total,
    node_weight, sort_key, left,
):  # fmt: skip
    """Keys of categories by the means of a channel; those of few rows have one together."""
    p = growth[0]
    least, extra = np.int64(0), 0.0
    if rails:
        least, extra = p.min_data_per_category, p.cat_smooth * (node_weight / n)
    rare, rare_weight = 0.0, 0.0
    for k in range(1, m + 1):
        weight = cell_sums(cells, np.int64(k), n_cell, with_classes, n_weights, growth, left, False)
        if counts[k] < least:
            rare += left[channel]
            rare_weight += weight
        mean = smoothed(left[channel], weight, total[channel], node_weight, extra)
        sort_key[k] = mean if mean == mean else np.inf  # nothing there: behind all others
    if rare_weight > 0.0:
        mean = smoothed(rare, rare_weight, total[channel], node_weight, extra)
        for k in range(1, m + 1):
            if counts[k] < least:
                sort_key[k] = mean


@helper
def order_categories(
    attempt, m, n, key, rails, growth, with_classes, n_outputs, n_channels, cells, counts, n_cell,
    n_weights, present, order, sort_key, total, node_weight, left,
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
        (p.division == EXHAUSTIVE or (p.division == AUTOMATIC and not two_or_numbers))
        and 2 < m <= MAX_EXHAUSTIVE
        and not (rails and p.division == AUTOMATIC)
    ):
        return SUBSETS, (1 << (m - 1)) - 1 if attempt == 0 else 0, -1
    # by the mean, or by the share of each class in turn; of two classes one is enough
    channel = attempt + (1 if two_or_numbers and with_classes else 0)
    if channel >= n_channels:
        return PREFIXES, 0, -1
    set_keys(
        channel, m, n, rails, growth, with_classes, cells, counts, n_cell, n_weights, total,
        node_weight, sort_key, left,
    )  # fmt: skip
    sort_order(order, m, sort_key)
    return PREFIXES, m - 1, -1


@helper
def keep_set(kind, cut, order, present, m, n_codes, others_left, out):
    """The categories on the left of a cut as bits; others are on the left or not."""
    for w in range((n_codes + 63) // 64):
        out[w] = ~np.uint64(0) if others_left else np.uint64(0)
    out[0] &= ~ONE
    if others_left:
        last = np.uint64(n_codes)
        if last % WORD != 0:
            out[last // WORD] &= (ONE << last % WORD) - ONE
    for k in range(m):
        code = np.uint64(present[order[k]])
        bit = ONE << code % WORD
        if is_in_set(kind, cut, k, m):
            out[code // WORD] |= bit
        else:
            out[code // WORD] &= ~bit
