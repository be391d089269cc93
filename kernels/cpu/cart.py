"""Growth of one classical tree by one thread; trees of a forest are grown side by side.

Features are codes: ranks of the distinct values (exact search) or bins; code 0 is the missing value. A node looks only at the features it
draws, so nothing is kept from its parent. For each feature

    1. sums per code          cells[code] += weight (of the class), weight times target
    2. the codes present      in ascending order: by a scan over all codes, or over a bitmap if the node has few rows
    3. sums left of each cut  in that order, or in the orders in which a nominal feature's categories are to be divided
    4. scores of the cuts     kernels/cpu/cart_scores.py; the best one, or the one that was drawn

Sums are fixed-point integers of at most 52 bits, which float64 holds exactly: no order can change a score. Random choices depend on the
path from the root to the node, not on when the node is grown.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import ABSOLUTE, AUTOMATIC, BEST, ENTROPY, EXHAUSTIVE, MIDPOINT, ONE_VS_REST, RANDOM, SQUARES
from gpuboost.formulas import hash32, log
from gpuboost.kernels.cpu._jit import helper, kernel, lowest_bit
from gpuboost.kernels.cpu.binning import cut_between
from gpuboost.kernels.cpu.cart_scores import score_absolute, score_cuts, side_score

#: A score has to be higher by this part to count as higher: ties go to the lowest (feature, cut), whatever the rounding of the division.
TIE = 2.0**-44
#: Most categories that are divided in every possible way: 511 ways.
MAX_EXHAUSTIVE = 10
ONE, WORD = np.uint64(1), np.uint64(64)


class Coded(NamedTuple):
    """A coded matrix."""

    codes: Any  # (n_features, n_rows) uint8 or uint32
    n_codes: Any  # (n_features,) int32, code 0 (missing) included
    begin: Any  # (n_features + 1,) int64: where a feature's codes begin in lower and upper
    lower: Any  # (n,) float64: lowest value of each code
    upper: Any  # (n,) float64: and highest
    nominal: Any  # (n_features,) uint8
    probability: Any  # (n_features,) float64: of a feature to be drawn (midpoint splitter)


class Targets(NamedTuple):
    """What a tree is grown on. Classes or values, the other is empty."""

    weight: Any  # (n_rows,) int64: fixed point
    classes: Any  # (n_rows, n_outputs) int32: as channels
    values: Any  # (n_rows, n_outputs) int64: weight times target, fixed point
    first_channel: Any  # (n_outputs + 1,) int32
    rank: Any  # (n_rows, n_outputs) int32: rank of the target among all (absolute error)
    by_rank: Any  # (n_ranks, n_outputs) float64: the targets in units of value / weight


class Work(NamedTuple):
    """Buffers of one growing tree."""

    rows: Any  # (n,) int32: the rows of each node one after another
    scratch: Any  # (n,) int32
    weight: Any  # (n,) int64: of the rows of the node in hand
    classes: Any  # (n, n_outputs) int32
    values: Any  # (n, n_outputs) int64
    rank: Any  # (n, n_outputs) int32: rank of the target in the node
    by_rank: Any  # (n, n_outputs) float64
    n_ranks: Any  # (n_outputs,) int64
    rank_tree: Any  # (n + 1, 2) int64
    cells: Any  # (max_codes * n_cell,) int64, all 0 between features
    counts: Any  # (max_codes,) int32: rows of each code, all 0 between features
    place: Any  # (max_codes,) int32: place of each code among those present
    bits: Any  # (n_words,) uint64, all 0 between features: codes present
    summary: Any  # (n_words / 64,) uint64, the same of words with a bit
    present: Any  # (max_codes,) int32: codes present, ascending, without missing
    order: Any  # (max_codes,) int32: the same as they are divided
    sort_key: Any  # (max_codes,) float64
    left: Any  # (n_channels, max_cuts) float64
    left_weight: Any  # (max_cuts,) float64
    left_count: Any  # (max_cuts,) int64
    side: Any  # (2, >= max_cuts, n_channels) float64
    scores: Any  # (max_cuts,) float64
    total: Any  # (n_channels,) float64: of the node
    missing: Any  # (n_channels,) float64: of its rows without a value
    by_code: Any  # (n,) int32: places of rows by code (absolute error)
    ends: Any  # (max_cuts,) int32
    features: Any  # (n_features,) int32
    best_set: Any  # (n_words,) uint64


# --- what is in a node


@helper
def gather(targets, growth, work, begin, end):
    """Copy the targets of a node's rows together; returns (weight, whether all targets are equal)."""
    n, n_outputs = end - begin, targets.first_channel.shape[0] - 1
    p = growth[0]
    rows, weight = work.rows[begin:end], np.int64(0)
    same = True
    for c in range(work.total.shape[0]):
        work.total[c] = 0.0
    for i in range(n):
        w = targets.weight[rows[i]]
        work.weight[i] = w
        weight += w
    if targets.classes.shape[0] > 0:
        for o in range(n_outputs):
            for i in range(n):
                k = targets.classes[rows[i], o]
                work.classes[i, o] = k
                work.total[k] += np.float64(work.weight[i]) * p.weight_unit
                same = same and k == work.classes[0, o]
    else:
        for o in range(n_outputs):
            total = np.int64(0)
            first = targets.rank[rows[0], o]
            for i in range(n):
                work.values[i, o] = targets.values[rows[i], o]
                total += work.values[i, o]
                same = same and targets.rank[rows[i], o] == first
            work.total[o] = np.float64(total) * p.value_unit
            if p.criterion == ABSOLUTE:
                rank_in_node(targets, work, rows, o)
    return np.float64(weight) * p.weight_unit, same


