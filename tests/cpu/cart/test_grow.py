"""The loop over the nodes of a tree."""

import numpy as np
import pytest

from gpuboost.data.features import Feature, FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.kernels.cpu import trees as cpu_trees
from gpuboost.kernels.cpu.threads import Team
from gpuboost.training.trees import GrowingTree, TreeGrower, TreeParams


def grow(backend, x, y, nominal=0, **options):
    coded = FeatureMap([Feature("categorical" if nominal else "numeric")]).matrix_with_borders(
        x, np.ones(len(x)), None, backend
    )
    params = TreeParams("squared_error", **options)
    grower = TreeGrower(coded, TreeTargets.of_values(y[:, None]), params, backend)
    return grower.grow(GrowingTree(np.ones(len(x)), backend.mix_key(0)))


def test_nodes_stand_depth_first_unless_leaves_are_limited(backend):
    """The right half has the larger gains, which only a limit of leaves looks at."""
    x, y = np.arange(8.0)[:, None], np.array([0.0, 1, 2, 3, 100, 110, 130, 140])
    tree = grow(backend, x, y, max_depth=2)
    assert tree.left.tolist() == [1, 3, 5, -1, -1, -1, -1]
    limited = grow(backend, x, y, max_leaf_nodes=3)
    assert limited.left.tolist() == [1, -1, 3, -1, -1]
    assert limited.threshold[[0, 2]].tolist() == [3.5, 5.5]


def test_sets_of_categories_grow_as_they_are_needed(backend, rng):
    x = rng.permutation(200).astype(float)[:, None] % 100
    tree = grow(backend, x, rng.random(200), nominal=1, min_data_per_category=1)
    inner = tree.left >= 0
    assert inner.sum() > 10 and len(tree.sets) == 2 * inner.sum()
    assert sorted(tree.first_word[inner]) == list(range(0, len(tree.sets), 2))


@pytest.mark.parametrize("y", [np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0])])
def test_a_node_of_equal_targets_or_values_is_a_leaf(backend, y):
    x = np.zeros((4, 1)) if y.any() else np.arange(4.0)[:, None]
    assert grow(backend, x, y).left.tolist() == [-1]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_growth_that_comes_back_after_each_feature_goes_on_where_it_was(
    backend, rng, monkeypatch, criterion
):
    """So that a Ctrl-C is seen in time, however many rows and features a node has."""
    x, y = rng.integers(0, 9, (120, 5)).astype(float), rng.random(120)
    coded = FeatureMap([Feature("numeric")] * 5).matrix_with_borders(x, np.ones(120), None, backend)
    targets = TreeTargets.of_values(y[:, None])
    params = TreeParams(criterion, max_features=3, max_depth=4)
    trees, calls = [], []
    monkeypatch.setattr(Team, "check", lambda team: calls.append(1))
    for budget in (1 << 40, 1):
        monkeypatch.setattr(cpu_trees, "TREE_BUDGET", budget)
        grower = TreeGrower(coded, targets, params, backend)
        trees.append(grower.grow(GrowingTree(np.ones(120), backend.mix_key(0))))
    whole, parts = trees
    assert len(calls) > 2 * (whole.left >= 0).sum()
    for name in ("feature", "threshold", "left", "value"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
