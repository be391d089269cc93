"""Sums of targets by level, as they are when each row is reached: a row never counts itself."""

from gpuboost.kernels.cpu._jit import kernel


@kernel
def ordered_sums(
    order,  # (n_counted,) int64, IN: rows with weight, in the order in which they count
    level,  # (n_rows,) int64, IN
    weight,  # (n_rows,) int64, IN: fixed point
    target,  # (n_rows, n_targets) int64, IN: weight times target, fixed point
    level_weight,  # (n_levels,) int64, IN and OUT: sums before the first row, and after the last
    level_sum,  # (n_levels, n_targets) int64, IN and OUT
    weight_before,  # (n_rows,) int64, OUT: what the rows before, of the same level, add up to
    sum_before,  # (n_rows, n_targets) int64, OUT
):
    """Pass through the rows once. Sums are integers, rows outside ``order`` keep what they have."""
    for i in range(order.shape[0]):
        row = order[i]
        at = level[row]
        weight_before[row] = level_weight[at]
        level_weight[at] += weight[row]
        for k in range(target.shape[1]):
            sum_before[row, k] = level_sum[at, k]
            level_sum[at, k] += target[row, k]