@helper
def mark(work, code):
    """Note that a code is present."""
    word = np.uint64(code) // WORD
    work.bits[word] |= ONE << np.uint64(code) % WORD
    work.summary[word // WORD] |= ONE << word % WORD


@helper
def take_marked(work, n_codes, out):
    """Codes that were marked, ascending, into ``out``; returns how many. Clears the marks."""
    n = 0
    n_words = (np.uint64(n_codes) + WORD - ONE) // WORD
    for s in range((n_words + WORD - ONE) // WORD):
        words = work.summary[s]
        work.summary[s] = 0
        while words != 0:
            word = np.uint64(s) * WORD + lowest_bit(words)
            words &= words - ONE
            marks = work.bits[word]
            work.bits[word] = 0
            while marks != 0:
                out[n] = np.int32(word * WORD + lowest_bit(marks))
                n += 1
                marks &= marks - ONE
    return n


@helper
def rank_in_node(targets, work, rows, o):
    """Rank of each target among those of the node."""
    for i in range(rows.shape[0]):
        mark(work, targets.rank[rows[i], o])
    n = take_marked(work, targets.by_rank.shape[0], work.present)
    for r in range(n):
        work.place[work.present[r]] = r
        work.by_rank[r, o] = targets.by_rank[work.present[r], o]
    for i in range(rows.shape[0]):
        work.rank[i, o] = work.place[targets.rank[rows[i], o]]
    work.n_ranks[o] = n


@helper
def node_score(targets, growth, work, n, weight):
    """Score of the node as it is."""
    if growth[0].criterion != ABSOLUTE:
        return side_score(growth[0].criterion, work.total, weight, targets.first_channel)
    work.scores[0] = 0.0
    for i in range(n):
        work.by_code[i] = i
    work.ends[0] = n
    score_distances(targets, growth, work, n, 1)
    return work.scores[0]


@helper
def score_distances(targets, growth, work, n, n_cuts):
    """Scores under the absolute error, from ``work.by_code`` and ``work.ends``."""
    for j in range(n_cuts):
        work.scores[j] = 0.0
    for o in range(targets.first_channel.shape[0] - 1):
        m = work.n_ranks[o]
        score_absolute(
            work.by_code[:n], work.ends, work.weight, work.values[:, o], work.rank[:, o], work.by_rank[:m, o], n_cuts,
            work.rank_tree[: m + 1], work.scores, growth[0].value_unit,
        )  # fmt: skip


# --- the codes of a feature


@helper
def fill_cells(coded, targets, work, f, begin, end, count_rows):
    """Sums per code of one feature; returns how many codes are present (missing aside), and whether missing is."""
    column, rows = coded.codes[f], work.rows[begin:end]
    n, n_codes = np.uint64(end - begin), np.int64(coded.n_codes[f])
    n_outputs = targets.first_channel.shape[0] - 1
    n_cell = np.uint64(work.cells.shape[0] // work.counts.shape[0])
    if targets.classes.shape[0] > 0:
        for o in range(np.uint64(n_outputs)):
            for i in range(n):
                code = np.uint64(column[np.uint64(rows[i])])
                work.cells[code * n_cell + np.uint64(work.classes[i, o])] += work.weight[i]
    elif n_outputs == 1:
        for i in range(n):
            code = np.uint64(column[np.uint64(rows[i])])
            work.cells[code * n_cell] += work.weight[i]
            work.cells[code * n_cell + ONE] += work.values[i, 0]
    else:
        for i in range(n):
            code = np.uint64(column[np.uint64(rows[i])])
            work.cells[code * n_cell] += work.weight[i]
            for o in range(np.uint64(n_outputs)):
                work.cells[code * n_cell + ONE + np.uint64(o)] += work.values[i, o]
    if count_rows:
        for i in range(n):
            work.counts[np.uint64(column[np.uint64(rows[i])])] += 1
    if np.int64(n) >= n_codes // 2:
        m = scan_codes(targets, work, n_cell, n_codes)
    else:
        for i in range(n):
            mark(work, column[np.uint64(rows[i])])
        m = take_marked(work, n_codes, work.present)
    has_missing = m > 0 and work.present[0] == 0
    if has_missing:
        m -= 1
        for j in range(m):
            work.present[j] = work.present[j + 1]
    return m, has_missing


@helper
def scan_codes(targets, work, n_cell, n_codes):
    """Codes whose weight is not 0, ascending; returns how many."""
    n_weights = n_cell if targets.first_channel.shape[0] == 2 else np.uint64(targets.first_channel[1])
    if targets.classes.shape[0] == 0:
        n_weights = ONE
    m = 0
    for code in range(np.uint64(n_codes)):
        some = np.int64(0)
        for c in range(n_weights):
            some |= work.cells[np.uint64(code) * n_cell + np.uint64(c)]
        work.present[m] = np.int32(code)
        m += some != 0
    return m


@helper
def clear_cells(work, m):
    """Leave nothing behind of a feature with m codes present."""
    n_cell = work.cells.shape[0] // work.counts.shape[0]
    for j in range(-1, m):
        code = np.int64(work.present[j]) if j >= 0 else 0
        for c in range(n_cell):
            work.cells[code * n_cell + c] = 0
        work.counts[code] = 0


# --- the sides of the cuts


@helper
def code_sums(targets, growth, work, code, out):
    """Sums of one code by channel into ``out``; returns its weight."""
    n_cell = work.cells.shape[0] // work.counts.shape[0]
    own = work.cells[code * n_cell : (code + 1) * n_cell]
    p = growth[0]
    if targets.classes.shape[0] == 0:
        for c in range(n_cell - 1):
            out[c] = np.float64(own[c + 1]) * p.value_unit
        return np.float64(own[0]) * p.weight_unit
    weight = np.int64(0)
    for c in range(targets.first_channel[1]):
        weight += own[c]
    for c in range(n_cell):
        out[c] = np.float64(own[c]) * p.weight_unit
    return np.float64(weight) * p.weight_unit


@helper
def sides_in_order(targets, growth, work, m):
    """The cuts after each code of ``work.order``: what is on the left of them."""
    n_channels = work.total.shape[0]
    own = work.side[0]
    weight, count = 0.0, np.int64(0)
    for j in range(m):
        code = np.int64(work.order[j])
        weight += code_sums(targets, growth, work, code, own)
        count += work.counts[code]
        for c in range(n_channels):
            work.left[c, j] = own[c] + (work.left[c, j - 1] if j > 0 else 0.0)
        work.left_weight[j] = weight
        work.left_count[j] = count


@helper
def sides_of_sets(targets, growth, work, m, n_cuts, one_vs_rest):
    """Cut j has code j on the left (one against the rest), or the codes of the bits of j + 1."""
    n_channels = work.total.shape[0]
    own = work.side[0]
    for j in range(n_cuts):
        chosen = np.int64(1) << j if one_vs_rest else np.int64(j + 1)
        for c in range(n_channels):
            work.left[c, j] = 0.0
        work.left_weight[j] = 0.0
        work.left_count[j] = 0
        for k in range(m):
            if (j == k) if one_vs_rest else (chosen >> k & 1) != 0:
                code = np.int64(work.order[k])
                work.left_weight[j] += code_sums(targets, growth, work, code, own)
                work.left_count[j] += work.counts[code]
                for c in range(n_channels):
                    work.left[c, j] += own[c]


@helper
def add_missing(work, n_cuts, missing_weight, missing_count):
    """Move the rows without a value from the right of all cuts to the left."""
    for c in range(work.total.shape[0]):
        for j in range(n_cuts):
            work.left[c, j] += work.missing[c]
    for j in range(n_cuts):
        work.left_weight[j] += missing_weight
        work.left_count[j] += missing_count


@helper
def rows_by_cut(coded, targets, work, f, begin, end, m, n_cuts, sets, one_vs_rest, missing_left, j):
    """Places of a node's rows in the order of the cuts (``work.by_code``) and the cuts' ends; with sets, for the one cut j."""
    column, rows = coded.codes[f], work.rows[begin:end]
    n = end - begin
    for k in range(m):
        work.place[work.order[k]] = k
    work.place[0] = -1 if missing_left else m
    if sets:  # two heaps: left, right
        at = 0
        for side in range(2):
            for i in range(n):
                k = work.place[np.int64(column[rows[i]])]
                if k < 0:
                    is_left = True
                elif k >= m:
                    is_left = False
                else:
                    is_left = (k == j) if one_vs_rest else (np.int64(j + 1) >> k & 1) != 0
                if is_left == (side == 0):
                    work.by_code[at] = i
                    at += 1
            if side == 0:
                work.ends[0] = at
        return
    starts = work.ends  # counts first, then ends
    for k in range(n_cuts + 1):
        starts[k] = 0
    n_before = 0
    for i in range(n):
        k = work.place[np.int64(column[rows[i]])]
        n_before += k < 0
        if 0 <= k < n_cuts:
            starts[k] += 1
    total = np.int32(n_before)
    for k in range(n_cuts):
        own = starts[k]
        starts[k] = total
        total += own
    behind, before = np.int64(total), 0
    for i in range(n):
        k = work.place[np.int64(column[rows[i]])]
        if k < 0:
            work.by_code[before] = i
            before += 1
        elif k < n_cuts:
            work.by_code[starts[k]] = i
            starts[k] += 1
        else:
            work.by_code[behind] = i
            behind += 1


# --- the best cut


class Best(NamedTuple):
    """The best split so far, in one-entry arrays."""

    score: Any  # float64
    feature: Any  # int64
    code: Any  # int64: -1 for a set
    next_code: Any  # int64: the next code present behind it
    threshold: Any  # float64: NaN: in the middle
    missing_left: Any  # bool


@helper
def is_better(score, f, best):
    """Whether a score beats the best one; ties go to the lowest feature, and within it to what came first."""
    if not score > -np.inf:
        return False
    margin = TIE * abs(best.score[0])
    if best.feature[0] < 0 or score > best.score[0] + margin:
        return True
    return f < best.feature[0] and score >= best.score[0] - margin


@helper
def consider(
    coded, targets, growth, work, f, begin, end, weight, m, n_cuts, only, sets, one_vs_rest, has_missing, missing_left, nominal, best
):
    """Score the cuts whose sides are in ``work`` and keep the best, or look at cut ``only`` alone (>= 0)."""
    p = growth[0]
    n = end - begin
    if p.criterion == ABSOLUTE:
        if sets:
            for j in range(n_cuts):
                rows_by_cut(coded, targets, work, f, begin, end, m, n_cuts, True, one_vs_rest, missing_left, j)
                score_distances(targets, growth, work, n, 1)
                work.sort_key[j] = work.scores[0]  # the cuts are few here, the keys not in use any more
            for j in range(n_cuts):
                work.scores[j] = work.sort_key[j]
        else:
            rows_by_cut(coded, targets, work, f, begin, end, m, n_cuts, False, False, missing_left, 0)
            score_distances(targets, growth, work, n, n_cuts)
    else:
        score_cuts(p.criterion, work.left, work.left_weight, work.total, weight, targets.first_channel, n_cuts, work.side, work.scores)
    least = max(p.min_weight_leaf, 0.5 * p.weight_unit)
    for j in range(n_cuts):
        if only >= 0 and j != only:
            continue
        left, right = work.left_weight[j], weight - work.left_weight[j]
        if left < least or right < least:
            continue
        if p.min_samples_leaf > 1 and (work.left_count[j] < p.min_samples_leaf or n - work.left_count[j] < p.min_samples_leaf):
            continue
        if not is_better(work.scores[j], f, best):
            continue
        best.score[0] = work.scores[j]
        best.feature[0] = f
        # missing values that training has not seen go to the heavier side
        best.missing_left[0] = missing_left if has_missing else left >= right
        best.threshold[0] = np.nan
        if nominal:
            best.code[0] = -1
            keep_set(work, coded.n_codes[f], m, j, sets, one_vs_rest)
        else:
            best.code[0] = work.order[j]
            best.next_code[0] = work.order[j + 1] if j + 1 < m else 0


@helper
def keep_set(work, n_codes, m, j, sets, one_vs_rest):
    """The categories on the left of cut j as bits."""
    for w in range((n_codes + 63) // 64):
        work.best_set[w] = 0
    for k in range(m):
        is_left = k <= j
        if sets:
            is_left = (k == j) if one_vs_rest else (np.int64(j + 1) >> k & 1) != 0
        if is_left:
            code = np.uint64(work.order[k])
            work.best_set[code // WORD] |= ONE << code % WORD


@helper
def try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, only, sets, one_vs_rest, nominal, best):
    """All cuts of one order of the codes, or of sets of them, with the missing values right and, if there are any, left."""
    n_cuts = m - 1
    if sets:
        n_cuts = m if one_vs_rest else (1 << (m - 1)) - 1
        sides_of_sets(targets, growth, work, m, n_cuts, one_vs_rest)
    else:
        sides_in_order(targets, growth, work, m)
    # with missing values on the right, all values on the left is a cut too
    behind = 1 if has_missing and not sets and only < 0 else 0
    if n_cuts + behind > 0:
        consider(
            coded, targets, growth, work, f, begin, end, weight, m, n_cuts + behind, only, sets, one_vs_rest, has_missing, False, nominal,
            best,
        )  # fmt: skip
    if has_missing and n_cuts > 0:
        add_missing(work, n_cuts, missing_weight, np.int64(work.counts[0]))
        consider(coded, targets, growth, work, f, begin, end, weight, m, n_cuts, only, sets, one_vs_rest, True, True, nominal, best)
    if has_missing and sets and not one_vs_rest:  # no set above holds all categories: all of them left, missing right
        sides_in_order(targets, growth, work, m)
        consider(coded, targets, growth, work, f, begin, end, weight, m, m, m - 1, False, False, True, False, nominal, best)


@helper
def sort_order(work, m):
    """Sort ``work.order`` by ``work.sort_key`` (by code), equal keys by code."""
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            moving, j = work.order[i], i
            key = work.sort_key[moving]
            while j >= gap and (
                work.sort_key[work.order[j - gap]] > key or (work.sort_key[work.order[j - gap]] == key and work.order[j - gap] > moving)
            ):
                work.order[j] = work.order[j - gap]
                j -= gap
            work.order[j] = moving
        gap //= 3


@helper
def try_nominal(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, key, best):
    """The divisions of a nominal feature's categories."""
    p = growth[0]
    n_channels = work.total.shape[0]
    two_or_numbers = targets.first_channel.shape[0] == 2 and (targets.classes.shape[0] == 0 or n_channels == 2)
    for j in range(m):
        work.order[j] = work.present[j]
    if p.splitter == RANDOM:  # each category left or right by chance
        n_left = 0
        for j in range(m):
            is_left = hash32(key ^ np.uint32(0x55555555), work.present[j]) & np.uint32(1) != 0
            work.sort_key[work.present[j]] = 0.0 if is_left else 1.0
            n_left += is_left
        sort_order(work, m)
        only = min(max(n_left - 1, 0), m - 2)
        try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, only, False, False, True, best)
        return
    exhaustive = p.division == EXHAUSTIVE or (p.division == AUTOMATIC and not two_or_numbers)
    if p.division == ONE_VS_REST:
        try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, -1, True, True, True, best)
        return
    if exhaustive and 2 < m <= MAX_EXHAUSTIVE:
        try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, -1, True, False, True, best)
        return
    own = work.side[1]
    first = 1 if two_or_numbers and targets.classes.shape[0] > 0 else 0
    for c in range(first, n_channels):  # by the mean, or by the share of each class in turn
        for j in range(m):
            code = np.int64(work.present[j])
            w = code_sums(targets, growth, work, code, own)
            work.sort_key[code] = own[c] / w
            work.order[j] = work.present[j]
        sort_order(work, m)
        try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, -1, False, False, True, best)


