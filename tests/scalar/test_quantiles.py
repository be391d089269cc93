"""Cuts of sorted columns."""

import numpy as np
import pytest

from gpuboost.scalar.quantiles import LOWEST, cut_between, distinct_values, quantile_cuts


def cuts_of(values, weight, max_bins):
    out = np.empty(max_bins - 1)
    return out[: quantile_cuts(np.asarray(values, float), np.asarray(weight, float), max_bins, out)]


@pytest.mark.parametrize("weighted", [False, True])
def test_distinct_values_add_up_their_weights(rng, weighted):
    values = np.sort(rng.integers(0, 10, 40)).astype(float)
    weight = rng.random(40) if weighted else np.empty(0)
    out, total = np.empty(40), np.empty(40)
    n = distinct_values(values, weight, out, total)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(out[:n], expected)
    np.testing.assert_allclose(total[:n], np.bincount(inverse, weight if weighted else None))


@pytest.mark.parametrize(
    ("a", "b", "cut"),
    [
        (1.0, 2.0, 1.5),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (-np.inf, 1.0, LOWEST),
        (1.0, np.inf, 1.0),
        (-1.7e308, 1.7e308, 0.0),
        (-np.inf, LOWEST, -np.inf),
    ],
)
def test_a_cut_is_at_or_above_the_first_and_below_the_second(a, b, cut):
    assert cut_between(a, b) == cut and a <= cut < b


def test_few_values_have_a_cut_between_any_two():
    np.testing.assert_array_equal(cuts_of([1, 2, 5], [1, 1, 1], 3), [1.5, 3.5])
    assert len(cuts_of([1], [1], 4)) == 0 and len(cuts_of([], [], 4)) == 0


def test_many_values_are_shared_out_evenly(rng):
    values = np.sort(rng.normal(size=1000))
    counts = np.histogram(values, [-np.inf, *cuts_of(values, np.ones(1000), 10), np.inf])[0]
    assert len(counts) == 10 and counts.min() >= 95 and counts.max() <= 105


def test_a_heavy_value_has_a_bin_of_its_own_and_the_others_share_the_rest():
    values, weight = np.arange(101.0), np.ones(101)
    weight[0] = 1000.0
    cuts = cuts_of(values, weight, 11)
    assert cuts[0] == 0.5 and len(cuts) == 10
    assert np.histogram(values, [*cuts, np.inf])[0].tolist() == [10] * 10
