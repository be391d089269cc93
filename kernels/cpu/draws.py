"""Features that a tree, a level or a node may use: drawn at random, and those its path allows.

Draws are alike, or by weights: each feature arrives after a random time (see
``gpuboost.scalar.formulas.arrival``), and those that arrive first are drawn. This draws one feature
after the other without replacement, each with a probability in proportion to its weight among those
that are left.

Interaction constraints: features that split one path from the root belong to one group, at least. A
node knows the groups that hold all features of its path; what is in one of them may split it.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.dtypes import SYMMETRIC
from gpuboost.kernels.cpu._jit import helper
from gpuboost.scalar.formulas import arrival, hash32

#: All groups of a word.
ALL_GROUPS = 0xFFFFFFFFFFFFFFFF


class Weights(NamedTuple):
    """Weights of features, by which levels and nodes draw."""

    of_feature: Any  # (n_features,) float64, IN: above 0 for those that the tree may use
    arrivals: Any  # (n_features,) float64, SCRATCH


class Groups(NamedTuple):
    """Groups of features that may follow one another on a path, as bits of words."""

    of_feature: Any  # (n_features, n_words) uint64, IN: the groups that each feature is in
    # (max_nodes, n_words) uint64: those that hold the path of each node; with symmetric growth of
    # each level
    of_node: Any


def make_weights(of_feature):
    """Weights for draws, or None."""
    return None if of_feature is None else Weights(of_feature, np.empty(len(of_feature)))


def make_groups(of_feature, max_nodes):
    """Groups with room for the nodes of a tree, or None."""
    if of_feature is None:
        return None
    return Groups(of_feature, np.empty((max_nodes, of_feature.shape[1]), np.uint64))


@helper
def choose_some(allowed, n_wanted, key, chosen):
    """Mark n_wanted of the allowed entries (all of them if there are fewer).

    Each subset is equally likely.
    """
    n_left = 0
    for j in range(allowed.shape[0]):
        n_left += allowed[j] != 0
    for j in range(allowed.shape[0]):
        candidate = allowed[j] != 0  # read before it is written: both may be the same array
        chosen[j] = 0
        if candidate:
            if np.float64(hash32(key, j)) * n_left < n_wanted * 4294967296.0:
                chosen[j] = 1
                n_wanted -= 1
            n_left -= 1


@helper
def count_until(marks, arrivals, limit):
    """How many marked entries have arrived."""
    n = 0
    for j in range(marks.shape[0]):
        n += marks[j] != 0 and arrivals[j] <= limit
    return n


@helper
def choose_first(marks, arrivals, n_wanted):
    """Keep the n_wanted marked entries that arrive first, of equal ones the lowest."""
    n_marked, last = 0, 0.0
    for j in range(marks.shape[0]):
        if marks[j] != 0:
            n_marked += 1
            last = max(last, arrivals[j])
    if n_marked <= n_wanted:
        return
    low, high = -1.0, last  # too few have arrived by the one, enough by the other
    while True:
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        n = count_until(marks, arrivals, middle)
        if n >= n_wanted:
            high = middle
        else:
            low = middle
        if n == n_wanted:
            break
    room = n_wanted - count_until(marks, arrivals, low)
    for j in range(marks.shape[0]):
        if marks[j] != 0 and arrivals[j] > low:
            if arrivals[j] <= high and room > 0:
                room -= 1
            else:
                marks[j] = 0


@helper
def draw(features, weights, n_wanted, key, mask):
    """Keep n_wanted of the marked features of a tree; ``weights`` may be None."""
    if weights is None:
        choose_some(mask, n_wanted, key, mask)
    else:
        for j in range(mask.shape[0]):
            of_feature = weights.of_feature[features[j]]
            weights.arrivals[j] = arrival(hash32(key, j), of_feature)
        choose_first(mask, weights.arrivals[: mask.shape[0]], n_wanted)


@helper
def draw_columns(growth, level, node_id, child, features, weights, groups, masks):
    """Features a child may use: some of the tree's for its level, some of those for itself.

    Those for itself are of those that its groups allow. Symmetric growth uses the first draw.
    """
    p = growth[0]
    n = masks.shape[1]
    if n == 0:
        return
    mask = masks[child]
    for j in range(n):
        mask[j] = 1
    draw(features, weights, p.level_features, hash32(p.column_key, 2 * level), mask)
    n_wanted = np.int64(p.node_features)
    if groups is not None:
        place = level if p.order == SYMMETRIC else node_id
        n_allowed = keep_allowed(groups, place, features, mask)
        n_wanted = share_of_allowed(n_wanted, n_allowed, np.int64(p.level_features))
    if p.node_features < p.level_features:
        draw(features, weights, n_wanted, hash32(p.column_key, 2 * node_id + 1), mask)


@helper
def share_of_allowed(n_wanted, n_allowed, n_all):
    """As many of the allowed ones as ``n_wanted`` are of all, rounded, and one at least."""
    return max(np.int64(1), (2 * n_wanted * n_allowed + n_all) // (2 * n_all))


@helper
def keep_allowed(groups, place, features, mask):
    """Drop the features that no group of the path holds; returns how many are left."""
    live, n = groups.of_node[place], np.int64(0)
    for j in range(mask.shape[0]):
        own = groups.of_feature[features[j]]
        shared = np.uint64(0)
        for w in range(own.shape[0]):
            shared |= own[w] & live[w]
        if shared == np.uint64(0):
            mask[j] = 0
        n += mask[j] != 0
    return n


@helper
def begin_groups(groups):
    """The root's path is empty: every group holds it."""
    for w in range(groups.of_node.shape[1]):
        groups.of_node[0, w] = np.uint64(ALL_GROUPS)


@helper
def narrow_groups(groups, growth, level, nodes, parent_id):
    """The children's groups are those of the parent that hold the feature of its split."""
    parent, of_node = nodes[parent_id], groups.of_node
    own = groups.of_feature[parent.split.feature]
    symmetric = growth[0].order == SYMMETRIC
    before = level - 1 if symmetric else parent_id
    for w in range(own.shape[0]):
        live = of_node[before, w] & own[w]
        if symmetric:
            of_node[level, w] = live
        else:
            of_node[parent.left, w] = live
            of_node[parent.right, w] = live