@helper
def uniform(key, x):
    """A number in [0, 1) from a key and a counter."""
    return np.float64(hash32(key, x)) * (1.0 / 4294967296.0)


@helper
def drawn_cut(coded, work, f, m, threshold):
    """The last code present that lies below a threshold, by its place among those present; -1: none."""
    upper = coded.upper[coded.begin[f] : coded.begin[f + 1]]
    low, high = 0, m
    while low < high:
        middle = (low + high) // 2
        if upper[work.present[middle]] <= threshold:
            low = middle + 1
        else:
            high = middle
    return low - 1


@helper
def cell_side(coded, nodes, node_id, f):
    """Borders of a node's cell along a feature: from the splits above it, else from the data."""
    begin = coded.begin[f]
    low, high = coded.lower[begin + 1], coded.upper[begin + coded.n_codes[f] - 1]
    child = node_id
    low_known, high_known = False, False
    while nodes[child].parent >= 0:
        parent = nodes[child].parent
        if nodes[parent].feature == f:
            if nodes[parent].left == child:
                if not high_known:
                    high = nodes[parent].threshold
                high_known = True
            else:
                if not low_known:
                    low = nodes[parent].threshold
                low_known = True
        child = parent
    return low, high


@helper
def try_feature(coded, targets, growth, work, nodes, node_id, f, weight, best):
    """The cuts of one feature; returns whether it has any (it is not constant in the node)."""
    p = growth[0]
    node = nodes[node_id]
    begin, end, key = node.begin, node.end, hash32(node.key, 3 * f + 2)
    m, has_missing = fill_cells(coded, targets, work, f, begin, end, p.min_samples_leaf > 1)
    if m + has_missing < 2:
        clear_cells(work, m)
        return False
    missing_weight = code_sums(targets, growth, work, 0, work.missing) if has_missing else 0.0
    if coded.nominal[f]:
        try_nominal(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, key, best)
        clear_cells(work, m)
        return True
    for j in range(m):
        work.order[j] = work.present[j]
    only, threshold = -1, np.nan
    if p.splitter != BEST and m > 1:
        if p.splitter == RANDOM:
            values = coded.begin[f]
            low, high = coded.lower[values + work.present[0]], coded.upper[values + work.present[m - 1]]
            threshold = low + uniform(key, 1) * (high - low)
        else:
            low, high = cell_side(coded, nodes, node_id, f)
            threshold = low + 0.5 * (high - low)
        only = drawn_cut(coded, work, f, m, threshold)
        if p.splitter == MIDPOINT and (only < 0 or only >= m - 1):
            clear_cells(work, m)
            return True  # all rows are on one side of the middle: not a cut
        only = min(max(only, 0), m - 2)
    before = best.feature[0]
    try_order(coded, targets, growth, work, f, begin, end, weight, m, has_missing, missing_weight, only, False, False, False, best)
    if only >= 0 and best.feature[0] == f and before != f:
        best.threshold[0] = threshold
    clear_cells(work, m)
    return True


