"""The absolute error: scores of cuts are sums of distances from the median.

They are kept up to date by a tree of partial sums over the targets' ranks.
"""

import numpy as np

from gpuboost.kernels.cpu._jit import allocating, helper
from gpuboost.kernels.cpu.cart.cuts import PREFIXES, is_in_set
from gpuboost.kernels.cpu.cart.words import mark, take_marked


@helper
def add_rank(tree, rank, weight, value):
    """Add a row to the partial sums; tree (n + 1, 2): weights and weight times target."""
    i = rank + 1
    while i < tree.shape[0]:
        tree[i, 0] += weight
        tree[i, 1] += value
        i += i & -i


@helper
def distance_from_median(tree, y, total_weight, total_value):
    """Sum of weight times distance from the weighted median, y being the targets by rank."""
    step = 1
    while 2 * step < tree.shape[0]:
        step *= 2
    at, weight, value = 0, np.int64(0), np.int64(0)
    while step > 0:
        if at + step < tree.shape[0] and 2 * (weight + tree[at + step, 0]) < total_weight:
            at += step
            weight += tree[at, 0]
            value += tree[at, 1]
        step >>= 1
    median = y[at]
    return median * (2.0 * weight - total_weight) - (2.0 * value - total_value)


@helper
def score_absolute(
    # (n_rows,) int32, IN: rows of the node by the cut's side: those of the first category first
    order,
    ends,  # (n,) int32, IN: how many of them are on the left of each cut
    weight,  # (n_rows,) int64, IN
    value,  # (n_rows,) int64, IN: weight times target
    rank,  # (n_rows,) int32, IN: rank of the target in the node
    y,  # (n_ranks,) float64, IN: targets by rank, in units of value / weight
    n,
    tree,  # (n_ranks + 1, 2) int64, SCRATCH
    scores,  # (>= n,) float64, INOUT: the sum of both sides' distances is taken off
    unit,
):
    """Score n cuts of one output under the absolute error.

    Once from the left, once from the right.
    """
    n_rows = order.shape[0]
    for side in range(2):
        for i in range(tree.shape[0]):
            tree[i, 0] = 0
            tree[i, 1] = 0
        total_weight, total_value = np.int64(0), np.int64(0)
        at = 0
        for step in range(n):
            j = step if side == 0 else n - 1 - step
            stop = ends[j] if side == 0 else n_rows - ends[j]
            while at < stop:
                i = order[at] if side == 0 else order[n_rows - 1 - at]
                add_rank(tree, rank[i], weight[i], value[i])
                total_weight += weight[i]
                total_value += value[i]
                at += 1
            scores[j] -= distance_from_median(tree, y, total_weight, total_value) * unit


@allocating
def rank_in_node(rows, ranks, by_rank, bits, summary, place, node_ranks, node_by_rank):
    """Rank of each target among those of the node; returns how many distinct ones there are."""
    for i in range(rows.shape[0]):
        mark(bits, summary, ranks[rows[i]])
    present = np.empty(rows.shape[0], np.int32)
    n = take_marked(bits, summary, by_rank.shape[0], present)
    for r in range(n):
        place[present[r]] = r
        node_by_rank[r] = by_rank[present[r]]
    for i in range(rows.shape[0]):
        node_ranks[i] = place[ranks[rows[i]]]
    return n


@helper
def rows_by_cut(kind, cut, code, order, m, place_of, present, missing_left, by_code, ends):
    """Places of a node's rows in the order of the cuts and the cuts' ends; for sets, of one cut."""
    n = code.shape[0]
    for k in range(m):
        place_of[present[order[k]]] = k
    place_of[0] = -1 if missing_left else m
    if kind != PREFIXES:
        at = 0
        for side in range(2):
            for i in range(n):
                k = place_of[code[i]]
                if (k < 0 or (k < m and is_in_set(kind, cut, k, m))) == (side == 0):
                    by_code[at] = i
                    at += 1
            if side == 0:
                ends[0] = at
        return
    for k in range(m):
        ends[k] = 0
    before = 0
    for i in range(n):
        k = place_of[code[i]]
        before += k < 0
        if 0 <= k < m:
            ends[k] += 1
    total, before = np.int32(before), 0
    for k in range(m):
        n_rows = ends[k]
        ends[k] = total
        total += n_rows
    behind = np.int64(total)
    for i in range(n):
        k = place_of[code[i]]
        if k < 0:
            by_code[before] = i
            before += 1
        elif k < m:
            by_code[ends[k]] = i
            ends[k] += 1
        else:
            by_code[behind] = i
            behind += 1


@helper
def score_distances(kind, n_cuts, order, m, has_missing, n, growth, first_channel, work, distances):
    """Scores of all cuts under the absolute error, into ``distances``."""
    for missing_left in range(2 if has_missing else 1):
        scores = distances.scores[missing_left]
        for cut in range(n_cuts):
            scores[cut] = 0.0
        for group in range(1 if kind == PREFIXES else n_cuts):
            rows_by_cut(
                kind, group, work.code[:n], order, m, work.place, work.present, missing_left != 0,
                distances.by_code, distances.ends,
            )  # fmt: skip
            for o in range(first_channel.shape[0] - 1):
                n_ranks = distances.n_ranks[o]
                score_absolute(
                    distances.by_code[:n], distances.ends, work.weight,
                    work.values[o :: first_channel.shape[0] - 1], distances.rank[o],
                    distances.by_rank[o, :n_ranks], n_cuts if kind == PREFIXES else 1,
                    distances.rank_tree[: n_ranks + 1],
                    scores if kind == PREFIXES else scores[group:], growth[0].value_unit,
                )  # fmt: skip


@helper
def node_distance(n, growth, first_channel, work, distances):
    """Score of the whole node under the absolute error."""
    for i in range(n):
        distances.by_code[i] = i
    distances.ends[0] = n
    distances.scores[0, 0] = 0.0
    for o in range(first_channel.shape[0] - 1):
        n_ranks = distances.n_ranks[o]
        score_absolute(
            distances.by_code[:n], distances.ends, work.weight,
            work.values[o :: first_channel.shape[0] - 1], distances.rank[o],
            distances.by_rank[o, :n_ranks], 1, distances.rank_tree[: n_ranks + 1],
            distances.scores[0], growth[0].value_unit,
        )  # fmt: skip
    return distances.scores[0, 0]
