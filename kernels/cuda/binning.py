"""Bins of a stretch of rows, one thread per value."""

import functools

import numpy as np

from gpuboost.kernels.cuda.rowwise import RowKernel


@functools.cache
def bin_values(as_float):
    """The kernel for values compared as ``as_float`` (numpy's float32 or float64)."""

    def bins_of_values(i, x, cuts, n_cuts, first_row, n_rows, group_features, bins):
        n_features = x.shape[1]
        row, f = i // n_features, i % n_features
        value = as_float(x[row, f])
        position, step = 0, 1
        while 2 * step <= n_cuts[f]:
            step *= 2
        while step > 0:
            if cuts[f, position + step - 1] < value:
                position += step
            step //= 2
        at = (f // group_features * n_rows + first_row + row) * group_features + f % group_features
        bins[at] = np.uint8(position + 1) if value == value else np.uint8(0)

    return RowKernel(bins_of_values)
