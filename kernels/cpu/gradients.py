"""Gradients of a loss's scalar function over all rows, and their rounding.

They are rounded to packed fixed-point integers.

Float sums (which fix the scale, and metrics) are added in one order on every device. Rows go in
blocks of BLOCK; in a block, LANES running sums take every LANES-th row each, and are then added in
pairs, halving their number until one is left. The sums of the blocks are added the same way."""

import functools

import numpy as np

from gpuboost.dtypes import SUM_BLOCK as BLOCK
from gpuboost.dtypes import SUM_LANES as LANES
from gpuboost.kernels.cpu._jit import helper, jitable, kernel, take_number
from gpuboost.scalar import fixed_point
from gpuboost.scalar.arguments import of_row, of_rows
from gpuboost.scalar.fixed_point import pack_at_random, pack_nearest
from gpuboost.scalar.formulas import hash32, random_sign

# Without being part of the loop, the calls that hand over further arrays would cost its vectors.
part_of_loop = functools.partial(jitable, forceinline=True)


@functools.cache
def compile_gradients(grad_hess, joint, n_arrays):
    """Compile a loss's function into a loop over blocks of rows.

    ``grad_hess(y, raw, *values, *parameters) -> (g, h)`` for losses with one output; if ``joint``,
    ``grad_hess(y, raw, begin, end, g, h, *arrays, *parameters)`` fills columns begin..end of the
    (n_outputs, n_rows) arrays g and h."""
    jitable(grad_hess)
    fill_range = of_rows(grad_hess, n_arrays, part_of_loop)
    grad_hess_of_row = of_row(grad_hess, n_arrays, part_of_loop)

    @kernel
    def gradients(
        counter,  # (1,) int64, INOUT
        y,  # (n_rows,) float64, IN
        raw,  # (n_outputs, n_rows) float64, IN
        weight,  # (n_rows,) float64 or (0,), IN
        arrays,  # (n_arrays, n_rows) float64, IN
        parameters,  # tuple of float64
        g,  # (n_outputs, n_rows) float64, OUT
        h,  # (n_outputs, n_rows) float64, OUT
        sums,  # (n_blocks, n_outputs, 2) float64, OUT: weighted sums of |g| and h
    ):
        lanes = np.empty((2, LANES))
        block = take_number(counter)
        while block < sums.shape[0]:
            begin, end = block * BLOCK, min((block + 1) * BLOCK, y.shape[0])
            if joint:  # known when this is compiled: only one of the two branches is
                fill_range((y, raw, begin, end, g, h), arrays, *parameters)
            else:
                y_, raw_, g_, h_ = y[begin:end], raw[0, begin:end], g[0, begin:end], h[0, begin:end]
                for i in range(end - begin):
                    g_[i], h_[i] = grad_hess_of_row(
                        (y_[i], raw_[i]), arrays, begin + i, *parameters
                    )
            for k in range(raw.shape[0]):
                add_up(g[k, begin:end], h[k, begin:end], weight[begin:end], lanes, sums[block, k])
            block = take_number(counter)

    return gradients


@functools.cache
def compile_group_gradients(grad_hess, n_arrays):
    """Compile a loss's function of whole groups into a loop over groups.

    ``grad_hess(y, raw, rows, g, h, *arrays, *parameters)`` fills the columns ``rows`` of the
    (n_outputs, n_rows) arrays g and h."""
    jitable(grad_hess)
    fill_group = of_rows(grad_hess, n_arrays, part_of_loop)

    @kernel
    def group_gradients(
        counter,  # (1,) int64, INOUT
        y,  # (n_rows,) float64, IN
        raw,  # (n_outputs, n_rows) float64, IN
        rows,  # (n,) int32, IN: the rows of all groups, one group after another
        begin,  # (n_groups + 1,) int64, IN: where the groups begin
        arrays,  # (n_arrays, n_rows) float64, IN
        parameters,  # tuple of float64
        g,  # (n_outputs, n_rows) float64, INOUT
        h,  # (n_outputs, n_rows) float64, INOUT
    ):
        group = take_number(counter)
        while group < begin.shape[0] - 1:
            group_rows = rows[begin[group] : begin[group + 1]]
            fill_group((y, raw, group_rows, g, h), arrays, *parameters)
            group = take_number(counter)

    return group_gradients


