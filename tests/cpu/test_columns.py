"""Codes are the same, whatever they are laid out in."""

import sys

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.kernels.cpu import columns as columns_module
from gpuboost.kernels.cpu._jit import exposed, helper
from gpuboost.kernels.cpu.columns import SparseColumns, code_of, column_of
from gpuboost.kernels.cpu.sparse import by_columns

codes_of = exposed(columns_module.codes_of)


@numba.njit
def all_codes(columns, n_features, n_rows):
    out = np.empty((n_features, n_rows), np.uint8)
    for f in range(n_features):
        column = column_of(columns, f)
        for row in range(n_rows):
            out[f, row] = code_of(column, row)
    return out


def sparse_columns(codes, stored, absent):
    """Of codes (n_features, n_rows), each below 8."""
    first = np.arange(len(codes) + 1) * 8
    begin = np.concatenate([[0], np.cumsum(stored.sum(axis=0))])
    entries = [first[:-1][s] + c[s] for s, c in zip(stored.T, codes.T, strict=True)]
    return SparseColumns(begin, np.concatenate(entries).astype(np.uint32), first, absent)


def test_dense_and_sparse_columns(rng):
    absent = np.array([1, 0, 3, 2, 1], np.uint8)
    codes = np.tile(absent[:, None], (1, 40))
    stored = rng.random(codes.shape) < 0.3
    stored[:, 7] = False  # a row that stores nothing
    stored[3] = False  # and a column
    codes[stored] = rng.integers(0, 4, stored.sum())
    sparse = sparse_columns(codes, stored, absent)
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


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 400), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**31))
def test_codes_of_some_rows_by_any_of_three_ways(n_rows, density, share, seed):
    """Columns of many entries and few, rows of a node many and few."""
    rng = np.random.default_rng(seed)
    absent = np.array([2, 0, 5], np.uint8)
    stored = rng.random((3, n_rows)) < density
    dense = np.where(stored, rng.integers(0, 5, (3, n_rows)), absent[:, None]).astype(np.uint8)
    sparse = sparse_columns(dense, stored, absent)
    rows = np.flatnonzero(rng.random(n_rows) < share).astype(np.int32)
    out = np.full(len(rows), 99, np.uint8)
    for feature in range(3):
        codes_of(sparse, by_columns(sparse), feature, rows, out)
        np.testing.assert_array_equal(out, dense[feature, rows])
