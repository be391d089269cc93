"""Cuts, codes and histograms of stored values are those of the same values in a dense matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from gpuboost.backend import host_backend
from gpuboost.data.features import cut_table
from gpuboost.data.sparse import sparse_rows
from gpuboost.dtypes import HIST_STRIDE
from gpuboost.kernels.cpu import binning, histogram, sparse
from gpuboost.kernels.cpu._jit import exposed

VALUES = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.0, -2.5, 3.0, 7.0, 7.5, np.nan, np.inf, -np.inf])


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, st.integers(1, 40), elements=VALUES), st.integers(2, 6), st.data())
def test_cuts_are_those_of_the_dense_column(column, max_values, data):
    n = len(column)
    weight = data.draw(arrays(np.float64, n, elements=st.integers(0, 3).map(float)))
    weight = weight if data.draw(st.booleans()) else np.empty(0)
    rows = np.flatnonzero(data.draw(arrays(np.bool_, n))) if data.draw(st.booleans()) else None
    stored = np.flatnonzero((column != 0) | data.draw(arrays(np.bool_, n)))  # zeros may be stored
    share = weight if weight.size else np.ones(n)
    sampled = None if rows is None else np.isin(np.arange(n), rows)
    total = share.sum() if rows is None else share[rows].sum()
    cuts = sparse.column_cuts(
        column[stored], stored, weight, sampled, total, absent=0.0, max_values=max_values
    )
    some = slice(None) if rows is None else rows
    dense = binning.column_cuts(
        column[some], weight[some] if weight.size else weight, None, max_values
    )
    np.testing.assert_array_equal(cuts, dense)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_of_columns_that_store_one_value(weighted, sampled, rng):
    """As encoders write them: 0 and 1, other values, nothing stored, everything stored."""
    x = np.zeros((60, 8))
    x[rng.random(x.shape) < 0.3] = 1.0
    x[:, 1] *= -2.5
    x[:, 2], x[:, 3], x[0, 4] = 0.0, 1.0, 7.0
    x[3, 5], x[:, 6] = np.inf, np.where(x[:, 6] > 0, np.nan, 0.0)
    weight = np.where(x[:, 7] > 0, 0.0, 2.0) if weighted else np.empty(0)
    rows = np.arange(0, 60, 3) if sampled else None
    with host_backend(n_jobs=1) as backend:
        for max_values in (2, 5):
            cuts = backend.find_sparse_cuts(
                sparse_rows(csr_array(x), False), weight, rows, max_values
            )
            expected = backend.find_cuts(x, weight, rows, max_values)
            for of_stored, of_dense in zip(cuts, expected, strict=True):
                np.testing.assert_array_equal(of_stored, of_dense)


@pytest.fixture
def matrix(rng):
    x = np.where(rng.random((300, 7)) < 0.2, np.round(rng.normal(size=(300, 7)), 1), 0.0)
    x[rng.random(x.shape) < 0.02] = np.nan
    x[:, 2] = 0.0
    x[11] = 0.0
    return x


@pytest.mark.parametrize("missing", [False, True])
def test_histograms_are_those_of_the_dense_matrix(matrix, missing, rng):
    dense = np.where(matrix == 0, np.nan, matrix) if missing else matrix
    x = sparse_rows(csr_array(matrix), missing)
    with host_backend(n_jobs=2) as backend:
        cuts = backend.find_sparse_cuts(x, np.empty(0), None, 20)
        columns = backend.bin_sparse(x, cuts)
        n_cuts = np.array([len(of_column) for of_column in cuts], np.int32)
        table = cut_table(cuts, np.dtype(np.float64))
        expected, bins = backend.bin_matrix(dense, table, n_cuts, by_rows=True)
        for own, of_dense in zip(
            cuts, backend.find_cuts(dense, np.empty(0), None, 20), strict=True
        ):
            np.testing.assert_array_equal(own, of_dense)
    rows = np.flatnonzero(rng.random(300) < 0.6).astype(np.int32)
    gh = rng.integers(-1000, 1000, 300)
    features = np.array([0, 2, 3, 5, 6], np.int32)
    cells = np.full(columns.first[-1] + 1, 99)
    exposed(sparse.build_sparse)(columns, rows, gh, cells)
    counts = np.full(len(cells), 99, np.int32)
    exposed(sparse.count_sparse)(columns, rows, counts)
    assert cells[-1] == gh[rows].sum()
    starts = columns.first[features]
    where = columns.absent, features, starts, 0, len(features), n_cuts + 1
    exposed(sparse.add_absent)(*where, gh[rows].sum(), cells)
    exposed(sparse.add_absent)(*where, len(rows), counts)
    for f, at in zip(features, starts, strict=True):
        for own, added in ((cells, gh[rows]), (counts, np.ones(len(rows)))):
            sums = np.bincount(expected[f, rows], added, minlength=n_cuts[f] + 2)
            np.testing.assert_array_equal(own[at : at + n_cuts[f] + 2], sums)
    assert bins.shape == (300 * 7 + histogram.PADDING,) and HIST_STRIDE > 256
