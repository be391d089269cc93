"""Gradients, rounding, metric values and the area under the ROC curve, one thread per row.

From the scalar functions that the CPU compiles too.
"""

import functools

import numpy as np

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.area import area_of_place, weight_steps
from gpuboost.scalar.arguments import of_row, of_rows
from gpuboost.scalar.fixed_point import begin_tree as set_units_and_keys
from gpuboost.scalar.fixed_point import pack_at_random, pack_nearest
from gpuboost.scalar.formulas import hash32, random_sign, unit_for


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


def sort_rows(i, order, y, raw, weight, weighted, totals, room, scores, steps):
    """The i-th lowest score, and the weight of its row: a positive row's, and a negative row's."""
    row = order[i]
    scores[i] = raw[0, row]
    row_steps = np.int64(1)
    if weighted:
        row_steps = np.int64(weight_steps(weight[row], unit_for(room, totals[0, 0])))
    is_positive = y[row] > 0.5
    steps[0, i] = row_steps if is_positive else np.int64(0)
    steps[1, i] = np.int64(0) if is_positive else row_steps


def areas_of_places(i, scores, sums, areas):
    """The area of the rows with equal scores, at the last of them; 0 at the others.

    ``sums`` are those of the weights of positive and negative rows, up to each row.
    """
    areas[i] = 0.0
    if i + 1 == scores.shape[0] or scores[i + 1] != scores[i]:
        before, first = -1, i  # the first row with this score lies behind the one and up to other
        while first - before > 1:
            middle = (before + first) // 2
            if scores[middle] == scores[i]:
                first = middle
            else:
                before = middle
        positive = sums[0, i] - (sums[0, before] if before >= 0 else np.int64(0))
        below = sums[1, before] if before >= 0 else np.int64(0)
        areas[i] = area_of_place(positive, sums[1, i] - below, below)


def count_pairs(i, sums, totals):
    """All pairs of a positive and a negative row, behind their area; one thread."""
    last = sums.shape[1] - 1
    totals[0, 1] = np.float64(sums[0, last]) * np.float64(sums[1, last])


def project(i, g, h, factors, key, out_g, out_h):
    """One gradient and one hessian of a row: sums over the outputs, times factors."""
    own_g, own_h = 0.0, 0.0
    for k in range(g.shape[0]):
        own_g += random_sign(key, k) * factors[k, 0] * g[k, i]
        own_h += factors[k, 1] * h[k, i]
    out_g[0, i], out_h[0, i] = own_g, own_h


BEGIN_TREE = RowKernel(begin_tree)
PROJECT = RowKernel(project)
SORT_ROWS = RowKernel(sort_rows)
AREAS_OF_PLACES = RowKernel(areas_of_places)
COUNT_PAIRS = RowKernel(count_pairs)
QUANTIZE = {True: RowKernel(quantize_nearest), False: RowKernel(quantize_at_random)}
