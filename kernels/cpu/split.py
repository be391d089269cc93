"""Split search over the bins of a histogram.

From prefix sums follow the gain of every cut in both missing directions, and the best of them.

Two stages. Building: a task takes a chunk of a node's rows and a range of features; only the
smaller of two siblings is built. Scanning: a task takes a pair of siblings and a range of features,
adds up the chunks, takes the smaller sibling's histogram off the parent's to get the larger one's,
and scans both while they are in the cache. Symmetric growth adds the gains of all nodes of the
level before it takes the best cut."""

import numpy as np
from numba import types

from gpuboost.dtypes import CUT, HIST_STRIDE, IN_SET
from gpuboost.kernels.cpu._jit import allocating, by_type, helper, inlined, take_number
from gpuboost.kernels.cpu.histogram import add, build, count_rows, subtract
from gpuboost.kernels.cpu.rules import limits_of, node_score, score_cuts_within
from gpuboost.kernels.cpu.scores import (
    NO_SPLIT,
    larger_side_left,
    least_hessian,
    score_cuts,
    sums_of_sides,
    unpacked,
)
from gpuboost.kernels.cpu.sets import (
    count_sets,
    order_codes,
    set_search,
    sum_of_set,
    sum_sets,
    write_set,
)
from gpuboost.kernels.cpu.sparse import add_absent, build_sparse, count_sparse

#: Gains below this part of the score are the rounding error of the subtraction, not gains.
NOISE = 2.0**-40


@helper
def score_cuts_by(
    limits, prefix, extra, count_prefix, extra_count, last, n_bins, total, total_count, growth,
    scores,
):  # fmt: skip
    """``score_cuts`` with limits (see ``limits_of``), or without: None."""
    if limits is None:
        score_cuts(
            prefix, extra, count_prefix, extra_count, last, total, total_count, growth, scores
        )
    else:
        score_cuts_within(
            limits, prefix, extra, count_prefix, extra_count, last, n_bins, total, total_count,
            growth, scores,
        )  # fmt: skip


@helper
def score_feature(
    cells, counts, n_bins, total, total_count, growth, limits, prefix, count_prefix, scores
):
    """Score every cut of one feature.

    Returns the first bins that have no cut, for missing right and for missing left.

    ``scores[0, b]``: bins up to b left, missing right; ``scores[1, b]``: bins up to b and missing
    left."""
    acc = np.int64(0)
    for b in range(1, n_bins + 1):
        acc += cells[b]
        prefix[b] = acc
    missing = cells[0]
    missing_count = np.int64(0)
    if counts is not None:
        n = 0
        for b in range(1, n_bins + 1):
            n += counts[b]
            count_prefix[b] = n
        missing_count = np.int64(counts[0])
    if missing == 0 and missing_count == 0:
        score_cuts_by(
            limits, prefix, np.int64(0), count_prefix, np.int64(0), n_bins - 1, n_bins, total,
            total_count, growth, scores[0],
        )  # fmt: skip
        return n_bins, 1
    # all values left, missing right is a cut too; its mirror image is not needed
    score_cuts_by(
        limits, prefix, np.int64(0), count_prefix, np.int64(0), n_bins, n_bins, total, total_count,
        growth, scores[0],
    )  # fmt: skip
    score_cuts_by(
        limits, prefix, missing, count_prefix, missing_count, n_bins - 1, n_bins, total,
        total_count, growth, scores[1],
    )  # fmt: skip
    return n_bins + 1, n_bins


@helper
def score_sets(
    cells, counts, n_bins, total, total_count, growth, limits, search, prefix, count_prefix, scores
):
    """``score_feature`` of categories: set s has the place of the cut after bin s.

    Behind the sets comes the one of missing values alone.
    """
    n = count_sets(search)
    sum_sets(cells, search, prefix)
    missing = cells[0]
    missing_count = np.int64(0)
    if counts is not None:
        sum_sets(counts, search, count_prefix)
        missing_count = np.int64(counts[0])
        count_prefix[n + 1] = missing_count
    if missing == 0 and missing_count == 0:
        score_cuts_by(
            limits, prefix, np.int64(0), count_prefix, np.int64(0), n, n_bins, total, total_count,
            growth, scores[0],
        )  # fmt: skip
        return n + 1, np.int64(1)
    prefix[n + 1] = missing
    score_cuts_by(
        limits, prefix, np.int64(0), count_prefix, np.int64(0), n + 1, n_bins, total, total_count,
        growth, scores[0],
    )  # fmt: skip
    score_cuts_by(
        limits, prefix, missing, count_prefix, missing_count, n, n_bins, total, total_count,
        growth, scores[1],
    )  # fmt: skip
    return n + 2, n + 1


