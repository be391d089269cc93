"""The growth of one tree: which nodes to split next, the bookkeeping between the heavy stages, and the loop over them.

    begin -> search -> adopt -> [ choose -> partition -> settle -> move -> search -> adopt ] ...

The heavy stages (partition, move, search) share out tasks by a counter and may run in several threads; the others are short and
run in one. ``grow_alone`` is the loop in one compiled function for small data, where a call from Python would cost more than the
work; ``CpuGrower`` has the same loop over a team of threads. The result does not depend on who runs it: sums are integers, and
every choice breaks ties by the lowest (node, feature, bin).
"""

import numpy as np

from gpuboost.dtypes import DEPTHWISE, HIST_STRIDE, LEAFWISE, SYMMETRIC
from gpuboost.formulas import hash32
from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.kernels.cpu.partition import move_pieces, partition_pieces
from gpuboost.kernels.cpu.split import packed_score, score_feature, search_pairs, sum_left

#: Rows of one piece of a large node: enough to make a task worth a thread, small enough to share out evenly.
PIECE_ROWS = 32768


@kernel
def begin_tree(rows, gh, growth, progress, nodes, pairs, masks, free_slots):
    """The root: all rows, one histogram due."""
    state = progress[0]
    state.n_nodes = 1
    state.n_leaves = 1
    state.level = 0
    state.n_free = free_slots.shape[0] - 1
    for i in range(free_slots.shape[0]):
        free_slots[i] = free_slots.shape[0] - 1 - i  # a stack: slot 0 is on top, and is the root's
    sums = np.int64(0)
    for i in range(rows.shape[0]):
        sums += gh[rows[i]]
    root = nodes[0]
    root.sums = sums
    root.begin = 0
    root.end = rows.shape[0]
    root.depth = 0
    root.left = -1
    root.right = -1
    root.slot = 0
    root.open = 1
    root.split.gain = 0.0
    root.split.feature = -1
    pairs[0].small = 0
    pairs[0].large = -1
    pairs[0].inherits = 0
    state.n_pairs = 1
    state.n_due = rows.shape[0]
    draw_columns(growth, 0, 0, 0, masks)


@helper
def choose_some(allowed, n_wanted, key, chosen):
    """Mark n_wanted of the allowed entries (all of them if there are fewer), each subset being equally likely."""
    n_left = 0
    for j in range(allowed.shape[0]):
        n_left += allowed[j] != 0
    for j in range(allowed.shape[0]):
        candidate = allowed[j] != 0  # read before it is written: allowed and chosen may be the same array
        chosen[j] = 0
        if candidate:
            if np.float64(hash32(key, j)) * n_left < n_wanted * 4294967296.0:
                chosen[j] = 1
                n_wanted -= 1
            n_left -= 1


@helper
def draw_columns(growth, level, node_id, child, masks):
    """Features a child may use: some of the tree's for its level, some of those for itself. Symmetric growth uses the first draw."""
    p = growth[0]
    n = masks.shape[1]
    if n == 0:
        return
    mask = masks[child]
    for j in range(n):
        mask[j] = 1
    choose_some(mask, p.level_features, hash32(p.column_key, 2 * level), mask)
    if p.node_features < p.level_features:
        choose_some(mask, p.node_features, hash32(p.column_key, 2 * node_id + 1), mask)


@kernel
def adopt_pairs(progress, nodes, pairs, free_slots, found):
    """Take the best of the ranges' splits; nodes without one are leaves for good and give their histogram back."""
    for which in range(progress[0].n_pairs):
        for side in range(2):
            id_ = pairs[which].small if side == 0 else pairs[which].large
            if id_ < 0:
                continue
            best = 0
            for r in range(1, found.shape[1]):
                if found[2 * which + side, r].gain > found[2 * which + side, best].gain:
                    best = r
            split = found[2 * which + side, best]
            node = nodes[id_]
            node.split.gain = split.gain
            node.split.left = split.left
            node.split.feature = split.feature
            node.split.bin = split.bin
            node.split.missing_left = split.missing_left
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


@kernel
def adopt_level(growth, progress, nodes, pool, count_pool, n_bins, free_slots, found):
    """Give all open nodes the level's split; a node it would leave with too small a side stays whole and is asked again."""
    best = 0
    for r in range(1, found.shape[1]):
        if found[0, r].gain > found[0, best].gain:
            best = r
    split = found[0, best]
    prefix = np.empty(HIST_STRIDE, np.int64)
    count_prefix = np.empty(HIST_STRIDE, np.int32)
    scores = np.empty((2, HIST_STRIDE), np.float64)
    for i in range(progress[0].n_nodes):
        node = nodes[i]
        if node.open == 0:
            continue
        node.split.feature = -1
        if split.feature < 0:
            close(node, progress, free_slots)
            continue
        at = split.left * HIST_STRIDE
        cells = pool[node.slot, at : at + HIST_STRIDE]
        counts = count_pool[node.slot, at : at + HIST_STRIDE]
        _, end1 = score_feature(
            cells, counts, np.int64(n_bins[split.feature]), node.sums, node.end - node.begin, growth, prefix, count_prefix, scores
        )
        score = scores[1 if split.missing_left and end1 > 1 else 0, split.bin]
        no_missing_here = cells[0] == 0
        if split.bin == n_bins[split.feature] and no_missing_here:
            continue  # "all values left" does not divide a node without missing values
        if score > -np.inf:
            node.split.gain = score - packed_score(node.sums, growth)
            node.split.left = sum_left(cells, split.bin, split.missing_left)
            node.split.feature = split.feature
            node.split.bin = split.bin
            node.split.missing_left = split.missing_left


