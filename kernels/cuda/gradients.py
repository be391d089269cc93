"""Gradients, rounding and metric values, one thread per row.

From the scalar functions that the CPU compiles too.
"""

import functools

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.arguments import of_row, of_rows
from gpuboost.scalar.fixed_point import begin_tree as set_units_and_keys
from gpuboost.scalar.fixed_point import pack_at_random, pack_nearest
from gpuboost.scalar.formulas import hash32


@functools.cache
def gradients(grad_hess, joint, n_arrays):
    """The kernel of a loss: (y, raw, arrays, g, h, *parameters)."""
    if joint:
        fill_range = of_rows(grad_hess, n_arrays)

        def joint_gradients(i, y, raw, arrays, g, h, *parameters):
            fill_range((y, raw, i, i + 1, g, h), arrays, *parameters)

        return RowKernel(joint_gradients)

    grad_hess_of_row = of_row(grad_hess, n_arrays)

    def row_gradients(i, y, raw, arrays, g, h, *parameters):
        g[0, i], h[0, i] = grad_hess_of_row((y[i], raw[0, i]), arrays, i, *parameters)

    return RowKernel(row_gradients)


@functools.cache
def group_gradients(grad_hess, n_arrays):
    """The kernel of a loss of whole groups: (y, raw, rows, begin, arrays, g, h, *parameters).

    One thread per group.
    """
    fill_group = of_rows(grad_hess, n_arrays)

    def gradients_of_groups(i, y, raw, rows, begin, arrays, g, h, *parameters):
        fill_group((y, raw, rows[begin[i] : begin[i + 1]], g, h), arrays, *parameters)

    return RowKernel(gradients_of_groups)


@functools.cache
def metric_values(row_value, per_row, n_arrays):
    """The kernel of a metric: (y, raw, scale, arrays, values, *parameters)."""
    value_of_row = of_row(row_value, n_arrays)
    if per_row:

        def values_of_rows(i, y, raw, scale, arrays, values, *parameters):
            values[i] = value_of_row((y[i], raw, i), arrays, i, *parameters)

        return RowKernel(values_of_rows)

    def values_of_scores(i, y, raw, scale, arrays, values, *parameters):
        values[i] = value_of_row((y[i], scale * raw[0, i]), arrays, i, *parameters)

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