@helper
def find_split(coded, targets, growth, work, nodes, node_id, best):
    """The best split of a node, into its record; returns whether it has one."""
    p = growth[0]
    node = nodes[node_id]
    n = node.end - node.begin
    node.feature = -1
    weight, same = gather(targets, growth, work, node.begin, node.end)
    if node.depth >= p.max_depth or n < p.min_samples_split or n < 2 * p.min_samples_leaf or weight < 2.0 * p.min_weight_leaf or same:
        return False
    parent_score = node_score(targets, growth, work, n, weight)
    best.feature[0] = -1
    best.score[0] = -np.inf
    n_features = coded.n_codes.shape[0]
    features = work.features
    for f in range(n_features):
        features[f] = f
    if p.splitter == MIDPOINT:
        try_midpoint(coded, targets, growth, work, nodes, node_id, weight, best)
    else:
        n_tried = 0
        for k in range(n_features):
            if p.max_features < n_features:  # the next one of a random order
                other = k + np.int64(uniform(node.key, 3 * k) * (n_features - k))
                features[k], features[other] = features[other], features[k]
            if try_feature(coded, targets, growth, work, nodes, node_id, np.int64(features[k]), weight, best):
                n_tried += 1
            if n_tried >= p.max_features and best.feature[0] >= 0:
                break
    if best.feature[0] < 0:
        return False
    gain = best.score[0] - parent_score
    if gain < p.min_gain and p.min_gain > 0.0:
        return False
    node.gain = max(gain, 0.0)
    node.feature = best.feature[0]
    node.code = best.code[0]
    node.missing_left = best.missing_left[0]
    if node.code >= 0:
        set_threshold(coded, node, best)
    return True


