"""Cuts of columns and bins of values."""

import numpy as np
import pytest

from gpuboost.data.features import cut_table
from gpuboost.kernels.cpu.binning import bin_matrix, code_borders, column_cuts


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_a_bin_is_one_more_than_the_cuts_below_a_value(rng, dtype):
    x = (100 * rng.normal(size=(700, 3))).astype(dtype)
    if dtype != np.int16:
        x[::9, 1] = np.nan
    cuts = [np.sort(rng.choice(100 * rng.normal(size=300), n, replace=False)) for n in (0, 1, 254)]
    n_cuts = np.array([0, 1, 254], np.int32)
    columns, bins = np.empty((3, 700), np.uint8), np.empty(2100, np.uint8)
    table = cut_table(cuts, np.dtype(np.float32 if dtype == np.float32 else np.float64))
    bin_matrix(np.zeros(1, np.int64), x, table, n_cuts, columns, bins)
    for f, own in enumerate(cuts):
        expected = 1 + (x[:, f, None] > own).sum(axis=1)
        np.testing.assert_array_equal(columns[f], np.where(np.isnan(x[:, f]), 0, expected))
    np.testing.assert_array_equal(bins.reshape(700, 3), columns.T)


def test_cuts_are_between_all_values_if_they_are_few_also_of_rows_that_were_not_sampled():
    column, none = np.array([1.0, 1.0, 2.0, np.nan, 9.0]), np.empty(0)
    np.testing.assert_array_equal(column_cuts(column, none, None, 5), [1.5, 5.5])
    np.testing.assert_array_equal(column_cuts(column, none, np.array([0, 1]), 5), [1.5, 5.5])
    weight = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(column_cuts(column, weight, None, 5), [5.0])


def test_values_behind_codes():
    lower, upper = np.empty(3), np.empty(3)
    column, codes = np.array([4, 1, 7, 5]), np.array([1, 0, 3, 1], np.uint8)
    code_borders(column, codes, lower, upper)
    assert lower.tolist() == [4, np.inf, 7] and upper.tolist() == [5, -np.inf, 7]
