"""Bags of rows, balanced weights and out-of-bag means."""

import numpy as np
import pytest
from sklearn.utils import compute_sample_weight

from gpuboost.scalar.formulas import hash32
from gpuboost.training.bagging import BAGS, Bags, TreeWeights, balance, check_max_samples, votes


def test_the_ith_draw_is_a_hash_of_i(backend):
    n = 1000
    counts = Bags.of(np.ones(n), None, seed=3).counts(7, backend)
    key = backend.mix_key(3, BAGS, 7)
    drawn = (
        hash32(key, hash32(key, np.arange(n, dtype=np.uint32))).astype(np.uint64) * np.uint64(n)
    ) >> np.uint64(32)
    np.testing.assert_array_equal(counts, np.bincount(drawn.astype(int), minlength=n))


def test_bags_are_as_random_as_they_should_be(backend):
    """A row is drawn k times with the probabilities of a Poisson law.

    And two bags know nothing of each other.
    """
    n = 100_000
    bags = Bags.of(np.ones(n), None, seed=0)
    first, second = bags.counts(0, backend), bags.counts(1, backend)
    for k, p in enumerate(np.exp(-1) / np.array([1, 1, 2, 6])):
        assert abs((first == k).mean() - p) < 4 * np.sqrt(p / n)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(n)


@pytest.mark.parametrize(
    ("max_samples", "n_draws"), [(None, 80), (30, 30), (0.5, 40), (1e-9, 1), (2.0, 160), (500, 500)]
)
def test_rows_without_weight_are_never_drawn(backend, max_samples, n_draws):
    weight = np.ones(100)
    weight[::5] = 0
    bags = Bags.of(weight, max_samples, seed=0)
    counts = bags.counts(0, backend)
    assert counts.shape == (100,) and counts.sum() == n_draws and not counts[::5].any()
    without = Bags.of(weight[weight > 0], max_samples, seed=0)
    np.testing.assert_array_equal(counts[weight > 0], without.counts(0, backend))


def test_tree_weights_are_draws_times_weights_times_class_weights(backend, rng):
    weight, codes = (
        rng.random(200) + 0.5,
        np.stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200)], axis=1),
    )
    bags = Bags.of(weight, 50, seed=0)
    counts = bags.counts(4, backend)
    np.testing.assert_array_equal(
        TreeWeights(weight, bags, None).of_tree(4, backend), weight * counts
    )
    np.testing.assert_array_equal(TreeWeights(weight, None, None).of_tree(4, backend), weight)
    own = compute_sample_weight("balanced", codes, indices=np.repeat(np.arange(200), counts))
    np.testing.assert_allclose(
        TreeWeights(weight, bags, codes).of_tree(4, backend), weight * counts * own
    )


def test_balanced_classes_weigh_the_same_and_missing_ones_nothing():
    codes, counts = np.array([[0], [0], [0], [1], [2]]), np.array([1, 1, 2, 3, 0])
    np.testing.assert_allclose(
        np.bincount(codes[:, 0], balance(codes, counts) * counts), [3.5, 3.5, 0]
    )


def test_votes_go_to_the_first_of_the_highest():
    value = np.array([[0.2, 0.8, 0.5, 0.5, 0.0], [0.6, 0.4, 0.1, 0.4, 0.5]])
    np.testing.assert_array_equal(
        votes(value, np.array([0, 2, 5])), [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    )


@pytest.mark.parametrize("value", [0, -1, 0.0, -0.5, float("nan"), float("inf"), True, "all"])
def test_bad_max_samples(value):
    with pytest.raises(
        ValueError,
        match="max_samples must be None, an integer of at least 1 or a number above 0; got",
    ):
        check_max_samples(value, bootstrap=True)
    with pytest.raises(ValueError, match="max_samples must be None with bootstrap=False"):
        check_max_samples(5, bootstrap=False)