@kernel
def sum_gradients(
    counter,  # (1,) int64, INOUT
    g,  # (n_outputs, n_rows) float64, IN
    h,  # (n_outputs, n_rows) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    sums,  # (n_blocks, n_outputs, 2) float64, OUT: weighted sums of |g| and h
):
    """The sums of each block, of gradients that were not computed block by block."""
    lanes = np.empty((2, LANES))
    block = take_number(counter)
    while block < sums.shape[0]:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, g.shape[1])
        for k in range(g.shape[0]):
            add_up(g[k, begin:end], h[k, begin:end], weight[begin:end], lanes, sums[block, k])
        block = take_number(counter)


@helper
def fold(lanes):
    """The sum of LANES numbers, added in pairs; overwrites them."""
    step = LANES // 2
    while step > 0:
        for lane in range(step):
            lanes[lane] += lanes[lane + step]
        step //= 2
    return lanes[0]


@helper
def add_up(g, h, weight, lanes, out):
    """Weighted sums of |g| and h of one block; a hessian below zero makes its sum NaN."""
    weighted = weight.shape[0] > 0
    g_lanes, h_lanes = lanes[0], lanes[1]
    for lane in range(LANES):
        g_lanes[lane] = 0.0
        h_lanes[lane] = 0.0
    for start in range(0, g.shape[0], LANES):
        stop = min(start + LANES, g.shape[0])
        g_, h_, w_ = g[start:stop], h[start:stop], weight[start:stop]
        if weighted:
            for lane in range(g_.shape[0]):
                g_lanes[lane] += abs(g_[lane]) * w_[lane]
                h_lanes[lane] += (h_[lane] if h_[lane] >= 0.0 else np.nan) * w_[lane]
        else:
            for lane in range(g_.shape[0]):
                g_lanes[lane] += abs(g_[lane])
                h_lanes[lane] += h_[lane] if h_[lane] >= 0.0 else np.nan
    out[0] = fold(g_lanes)
    out[1] = fold(h_lanes)


@kernel
def sum_blocks(sums, out):
    """Add up the blocks' sums: (n_blocks, n_outputs, 2) -> (n_outputs, 2)."""
    lanes = np.empty(LANES)
    for k in range(out.shape[0]):
        for s in range(2):
            for lane in range(LANES):
                lanes[lane] = 0.0
            for block in range(sums.shape[0]):
                lanes[block % LANES] += sums[block, k, s]
            out[k, s] = fold(lanes)


@kernel
def project(
    counter,  # (1,) int64, INOUT
    g,  # (n_outputs, n_rows) float64, IN
    h,  # (n_outputs, n_rows) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    factors,  # (n_outputs, 2) float64, IN: of gradients and of hessians
    key,  # of the signs of the first ones
    out_g,  # (1, n_rows) float64, OUT
    out_h,  # (1, n_rows) float64, OUT
    sums,  # (n_blocks, 1, 2) float64, OUT: weighted sums of |out_g| and out_h
):
    """One gradient and one hessian of each row: sums over the outputs, times factors."""
    lanes = np.empty((2, LANES))
    block = take_number(counter)
    while block < sums.shape[0]:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, g.shape[1])
        own_g, own_h = out_g[0, begin:end], out_h[0, begin:end]
        for i in range(end - begin):
            own_g[i], own_h[i] = 0.0, 0.0
        for k in range(g.shape[0]):
            g_, h_ = g[k, begin:end], h[k, begin:end]
            g_factor, h_factor = random_sign(key, k) * factors[k, 0], factors[k, 1]
            for i in range(end - begin):
                own_g[i] += g_factor * g_[i]
                own_h[i] += h_factor * h_[i]
        add_up(own_g, own_h, weight[begin:end], lanes, sums[block, 0])
        block = take_number(counter)