@helper
def try_midpoint(coded, targets, growth, work, nodes, node_id, weight, best):
    """Features drawn by their probabilities, until one has rows on both sides of the middle of the cell."""
    node = nodes[node_id]
    n_features = coded.n_codes.shape[0]
    features = work.features
    for k in range(n_features):
        rest = 0.0
        for i in range(k, n_features):
            rest += coded.probability[features[i]]
        if not rest > 0.0:
            return
        at, chosen = uniform(node.key, 3 * k) * rest, -1
        for i in range(k, n_features):
            share = coded.probability[features[i]]
            if share > 0.0 and (chosen < 0 or at >= 0.0):
                chosen = i
            at -= share
        features[k], features[chosen] = features[chosen], features[k]
        try_feature(coded, targets, growth, work, nodes, node_id, np.int64(features[k]), weight, best)
        if best.feature[0] >= 0:
            return


@helper
def set_threshold(coded, node, best):
    """The threshold of a cut after a code: in the middle between the values on both sides, or where it was drawn."""
    values = coded.begin[node.feature]
    if best.next_code[0] == 0:
        node.threshold = np.inf  # all values left, missing right
        return
    below, above = coded.upper[values + node.code], coded.lower[values + best.next_code[0]]
    drawn = best.threshold[0]
    node.threshold = drawn if below <= drawn and drawn < above else cut_between(below, above)


