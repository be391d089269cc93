"""Bags of rows, balanced weights, the bagging loop, out-of-bag means and warm starts."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils import compute_sample_weight

from gpuboost.data.features import FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.model.ensemble import Ensemble
from gpuboost.scalar.formulas import hash32
from gpuboost.training.bagging import (
    BAGS,
    BaggingParams,
    Bags,
    TreeWeights,
    balance,
    check_max_samples,
    check_same_origin,
    digest,
    grow_forest,
    origin_of_trees,
    out_of_bag,
    trees_to_keep,
)
from gpuboost.training.trees import TreeGrower, TreeParams


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


@pytest.mark.parametrize("value", [0, -1, 0.0, -0.5, float("nan"), float("inf"), True, "all"])
def test_bad_max_samples(value):
    with pytest.raises(
        ValueError,
        match="max_samples must be None, an integer of at least 1 or a number above 0; got",
    ):
        check_max_samples(value, bootstrap=True)
    with pytest.raises(ValueError, match="max_samples must be None with bootstrap=False"):
        check_max_samples(5, bootstrap=False)


# --- the loop


def classes_and_grower(rng, backend, params=None):
    """A small problem of two classes that the first feature tells apart."""
    x = rng.normal(size=(60, 3))
    codes = (x[:, :1] > 0).astype(np.int64)
    coded = FeatureMap.of_numbers(3).matrix_with_borders(x, np.ones(60), None, backend)
    targets = TreeTargets.of_classes(codes, [2])
    return x, codes, TreeGrower(coded, targets, params or TreeParams("gini", max_depth=2), backend)


def test_a_tree_depends_on_its_number_and_not_on_how_many_were_kept(backend, rng):
    _, codes, grower = classes_and_grower(rng, backend)
    weights = TreeWeights.of(np.ones(60), codes, BaggingParams(), seed=3)
    at_once = grow_forest([], grower, weights, BaggingParams(5), seed=3)
    first = grow_forest([], grower, weights, BaggingParams(2), seed=3)
    both = grow_forest(first, grower, weights, BaggingParams(5), seed=3)
    assert both[:2] == first and len(both) == len(at_once) == 5
    for one, other in zip(both, at_once, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)
        np.testing.assert_array_equal(one.value, other.value)


def test_each_tree_of_the_loop_is_grown_on_its_bag(backend, rng):
    _, codes, grower = classes_and_grower(rng, backend)
    params = BaggingParams(4, max_samples=20)
    weights = TreeWeights.of(np.ones(60), codes, params, seed=1)
    for i, tree in enumerate(grow_forest([], grower, weights, params, seed=1)):
        counts = weights.bags.counts(i, backend)
        assert tree.count[0] == (counts > 0).sum() and tree.cover[0] == counts.sum() == 20


def test_only_balanced_subsamples_know_the_classes(rng):
    codes = rng.integers(0, 2, (10, 1))
    for class_weight, balanced in [(None, None), ({0: 2.0}, None), ("balanced_subsample", codes)]:
        params = BaggingParams(bootstrap=False, class_weight=class_weight)
        weights = TreeWeights.of(np.ones(10), codes, params, seed=0)
        assert weights.balanced is balanced and weights.bags is None


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be an integer at least 1"),
        ({"verbose": -1}, ValueError, "verbose must be"),
        ({"bootstrap": 1}, ValueError, "bootstrap must be True or False; got 1"),
        ({"max_samples": 0}, ValueError, "max_samples must be None, an integer"),
        ({"max_samples": 5, "bootstrap": False}, ValueError, "with bootstrap=False"),
    ],
)
def test_parameters_of_the_loop_are_checked(wrong, error, message):
    with pytest.raises(error, match=message):
        BaggingParams(**wrong)


@pytest.mark.parametrize("vote", [False, True])
def test_out_of_bag_means_are_those_of_the_trees_without_the_row(backend, rng, vote):
    x, codes, grower = classes_and_grower(rng, backend)
    params = BaggingParams(30)
    weights = TreeWeights.of(np.ones(60), codes, params, seed=0)
    trees = grow_forest([], grower, weights, params, seed=0)
    one = Ensemble.of_tree(trees[0], 3, np.array([0, 2], np.int32))
    ensemble = replace(one, trees=trees, tree_weights=np.ones(30), vote=vote)
    ((_, means),) = out_of_bag(x, ensemble, weights.bags, backend)
    leaves = ensemble.leaves(x, backend)
    for row in range(60):
        outside = [i for i in range(30) if weights.bags.counts(i, backend)[row] == 0]
        says = np.array([trees[i].value[leaves[row, i]] for i in outside])
        expected = np.eye(2)[says.argmax(axis=1)] if vote else says
        np.testing.assert_allclose(means[row], expected.mean(axis=0))


def test_rows_that_all_bags_have_are_nan_with_a_warning(backend, rng):
    x, codes, grower = classes_and_grower(rng, backend)
    params = BaggingParams(1)
    weights = TreeWeights.of(np.ones(60), codes, params, seed=0)
    trees = grow_forest([], grower, weights, params, seed=0)
    ensemble = Ensemble.of_tree(trees[0], 3, np.array([0, 2], np.int32))
    within = weights.bags.counts(0, backend) > 0
    with pytest.warns(UserWarning, match=f"{within.sum()} of 60 training rows are in the bags"):
        ((_, means),) = out_of_bag(x, ensemble, weights.bags, backend)
    np.testing.assert_array_equal(np.isnan(means[:, 0]), within)


# --- warm start


def test_a_warm_start_keeps_trees_but_never_drops_any():
    trees = ["a", "b"]
    assert trees_to_keep(trees, 3) == trees
    with pytest.warns(UserWarning, match="all trees are fitted already"):
        assert trees_to_keep(trees, 2) == trees
    with pytest.raises(ValueError, match="n_estimators must be at least 2 .*; got 1"):
        trees_to_keep(trees, 1)


def test_the_same_origin_is_needed_to_add_trees():
    def origin(max_depth=3, seed=0, y=(1.0, 2.0)):
        tree_params = TreeParams("gini", max_depth=max_depth)
        return origin_of_trees(tree_params, BaggingParams(), seed, y=(np.array(y), "words"))

    check_same_origin(origin(), origin())
    for other, message in [
        (origin(max_depth=4), "max_depth is not what they were fitted with: 3, now 4"),
        (origin(seed=1), "random_state is not what they were fitted with: 0, now 1"),
        (origin(y=(1.0, 3.0)), "y is not what they were fitted with; set"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_same_origin(origin(), other)


def test_a_digest_names_content_in_order():
    a, b = np.arange(3), np.arange(3) + 1
    assert digest(a, "x") == digest(a.copy(), "x") and len(digest(a)) == 32
    assert len({digest(a, b), digest(b, a), digest(a), digest(a, "x"), digest(a[::-1])}) == 5
