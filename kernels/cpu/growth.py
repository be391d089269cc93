"""The growth of one tree: which nodes are split next, and the loop over the heavy stages.

    begin -> build -> scan -> adopt -> [ choose -> partition -> settle -> move -> build -> scan ->
    adopt ] ...

The heavy stages (build, scan, partition, move) are cut into tasks that threads take by number; the
others are short and run in one thread. The result does not depend on who runs what: sums are
integers, and every choice breaks ties by the lowest (node, feature, bin)."""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import IN_SET, LEAFWISE, SYMMETRIC
from gpuboost.kernels.cpu._jit import allocating, helper, inlined, kernel
from gpuboost.kernels.cpu.draws import begin_groups, draw_columns, narrow_groups
from gpuboost.kernels.cpu.forced import enforce, hand_down_forced, next_level, rank_gain
from gpuboost.kernels.cpu.frontier import keep_best, push
from gpuboost.kernels.cpu.partition import move_pieces, partition_pieces
from gpuboost.kernels.cpu.rules import begin_rules, hand_down, limits_of, node_score
from gpuboost.kernels.cpu.scores import NO_SPLIT
from gpuboost.kernels.cpu.sets import copy_kind, sum_of_set
from gpuboost.kernels.cpu.sharing import (
    BUILD,
    COUNTER,
    FINISHED,
    MOVE,
    N_STAGES,
    N_THREADS,
    PARTITION,
    SCAN,
    close_stage,
    join_stage,
    leave_stage,
    open_stage,
)
from gpuboost.kernels.cpu.split import (
    build_chunks,
    scan_buffers,
    scan_level,
    scan_pairs,
    score_cuts_by,
    score_feature,
    set_split,
    sum_left,
)

#: Fewest rows of one piece of a node that several threads partition.
MIN_PIECE_ROWS = 4096
#: Fewest rows of a chunk of a histogram.
MIN_CHUNK_ROWS = 4096
#: Work below which a stage is not shared: waiting for each other would take as long.
SMALL_STAGE = 1 << 14
#: What scanning one feature of a pair of siblings costs, in units of one histogram update.
SCAN_COST = 1000


#: How many fields of ``Stages`` change from tree to tree: the first ones.
N_OF_TREE = 10


class Stages(NamedTuple):
    """What the heavy stages work on. The arrays are described at the stages that take them."""

    # of one tree
    features: Any
    starts: Any
    consecutive: bool
    rows: Any
    scratch: Any
    gh: Any
    growth: Any
    bins: Any
    row_stride: int
    columns: Any
    # of all trees
    stored: Any
    codes: Any
    build_ranges: Any
    scan_ranges: Any
    n_bins: Any
    rules: Any
    weights: Any
    groups: Any
    due: Any
    forced: Any
    absent: Any
    is_categorical: Any
    progress: Any
    nodes: Any
    pieces: Any
    pairs: Any
    chunks: Any
    masks: Any
    pool: Any
    count_pool: Any
    best_splits: Any


@inlined
def begin_node(node, begin, end, depth, slot):
    """An open node without a split."""
    node.begin, node.end = begin, end
    node.depth = depth
    node.left, node.right = -1, -1
    node.slot = slot
    node.open = 1
    node.split.gain = 0.0
    node.split.feature = -1


@helper
def begin_tree(
    rows, features, growth, rules, weights, groups, forced, progress, nodes, pairs, masks,
    free_slots,
):  # fmt: skip
    """The root: all rows, one histogram due."""
    state = progress[0]
    state.n_nodes = 1
    state.n_leaves = 1
    state.level = 0
    state.n_free = free_slots.shape[0] - 1
    for i in range(free_slots.shape[0]):
        free_slots[i] = free_slots.shape[0] - 1 - i  # a stack: slot 0 is on top, and is the root's
    begin_node(nodes[0], 0, rows.shape[0], 0, 0)
    if rules is not None:
        begin_rules(rules)
    if groups is not None:
        begin_groups(groups)
    if forced is not None:
        forced.of_node[0] = 0
    pairs[0].small = 0
    pairs[0].large = -1
    pairs[0].inherits = 0
    state.n_pairs = 1
    state.first_pair = 0
    draw_columns(growth, 0, 0, 0, features, weights, groups, masks)


@inlined
def best_of_ranges(splits):
    """The split of highest gain, of the lowest range among equals."""
    best = 0
    for r in range(1, splits.shape[0]):
        if splits[r].gain > splits[best].gain:
            best = r
    return splits[best]


