"""Codes are the same, whatever they are laid out in."""

import numba
import numpy as np

from gpuboost.kernels.cpu.columns import SparseColumns, code_of, column_of


@numba.njit
def all_codes(columns, n_features, n_rows):
    out = np.empty((n_features, n_rows), np.uint8)
    for f in range(n_features):
        column = column_of(columns, f)
        for row in range(n_rows):
            out[f, row] = code_of(column, row)
    return out


def test_dense_and_sparse_columns(rng):
    absent = np.array([1, 0, 3, 2, 1], np.uint8)
    codes = np.tile(absent[:, None], (1, 40))
    stored = rng.random(codes.shape) < 0.3
    stored[:, 7] = False  # a row that stores nothing
    stored[3] = False  # and a column
    codes[stored] = rng.integers(0, 4, stored.sum())
    first = np.arange(6) * 4
    begin = np.concatenate([[0], np.cumsum(stored.sum(axis=0))])
    entries = np.concatenate([first[:5][s] + c[s] for s, c in zip(stored.T, codes.T, strict=True)])
    sparse = SparseColumns(begin, entries.astype(np.uint32), first, absent)
    np.testing.assert_array_equal(all_codes(codes, 5, 40), codes)
    np.testing.assert_array_equal(all_codes(sparse, 5, 40), codes)
