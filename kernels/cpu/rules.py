"""Monotone features: bounds of leaf weights, and scores of cuts within them.

A monotone feature: what a tree says never falls (or never rises) along it. Each node has bounds for
the weights of all leaves below it. A cut of a monotone feature must have its sides in order, and
the middle between their weights becomes a bound of both: whatever is split later, leaves below the
one stay on their side of leaves below the other. Missing values have no place in the order: a cut
that divides them from all values is free.

Fits without such rules compile none of this: they hand ``None`` around.
"""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.kernels.cpu.scores import (
    NO_SPLIT,
    drop_small_sides,
    least_hessian,
    packed_score,
    sums_of_sides,
    unpacked,
)
from gpuboost.scalar.formulas import leaf_weight, score_at, within


class Rules(NamedTuple):
    """The rules of a fit, and what is known of the nodes of a tree by them."""

    directions: Any  # (n_features,) int32: 1: rises along the feature, -1: falls, 0: anything
    bounds: Any  # (max_nodes, 2) float64: lowest and highest weight of the leaves below each node


def make_rules(directions, max_nodes):
    """The rules for these directions with room for so many nodes; None: there are none."""
    return None if directions is None else Rules(directions, np.empty((max_nodes, 2)))


@inlined
def limits_of(rules, node_id, feature):
    """What a cut of a feature of a node has to keep to."""
    return rules.directions[feature], rules.bounds[node_id, 0], rules.bounds[node_id, 1]


@helper
def weight_within(sums, growth, low, high):
    """Gradient, hessian and weight of a leaf with these packed sums."""
    p = growth[0]
    g, h = unpacked(sums, p.gradient_unit, p.hessian_unit)
    return g, h, within(leaf_weight(g, h, p.reg_lambda, p.reg_alpha, p.max_delta_step), low, high)


@helper
def score_within(sums, growth, low, high):
    """``packed_score`` of a leaf whose weight has bounds."""
    g, h, weight = weight_within(sums, growth, low, high)
    return score_at(g, h, weight, growth[0].reg_lambda, growth[0].reg_alpha)


@helper
def node_score(node, node_id, growth, rules):
    """What a node scores as a leaf; ``rules`` may be None."""
    if rules is None:
        return packed_score(node.sums, growth)
    return score_within(node.sums, growth, rules.bounds[node_id, 0], rules.bounds[node_id, 1])


@helper
def score_cuts_within(
    limits,  # see ``limits_of``
    prefix,  # (>= last + 1,) int64 packed, IN: sums of the bins up to each
    extra,  # packed sums added to each left side (the missing rows, or 0)
    count_prefix,  # (>= last + 1,) int32, IN: rows up to each bin; None if rows are not counted
    extra_count,
    last,
    n_bins,  # of values: the cut behind the last of them is free
    total,  # packed sums of the node
    total_count,
    growth,  # (1,) GROWTH, IN
    scores,  # (>= last + 1,) float64, OUT: score of both sides, or NO_SPLIT
):
    """``score_cuts`` of leaves whose weights have limits; sides out of order are no cut."""
    p = growth[0]
    direction, low, high = limits
    gu, hu = p.gradient_unit, p.hessian_unit
    reg_lambda, reg_alpha, max_delta_step = p.reg_lambda, p.reg_alpha, p.max_delta_step
    least = least_hessian(growth)
    total_g, total_h = unpacked(total, gu, hu)
    for b in range(1, last + 1):
        gl, hl, gr, hr = sums_of_sides(prefix[b] + extra, total_g, total_h, gu, hu)
        wl = within(leaf_weight(gl, hl, reg_lambda, reg_alpha, max_delta_step), low, high)
        wr = within(leaf_weight(gr, hr, reg_lambda, reg_alpha, max_delta_step), low, high)
        score = score_at(gl, hl, wl, reg_lambda, reg_alpha) + score_at(
            gr, hr, wr, reg_lambda, reg_alpha
        )
        in_order = (direction * (wr - wl) >= 0.0) | (b >= n_bins)
        scores[b] = score if (hl >= least) & (hr >= least) & in_order else NO_SPLIT
    if count_prefix is not None:
        drop_small_sides(count_prefix, extra_count, last, total_count, growth, scores)


@helper
def begin_rules(rules):
    """The root's leaves may have any weight."""
    rules.bounds[0, 0] = -np.inf
    rules.bounds[0, 1] = np.inf


@helper
def hand_down(rules, growth, nodes, parent_id, n_bins):
    """Give the children of a node their bounds."""
    parent, bounds = nodes[parent_id], rules.bounds
    left, right, split = parent.left, parent.right, parent.split
    low, high = bounds[parent_id, 0], bounds[parent_id, 1]
    bounds[left, 0], bounds[left, 1] = low, high
    bounds[right, 0], bounds[right, 1] = low, high
    direction = rules.directions[split.feature]
    if direction == 0 or split.bin >= n_bins[split.feature]:
        return
    _, _, left_weight = weight_within(split.left, growth, low, high)
    _, _, right_weight = weight_within(parent.sums - split.left, growth, low, high)
    middle = 0.5 * (left_weight + right_weight)
    bounds[left, 1 if direction > 0 else 0] = middle
    bounds[right, 0 if direction > 0 else 1] = middle
