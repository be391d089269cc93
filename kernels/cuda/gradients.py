"""Gradients, rounding and metric values, one thread per row.

From the scalar functions that the CPU compiles too.
"""

import functools

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.fixed_point import begin_tree as set_units_and_keys
from gpuboost.scalar.fixed_point import pack_at_random, pack_nearest
from gpuboost.scalar.formulas import hash32


@functools.cache
def gradients(grad_hess, joint):
    """The kernel of a loss: (y, raw, g, h, *parameters)."""
    if joint:

        def joint_gradients(i, y, raw, g, h, *parameters):
            grad_hess(y, raw, i, i + 1, g, h, *parameters)

        return RowKernel(joint_gradients)

    def row_gradients(i, y, raw, g, h, *parameters):
        g[0, i], h[0, i] = grad_hess(y[i], raw[0, i], *parameters)

    return RowKernel(row_gradients)


@functools.cache
def metric_values(row_value, per_row):
    """The kernel of a metric: (y, raw, scale, values, *parameters)."""
    if per_row:

        def values_of_rows(i, y, raw, scale, values, *parameters):
            values[i] = row_value(y[i], raw, i, *parameters)

        return RowKernel(values_of_rows)

    def values_of_scores(i, y, raw, scale, values, *parameters):
        values[i] = row_value(y[i], scale * raw[0, i], *parameters)

    return RowKernel(values_of_scores)


def begin_tree(i, *args):
    """Scales and keys of a tree; one thread."""
    set_units_and_keys(*args)


def quantize_nearest(i, g, h, weight, weighted, growth, gh):
    """Round to nearest and pack."""
    g_scale, h_scale = 1.0 / growth[0].gradient_unit, 1.0 / growth[0].hessian_unit
    gh[i] = pack_nearest(g[i] * g_scale, h[i] * h_scale, weight[i] if weighted else 1.0)


def quantize_at_random(i, g, h, weight, weighted, growth, gh):
    """Round at random and pack."""
    w = weight[i] if weighted else 1.0
    g_scale, h_scale = 1.0 / growth[0].gradient_unit, 1.0 / growth[0].hessian_unit
    gh[i] = pack_at_random(
        g[i] * w * g_scale, h[i] * w * h_scale, hash32(growth[0].rounding_key, i)
    )


BEGIN_TREE = RowKernel(begin_tree)
QUANTIZE = {True: RowKernel(quantize_nearest), False: RowKernel(quantize_at_random)}