@helper
def adopt_pairs(is_categorical, progress, nodes, pairs, free_slots, best_splits):
    """Take the best of the ranges' splits.

    Nodes without one are leaves for good and give their histogram back.
    """
    for which in range(progress[0].first_pair, progress[0].end_pair):
        for side in range(2):
            id_ = pairs[which].small if side == 0 else pairs[which].large
            if id_ < 0:
                continue
            split = best_of_ranges(best_splits[2 * which + side])
            node = nodes[id_]
            set_split(
                node.split, split.gain, split.left, split.feature, split.bin, split.missing_left
            )
            copy_kind(split, node.split, is_categorical)
            if split.feature < 0:
                close(node, progress, free_slots)


@helper
def close(node, progress, free_slots):
    """The node stays a leaf."""
    node.open = 0
    if node.slot >= 0:
        free_slots[progress[0].n_free] = node.slot
        progress[0].n_free += 1
        node.slot = -1


@helper
def score_set(split, cells, counts, n_bins, node, limits, growth, prefix, count_prefix, scores):
    """``score_level_split`` of a set."""
    prefix[1] = sum_of_set(cells, np.int64(0), n_bins, split.set)
    if counts is not None:
        count_prefix[1] = sum_of_set(counts, np.int64(0), n_bins, split.set)
    score_cuts_by(
        limits, prefix, np.int64(0), count_prefix, np.int64(0), np.int64(1), n_bins, node.sums,
        node.end - node.begin, growth, scores[0],
    )  # fmt: skip
    return scores[0, 1], prefix[1]


@helper
def score_cut(split, cells, counts, n_bins, node, limits, growth, prefix, count_prefix, scores):
    """``score_level_split`` of a cut."""
    _, end1 = score_feature(
        cells, counts, n_bins, node.sums, node.end - node.begin, growth, limits, prefix,
        count_prefix, scores,
    )  # fmt: skip
    score = scores[1 if split.missing_left and end1 > 1 else 0, split.bin]
    if split.bin == n_bins and cells[0] == 0:
        score = NO_SPLIT  # "all values left" does not divide a node without missing values
    return score, sum_left(cells, split.bin, split.missing_left)


@helper
def score_level_split(
    is_categorical, split, cells, counts, n_bins, node, limits, growth, prefix, count_prefix, scores
):
    """What a level's split is worth to a node: (score, sums on the left)."""
    if is_categorical is not None and split.kind == IN_SET:
        return score_set(
            split, cells, counts, n_bins, node, limits, growth, prefix, count_prefix, scores
        )
    return score_cut(
        split, cells, counts, n_bins, node, limits, growth, prefix, count_prefix, scores
    )


@allocating
def adopt_level(
    growth, rules, is_categorical, progress, nodes, starts, pool, count_pool, n_bins, free_slots,
    best_splits,
):  # fmt: skip
    """Give all open nodes the level's split.

    A node it would leave with too small a side stays whole and is asked again.
    """
    split = best_of_ranges(best_splits[0])
    prefix, count_prefix, scores = scan_buffers(count_pool)
    for i in range(progress[0].n_nodes):
        node = nodes[i]
        if node.open == 0:
            continue
        node.split.feature = -1
        if split.feature < 0:
            close(node, progress, free_slots)
            continue
        at = starts[split.left]
        end_at = at + n_bins[split.feature] + 1
        cells = pool[node.slot, at:end_at]
        counts = count_pool[node.slot, at:end_at] if count_pool is not None else None
        score, left = score_level_split(
            is_categorical,
            split,
            cells,
            counts,
            np.int64(n_bins[split.feature]),
            node,
            limits_of(rules, i, split.feature) if rules is not None else None,
            growth,
            prefix,
            count_prefix,
            scores,
        )
        if score > NO_SPLIT:
            gain = score - node_score(node, i, growth, rules)
            set_split(node.split, gain, left, split.feature, split.bin, split.missing_left)
            copy_kind(split, node.split, is_categorical)


@helper
def may_split(growth, node):
    """Whether a node is a candidate for the next step."""
    return (
        node.open != 0
        and node.split.feature >= 0
        and (growth[0].order == SYMMETRIC or node.depth < growth[0].max_depth)
    )


