"""Gradients: a loss's scalar function over all rows, and the rounding of its results to packed fixed-point integers.

Rows are handled in blocks of BLOCK, the same ones whatever the number of threads; the sums that fix the scale are added block by block.
"""

import functools

import numpy as np
from numba.extending import register_jitable

from gpuboost.formulas import hash32
from gpuboost.kernels.cpu._jit import helper, kernel, take_number

BLOCK = 4096
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@functools.cache
def compile_gradients(grad_hess, joint):
    """Compile a loss's function into a loop over blocks of rows.

    ``grad_hess(y, raw) -> (g, h)`` for losses with one output; if ``joint``, ``grad_hess(y, raw, begin, end, g, h)`` fills columns
    begin..end of the (n_outputs, n_rows) arrays g and h.
    """
    register_jitable(grad_hess)

    if joint:

        @kernel
        def joint_gradients(
            counter,  # (1,) int64, INOUT
            y,  # (n_rows,) float64, IN
            raw,  # (n_outputs, n_rows) float64, IN
            weight,  # (n_rows,) float64 or (0,), IN
            g,  # (n_outputs, n_rows) float64, OUT
            h,  # (n_outputs, n_rows) float64, OUT
            sums,  # (n_blocks, n_outputs, 2) float64, OUT: weighted sums of |g| and h
        ):
            block = take_number(counter)
            while block < sums.shape[0]:
                begin, end = block * BLOCK, min((block + 1) * BLOCK, y.shape[0])
                grad_hess(y, raw, begin, end, g, h)
                for k in range(raw.shape[0]):
                    add_up(g[k, begin:end], h[k, begin:end], weight[begin:end], sums[block, k])
                block = take_number(counter)

        return joint_gradients

    @kernel
    def gradients(counter, y, raw, weight, g, h, sums):
        block = take_number(counter)
        while block < sums.shape[0]:
            begin, end = block * BLOCK, min((block + 1) * BLOCK, y.shape[0])
            y_, raw_, g_, h_ = y[begin:end], raw[0, begin:end], g[0, begin:end], h[0, begin:end]
            for i in range(end - begin):
                g_[i], h_[i] = grad_hess(y_[i], raw_[i])
            add_up(g_, h_, weight[begin:end], sums[block, 0])
            block = take_number(counter)

    return gradients


@helper
def add_up(g, h, weight, out):
    """Weighted sums of |g| and h in four interleaved lanes: one fixed order that still vectorises."""
    weighted = weight.shape[0] > 0
    n = np.uint64(g.shape[0])
    g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0
    h0, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0
    i = np.uint64(0)
    while i + THREE < n:
        w0 = weight[i] if weighted else 1.0
        w1 = weight[i + ONE] if weighted else 1.0
        w2 = weight[i + TWO] if weighted else 1.0
        w3 = weight[i + THREE] if weighted else 1.0
        g0 += abs(g[i]) * w0
        g1 += abs(g[i + ONE]) * w1
        g2 += abs(g[i + TWO]) * w2
        g3 += abs(g[i + THREE]) * w3
        h0 += h[i] * w0
        h1 += h[i + ONE] * w1
        h2 += h[i + TWO] * w2
        h3 += h[i + THREE] * w3
        i += FOUR
    while i < n:
        w0 = weight[i] if weighted else 1.0
        g0 += abs(g[i]) * w0
        h0 += h[i] * w0
        i += ONE
    out[0] = (g0 + g1) + (g2 + g3)
    out[1] = (h0 + h1) + (h2 + h3)


@kernel
def sum_blocks(sums, out):
    """Add the blocks' sums in their order: (n_blocks, n_outputs, 2) -> (n_outputs, 2)."""
    for k in range(out.shape[0]):
        out[k, 0], out[k, 1] = 0.0, 0.0
    for block in range(sums.shape[0]):
        for k in range(out.shape[0]):
            out[k, 0] += sums[block, k, 0]
            out[k, 1] += sums[block, k, 1]


