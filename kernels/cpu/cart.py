"""Growth of one classical tree by one thread; trees of a forest are grown side by side.

Features are codes: ranks of the distinct values (exact search) or bins; code 0 is the missing
value. A node looks only at the features it draws, so nothing is kept from its parent. For each
feature

    1. the codes of the rows     from the matrix by columns, or by rows if the node has few of them
    2. sums of each code present ascending by code, one after another: ``cells``
    3. the cuts                  between them, in that order or as categories are divided
    4. scores of the cuts        kernels/cpu/cart_scores.py; the best one, or the one that was drawn

Sums are fixed-point integers of at most 52 bits, which float64 holds exactly: no order can change a
score. Random choices depend on the path from the root to the node, not on when the node is grown.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import (
    ABSOLUTE,
    AUTOMATIC,
    BEST,
    EXHAUSTIVE,
    MIDPOINT,
    ONE_VS_REST,
    RANDOM,
    SQUARES,
    TIE,
)
from gpuboost.kernels.cpu._jit import helper, inlined, kernel, lowest_bit
from gpuboost.kernels.cpu.cart_scores import score_absolute, side_score
from gpuboost.scalar.formulas import hash32
from gpuboost.scalar.quantiles import cut_between

#: Most categories that are divided in every possible way: 511 ways.
MAX_EXHAUSTIVE = 10
#: Up to so many rows a node's codes are sorted one by one; from so many on they are read by
#: columns.
FEW_ROWS, MANY_ROWS = 24, 1024
#: How cuts follow from the order of the codes: all up to one, one alone, every set.
PREFIXES, SINGLES, SUBSETS = 0, 1, 2
ONE, WORD = np.uint64(1), np.uint64(64)


class Coded(NamedTuple):
    """A coded matrix."""

    by_columns: Any  # (n_features * n_rows,) uint8 or uint32
    by_rows: Any  # (n_rows * n_features,) of the same
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
    rank: Any  # (n_rows, n_outputs) int32: rank of the target among all
    by_rank: (
        Any  # (n_ranks, n_outputs) float64: the targets in units of value / weight (absolute error)
    )


class Work(NamedTuple):
    """Buffers of one growing tree."""

    rows: Any  # (n,) int32: the rows of each node one after another
    scratch: Any  # (n,) int32
    weight: Any  # (n,) int64: of the rows of the node in hand
    classes: Any  # (n * n_outputs,) int32
    values: Any  # (n * n_outputs,) int64
    code: Any  # (n,) int32: of the feature in hand
    table: Any  # (max_codes * n_cell,) int64, all 0 between features
    place: Any  # (max_codes,) int32: place of each code among those present
    bits: Any  # (n_words,) uint64, all 0 between features: codes present
    summary: Any  # (n_words / 64,) uint64, the same of words with a bit
    # (max_codes + 1,) int32: codes present, ascending; entry 0 is the missing value, present or not
    present: Any
    cells: Any  # ((max_codes + 1) * n_cell,) int64: sums of each code present
    counts: Any  # (max_codes + 1,) int32: rows of each
    order: Any  # (max_codes + 1,) int32: places as they are divided
    sort_key: Any  # (max_codes + 1,) float64
    total: Any  # (n_channels,) float64: of the node
    left: Any  # (n_channels,) float64
    side: Any  # (n_channels,) float64
    features: Any  # (n_features,) int32
    best_set: Any  # (n_words,) uint64
    rank: Any  # (n_outputs, n) int32: rank of the target in the node (absolute error, as all below)
    by_rank: Any  # (n_outputs, n) float64
    n_ranks: Any  # (n_outputs,) int64
    rank_tree: Any  # (n + 1, 2) int64
    by_code: Any  # (n,) int32: places of rows by code
    ends: Any  # (max_cuts,) int32
    scores: Any  # (2, max_cuts) float64: missing right, missing left


class Best(NamedTuple):
    """The best split so far."""

    score: Any  # (1,) float64
    threshold: Any  # (1,) float64: where it was drawn, or NaN
    feature: Any  # (1,) int64: -1: none
    code: Any  # (1,) int64: -1 for a set
    next_code: Any  # (1,) int64: the next code present behind it; 0: none
    missing_left: Any  # (1,) bool


# --- what is in a node


@inlined
def gather_classes(rows, weights, classes, weight_unit, weight, own, total):
    """Copy weights and classes of a node's rows together.

    Returns (weight, whether all rows have the same classes).
    """
    n, n_outputs = rows.shape[0], classes.shape[1]
    same, sum_weight = True, np.int64(0)
    for i in range(n):
        row = rows[i]
        weight[i] = weights[row]
        sum_weight += weights[row]
        for o in range(n_outputs):
            k = classes[row, o]
            own[i * n_outputs + o] = k
            total[k] += np.float64(weights[row]) * weight_unit
            same = same and k == own[o]
    return np.float64(sum_weight) * weight_unit, same


@inlined
def gather_values(rows, weights, values, ranks, growth, weight, own, total):
    """The same for numbers."""
    n, n_outputs = rows.shape[0], values.shape[1]
    same, sum_weight = True, np.int64(0)
    for i in range(n):
        row = rows[i]
        weight[i] = weights[row]
        sum_weight += weights[row]
        for o in range(n_outputs):
            own[i * n_outputs + o] = values[row, o]
            total[o] += np.float64(values[row, o]) * growth[0].value_unit
            same = same and ranks[row, o] == ranks[rows[0], o]
    return np.float64(sum_weight) * growth[0].weight_unit, same


@helper
def mark(bits, summary, code):
    """Note that a code is present."""
    word = np.uint64(code) // WORD
    bits[word] |= ONE << np.uint64(code) % WORD
    summary[word // WORD] |= ONE << word % WORD


@helper
def take_marked(bits, summary, n_codes, out):
    """Codes that were marked, ascending, into ``out``; returns how many. Clears the marks."""
    n = 0
    n_words = (np.uint64(n_codes) + WORD - ONE) // WORD
    for s in range((n_words + WORD - ONE) // WORD):
        words = summary[s]
        summary[s] = 0
        while words != 0:
            word = np.uint64(s) * WORD + lowest_bit(words)
            words &= words - ONE
            marks = bits[word]
            bits[word] = 0
            while marks != 0:
                out[n] = np.int32(word * WORD + lowest_bit(marks))
                n += 1
                marks &= marks - ONE
    return n


@helper
def rank_in_node(rows, ranks, by_rank, bits, summary, place, own, own_by_rank):
    """Rank of each target among those of the node; returns how many distinct ones there are."""
    for i in range(rows.shape[0]):
        mark(bits, summary, ranks[rows[i]])
    present = np.empty(rows.shape[0], np.int32)
    n = take_marked(bits, summary, by_rank.shape[0], present)
    for r in range(n):
        place[present[r]] = r
        own_by_rank[r] = by_rank[present[r]]
    for i in range(rows.shape[0]):
        own[i] = place[ranks[rows[i]]]
    return n


# --- the codes of a feature


@inlined
def read_codes(matrix, at, stride, rows, out):
    """Codes of one feature; row r has its at matrix[at + r * stride]."""
    at, stride = np.uint64(at), np.uint64(stride)
    for i in range(np.uint64(rows.shape[0])):
        out[i] = np.int32(matrix[at + np.uint64(rows[i]) * stride])


@helper
def add_row(cells, at, i, weight, classes, values, n_outputs):
    """Add a row of the node to the sums that begin at cells[at]."""
    if classes.shape[0] > 0:
        for o in range(np.uint64(n_outputs)):
            cells[at + np.uint64(classes[np.uint64(i) * np.uint64(n_outputs) + np.uint64(o)])] += (
                weight[i]
            )
    else:
        cells[at] += weight[i]
        for o in range(np.uint64(n_outputs)):
            cells[at + ONE + np.uint64(o)] += values[
                np.uint64(i) * np.uint64(n_outputs) + np.uint64(o)
            ]


@inlined
def sum_few(code, scratch, weight, classes, values, n_outputs, n_cell, present, cells, counts):
    """Sums of the codes of a few rows, which are sorted; returns how many codes there are."""
    n = code.shape[0]
    for i in range(n):
        j = i
        while j > 0 and code[scratch[j - 1]] > code[i]:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = i
    m, last = 0, np.int32(-1)
    for k in range(n):
        i = np.uint64(scratch[k])
        if code[i] != last:
            if last < 0 and code[i] > 0:
                m = 1  # entry 0 is the missing value's
            last = code[i]
            present[m] = last
            counts[m] = 0
            for c in range(n_cell):
                cells[m * n_cell + c] = 0
            m += 1
        counts[m - 1] += 1
        add_row(cells, np.uint64((m - 1) * n_cell), i, weight, classes, values, n_outputs)
    return m


@helper
def sum_all_codes(
    code, weight, classes, values, n_outputs, n_cell, n_codes, table, present, cells, counts
):
    """Sums of the codes of many rows, over a table of all codes.

    Returns how many codes there are.
    """
    n = np.uint64(code.shape[0])
    if classes.shape[0] > 0 and n_outputs == 1:
        for i in range(n):
            table[np.uint64(code[i]) * np.uint64(n_cell) + np.uint64(classes[i])] += weight[i]
    elif n_outputs == 1:
        for i in range(n):
            at = np.uint64(code[i]) * np.uint64(2)
            table[at] += weight[i]
            table[at + ONE] += values[i]
    else:
        for i in range(n):
            add_row(
                table, np.uint64(code[i]) * np.uint64(n_cell), i, weight, classes, values, n_outputs
            )
    for c in range(n_codes):
        counts[c] = 0
    for i in range(n):
        counts[np.uint64(code[i])] += 1
    m = 1
    for b in range(n_codes):
        if counts[b] > 0:
            to = m if b > 0 else 0
            present[to] = b
            counts[to] = counts[b]  # to <= b: what is overwritten has been looked at
            for c in range(n_cell):
                cells[to * n_cell + c] = table[b * n_cell + c]
                table[b * n_cell + c] = 0
            m += b > 0
    return m


@helper
def sum_marked_codes(
    code,
    weight,
    classes,
    values,
    n_outputs,
    n_cell,
    n_codes,
    bits,
    summary,
    place,
    present,
    cells,
    counts,
):
    """Sums of the codes of some rows, of which few are present; returns how many there are."""
    n = np.uint64(code.shape[0])
    for i in range(n):
        mark(bits, summary, code[i])
    m = take_marked(bits, summary, n_codes, present[1:])
    if present[1] == 0:  # the missing value
        m -= 1
        for j in range(m + 1):
            present[j] = present[j + 1]
    for j in range(m + 1):
        place[present[j]] = j
        counts[j] = 0
        for c in range(n_cell):
            cells[j * n_cell + c] = 0
    for i in range(n):
        j = np.uint64(place[np.uint64(code[i])])
        counts[j] += 1
        add_row(cells, j * np.uint64(n_cell), i, weight, classes, values, n_outputs)
    return m + 1


# --- the cuts


@helper
def cell_sums(cells, j, n_cell, with_classes, n_weights, growth, out, add):
    """Sums of a code present by channel, into ``out`` or added to it; returns its weight."""
    p = growth[0]
    at = j * n_cell
    if not with_classes:
        for c in range(n_cell - 1):
            own = np.float64(cells[at + c + 1]) * p.value_unit
            out[c] = out[c] + own if add else own
        return np.float64(cells[at]) * p.weight_unit
    weight = np.int64(0)
    for c in range(n_weights):
        weight += cells[at + c]
    for c in range(n_cell):
        own = np.float64(cells[at + c]) * p.weight_unit
        out[c] = out[c] + own if add else own
    return np.float64(weight) * p.weight_unit


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
    """Score of both sides of a cut; ``scores`` are those of the absolute error."""
    criterion = growth[0].criterion
    if criterion == ABSOLUTE:
        return scores[missing_left, cut]
    for c in range(total.shape[0]):
        side[c] = total[c] - left[c]
    return side_score(criterion, left, left_weight, first_channel) + side_score(
        criterion, side, weight - left_weight, first_channel
    )


@inlined
def scan_cuts(
    kind, n_cuts, only, order, m, has_missing, cells, counts, n_cell, with_classes, first_channel,
    n, total, weight, growth, left, side, scores,
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
        own = ends[k]
        ends[k] = total
        total += own
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
def score_distances(kind, n_cuts, order, m, has_missing, n, growth, first_channel, work):
    """Scores of all cuts under the absolute error, into ``work.scores``."""
    for missing_left in range(2 if has_missing else 1):
        scores = work.scores[missing_left]
        for cut in range(n_cuts):
            scores[cut] = 0.0
        for group in range(1 if kind == PREFIXES else n_cuts):
            rows_by_cut(
                kind, group, work.code[:n], order, m, work.place, work.present, missing_left != 0,
                work.by_code, work.ends,
            )  # fmt: skip
            for o in range(first_channel.shape[0] - 1):
                n_ranks = work.n_ranks[o]
                score_absolute(
                    work.by_code[:n], work.ends, work.weight,
                    work.values[o :: first_channel.shape[0] - 1], work.rank[o],
                    work.by_rank[o, :n_ranks], n_cuts if kind == PREFIXES else 1,
                    work.rank_tree[: n_ranks + 1], scores if kind == PREFIXES else scores[group:],
                    growth[0].value_unit,
                )  # fmt: skip


@helper
def node_distance(n, growth, first_channel, work):
    """Score of the whole node under the absolute error."""
    for i in range(n):
        work.by_code[i] = i
    work.ends[0] = n
    work.scores[0, 0] = 0.0
    for o in range(first_channel.shape[0] - 1):
        n_ranks = work.n_ranks[o]
        score_absolute(
            work.by_code[:n], work.ends, work.weight, work.values[o :: first_channel.shape[0] - 1],
            work.rank[o], work.by_rank[o, :n_ranks], 1, work.rank_tree[: n_ranks + 1],
            work.scores[0], growth[0].value_unit,
        )  # fmt: skip
    return work.scores[0, 0]


@helper
def uniform(key, x):
    """A number in [0, 1) from a key and a counter."""
    return np.float64(hash32(key, x)) * (1.0 / 4294967296.0)


@helper
def cell_middle(coded_begin, n_codes, lower, upper, nodes, node_id, f):
    """Middle of a node's cell along a feature.

    Between the splits above it, or the ends of the data.
    """
    low, high = lower[coded_begin[f] + 1], upper[coded_begin[f] + n_codes[f] - 1]
    low_known, high_known = False, False
    child = node_id
    while nodes[child].parent >= 0:
        parent = nodes[child].parent
        if nodes[parent].feature == f:
            if nodes[parent].left == child and not high_known:
                high, high_known = nodes[parent].threshold, True
            if nodes[parent].right == child and not low_known:
                low, low_known = nodes[parent].threshold, True
        child = parent
    return low + 0.5 * (high - low)


@helper
def last_below(threshold, upper, present, m):
    """How many of the m codes present (from entry 1 on) lie at or below a threshold."""
    low, high = 0, m
    while low < high:
        middle = (low + high) // 2
        if upper[present[1 + middle]] <= threshold:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def order_categories(
    attempt, m, key, growth, with_classes, n_outputs, n_channels, cells, n_cell, n_weights, present,
    order, sort_key, left,
):  # fmt: skip
    """The way in which the categories are divided at an attempt: (kind, cuts, the only cut or -1).

    Sets the order.

    No cuts: no more attempts.
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
        sort_key[k + 1] = left[channel] / weight
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