begin_tree = kernel(fixed_point.begin_tree)


@helper
def round_block(g, h, weight, noise, g_scale, h_scale, nearest, out):
    """Round and pack a block of gradients; ``noise`` is for those rounded at random."""
    weighted = weight.shape[0] > 0
    if nearest:
        for i in range(out.shape[0]):
            out[i] = pack_nearest(g[i] * g_scale, h[i] * h_scale, weight[i] if weighted else 1.0)
    elif weighted:
        for i in range(out.shape[0]):
            out[i] = pack_at_random(
                g[i] * weight[i] * g_scale, h[i] * weight[i] * h_scale, noise[i]
            )
    else:
        for i in range(out.shape[0]):
            out[i] = pack_at_random(g[i] * g_scale, h[i] * h_scale, noise[i])


@kernel
def quantize(
    counter,  # (1,) int64, INOUT
    rows,  # (n,) int32, IN: whose gradients these are; (0,): those of all rows
    g,  # (n,) float64, IN
    h,  # (n,) float64, IN
    weight,  # (n,) float64 or (0,), IN
    growth,  # (1,) GROWTH, IN
    nearest,  # round to nearest instead of at random
    gh,  # (n,) int64 packed, OUT
):
    """Round weighted gradients and hessians to integers and pack them.

    Random rounding is right on average, so that the error of a sum grows with the root of its rows.
    On small data there are bits to spare and rounding is to nearest."""
    n, noise = g.shape[0], np.empty(BLOCK, np.uint32)
    g_scale, h_scale, key = (
        1.0 / growth[0].gradient_unit,
        1.0 / growth[0].hessian_unit,
        growth[0].rounding_key,
    )
    block = take_number(counter)
    while block * BLOCK < n:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n)
        if rows.shape[0] > 0:
            listed = rows[begin:end]
            for i in range(end - begin):
                noise[i] = hash32(key, listed[i])
        else:
            for i in range(end - begin):
                noise[i] = hash32(key, begin + i)
        round_block(
            g[begin:end], h[begin:end], weight[begin:end], noise, g_scale, h_scale, nearest,
            gh[begin:end],
        )  # fmt: skip
        block = take_number(counter)


@kernel
def fixed_point_sum(values, weight, scale):
    """Sum of values times weights in 64-bit fixed point: exact, so its order does not matter."""
    total = np.int64(0)
    for i in range(values.shape[0]):
        v = values[i] * weight[i] if weight.shape[0] > 0 else values[i]
        total += np.int64(np.floor(v * scale + 0.5))
    return total


@functools.cache
def compile_mean(row_value, per_row, n_arrays):
    """Compile a metric's row function into weighted block sums.

    ``sums[block, 0]`` = (sum of values, sum of weights).
    """
    jitable(row_value)
    value_of_row = of_row(row_value, n_arrays, part_of_loop)

    @kernel
    def sum_values(counter, y, raw, weight, scale, arrays, parameters, sums):
        lanes = np.empty((2, LANES))
        block = take_number(counter)
        while block < sums.shape[0]:
            for lane in range(LANES):
                lanes[0, lane], lanes[1, lane] = 0.0, 0.0
            for i in range(block * BLOCK, min((block + 1) * BLOCK, y.shape[0])):
                w = weight[i] if weight.shape[0] > 0 else 1.0
                # per_row is known when this is compiled: only one of the two calls is
                value = (
                    value_of_row((y[i], raw, i), arrays, i, *parameters)
                    if per_row
                    else value_of_row((y[i], scale * raw[0, i]), arrays, i, *parameters)
                )
                lanes[0, i % LANES] += w * value
                lanes[1, i % LANES] += w
            sums[block, 0, 0], sums[block, 0, 1] = fold(lanes[0]), fold(lanes[1])
            block = take_number(counter)

    return sum_values