@helper
def may_split(growth, progress, node):
    """Whether a node is a candidate for the next step."""
    return node.open != 0 and node.split.feature >= 0 and (growth[0].order == SYMMETRIC or node.depth < growth[0].max_depth)


@kernel
def choose(growth, progress, nodes, chosen, pieces):
    """Choose the nodes to split in this step and cut their rows into pieces; returns how many there are."""
    state = progress[0]
    p = growth[0]
    room = p.max_leaves - state.n_leaves
    n = 0
    if p.order == LEAFWISE:
        best = -1
        for i in range(state.n_nodes):
            if may_split(growth, progress, nodes[i]) and (best < 0 or nodes[i].split.gain > nodes[best].split.gain):
                best = i
        if best >= 0 and room > 0:
            chosen[0] = best
            n = 1
    elif p.order == DEPTHWISE or state.level < p.max_depth:
        for i in range(state.n_nodes):
            if may_split(growth, progress, nodes[i]):
                chosen[n] = i
                n += 1
        if n > room:
            n = keep_best(nodes, chosen[:n], room)
    state.level += 1
    state.n_chosen = n
    state.n_pieces = 0
    state.n_moving = 0
    for c in range(n):
        node = nodes[chosen[c]]
        state.n_moving += node.end - node.begin
        start = node.begin
        while start < node.end:
            piece = pieces[state.n_pieces]
            state.n_pieces += 1
            piece.node = chosen[c]
            piece.begin = start
            piece.end = min(start + PIECE_ROWS, node.end)
            start = piece.end
    return n


@helper
def keep_best(nodes, chosen, room):
    """Keep the ``room`` nodes of highest gain, in the order of their ids; returns how many are kept."""
    for k in range(room):
        best = k
        for j in range(k + 1, chosen.shape[0]):
            if nodes[chosen[j]].split.gain > nodes[chosen[best]].split.gain or (
                nodes[chosen[j]].split.gain == nodes[chosen[best]].split.gain and chosen[j] < chosen[best]
            ):
                best = j
        chosen[k], chosen[best] = chosen[best], chosen[k]
    for k in range(1, room):  # insertion sort
        moving, j = chosen[k], k
        while j > 0 and chosen[j - 1] > moving:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = moving
    return room


@kernel
def settle(growth, progress, nodes, chosen, pieces, pairs, masks, free_slots):
    """Make the children of the chosen nodes, tell the pieces where their rows go, and list the histograms that are due."""
    state = progress[0]
    p = growth[0]
    state.n_leaves += state.n_chosen
    more = state.n_leaves < p.max_leaves and (p.order != SYMMETRIC or state.level < p.max_depth)
    state.n_pairs = 0
    state.n_due = 0
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
        left.begin, left.end = parent.begin, parent.begin + n_left
        right.begin, right.end = parent.begin + n_left, parent.end
        left.sums, right.sums = parent.split.left, parent.sums - parent.split.left
        parent.open = 0
        for child in (left, right):
            child.depth = parent.depth + 1
            child.left = -1
            child.right = -1
            child.slot = -1
            child.open = 1
            child.split.gain = 0.0
            child.split.feature = -1
        if not more or (p.order != SYMMETRIC and left.depth >= p.max_depth):
            left.open = 0
            right.open = 0
            close(parent, progress, free_slots)
            continue
        left_is_small = left.end - left.begin <= right.end - right.begin
        pair = pairs[state.n_pairs]
        pair.small = parent.left if left_is_small else parent.right
        pair.large = parent.right if left_is_small else parent.left
        pair.inherits = 1 if parent.slot >= 0 else 0
        state.n_due += nodes[pair.small].end - nodes[pair.small].begin if pair.inherits else parent.end - parent.begin
        nodes[pair.large].slot = parent.slot
        parent.slot = -1
        for id_ in (pair.small, pair.large):
            if nodes[id_].slot < 0 and state.n_free > 0:
                state.n_free -= 1
                nodes[id_].slot = free_slots[state.n_free]
        level = state.level if p.order == SYMMETRIC else left.depth
        draw_columns(growth, level, pair.small, 2 * state.n_pairs, masks)
        draw_columns(growth, level, pair.large, 2 * state.n_pairs + 1, masks)
        state.n_pairs += 1


@kernel
def grow_alone(
    spare, spare_counts, bins, row_stride, columns, features, consecutive, ranges, n_bins, rows, scratch, gh, growth, progress, nodes,
    chosen, pieces, pairs, masks, pool, count_pool, free_slots, found,
):  # fmt: skip
    """Grow one tree, depth-wise or leaf-wise, in the calling thread. The arguments are described at the stages that take them."""
    counter = np.zeros(1, np.int64)
    begin_tree(rows, gh, growth, progress, nodes, pairs, masks, free_slots)
    while True:
        if progress[0].n_pairs > 0:
            counter[0] = 0
            search_pairs(
                counter, spare, spare_counts, bins, row_stride, features, consecutive, ranges, n_bins, rows, gh, growth, progress, nodes,
                pairs, masks, pool, count_pool, found,
            )  # fmt: skip
            adopt_pairs(progress, nodes, pairs, free_slots, found)
        if choose(growth, progress, nodes, chosen, pieces) == 0:
            return
        counter[0] = 0
        partition_pieces(counter, columns, progress, nodes, pieces, rows, scratch)
        settle(growth, progress, nodes, chosen, pieces, pairs, masks, free_slots)
        counter[0] = 0
        move_pieces(counter, progress, nodes, pieces, rows, scratch)