@inlined
def sum_codes(f, coded, work, rows, n_outputs, n_cell):
    """The codes present in a node's rows and their sums.

    Returns how many there are, the missing value aside.
    """
    n, n_codes, n_features = rows.shape[0], np.int64(coded.n_codes[f]), coded.n_codes.shape[0]
    code, n_all = work.code[:n], coded.by_rows.shape[0] // n_features
    work.present[0], work.counts[0] = 0, 0
    if n >= MANY_ROWS:
        read_codes(coded.by_columns, f * n_all, 1, rows, code)
    else:
        read_codes(coded.by_rows, f, n_features, rows, code)
    if n <= FEW_ROWS:
        m = sum_few(
            code,
            work.scratch,
            work.weight,
            work.classes,
            work.values,
            n_outputs,
            n_cell,
            work.present,
            work.cells,
            work.counts,
        )
    elif 2 * n >= n_codes:
        m = sum_all_codes(
            code,
            work.weight,
            work.classes,
            work.values,
            n_outputs,
            n_cell,
            n_codes,
            work.table,
            work.present,
            work.cells,
            work.counts,
        )
    else:
        m = sum_marked_codes(
            code, work.weight, work.classes, work.values, n_outputs, n_cell, n_codes, work.bits,
            work.summary, work.place, work.present, work.cells, work.counts,
        )  # fmt: skip
    return m - 1


