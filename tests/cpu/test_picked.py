"""Copies of some rows of a matrix."""

import numpy as np
import pytest

from gpuboost.kernels.cpu import histogram, picked


@pytest.mark.parametrize(("n_features", "n"), [(1, 1), (8, 16), (13, 203), (24, 5000)])
def test_rows_are_copied_in_both_layouts(rng, n_features, n):
    matrix = rng.integers(0, 256, (7000, n_features)).astype(np.uint8)
    bins = np.append(matrix.reshape(-1), np.zeros(histogram.PADDING, np.uint8))
    gh = rng.integers(-(2**60), 2**60, 7000)
    rows = np.sort(rng.permutation(7000)[:n]).astype(np.int32)
    n_words, width = -(-n_features // 8), -(-n // 8) * 8
    by_rows, columns = (
        np.zeros(width * n_words, np.uint64),
        np.zeros((8 * n_words, width), np.uint8),
    )
    picked_gh = np.zeros(width, np.int64)
    counter = np.zeros(1, np.int64)
    picked.pick_rows(counter, bins, n_features, rows, gh, by_rows, columns, picked_gh)
    np.testing.assert_array_equal(
        by_rows.view(np.uint8).reshape(width, -1)[:n, :n_features], matrix[rows]
    )
    np.testing.assert_array_equal(columns[:n_features, :n], matrix[rows].T)
    np.testing.assert_array_equal(picked_gh[:n], gh[rows])
