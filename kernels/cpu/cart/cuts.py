"""The scan of the cuts of one feature, in one order of its codes."""

import numpy as np

from gpuboost.dtypes import SQUARES, TIE
from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.kernels.cpu.cart.codes import cell_sums
from gpuboost.kernels.cpu.cart.scores import side_score

#: How cuts follow from the order of the codes: all up to one, one alone, every set.
PREFIXES, SINGLES, SUBSETS = 0, 1, 2


@helper
def is_in_set(kind, cut, k, m):
    """Whether the k-th of m codes in the order is on the left of a cut.

    Behind the last cut come all of them.
    """
    if kind == PREFIXES:
        return k <= cut
    if kind == SINGLES:
        return k == cut or cut >= m
    return (np.int64(cut + 1) >> k & 1) != 0 or cut + 1 >= 1 << (m - 1)


@helper
def keeps_to_rails(kind, cut, order, m, counts, sort_key, growth):
    """Whether a cut leaves categories of few rows together, and one side has few categories."""
    p = growth[0]
    if cut >= m - 1 and kind == PREFIXES:
        return True  # all values left, missing right
    if kind == PREFIXES:
        return (
            sort_key[order[cut]] != sort_key[order[cut + 1]]
            and min(cut + 1, m - 1 - cut) <= p.max_cat_threshold
        )
    here = there = False
    for k in range(m):
        if counts[order[k]] < p.min_data_per_category:
            is_left = is_in_set(kind, cut, k, m)
            here, there = here or is_left, there or not is_left
    return not (here and there)


@helper
def sum_set(kind, cut, order, m, cells, counts, n_cell, with_classes, n_weights, growth, left):
    """Sums of a set of codes into ``left``; returns (weight, rows)."""
    weight, count = 0.0, np.int64(0)
    for c in range(left.shape[0]):
        left[c] = 0.0
    for k in range(m):
        if is_in_set(kind, cut, k, m):
            j = np.int64(order[k])
            weight += cell_sums(cells, j, n_cell, with_classes, n_weights, growth, left, True)
            count += counts[j]
    return weight, count


@helper
def cut_score(
    growth, left, left_weight, total, weight, first_channel, side, scores, missing_left, cut
):
    """Score of both sides of a cut; ``scores`` are those of the absolute error, or None."""
    if scores is not None:
        return scores[missing_left, cut]
    criterion = growth[0].criterion
    for c in range(total.shape[0]):
        side[c] = total[c] - left[c]
    return side_score(criterion, left, left_weight, first_channel) + side_score(
        criterion, side, weight - left_weight, first_channel
    )


@inlined
def scan_cuts(
    kind, n_cuts, only, order, m, has_missing, rails, cells, counts, n_cell, with_classes,
    first_channel, n, total, weight, growth, left, side, sort_key, scores,
):  # fmt: skip
    """Best cut of one order of the codes.

    (score, cut, missing left, whether the left side is the heavier one).

    If values are missing, the last cut has all others on the left, which leaves them the right.
    ``only`` >= 0: look at no other cut."""
    p = growth[0]
    n_channels, n_weights = total.shape[0], np.int64(first_channel[1])
    least = max(p.min_weight_leaf, 0.5 * p.weight_unit)
    best, best_cut, best_missing_left, heavier_left = -np.inf, -1, False, False
    left_weight, left_count = 0.0, np.int64(0)
    for c in range(n_channels):
        left[c] = 0.0
    for cut in range(n_cuts):
        if kind == PREFIXES:
            j = np.int64(order[cut])
            left_weight += cell_sums(cells, j, n_cell, with_classes, n_weights, growth, left, True)
            left_count += counts[j]
        else:
            left_weight, left_count = sum_set(
                kind, cut, order, m, cells, counts, n_cell, with_classes, n_weights, growth, left
            )
        if only >= 0 and cut != only:
            continue
        if rails and not keeps_to_rails(kind, cut, order, m, counts, sort_key, growth):
            continue
        for missing_left in range(2 if has_missing else 1):
            w, count = left_weight, left_count
            if missing_left:
                w += cell_sums(cells, 0, n_cell, with_classes, n_weights, growth, left, True)
                count += counts[0]
            if (
                w >= least
                and weight - w >= least
                and count >= p.min_samples_leaf
                and n - count >= p.min_samples_leaf
            ):
                if p.criterion == SQUARES:  # the one that has to be fast: a call takes longer
                    here, there = 0.0, 0.0
                    for c in range(n_channels):
                        rest = total[c] - left[c]
                        here += left[c] * left[c]
                        there += rest * rest
                    score = here / w + there / (weight - w)
                else:
                    score = cut_score(
                        growth,
                        left,
                        w,
                        total,
                        weight,
                        first_channel,
                        side,
                        scores,
                        missing_left,
                        cut,
                    )
                if score > -np.inf and (best_cut < 0 or score > best + TIE * abs(best)):
                    best, best_cut, best_missing_left, heavier_left = (
                        score,
                        cut,
                        missing_left != 0,
                        w >= weight - w,
                    )
            if missing_left:  # exact sums: taken off as they were added
                w = cell_sums(cells, 0, n_cell, with_classes, n_weights, growth, side, False)
                for c in range(n_channels):
                    left[c] -= side[c]
    return best, best_cut, best_missing_left, heavier_left