# --- the tree


@helper
def goes_left(coded, node, sets, code):
    """Whether a code is on the left of a node's split."""
    if code == 0:
        return node.missing_left != 0
    if node.code >= 0:
        return np.int64(code) <= np.int64(node.code)
    return (sets[np.uint64(node.first_word) + np.uint64(code) // WORD] >> np.uint64(code) % WORD) & ONE != 0


@helper
def partition(coded, work, node, sets):
    """Rows of a node, lefts first, both sides in their order; returns how many go left."""
    column = coded.codes[node.feature]
    rows, scratch = work.rows[node.begin : node.end], work.scratch
    left, right = np.uint64(0), np.uint64(0)
    if node.code >= 0:
        last, missing_left = np.int64(node.code), node.missing_left != 0
        for i in range(np.uint64(rows.shape[0])):
            row = rows[i]
            code = np.int64(column[np.uint64(row)])
            is_left = (code <= last) & (missing_left | (code > 0))
            rows[left] = row
            scratch[right] = row
            left += np.uint64(is_left)
            right += np.uint64(not is_left)
    else:
        for i in range(np.uint64(rows.shape[0])):
            row = rows[i]
            is_left = goes_left(coded, node, sets, column[np.uint64(row)])
            rows[left] = row
            scratch[right] = row
            left += np.uint64(is_left)
            right += np.uint64(not is_left)
    for i in range(right):
        rows[left + np.uint64(i)] = scratch[i]
    return np.int64(left)


@helper
def comes_first(nodes, a, b):
    """Whether node a is split before node b."""
    return nodes[a].gain > nodes[b].gain or (nodes[a].gain == nodes[b].gain and a < b)


@helper
def push(frontier, n, nodes, node_id, best_first):
    """Add a node to those that can be split: a stack, or a heap."""
    i = n
    frontier[i] = node_id
    if best_first:
        while i > 0 and comes_first(nodes, frontier[i], frontier[(i - 1) // 2]):
            frontier[i], frontier[(i - 1) // 2] = frontier[(i - 1) // 2], frontier[i]
            i = (i - 1) // 2


@helper
def pop(frontier, n, nodes, best_first):
    """Take the next node to split from n of them."""
    if not best_first:
        return frontier[n - 1]
    top = frontier[0]
    frontier[0] = frontier[n - 1]
    i = 0
    while True:
        first = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < n - 1 and comes_first(nodes, frontier[child], frontier[first]):
                first = child
        if first == i:
            return top
        frontier[i], frontier[first] = frontier[first], frontier[i]
        i = first


@helper
def keep_words(work, node, n_codes, sets, n_words):
    """Append the best split's set; returns the array, made longer if it has to be."""
    own = (n_codes + 63) // 64
    if n_words + own > sets.shape[0]:
        longer = np.zeros(2 * (n_words + own), np.uint64)
        for w in range(n_words):
            longer[w] = sets[w]
        sets = longer
    for w in range(own):
        sets[n_words + w] = work.best_set[w]
    if node.missing_left:
        sets[n_words] |= ONE
    node.first_word = n_words
    return sets


@helper
def begin_node(node, begin, end, depth, parent, key):
    """A node without a split."""
    node.begin, node.end = begin, end
    node.depth, node.parent, node.key = depth, parent, key
    node.left, node.right, node.feature, node.code, node.first_word = -1, -1, -1, -1, -1
    node.threshold, node.gain, node.missing_left = 0.0, 0.0, 0


@kernel
def grow_tree(
    coded,  # Coded, IN
    targets,  # Targets, IN
    growth,  # (1,) TREE_GROWTH, IN
    work,  # Work, INOUT: rows in; rows by leaves out
    nodes,  # (max_nodes,) TREE_NODE, OUT
    frontier,  # (max_nodes,) int32, SCRATCH
):
    """Grow a tree; returns (how many nodes, sets of categories, words of them)."""
    p = growth[0]
    best = Best(
        np.empty(1, np.float64), np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.float64),
        np.empty(1, np.bool_),
    )  # fmt: skip
    sets, n_words = np.zeros(0, np.uint64), 0
    best_first = p.max_leaves > 0
    begin_node(nodes[0], 0, work.rows.shape[0], 0, -1, p.key)
    n_nodes, n_leaves, n_open = 1, 1, 0
    first_new, end_new = 0, 1
    while True:
        for k in range(end_new - first_new):
            i = end_new - 1 - k  # the left child is on top of the stack
            if find_split(coded, targets, growth, work, nodes, i, best):
                node = nodes[i]
                if node.code < 0:
                    sets = keep_words(work, node, coded.n_codes[node.feature], sets, n_words)
                    n_words += (coded.n_codes[node.feature] + 63) // 64
                push(frontier, n_open, nodes, i, best_first)
                n_open += 1
        if n_open == 0 or (best_first and n_leaves >= p.max_leaves):
            break
        id_ = pop(frontier, n_open, nodes, best_first)
        n_open -= 1
        node = nodes[id_]
        n_left = partition(coded, work, node, sets)
        node.left, node.right = n_nodes, n_nodes + 1
        middle = node.begin + n_left
        begin_node(nodes[n_nodes], node.begin, middle, node.depth + 1, id_, hash32(node.key, 1))
        begin_node(nodes[n_nodes + 1], middle, node.end, node.depth + 1, id_, hash32(node.key, 4))
        first_new, end_new = n_nodes, n_nodes + 2
        n_nodes += 2
        n_leaves += 1
    return n_nodes, sets, n_words


# --- what the nodes say


@helper
def class_impurity(criterion, sums, weight, first_channel):
    """Impurity of class weights, averaged over the outputs."""
    n_outputs = first_channel.shape[0] - 1
    score = side_score(criterion, sums, weight, first_channel)
    if criterion == ENTROPY:
        return max(-score / weight / n_outputs, 0.0)
    return max(1.0 - score / weight / n_outputs, 0.0)


@helper
def median_of(rows, begin, end, y, weight, order):
    """Weighted median of the targets of rows[begin:end] and the mean distance from it; between two when the halves are even."""
    n = end - begin
    for i in range(n):
        order[i] = rows[begin + i]
    gap = 1
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            moving, j = order[i], i
            while j >= gap and y[order[j - gap]] > y[moving]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 3
    total = 0.0
    for i in range(n):
        total += weight[order[i]]
    below, k = 0.0, 0
    while below + weight[order[k]] < 0.5 * total:
        below += weight[order[k]]
        k += 1
    median = y[order[k]]
    if below + weight[order[k]] == 0.5 * total and k + 1 < n:
        median = 0.5 * (median + y[order[k + 1]])
    distance = 0.0
    for i in range(n):
        distance += weight[order[i]] * abs(y[order[i]] - median)
    return median, distance / total


@kernel
def describe_nodes(
    nodes,  # (n_nodes,) TREE_NODE, IN
    rows,  # (n,) int32, IN: by leaves
    weight,  # (n_rows,) float64, IN
    classes,  # (n_rows, n_outputs) int32, IN: as channels; empty for numbers
    y,  # (n_rows, n_outputs) float64, IN
    first_channel,  # (n_outputs + 1,) int32, IN
    criterion,
    node_weight,  # (n_nodes,) float64, OUT
    value,  # (n_nodes, n_channels) float64, OUT: share of each class, mean or median
    impurity,  # (n_nodes,) float64, OUT
):
    """Weight, value and impurity of every node, from the true targets, leaves first."""
    n_outputs, n_channels = first_channel.shape[0] - 1, value.shape[1]
    spread = np.zeros((nodes.shape[0], n_channels))  # sum of squares around the mean, or of y log y
    order = np.empty(rows.shape[0] if criterion == ABSOLUTE else 0, np.int32)
    for back in range(nodes.shape[0]):
        i = nodes.shape[0] - 1 - back  # children have higher ids than their parents
        node = nodes[i]
        node_weight[i] = 0.0
        for c in range(n_channels):
            value[i, c] = 0.0
        if node.left >= 0:
            node_weight[i] = node_weight[node.left] + node_weight[node.right]
        else:
            for k in range(node.begin, node.end):
                node_weight[i] += weight[rows[k]]
        w = node_weight[i]
        if classes.shape[0] > 0:
            if node.left >= 0:
                for c in range(n_channels):
                    value[i, c] = value[node.left, c] + value[node.right, c]
            else:
                for k in range(node.begin, node.end):
                    for o in range(n_outputs):
                        value[i, classes[rows[k], o]] += weight[rows[k]]
            impurity[i] = class_impurity(criterion, value[i], w, first_channel)
            continue
        total = 0.0
        for o in range(n_outputs):
            if criterion == ABSOLUTE:
                value[i, o], distance = median_of(rows, node.begin, node.end, y[:, o], weight, order)
                total += distance
                continue
            if node.left >= 0:
                a, b = node_weight[node.left], node_weight[node.right]
                apart = value[node.right, o] - value[node.left, o]
                value[i, o] = value[node.left, o] + apart * (b / w)
                spread[i, o] = spread[node.left, o] + spread[node.right, o]
                if criterion == SQUARES:
                    spread[i, o] += apart * apart * a * (b / w)
            else:
                # the first target is taken off before adding up: a leaf of equal targets has exactly their value
                origin = y[rows[node.begin], o]
                above = 0.0
                for k in range(node.begin, node.end):
                    above += weight[rows[k]] * (y[rows[k], o] - origin)
                value[i, o] = origin + above / w
                for k in range(node.begin, node.end):
                    target = y[rows[k], o]
                    if criterion == SQUARES:
                        spread[i, o] += weight[rows[k]] * (target - value[i, o]) * (target - value[i, o])
                    elif target > 0.0:
                        spread[i, o] += weight[rows[k]] * target * log(target)
            if criterion == SQUARES:
                total += spread[i, o] / w
            elif value[i, o] > 0.0:
                total += max(spread[i, o] / w - value[i, o] * log(value[i, o]), 0.0)
        impurity[i] = total / n_outputs
    if classes.shape[0] > 0:
        for i in range(nodes.shape[0]):
            for c in range(n_channels):
                value[i, c] /= node_weight[i]