@helper
def ends_here(growth, state, node):
    """Whether the children of a chosen node stay leaves, whatever their rows."""
    p = growth[0]
    depth = state.level if p.order == SYMMETRIC else node.depth + 1
    return depth >= p.max_depth or state.n_leaves + state.n_chosen >= p.max_leaves


@helper
def choose(growth, forced, progress, nodes, frontier, pieces, n_threads, list_leaves):
    """Choose the nodes to split in this step and cut their rows into pieces.

    Returns how many nodes there are. Rows of nodes whose children stay leaves are not moved unless
    the caller wants them by leaves.
    """
    state = progress[0]
    p = growth[0]
    room = p.max_leaves - state.n_leaves
    n = 0
    if p.order == LEAFWISE:
        room = min(room, p.leaves_per_step)
    if state.level < p.max_steps:
        for i in range(state.n_nodes):
            if may_split(growth, nodes[i]):
                push(frontier, n, rank_gain(forced, nodes[i].split.gain, i), i, False)
                n += 1
        n = keep_best(frontier, n, room)
    chosen = frontier.id
    state.level += 1
    state.n_chosen = n
    state.n_pieces = 0
    state.n_moving = 0
    state.n_rows_moving = 0
    for c in range(n):
        if list_leaves or not ends_here(growth, state, nodes[chosen[c]]):
            state.n_moving += 1
            state.n_rows_moving += nodes[chosen[c]].end - nodes[chosen[c]].begin
    piece_rows = (
        np.int64(1) << 40
        if n_threads == 1
        else max(np.int64(MIN_PIECE_ROWS), state.n_rows_moving // (4 * n_threads) + 1)
    )
    for c in range(n):
        node = nodes[chosen[c]]
        start = node.begin if list_leaves or not ends_here(growth, state, node) else node.end
        while start < node.end:
            piece = pieces[state.n_pieces]
            state.n_pieces += 1
            piece.node = chosen[c]
            piece.begin = start
            piece.end = min(start + piece_rows, node.end)
            start = piece.end
    return n


@helper
def settle(
    features, growth, rules, weights, groups, due, forced, n_bins, progress, nodes, chosen, pieces,
    pairs, masks, free_slots,
):  # fmt: skip
    """Make the children of the chosen nodes.

    Also tells the pieces where their rows go, and lists the histograms that are due.
    """
    state = progress[0]
    p = growth[0]
    state.n_pairs = 0
    state.first_pair = 0
    at = 0
    for c in range(state.n_chosen):
        parent = nodes[chosen[c]]
        first = at
        n_left = np.int64(0)
        while at < state.n_pieces and pieces[at].node == chosen[c]:
            n_left += pieces[at].n_left
            at += 1
        left_at, right_at = parent.begin, parent.begin + n_left
        for k in range(first, at):
            pieces[k].left_at = left_at
            pieces[k].right_at = right_at
            left_at += pieces[k].n_left
            right_at += pieces[k].end - pieces[k].begin - pieces[k].n_left
        parent.left = state.n_nodes
        parent.right = state.n_nodes + 1
        state.n_nodes += 2
        left, right = nodes[parent.left], nodes[parent.right]
        begin_node(left, parent.begin, parent.begin + n_left, parent.depth + 1, -1)
        begin_node(right, parent.begin + n_left, parent.end, parent.depth + 1, -1)
        left.sums, right.sums = parent.split.left, parent.sums - parent.split.left
        if rules is not None:
            hand_down(rules, growth, nodes, chosen[c], n_bins)
        if groups is not None:
            narrow_groups(groups, growth, state.level, nodes, chosen[c])
        if due is not None:
            due[parent.split.feature] = 0.0  # paid
        if forced is not None:
            hand_down_forced(forced, growth, nodes, chosen[c])
        parent.open = 0
        if ends_here(growth, state, parent):
            left.open = 0
            right.open = 0
            close(parent, progress, free_slots)
            continue
        left_is_small = left.end - left.begin <= right.end - right.begin
        pair = pairs[state.n_pairs]
        pair.small = parent.left if left_is_small else parent.right
        pair.large = parent.right if left_is_small else parent.left
        pair.inherits = 1 if parent.slot >= 0 else 0
        nodes[pair.large].slot = parent.slot
        parent.slot = -1
        for id_ in (pair.small, pair.large):
            if nodes[id_].slot < 0 and state.n_free > 0:
                state.n_free -= 1
                nodes[id_].slot = free_slots[state.n_free]
        level = state.level if p.order == SYMMETRIC else left.depth
        for side in range(2):
            id_ = pair.small if side == 0 else pair.large
            child = 2 * state.n_pairs + side
            draw_columns(growth, level, id_, child, features, weights, groups, masks)
        state.n_pairs += 1
    state.n_leaves += state.n_chosen
    if forced is not None:
        next_level(forced, growth)


@helper
def plan_wave(progress, nodes, pairs, chunks, n_slots, n_spare, n_ranges, n_threads):
    """Take in hand as many of the due pairs as there are buffers for; cut their rows into chunks.

    Usually that is all of them. When the pool is too small, a node without a slot borrows a spare
    buffer for the time of its scan. Rows are cut into chunks only if the tasks would otherwise be
    too few for the threads."""
    state = progress[0]
    state.end_pair = state.first_pair
    state.n_rows_due = 0
    spare = n_slots
    n_built = 0
    while state.end_pair < state.n_pairs:
        pair = pairs[state.end_pair]
        homeless = nodes[pair.small].slot < 0 or (pair.large >= 0 and nodes[pair.large].slot < 0)
        if homeless and spare + 2 > n_slots + n_spare:
            break
        for side in range(2 if pair.large >= 0 else 1):
            node = nodes[pair.small if side == 0 else pair.large]
            if node.slot < 0:
                node.slot = spare
                spare += 1
            if side == 0 or not pair.inherits:
                state.n_rows_due += node.end - node.begin
                n_built += 1
        state.end_pair += 1
    chunk_rows = np.int64(1) << 40
    # fewer than 2 * n_threads further parts then: the pool has room for them
    if n_threads > 1 and n_built * n_ranges < 4 * n_threads:
        chunk_rows = max(np.int64(MIN_CHUNK_ROWS), state.n_rows_due // (2 * n_threads) + 1)
    state.n_chunks = 0
    part = n_slots + n_spare
    for k in range(state.first_pair, state.end_pair):
        for side in range(2 if pairs[k].large >= 0 else 1):
            node = nodes[pairs[k].small if side == 0 else pairs[k].large]
            node.n_parts = 0
            node.first_part = part
            if side == 1 and pairs[k].inherits:
                continue
            start = node.begin
            while True:
                chunk = chunks[state.n_chunks]
                state.n_chunks += 1
                chunk.begin = start
                chunk.end = min(start + chunk_rows, node.end)
                chunk.buffer = node.slot if start == node.begin else part
                if start > node.begin:
                    part += 1
                    node.n_parts += 1
                start = chunk.end
                if start >= node.end:
                    break


@helper
def sum_root(root, first_n_bins, sparse, pool):
    """Packed sums of all rows, in all parts of the histogram: those of the first feature's bins.

    The histogram of a sparse matrix has them in its last cell.
    """
    begin = pool.shape[1] - 1 if sparse else 0
    end = pool.shape[1] if sparse else first_n_bins + 1
    sums = np.int64(0)
    for c in range(begin, end):
        sums += pool[root.slot, c]
        for k in range(root.n_parts):
            sums += pool[root.first_part + k, c]
    return sums


@helper
def return_spares(progress, nodes, pairs, n_slots):
    """Histograms in spare buffers are dropped after their scan."""
    for k in range(progress[0].first_pair, progress[0].end_pair):
        for side in range(2 if pairs[k].large >= 0 else 1):
            node = nodes[pairs[k].small if side == 0 else pairs[k].large]
            if node.slot >= n_slots:
                node.slot = -1


@helper
def run_stage(stage, shared, control, symmetric, a):
    """One thread's share of a stage.

    The stage is open to helpers meanwhile if the owner of the tree says ``shared``.
    """
    counter = control[COUNTER : COUNTER + 1]
    if shared:
        open_stage(control, stage)
    if stage == BUILD:
        build_chunks(
            counter, a.bins, a.row_stride, a.columns, a.features, a.consecutive, a.build_ranges,
            a.n_bins, a.rows, a.gh, a.progress, a.chunks, a.pool, a.count_pool,
        )  # fmt: skip
    elif stage == PARTITION:
        partition_pieces(
            counter, a.columns, a.stored, a.progress, a.nodes, a.pieces, a.rows, a.scratch, a.codes
        )
    elif stage == MOVE:
        move_pieces(counter, a.progress, a.nodes, a.pieces, a.rows, a.scratch)
    else:
        given = (
            counter, a.features, a.starts, a.scan_ranges, a.n_bins, a.absent, a.is_categorical,
            a.growth, a.rules, a.due, a.progress, a.nodes, a.pairs, a.masks, a.pool, a.count_pool,
            a.best_splits,
        )  # fmt: skip
        if symmetric is None:
            scan_pairs(*given)
        else:
            scan_level(*given)
    if shared:
        close_stage(control)


@helper
def is_shared(control, work):
    """Set the task counter back, and tell whether a stage is worth sharing.

    ``work`` is in units of about a nanosecond.
    """
    control[COUNTER] = 0
    return work >= SMALL_STAGE and control[N_THREADS] > 1


@kernel(seconds=8, makes_arrays=False)
def grow(
    control,  # (CONTROL_SIZE,) int64, INOUT
    budget,  # work after which to return for a moment, so that Python can see a Ctrl-C
    # None, or anything for symmetric growth: a type, so that only the code in use is compiled
    symmetric,
    list_leaves,  # whether ``rows`` is to be in the order of the leaves at the end
    n_slots,  # the pool: slots of open nodes, then spare buffers, then parts of histograms
    n_spare,
    frontier,  # Frontier of max_open, SCRATCH: ids of the nodes of a step
    free_slots,  # (n_slots,) int32, SCRATCH
    a,  # Stages, INOUT
):
    """Grow one tree; returns False if it has to be called again to go on."""
    state = a.progress[0]
    n_features = a.features.shape[0]
    n_threads = control[N_THREADS]
    if state.n_nodes == 0:
        begin_tree(
            a.rows, a.features, a.growth, a.rules, a.weights, a.groups, a.forced, a.progress,
            a.nodes, a.pairs, a.masks, free_slots,
        )  # fmt: skip
    done = np.int64(0)
    while done < budget:
        while state.first_pair < state.n_pairs:
            plan_wave(
                a.progress,
                a.nodes,
                a.pairs,
                a.chunks,
                n_slots,
                n_spare,
                a.build_ranges.shape[0] - 1,
                n_threads,
            )
            work = state.n_rows_due * n_features
            run_stage(np.int64(BUILD), is_shared(control, work), control, symmetric, a)
            done += work
            if state.n_nodes == 1:
                a.nodes[0].sums = sum_root(
                    a.nodes[0], a.n_bins[a.features[0]], a.absent is not None, a.pool
                )
            work = np.int64(state.end_pair - state.first_pair) * n_features * SCAN_COST
            run_stage(np.int64(SCAN), is_shared(control, work), control, symmetric, a)
            done += work
            enforce(
                a.forced, symmetric, a.features, a.starts, a.n_bins, a.growth, a.rules, a.progress,
                a.nodes, a.pairs, a.pool, a.count_pool, a.best_splits,
            )  # fmt: skip
            if symmetric is None:
                return_spares(a.progress, a.nodes, a.pairs, n_slots)
                adopt_pairs(
                    a.is_categorical, a.progress, a.nodes, a.pairs, free_slots, a.best_splits
                )
            else:
                adopt_level(
                    a.growth,
                    a.rules,
                    a.is_categorical,
                    a.progress,
                    a.nodes,
                    a.starts,
                    a.pool,
                    a.count_pool,
                    a.n_bins,
                    free_slots,
                    a.best_splits,
                )
            state.first_pair = state.end_pair
        if (
            choose(
                a.growth, a.forced, a.progress, a.nodes, frontier, a.pieces, n_threads, list_leaves
            )
            == 0
        ):
            return True
        work = state.n_rows_moving
        if state.n_pieces > 0:
            run_stage(np.int64(PARTITION), is_shared(control, work), control, symmetric, a)
        settle(
            a.features, a.growth, a.rules, a.weights, a.groups, a.due, a.forced, a.n_bins,
            a.progress, a.nodes, frontier.id, a.pieces, a.pairs, a.masks, free_slots,
        )  # fmt: skip
        if state.n_pieces > state.n_moving:  # a node of one piece is done already
            run_stage(np.int64(MOVE), is_shared(control, work), control, symmetric, a)
        done += work
    return False


@kernel(makes_arrays=False)
def assist(control, symmetric, a):
    """Help another thread's ``grow`` with its stages until the tree is done."""
    seen = np.int64(0)
    while True:
        stage = join_stage(control, seen)
        if stage == FINISHED:
            return
        seen = stage
        run_stage(stage % N_STAGES, False, control, symmetric, a)
        leave_stage(control)