@kernel
def quantize(
    counter,  # (1,) int64, INOUT
    g,  # (n_rows,) float64, IN
    h,  # (n_rows,) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    g_scale,  # steps per unit of gradient: a power of two
    h_scale,
    nearest,  # round to nearest instead of at random
    key,  # of this tree's rounding
    gh,  # (n_rows,) int64 packed, OUT
):
    """Round weighted gradients and hessians to integers and pack them.

    Random rounding adds a uniform number in [0, 1), 16 bits of the row's hash for each, and rounds down: right on average, so that the
    error of a sum grows with the root of its rows. On small data there are bits to spare and rounding is to nearest, in two steps (the
    gradient, then its product with the weight): a row of weight k then counts exactly as k rows.
    """
    n = g.shape[0]
    weighted = weight.shape[0] > 0
    block = take_number(counter)
    while block * BLOCK < n:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n)
        g_, h_, out = g[begin:end], h[begin:end], gh[begin:end]
        w_ = weight[begin:end]
        if nearest:
            for i in range(end - begin):
                w = w_[i] if weighted else 1.0
                qg = np.int64(np.floor(np.floor(g_[i] * g_scale + 0.5) * w + 0.5))
                qh = np.int64(np.floor(np.floor(h_[i] * h_scale + 0.5) * w + 0.5))
                out[i] = (qg << 32) + qh
        elif weighted:
            for i in range(end - begin):
                out[i] = pack(g_[i] * w_[i] * g_scale, h_[i] * w_[i] * h_scale, hash32(key, begin + i))
        else:
            for i in range(end - begin):
                out[i] = pack(g_[i] * g_scale, h_[i] * h_scale, hash32(key, begin + i))
        block = take_number(counter)


@helper
def pack(g, h, noise):
    """Round a pair at random and pack it."""
    g_noise = np.float64(np.int32(noise & np.uint32(0xFFFF))) * (1.0 / 65536.0)
    h_noise = np.float64(np.int32(noise >> np.uint32(16))) * (1.0 / 65536.0)
    return (np.int64(np.int32(np.floor(g + g_noise))) << 32) + np.int64(np.int32(np.floor(h + h_noise)))


@kernel
def fixed_point_sum(values, weight, scale):
    """Sum of values times weights in 64-bit fixed point: exact, so its order does not matter."""
    total = np.int64(0)
    for i in range(values.shape[0]):
        v = values[i] * weight[i] if weight.shape[0] > 0 else values[i]
        total += np.int64(np.floor(v * scale + 0.5))
    return total


@functools.cache
def compile_mean(row_value, per_row):
    """Compile a metric's row function into weighted block sums: ``sums[block, 0]`` = (sum of values, sum of weights)."""
    register_jitable(row_value)

    if per_row:

        @kernel
        def sum_rows(counter, y, raw, weight, sums):
            block = take_number(counter)
            while block < sums.shape[0]:
                total, total_weight = 0.0, 0.0
                for i in range(block * BLOCK, min((block + 1) * BLOCK, y.shape[0])):
                    w = weight[i] if weight.shape[0] > 0 else 1.0
                    total += w * row_value(y[i], raw, i)
                    total_weight += w
                sums[block, 0, 0], sums[block, 0, 1] = total, total_weight
                block = take_number(counter)

        return sum_rows

    @kernel
    def sum_values(counter, y, raw, weight, sums):
        block = take_number(counter)
        while block < sums.shape[0]:
            total, total_weight = 0.0, 0.0
            for i in range(block * BLOCK, min((block + 1) * BLOCK, y.shape[0])):
                w = weight[i] if weight.shape[0] > 0 else 1.0
                total += w * row_value(y[i], raw[0, i])
                total_weight += w
            sums[block, 0, 0], sums[block, 0, 1] = total, total_weight
            block = take_number(counter)

    return sum_values
