"""Mean targets by level, as they are when each row is reached: a row never counts itself."""

import numpy as np

from gpuboost.kernels.cpu._jit import kernel


@kernel
def sort_by_code(
    rows,  # (n,) int32, IN
    code,  # (n_rows,) int32, IN: from 0 on
    n_codes,
    out,  # (n,) int32, OUT: the rows in the order of their codes, those of one code as they were
):
    """Count the rows of each code, and put each row behind those that come before it."""
    place = np.zeros(n_codes + 1, np.int64)
    for i in range(rows.shape[0]):
        place[code[rows[i]] + 1] += 1
    for c in range(n_codes):
        place[c + 1] += place[c]
    for i in range(rows.shape[0]):
        c = code[rows[i]]
        out[place[c]] = rows[i]
        place[c] += 1


@kernel(makes_arrays=False)
def ordered_means(
    rows,  # (n,) int32, IN: rows with weight by level, those of a level in the order they count in
    key,  # (n_rows,) int64, IN: the level of each row
    weight,  # (n_rows,) int64, IN: fixed point
    target,  # (n_rows, n_targets) int64, IN: weight times target, fixed point
    weight_unit,
    target_unit,  # (n_targets,) float64, IN
    prior,  # (n_targets,) float64, IN: a sum of targets that each level begins with
    prior_weight,  # and their weight
    mean,  # (n_rows, n_targets) float32, OUT: of the rows of the level that come before
    level_key,  # (n,) int64, OUT: the levels, in the order of the rows
    level_weight,  # (n,) int64, OUT: sums of each
    level_sum,  # (n, n_targets) int64, OUT
):
    """Pass through the rows once; returns how many levels there are.

    Sums are integers. Other rows keep what they have.
    """
    n = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        if n == 0 or key[row] != level_key[n - 1]:
            level_key[n] = key[row]
            level_weight[n] = 0
            for k in range(target.shape[1]):
                level_sum[n, k] = 0
            n += 1
        at = n - 1
        weight_before = level_weight[at] * weight_unit + prior_weight
        level_weight[at] += weight[row]
        for k in range(target.shape[1]):
            mean[row, k] = (level_sum[at, k] * target_unit[k] + prior[k]) / weight_before
            level_sum[at, k] += target[row, k]
    return n
