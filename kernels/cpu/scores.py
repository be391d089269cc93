"""What cuts are worth: scores of both sides from packed sums."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.scalar.formulas import leaf_score, plain_score

#: The score of a cut that a node may not take.
NO_SPLIT = -np.inf


@inlined
def unpacked(sums, gradient_unit, hessian_unit):
    """Gradient and hessian of packed sums."""
    g, h = np.float64(np.int32(sums >> 32)), np.float64(np.int32(sums))
    return g * gradient_unit, h * hessian_unit


@inlined
def sums_of_sides(left, total_g, total_h, gradient_unit, hessian_unit):
    """Gradients and hessians of both sides of a cut, from the packed sums of the left one."""
    gl, hl = unpacked(left, gradient_unit, hessian_unit)
    return gl, hl, total_g - gl, total_h - hl


@inlined
def least_hessian(growth):
    """What a side of a cut must have: a side without hessian is no side."""
    return max(growth[0].min_child_weight, 0.5 * growth[0].hessian_unit)


@helper
def score_cuts(
    prefix,  # (>= last + 1,) int64 packed, IN: sums of the bins up to each
    extra,  # packed sums added to each left side (the missing rows, or 0)
    count_prefix,  # (>= last + 1,) int32, IN: rows up to each bin; None if rows are not counted
    extra_count,
    last,
    total,  # packed sums of the node
    total_count,
    growth,  # (1,) GROWTH, IN
    scores,  # (>= last + 1,) float64, OUT: score of both sides, or NO_SPLIT
):
    """Score the cuts after bins 1..last."""
    p = growth[0]
    gu, hu = p.gradient_unit, p.hessian_unit
    reg_lambda, reg_alpha, max_delta_step = p.reg_lambda, p.reg_alpha, p.max_delta_step
    least = least_hessian(growth)
    total_g, total_h = unpacked(total, gu, hu)
    if reg_alpha == 0.0 and max_delta_step == 0.0:
        for b in range(1, last + 1):
            gl, hl, gr, hr = sums_of_sides(prefix[b] + extra, total_g, total_h, gu, hu)
            score = plain_score(gl, hl, reg_lambda) + plain_score(gr, hr, reg_lambda)
            scores[b] = score if (hl >= least) & (hr >= least) else NO_SPLIT
    else:
        for b in range(1, last + 1):
            gl, hl, gr, hr = sums_of_sides(prefix[b] + extra, total_g, total_h, gu, hu)
            scores[b] = NO_SPLIT
            if (hl >= least) & (hr >= least):
                scores[b] = leaf_score(gl, hl, reg_lambda, reg_alpha, max_delta_step) + leaf_score(
                    gr, hr, reg_lambda, reg_alpha, max_delta_step
                )
    if count_prefix is not None:
        drop_small_sides(count_prefix, extra_count, last, total_count, growth, scores)


@helper
def drop_small_sides(count_prefix, extra_count, last, total_count, growth, scores):
    """Cuts after bins 1..last with too few rows on a side score NO_SPLIT."""
    p = growth[0]
    for b in range(1, last + 1):
        n_left = np.int64(count_prefix[b]) + extra_count
        if n_left < p.min_samples_leaf or total_count - n_left < p.min_samples_leaf:
            scores[b] = NO_SPLIT


@helper
def packed_score(sums, growth):
    """``leaf_score`` of packed sums."""
    p = growth[0]
    g, h = unpacked(sums, p.gradient_unit, p.hessian_unit)
    return leaf_score(g, h, p.reg_lambda, p.reg_alpha, p.max_delta_step)


@helper
def larger_side_left(left, total):
    """Whether the left side weighs more: where missing values go that training has not seen."""
    return np.int32(left) >= np.int32(total - left)
