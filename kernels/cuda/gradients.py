"""Gradients, rounding and metric values, one thread per row, from the scalar functions that the CPU compiles too."""

import functools
import math

import numpy as np

from gpuboost.formulas import hash32, unit_for
from gpuboost.kernels.cuda.rowwise import RowKernel


@functools.cache
def gradients(grad_hess, joint):
    """The kernel of a loss: (y, raw, g, h)."""
    if joint:

        def joint_gradients(i, y, raw, g, h):
            grad_hess(y, raw, i, i + 1, g, h)

        return RowKernel(joint_gradients)

    def row_gradients(i, y, raw, g, h):
        g[0, i], h[0, i] = grad_hess(y[i], raw[0, i])

    return RowKernel(row_gradients)


@functools.cache
def metric_values(row_value, per_row):
    """The kernel of a metric: (y, raw, values)."""
    if per_row:

        def values_of_rows(i, y, raw, values):
            values[i] = row_value(y[i], raw, i)

        return RowKernel(values_of_rows)

    def values_of_scores(i, y, raw, values):
        values[i] = row_value(y[i], raw[0, i])

    return RowKernel(values_of_scores)


def begin_tree(i, sums, k, coarse_room, fine_room, column_key, rounding_key, growth):
    """Scales and keys of a tree; one thread."""
    growth[0].gradient_unit = unit_for(coarse_room, sums[k, 0])
    growth[0].hessian_unit = unit_for(coarse_room, sums[k, 1])
    growth[0].fine_gradient_unit = unit_for(fine_room, sums[k, 0])
    growth[0].fine_hessian_unit = unit_for(fine_room, sums[k, 1])
    growth[0].column_key = column_key
    growth[0].rounding_key = rounding_key


def quantize_nearest(i, g, h, weight, weighted, growth, gh):
    """Round to nearest in two steps, so that a row of weight k counts exactly as k rows."""
    w = weight[i] if weighted else 1.0
    g_scale, h_scale = 1.0 / growth[0].gradient_unit, 1.0 / growth[0].hessian_unit
    qg = np.int64(math.floor(math.floor(g[i] * g_scale + 0.5) * w + 0.5))
    qh = np.int64(math.floor(math.floor(h[i] * h_scale + 0.5) * w + 0.5))
    gh[i] = (qg << np.int64(32)) + qh


def quantize_at_random(i, g, h, weight, weighted, growth, gh):
    """Round down after adding a uniform number in [0, 1), 16 bits of the row's hash for each."""
    w = weight[i] if weighted else 1.0
    g_scale, h_scale = 1.0 / growth[0].gradient_unit, 1.0 / growth[0].hessian_unit
    noise = hash32(growth[0].rounding_key, i)
    g_noise = np.float64(np.int32(noise & np.uint32(0xFFFF))) * (1.0 / 65536.0)
    h_noise = np.float64(np.int32(noise >> np.uint32(16))) * (1.0 / 65536.0)
    qg = np.int64(np.int32(math.floor(g[i] * w * g_scale + g_noise)))
    qh = np.int64(np.int32(math.floor(h[i] * w * h_scale + h_noise)))
    gh[i] = (qg << np.int64(32)) + qh


BEGIN_TREE = RowKernel(begin_tree)
QUANTIZE = {True: RowKernel(quantize_nearest), False: RowKernel(quantize_at_random)}