@inlined
def drawn_cut(f, coded, growth, work, nodes, node_id, key, m):
    """A cut by chance or in the middle of the cell: (its place among the m codes present or -1.

    None, threshold).
    """
    upper = coded.upper[coded.begin[f] : coded.begin[f + 1]]
    if growth[0].splitter == RANDOM:
        low = coded.lower[coded.begin[f] + work.present[1]]
        threshold = low + uniform(key, 1) * (upper[work.present[m]] - low)
    else:
        threshold = cell_middle(
            coded.begin, coded.n_codes, coded.lower, coded.upper, nodes, node_id, f
        )
    n_below = last_below(threshold, upper, work.present, m)
    if growth[0].splitter == MIDPOINT and (n_below == 0 or n_below == m):
        return -1, threshold  # all rows are on one side of the middle
    return min(max(n_below - 1, 0), m - 2), threshold


@inlined
def try_feature(f, coded, targets, growth, work, nodes, node_id, weight, best):
    """The cuts of one feature; returns whether it has any (it is not constant in the node)."""
    p = growth[0]
    node = nodes[node_id]
    rows, n = work.rows[node.begin : node.end], node.end - node.begin
    n_outputs, n_channels = targets.first_channel.shape[0] - 1, work.total.shape[0]
    with_classes = targets.classes.shape[0] > 0
    n_cell = n_channels if with_classes else n_channels + 1
    m = sum_codes(f, coded, work, rows, n_outputs, n_cell)
    has_missing = work.counts[0] > 0
    if m + has_missing < 2:
        return False
    key, nominal, threshold = hash32(node.key, 3 * f + 2), coded.nominal[f] != 0, np.nan
    attempt = 0
    while True:
        kind, n_cuts, only = PREFIXES, m - 1, -1
        if nominal:
            kind, n_cuts, only = order_categories(
                attempt, m, key, growth, with_classes, n_outputs, n_channels, work.cells, n_cell,
                np.int64(targets.first_channel[1]), work.present, work.order, work.sort_key,
                work.left,
            )  # fmt: skip
            if n_cuts == 0 and (attempt > 0 or not has_missing):
                break
        else:
            for k in range(m):
                work.order[k] = k + 1
            if p.splitter != BEST and m > 1:
                only, threshold = drawn_cut(f, coded, growth, work, nodes, node_id, key, m)
                if only < 0:
                    break
        if has_missing and only < 0:
            n_cuts += 1  # all values left, missing right
        if p.criterion == ABSOLUTE:
            score_distances(
                kind, n_cuts, work.order, m, has_missing, n, growth, targets.first_channel, work
            )
        score, cut, missing_left, heavier_left = scan_cuts(
            kind, n_cuts, only, work.order, m, has_missing, work.cells, work.counts, n_cell,
            with_classes, targets.first_channel, n, work.total, weight, growth, work.left,
            work.side, work.scores,
        )  # fmt: skip
        margin = TIE * abs(best.score[0])
        if cut >= 0 and (
            best.feature[0] < 0
            or score > best.score[0] + margin
            or (
                f < best.feature[0] and score >= best.score[0] - margin
            )  # ties go to the lowest feature
        ):
            best.score[0], best.feature[0], best.threshold[0] = score, f, threshold
            # missing values that training has not seen go to the heavier side
            best.missing_left[0] = missing_left if has_missing else heavier_left
            if nominal:
                best.code[0] = -1
                keep_set(
                    kind,
                    cut,
                    work.order,
                    work.present,
                    m,
                    np.int64(coded.n_codes[f]),
                    work.best_set,
                )
            else:
                best.code[0] = work.present[cut + 1]
                best.next_code[0] = work.present[cut + 2] if cut + 1 < m else 0
        attempt += 1
        if not nominal:
            break
    return True


