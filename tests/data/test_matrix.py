"""Codes of features: ranks, bins and categories."""

import numpy as np
import pytest

from gpuboost.data.features import Feature, FeatureMap

NUMBER, CATEGORY = Feature(), Feature("categorical")


def values_of_codes(coded, f):
    """(lowest, highest) value of each code of a feature, code 0 aside."""
    span = slice(coded.begin[f] + 1, coded.begin[f + 1])
    return coded.lower[span], coded.upper[span]


def test_exact_codes_are_ranks_of_the_distinct_values(backend, rng):
    x = rng.integers(0, 9, (50, 2)).astype(float)
    x[::7, 0] = np.nan
    coded = FeatureMap([NUMBER] * 2).matrix_with_borders(x, np.ones(50), None, backend)
    for f in range(2):
        known = np.unique(x[~np.isnan(x[:, f]), f])
        expected = [0 if np.isnan(v) else 1 + known.tolist().index(v) for v in x[:, f]]
        np.testing.assert_array_equal(coded.columns[f], expected)
        for values in values_of_codes(coded, f):
            np.testing.assert_array_equal(values, known)
    np.testing.assert_array_equal(coded.by_rows, coded.columns.T)
    assert coded.n_rows == 50 and np.isnan(coded.lower[coded.begin[:-1]]).all()


def test_bins_say_the_lowest_and_highest_value_they_hold(backend, rng):
    x = rng.normal(size=(300, 1))
    coded = FeatureMap([NUMBER]).matrix_with_borders(x, np.ones(300), 8, backend)
    lower, upper = values_of_codes(coded, 0)
    assert coded.columns.dtype == np.uint8 and coded.n_codes[0] == 9
    for code in range(1, 9):
        own = x[coded.columns[0] == code]
        assert lower[code - 1] == own.min() and upper[code - 1] == own.max()
    assert (lower[1:] > upper[:-1]).all()


@pytest.mark.parametrize("max_bins", [None, 4])
def test_categories_keep_their_numbers(backend, max_bins):
    x = np.array([[2.0], [0.0], [np.nan], [1.0]])
    coded = FeatureMap([CATEGORY]).matrix_with_borders(x, np.ones(4), max_bins, backend)
    np.testing.assert_array_equal(coded.columns, [[3, 1, 0, 2]])
    assert coded.is_categorical.tolist() == [1] and coded.n_codes.tolist() == [4]


def test_values_of_rows_without_weight_do_not_count(backend):
    x = np.array([[1.0], [2.0], [3.0]])
    coded = FeatureMap([NUMBER]).matrix_with_borders(x, np.array([1.0, 0.0, 1.0]), None, backend)
    np.testing.assert_array_equal(coded.columns, [[1, 0, 2]])
    np.testing.assert_array_equal(values_of_codes(coded, 0)[0], [1.0, 3.0])


def test_many_values_need_wider_codes(backend):
    x = np.arange(300.0)[:, None]
    coded = FeatureMap([NUMBER]).matrix_with_borders(x, np.ones(300), None, backend)
    assert coded.columns.dtype == np.uint32 and coded.columns[0].tolist() == list(range(1, 301))
