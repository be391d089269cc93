"""Codes are the same, whatever they are laid out in."""

import sys

import numba
import numpy as np

from gpuboost.kernels.cpu._jit import helper
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


def test_columns_are_freed():
    """Kernels count references and helpers do not: what one takes is not left to the other."""

    @helper
    def first_code(columns):
        return code_of(column_of(columns, 0), 0)

    @numba.njit
    def kernel(columns):
        return first_code(columns)

    codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    before = sys.getrefcount(codes)
    assert kernel(codes) == 0
    assert sys.getrefcount(codes) == before