@helper
def draw_feature(features, k, key, probability):
    """Bring a random one of features[k:] to place k, by their probabilities if there are some.

    Returns whether one is left.
    """
    n = features.shape[0]
    chosen = k + np.int64(uniform(key, 3 * k) * (n - k))
    if probability.shape[0] > 0:
        rest = 0.0
        for i in range(k, n):
            rest += probability[features[i]]
        at, chosen = uniform(key, 3 * k) * rest, -1
        for i in range(k, n):
            share = probability[features[i]]
            if share > 0.0 and (chosen < 0 or at >= 0.0):
                chosen = i
            at -= share
        if chosen < 0:
            return False
    features[k], features[chosen] = features[chosen], features[k]
    return True


@helper
def settle_threshold(node, next_code, begin, lower, upper):
    """Replace the drawn threshold (NaN: none was drawn) by the one that the tree keeps."""
    drawn = node.threshold
    node.threshold = np.inf  # all values left, missing right
    if next_code > 0:
        first = begin[node.feature]
        below, above = upper[first + node.code], lower[first + next_code]
        node.threshold = drawn if below <= drawn and drawn < above else cut_between(below, above)


@inlined
def find_split(coded, targets, growth, work, nodes, node_id, best):
    """The best split of a node, into its record; returns whether it has one."""
    p = growth[0]
    node = nodes[node_id]
    n = node.end - node.begin
    if node.depth >= p.max_depth or n < p.min_samples_split or n < 2 * p.min_samples_leaf:
        return False
    rows = work.rows[node.begin : node.end]
    for c in range(work.total.shape[0]):
        work.total[c] = 0.0
    if targets.classes.shape[0] > 0:
        weight, same = gather_classes(
            rows,
            targets.weight,
            targets.classes,
            p.weight_unit,
            work.weight,
            work.classes,
            work.total,
        )
    else:
        weight, same = gather_values(
            rows,
            targets.weight,
            targets.values,
            targets.rank,
            growth,
            work.weight,
            work.values,
            work.total,
        )
    if same or weight < 2.0 * p.min_weight_leaf:
        return False
    if p.criterion == ABSOLUTE:
        for o in range(targets.first_channel.shape[0] - 1):
            work.n_ranks[o] = rank_in_node(
                rows,
                targets.rank[:, o],
                targets.by_rank[:, o],
                work.bits,
                work.summary,
                work.place,
                work.rank[o],
                work.by_rank[o],
            )
        own_score = node_distance(n, growth, targets.first_channel, work)
    else:
        own_score = side_score(p.criterion, work.total, weight, targets.first_channel)
    best.feature[0], best.score[0] = -1, -np.inf
    n_features, n_tried = coded.n_codes.shape[0], 0
    max_features = 1 if p.splitter == MIDPOINT else p.max_features
    for f in range(n_features):
        work.features[f] = f
    for k in range(n_features):
        if max_features < n_features and not draw_feature(
            work.features, k, node.key, coded.probability
        ):
            break
        if try_feature(
            np.int64(work.features[k]), coded, targets, growth, work, nodes, node_id, weight, best
        ):
            n_tried += 1
        if n_tried >= max_features and best.feature[0] >= 0:
            break
    gain = best.score[0] - own_score
    if best.feature[0] < 0 or (p.min_gain > 0.0 and gain < p.min_gain):
        return False
    node.gain = max(gain, 0.0)
    node.feature = best.feature[0]
    node.code = best.code[0]
    node.missing_left = best.missing_left[0]
    if node.code >= 0:
        node.threshold = best.threshold[0]
        settle_threshold(node, best.next_code[0], coded.begin, coded.lower, coded.upper)
    return True


