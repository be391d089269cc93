"""Splits that a user wants at the top of every tree.

A forced split is a row of numbers: the feature, the bin up to which rows go left, and the forced
splits of the two children (-1: none). Each node may have one; with symmetric growth each level. It
is made whatever its gain, and missing values go where they gain most. If it would leave a side
without weight or with too few rows, or break the order of a monotone feature, the node gets its
best split instead, and the splits below are dropped.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import SYMMETRIC
from gpuboost.kernels.cpu._jit import allocating, helper
from gpuboost.kernels.cpu.rules import limits_of, node_score
from gpuboost.kernels.cpu.scores import NO_SPLIT, larger_side_left
from gpuboost.kernels.cpu.sets import make_cut
from gpuboost.kernels.cpu.split import scan_buffers, score_feature, set_split, sum_left

#: Columns of the table of forced splits.
FEATURE, BIN, LEFT, RIGHT = 0, 1, 2, 3


class Forced(NamedTuple):
    """Forced splits of a fit, and of the nodes of a tree."""

    splits: Any  # (n, 4) int32, IN
    of_node: Any  # (max_nodes,) int32: that of each node, or -1; the first: also that of the level


def make_forced(splits, max_nodes):
    """The forced splits with room for so many nodes, or None."""
    return None if splits is None else Forced(splits, np.empty(max_nodes, np.int32))


@helper
def rank_gain(forced, gain, node_id):
    """The gain by which nodes are chosen: forced splits come first."""
    if forced is None:
        return gain
    return np.inf if forced.of_node[node_id] >= 0 else gain


@helper
def hand_down_forced(forced, growth, nodes, parent_id):
    """The children's forced splits; with symmetric growth they have none of their own."""
    splits, of_node = forced.splits, forced.of_node
    parent = nodes[parent_id]
    k = -1 if growth[0].order == SYMMETRIC else of_node[parent_id]
    of_node[parent.left] = splits[k, LEFT] if k >= 0 else -1
    of_node[parent.right] = splits[k, RIGHT] if k >= 0 else -1


@helper
def next_level(forced, growth):
    """The forced split of the next level, with symmetric growth."""
    if growth[0].order == SYMMETRIC and forced.of_node[0] >= 0:
        forced.of_node[0] = forced.splits[forced.of_node[0], LEFT]


@helper
def place_of(features, feature):
    """Where a feature stands among those of the tree: forced ones are always there."""
    j = 0
    while features[j] != feature:
        j += 1
    return j


@helper
def score_forced(
    split, node, node_id, features, starts, n_bins, growth, rules, pool, count_pool, buffers
):
    """Scores with missing values right and left, whether there are some, and the sums left."""
    prefix, count_prefix, scores = buffers
    f, last_bin = split[FEATURE], split[BIN]
    at = starts[place_of(features, f)]
    end_at = at + n_bins[f] + 1
    cells = pool[node.slot, at:end_at]
    counts = count_pool[node.slot, at:end_at] if count_pool is not None else None
    _, end1 = score_feature(
        cells, counts, np.int64(n_bins[f]), node.sums, node.end - node.begin, growth,
        limits_of(rules, node_id, f) if rules is not None else None, prefix, count_prefix, scores,
    )  # fmt: skip
    missing = end1 > 1
    left = sum_left(cells, last_bin, False)
    missing_sums = cells[0]
    with_missing_left = scores[1, last_bin] if missing else scores[0, last_bin]
    return scores[0, last_bin], with_missing_left, missing, left, missing_sums


@allocating
def enforce(
    forced,  # Forced, INOUT; None: there are none
    symmetric,  # None, or anything for symmetric growth
    features, starts, n_bins, growth, rules, progress, nodes, pairs, pool, count_pool,
    best_splits,  # (2 * max_pairs, n_ranges) SPLIT, INOUT: forced ones stand in all ranges
):  # fmt: skip
    """Put forced splits in the place of those that the scan has found."""
    if forced is not None:
        buffers = scan_buffers(count_pool)
        given = features, starts, n_bins, growth, rules
        if symmetric is None:
            for which in range(progress[0].first_pair, progress[0].end_pair):
                for side in range(2):
                    id_ = pairs[which].small if side == 0 else pairs[which].large
                    if id_ >= 0 and forced.of_node[id_] >= 0:
                        enforce_node(
                            forced, nodes[id_], id_, *given, pool, count_pool, buffers,
                            best_splits[2 * which + side],
                        )  # fmt: skip
        elif forced.of_node[0] >= 0:
            enforce_level(
                forced, nodes[: progress[0].n_nodes], *given, pool, count_pool, buffers,
                best_splits[0],
            )  # fmt: skip


@helper
def enforce_node(
    forced, node, node_id, features, starts, n_bins, growth, rules, pool, count_pool, buffers, out
):
    """The forced split of a node, or none if it is none."""
    split = forced.splits[forced.of_node[node_id]]
    right_score, left_score, missing, left, missing_sums = score_forced(
        split, node, node_id, features, starts, n_bins, growth, rules, pool, count_pool, buffers
    )
    missing_left = np.int64(left_score > right_score)
    score = left_score if missing_left else right_score
    if score == NO_SPLIT:
        forced.of_node[node_id] = -1
        return
    if not missing:
        missing_left = np.int64(larger_side_left(left, node.sums))
    elif missing_left:
        left += missing_sums
    gain = score - node_score(node, node_id, growth, rules)
    for r in range(out.shape[0]):
        set_split(out[r], gain, left, split[FEATURE], split[BIN], missing_left)
        make_cut(out[r])


@helper
def enforce_level(
    forced, nodes, features, starts, n_bins, growth, rules, pool, count_pool, buffers, out
):
    """The forced split of a level, or none if it divides no node."""
    split = forced.splits[forced.of_node[0]]
    right_gain, left_gain = 0.0, 0.0
    n_right, n_left, any_missing = 0, 0, False
    left_h, all_h = np.int64(0), np.int64(0)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.open == 0:
            continue
        right_score, left_score, missing, left, _ = score_forced(
            split, node, i, features, starts, n_bins, growth, rules, pool, count_pool, buffers
        )
        any_missing = any_missing or missing
        left_h += np.int64(np.int32(left))
        all_h += np.int64(np.int32(node.sums))
        parent = node_score(node, i, growth, rules)
        if right_score > NO_SPLIT:
            n_right += 1
            right_gain += right_score - parent
        if left_score > NO_SPLIT:
            n_left += 1
            left_gain += left_score - parent
    if n_right + n_left == 0:
        forced.of_node[0] = -1
        return
    missing_left = np.int64(n_right == 0 or (n_left > 0 and left_gain > right_gain))
    gain = left_gain if missing_left else right_gain
    if not any_missing:
        missing_left = np.int64(2 * left_h >= all_h)
    place = np.int64(place_of(features, split[FEATURE]))
    for r in range(out.shape[0]):
        set_split(out[r], gain, place, split[FEATURE], split[BIN], missing_left)
        make_cut(out[r])