@helper
def score_splits(
    f, cells, counts, n_bins, total, total_count, growth, limits, search, prefix, count_prefix,
    scores,
):  # fmt: skip
    """Score every split of a feature: cuts, or sets of categories in the order of ``search``."""
    if search is not None and search.is_categorical[f] != 0:
        return score_sets(
            cells, counts, n_bins, total, total_count, growth, limits, search, prefix,
            count_prefix, scores,
        )  # fmt: skip
    return score_feature(
        cells, counts, n_bins, total, total_count, growth, limits, prefix, count_prefix, scores
    )


@helper
def best_of(scores, end0, end1):
    """Best cut of one feature: (score, bin, missing_left), the lowest bin among equals.

    Bin 0 if there is none.
    """
    best, best_bin, best_left = NO_SPLIT, 0, 0
    for b in range(1, end0):
        if scores[0, b] > best:
            best, best_bin = scores[0, b], b
    for b in range(1, end1):
        s = scores[1, b]
        if s > best or (s == best and b < best_bin and s > NO_SPLIT):
            best, best_bin, best_left = s, b, 1
    return best, best_bin, best_left


@helper
def sum_left(cells, last_bin, missing_left):
    """Packed sums of the rows that go left."""
    left = cells[0] if missing_left else np.int64(0)
    for b in range(1, last_bin + 1):
        left += cells[b]
    return left


@inlined
def set_split(split, gain, left, feature, last_bin, missing_left):
    """Fill the record of a split."""
    split.gain = gain
    split.left = left
    split.feature = feature
    split.bin = last_bin
    split.missing_left = missing_left


@helper
def set_best_split(split, gain, f, place, missing_left, cells, n_bins, total, search):
    """Fill the record of the best split of a feature.

    Missing values that the node has not seen go to the heavier side.
    """
    if search is not None:
        split.kind = CUT
        if search.is_categorical[f] != 0:
            split.kind = IN_SET
            write_set(place, missing_left, search, split.set)
            left = sum_of_set(cells, np.int64(0), n_bins, split.set)
            if cells[0] == 0:
                split.set[0] &= ~np.uint64(1)
                split.set[0] |= np.uint64(larger_side_left(left, total))
            set_split(split, gain, left, f, 0, split.set[0] & np.uint64(1))
            return
    left = sum_left(cells, place, missing_left)
    if cells[0] == 0:
        missing_left = np.int64(larger_side_left(left, total))
    set_split(split, gain, left, f, place, missing_left)


@allocating(forceinline=True)
def scan_buffers(count_pool):
    """Room to scan one feature: sums and counts up to each bin, and scores of its cuts."""
    count_prefix = np.empty(HIST_STRIDE, np.int32) if count_pool is not None else None
    return np.empty(HIST_STRIDE, np.int64), count_prefix, np.empty((2, HIST_STRIDE), np.float64)


@helper
def only_cut_is_too_small(cells, at, n_bins, total, growth):
    """Whether a feature of two values, none missing, leaves a side without enough hessian.

    This is what most features are that encoders make of categories, in most nodes.
    """
    if n_bins != 2 or cells[at] != 0:
        return False
    p = growth[0]
    gu, hu = p.gradient_unit, p.hessian_unit
    total_g, total_h = unpacked(total, gu, hu)
    _, hl, _, hr = sums_of_sides(cells[at + 1], total_g, total_h, gu, hu)
    least = least_hessian(growth)
    return (hl < least) | (hr < least)


@helper
def scan_node(
    node,
    node_id,
    cells,
    counts,
    features,
    starts,
    begin,
    end,
    n_bins,
    growth,
    rules,
    due,
    mask,
    search,
    prefix,
    count_prefix,
    scores,
    best_split,
):
    """Best split of one node over a range of features, into ``best_split``."""
    p = growth[0]
    parent = node_score(node, node_id, growth, rules)
    best_split.gain = 0.0
    best_split.feature = -1
    best = NO_SPLIT
    for j in range(begin, end):
        f = features[j]
        if mask.shape[0] > 0 and mask[j] == 0:
            continue
        at, end_at = starts[j], starts[j] + n_bins[f] + 1
        if counts is None and only_cut_is_too_small(cells, at, n_bins[f], node.sums, growth):
            continue
        feature_cells = cells[at:end_at]
        feature_counts = counts[at:end_at] if counts is not None else None
        if search is not None and search.is_categorical[f] != 0:
            order_codes(
                feature_cells, np.int64(n_bins[f]), node.sums, node.end - node.begin, growth, search
            )
        end0, end1 = score_splits(
            f,
            feature_cells,
            feature_counts,
            np.int64(n_bins[f]),
            node.sums,
            node.end - node.begin,
            growth,
            limits_of(rules, node_id, f) if rules is not None else None,
            search,
            prefix,
            count_prefix,
            scores,
        )
        score, place, missing_left = best_of(scores, end0, end1)
        if due is not None:
            score -= due[f]
        if score > best:
            best = score
            gain = score - parent
            if gain > p.min_split_gain and gain > NOISE * abs(score):
                set_best_split(
                    best_split, gain, f, place, missing_left, feature_cells, np.int64(n_bins[f]),
                    node.sums, search,
                )  # fmt: skip