# --- the tree


@helper
def partition(matrix, at, stride, node, sets, rows, scratch):
    """Rows of a node, lefts first, both sides in their order; returns how many go left."""
    left, right = np.uint64(0), np.uint64(0)
    at, stride = np.uint64(at), np.uint64(stride)
    last, missing_left, first_word = (
        np.int64(node.code),
        node.missing_left != 0,
        np.uint64(max(node.first_word, 0)),
    )
    for i in range(np.uint64(rows.shape[0])):
        row = rows[i]
        code = np.uint64(matrix[at + np.uint64(row) * stride])
        if last >= 0:
            is_left = (np.int64(code) <= last) & (missing_left | (code > 0))
        else:
            is_left = (sets[first_word + code // WORD] >> code % WORD) & ONE != 0
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
        np.empty(1, np.float64), np.empty(1, np.float64), np.empty(1, np.int64),
        np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_),
    )  # fmt: skip
    sets, n_words = np.zeros(0, np.uint64), 0
    n_features = coded.n_codes.shape[0]
    n_all = coded.by_rows.shape[0] // n_features
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
        rows = work.rows[node.begin : node.end]
        if rows.shape[0] >= MANY_ROWS:
            n_left = partition(
                coded.by_columns, node.feature * n_all, 1, node, sets, rows, work.scratch
            )
        else:
            n_left = partition(
                coded.by_rows, node.feature, n_features, node, sets, rows, work.scratch
            )
        node.left, node.right = n_nodes, n_nodes + 1
        middle = node.begin + n_left
        begin_node(nodes[n_nodes], node.begin, middle, node.depth + 1, id_, hash32(node.key, 1))
        begin_node(nodes[n_nodes + 1], middle, node.end, node.depth + 1, id_, hash32(node.key, 4))
        first_new, end_new = n_nodes, n_nodes + 2
        n_nodes += 2
        n_leaves += 1
    return n_nodes, sets, n_words
