"""Tables to read, for the tests of them."""

import numpy as np

from gpuboost.tables import open_table, read_training


def read(path, target="y", **options):
    table_options = {
        name: options.pop(name) for name in ("format", "delimiter", "header") if name in options
    }
    return read_training(open_table(path, **table_options), target, **options)


def same(a, b):
    np.testing.assert_array_equal(a, np.asarray(b, a.dtype))