def build_range(
    columns, bins, row_stride, features, begin, end, consecutive, n_bins, rows, gh, cells, counts
):
    """Build the histogram of some rows for a range of features; of a sparse matrix, for all."""
    raise NotImplementedError  # compiled code only


@by_type(build_range)
def _build_range(
    columns, bins, row_stride, features, begin, end, consecutive, n_bins, rows, gh, cells, counts
):
    return _build_dense if isinstance(columns, types.Array) else _build_sparse


def _build_dense(
    columns, bins, row_stride, features, begin, end, consecutive, n_bins, rows, gh, cells, counts
):
    first, last = begin * HIST_STRIDE, end * HIST_STRIDE
    build(
        bins, row_stride, columns, features, begin, end, consecutive, n_bins, rows, gh,
        cells[first:last],
    )  # fmt: skip
    if counts is not None:
        count_rows(bins, row_stride, features[begin:end], rows, counts[first:last])


def _build_sparse(
    columns, bins, row_stride, features, begin, end, consecutive, n_bins, rows, gh, cells, counts
):
    build_sparse(columns, rows, gh, cells)
    if counts is not None:
        count_sparse(columns, rows, counts)


@helper
def build_chunks(
    counter,  # (1,) int64, INOUT: the next task
    bins,  # (n_rows * row_stride + PADDING,) uint8, IN; None if the matrix is sparse
    row_stride,
    columns,  # (n_features, n_rows) uint8, IN: the same by columns; or SparseColumns
    features,  # (n,) int32, IN: features this tree may use
    consecutive,  # whether that is all of them
    ranges,  # (n_ranges + 1,) int64, IN: borders of the feature ranges
    n_bins,  # (n_features,) int32, IN: value bins of each feature
    rows,  # (n,) int32, IN
    gh,  # (n_rows,) int64 packed, IN
    progress,  # (1,) PROGRESS, IN
    chunks,  # (max_chunks,) CHUNK, IN
    pool,  # (n_buffers, cells of a histogram) int64, OUT
    count_pool,  # (n_buffers, cells of a histogram) int32, OUT; None if rows are not counted
):
    """Build the histograms of the chunks in hand, a range of features at a time."""
    n_ranges = ranges.shape[0] - 1
    task = take_number(counter)
    while task < progress[0].n_chunks * n_ranges:
        chunk = chunks[task // n_ranges]
        begin, end = ranges[task % n_ranges], ranges[task % n_ranges + 1]
        chunk_rows = rows[chunk.begin : chunk.end]
        counts = count_pool[chunk.buffer] if count_pool is not None else None
        build_range(
            columns, bins, row_stride, features, begin, end, consecutive, n_bins, chunk_rows, gh,
            pool[chunk.buffer], counts,
        )  # fmt: skip
        task = take_number(counter)


@helper
def complete(pair, nodes, features, starts, begin, end, at_once, n_bins, pool):
    """Add up the parts of the siblings' histograms, or take the smaller one's off the parent's.

    For one range of features, ``at_once`` of them together: 1, or all if no cell is between them.
    """
    small = nodes[pair.small]
    for j in range(begin, end, at_once):
        a = starts[j]
        b = starts[j + at_once - 1] + n_bins[features[j + at_once - 1]] + 1
        for k in range(small.n_parts):
            add(pool[small.first_part + k, a:b], pool[small.slot, a:b])
        if pair.large >= 0:
            large = nodes[pair.large]
            if pair.inherits:
                subtract(pool[small.slot, a:b], pool[large.slot, a:b])
            for k in range(large.n_parts):
                add(pool[large.first_part + k, a:b], pool[large.slot, a:b])


@helper
def complete_both(pair, nodes, features, starts, begin, end, n_bins, absent, pool, count_pool):
    """``complete`` sums and counts, with those of values that are not stored."""
    at_once = np.int64(1)
    if (
        absent is not None
        and begin < end
        and features[end - 1] - features[begin] == end - begin - 1
    ):
        at_once = np.int64(end - begin)
    complete(pair, nodes, features, starts, begin, end, at_once, n_bins, pool)
    if count_pool is not None:
        complete(pair, nodes, features, starts, begin, end, at_once, n_bins, count_pool)
    if absent is not None:
        for side in range(2 if pair.large >= 0 else 1):
            node = nodes[pair.small if side == 0 else pair.large]
            where = absent, features, starts, begin, end, n_bins
            add_absent(*where, node.sums, pool[node.slot])
            if count_pool is not None:
                add_absent(*where, node.end - node.begin, count_pool[node.slot])


@allocating
def scan_pairs(
    counter,  # (1,) int64, INOUT: the next task
    features,  # (n,) int32, IN
    starts,  # (n,) int64, IN: where the cells of each of them begin in a histogram
    ranges,  # (n_ranges + 1,) int64, IN
    n_bins,  # (n_features,) int32, IN: value bins of each feature
    absent,  # (n_features,) uint8, IN: code of values that are not stored; None if all are
    is_categorical,  # (n_features,) uint8, IN; None if no feature is
    growth,  # (1,) GROWTH, IN
    rules,  # Rules, IN; None: there are none
    due,  # (n_features,) float64, IN: what a split on a feature costs; None: nothing
    progress,  # (1,) PROGRESS, IN
    nodes,  # (max_nodes,) NODE, IN
    pairs,  # (max_pairs,) PAIR, IN
    masks,  # (2 * max_pairs, n) uint8, IN: features each child may use; no columns: all
    pool,  # (n_buffers, cells of a histogram) int64, INOUT
    count_pool,  # (n_buffers, cells of a histogram) int32, INOUT; None if rows are not counted
    best_splits,  # (2 * max_pairs, n_ranges) SPLIT, OUT: of each child, by ranges
):
    """Complete and scan the histograms of the pairs in hand."""
    n_ranges = ranges.shape[0] - 1
    prefix, count_prefix, scores = scan_buffers(count_pool)
    search = set_search(is_categorical)
    n_tasks = (progress[0].end_pair - progress[0].first_pair) * n_ranges
    task = take_number(counter)
    while task < n_tasks:
        which, r = progress[0].first_pair + task // n_ranges, task % n_ranges
        begin, end = ranges[r], ranges[r + 1]
        pair = pairs[which]
        complete_both(pair, nodes, features, starts, begin, end, n_bins, absent, pool, count_pool)
        for side in range(2 if pair.large >= 0 else 1):
            node_id = pair.small if side == 0 else pair.large
            node = nodes[node_id]
            scan_node(
                node, node_id, pool[node.slot],
                count_pool[node.slot] if count_pool is not None else None, features, starts, begin,
                end, n_bins, growth, rules, due, masks[2 * which + side], search, prefix,
                count_prefix,
                scores, best_splits[2 * which + side, r],
            )  # fmt: skip
        task = take_number(counter)


@allocating
def scan_level(
    counter,
    features,
    starts,
    ranges,
    n_bins,
    absent,
    is_categorical,
    growth,
    rules,
    due,
    progress,
    nodes,
    pairs,
    masks,
    pool,
    count_pool,
    best_splits,
):
    """``scan_pairs`` for symmetric growth.

    One split for all open nodes, the one whose gains add up to most.
    """
    n_ranges = ranges.shape[0] - 1
    prefix, count_prefix, scores = scan_buffers(count_pool)
    search = set_search(is_categorical)
    total = np.empty((2, HIST_STRIDE), np.float64)
    mask = masks[0]
    task = take_number(counter)
    while task < n_ranges:
        begin, end = ranges[task], ranges[task + 1]
        for which in range(progress[0].n_pairs):
            complete_both(
                pairs[which], nodes, features, starts, begin, end, n_bins, absent, pool, count_pool
            )
        best = best_splits[0, task]
        best.gain = 0.0
        best.feature = -1
        for j in range(begin, end):
            f = features[j]
            if mask.shape[0] > 0 and mask[j] == 0:
                continue
            gain, size, place, missing_left = level_gain(
                nodes[: progress[0].n_nodes],
                pool,
                count_pool,
                starts[j],
                f,
                np.int64(n_bins[f]),
                growth,
                rules,
                search,
                prefix,
                count_prefix,
                scores,
                total,
            )
            if due is not None:
                gain -= due[f]  # once: all nodes take the same split
            if gain > best.gain and gain > growth[0].min_split_gain and gain > NOISE * size:
                # j: where the feature stands in the list
                set_split(best, gain, j, f, place, missing_left)
                if is_categorical is not None:
                    set_level_kind(best, f, place, missing_left, search)
        task = take_number(counter)


@helper
def set_level_kind(split, f, place, missing_left, search):
    """Complete the record of a level's split in fits with categories."""
    split.kind = CUT
    if search.is_categorical[f] != 0:
        split.kind = IN_SET
        split.bin = 0
        write_set(place, missing_left, search, split.set)
        split.missing_left = split.set[0] & np.uint64(1)


@helper
def order_level(nodes, pool, at, n_bins, growth, search):
    """``order_codes`` of all open nodes together."""
    sums = search.sums
    for c in range(n_bins + 1):
        sums[c] = 0
    total, n_rows = np.int64(0), np.int64(0)
    for i in range(nodes.shape[0]):
        if nodes[i].open != 0:
            total += nodes[i].sums
            n_rows += nodes[i].end - nodes[i].begin
            for c in range(1, n_bins + 1):
                sums[c] += pool[nodes[i].slot, at + c]
    order_codes(sums, n_bins, total, n_rows, growth, search)


@helper
def sum_values_left(cells, f, n_bins, place, search):
    """Sums of the rows that go left and have a value."""
    if search is not None and search.is_categorical[f] != 0:
        write_set(place, np.int64(0), search, search.words)
        return sum_of_set(cells, np.int64(1), n_bins, search.words)
    return sum_left(cells, place, False)


@helper
def larger_sides_left(nodes, pool, at, f, n_bins, place, search):
    """Whether the left sides of all open nodes together weigh more than the right ones."""
    left, total = np.int64(0), np.int64(0)
    for i in range(nodes.shape[0]):
        if nodes[i].open != 0:
            cells = pool[nodes[i].slot, at : at + n_bins + 1]
            left += np.int64(np.int32(sum_values_left(cells, f, n_bins, place, search)))
            total += np.int64(np.int32(nodes[i].sums))
    return 1 if 2 * left >= total else 0


@helper
def any_missing(nodes, pool, at):
    """Whether the missing bin of the feature whose cells begin there is filled in an open node."""
    missing = False
    for i in range(nodes.shape[0]):
        if nodes[i].open != 0:
            missing = missing or pool[nodes[i].slot, at] != 0
    return missing


@helper
def level_gain(
    nodes, pool, count_pool, at, f, n_bins, growth, rules, search, prefix, count_prefix, scores,
    total,
):  # fmt: skip
    """Best split of one feature for all open nodes: (gain, sum of scores, place, missing_left).

    ``at`` is where its cells begin in a histogram.
    """
    missing = any_missing(nodes, pool, at)
    if count_pool is not None:  # rows may be too light for the sums to show them
        missing = missing or any_missing(nodes, count_pool, at)
    for b in range(HIST_STRIDE):
        total[0, b] = 0.0
        total[1, b] = 0.0
    n_places = n_bins - 1  # without the cut behind the last value
    if search is not None and search.is_categorical[f] != 0:
        order_level(nodes, pool, at, n_bins, growth, search)
        n_places = count_sets(search)
    size = 0.0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.open == 0:
            continue
        cells = pool[node.slot, at : at + n_bins + 1]
        counts = count_pool[node.slot, at : at + n_bins + 1] if count_pool is not None else None
        end0, end1 = score_splits(
            f,
            cells,
            counts,
            n_bins,
            node.sums,
            node.end - node.begin,
            growth,
            limits_of(rules, i, f) if rules is not None else None,
            search,
            prefix,
            count_prefix,
            scores,
        )
        parent = node_score(node, i, growth, rules)
        size += abs(parent)
        for b in range(1, end0):
            if scores[0, b] > NO_SPLIT:  # a cut that this node may not take leaves it whole
                total[0, b] += scores[0, b] - parent
        # if only other nodes have missing values, both directions are the same cut
        if missing and end1 == 1:
            for b in range(1, end0):
                if scores[0, b] > NO_SPLIT:
                    total[1, b] += scores[0, b] - parent
        for b in range(1, end1):
            if scores[1, b] > NO_SPLIT:
                total[1, b] += scores[1, b] - parent
    best, place, missing_left = best_of(
        total, n_places + 2 if missing else n_places + 1, n_places + 1 if missing else 1
    )
    if not missing and place > 0:  # send unseen missing values to the heavier side
        missing_left = larger_sides_left(nodes, pool, at, f, n_bins, place, search)
    return best, size + abs(best), place, missing_left
