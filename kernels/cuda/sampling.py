"""Rows drawn by the size of their gradients, or in units, one thread per row or bucket.

From the scalar functions that the CPU compiles too.
"""

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.sampling import (
    add_sizes,
    fill_plan,
    find_limit,
    keep_row,
    keep_unit,
    measure_row,
)
from gpuboost.scalar.sampling import begin_sample as set_scale


def begin_sample(i, sums, root, n_rows, sample):
    """The scale of sizes; one thread."""
    set_scale(sums, root, n_rows, sample)


BEGIN_SAMPLE = RowKernel(begin_sample)
MEASURE_ROWS = RowKernel(measure_row)
ADD_SIZES = RowKernel(add_sizes)
FIND_LIMIT = RowKernel(find_limit)
FILL_PLAN = RowKernel(fill_plan)
KEEP_ROWS = RowKernel(keep_row)
KEEP_UNITS = RowKernel(keep_unit)
