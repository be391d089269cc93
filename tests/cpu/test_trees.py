"""Buffers of classical trees."""

import numpy as np
import pytest

from gpuboost.data.features import Feature, FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.exchange import GrownTree
from gpuboost.training.trees import GrowingTree, TreeGrower, TreeParams


def make_grower(backend, rng, criterion, n_rows=200):
    x = rng.integers(0, 40, (n_rows, 4)).astype(float)
    features = FeatureMap([Feature("categorical"), *[Feature("numeric")] * 3])
    coded = features.matrix_with_borders(x, np.ones(n_rows), None, backend)
    targets = TreeTargets.of_values(rng.integers(0, 9, (n_rows, 1)).astype(float))
    return TreeGrower(coded, targets, TreeParams(criterion, max_depth=4), backend)


def grower_of(grower):
    """The device's own."""
    n_ranks = len(grower.targets.ranks[1]) if grower.params.criterion == "absolute_error" else 0
    return grower.backend.make_tree_grower(
        grower.coded, grower.probability, grower.targets.first_channel, n_ranks
    )


def copied(tree):
    return GrownTree(tree.nodes, tree.sets, tree.rows.copy())


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_buffers_of_another_tree_change_nothing(backend, rng, criterion):
    """Trees of few rows, of more, and of few again: by one grower, and each by a new one."""
    grower = make_grower(backend, rng, criterion)
    jobs = []
    for n_rows in (30, 200, 12):
        weight = np.zeros(200)
        weight[rng.choice(200, n_rows, replace=False)] = 1.0
        jobs.append(grower._job(GrowingTree(weight, backend.mix_key(n_rows))))
    shared = grower_of(grower)
    together = [copied(tree) for tree in shared.grow_together(jobs)]
    for job, tree in zip(jobs, together, strict=True):
        alone = grower_of(grower).grow(job)
        assert len(tree.rows) == len(job.rows) and len(tree.nodes) > 1
        for one, other in zip(tree, alone, strict=True):
            np.testing.assert_array_equal(one, other)


def test_each_tree_is_grown_when_it_is_asked_for(backend, rng):
    grower = make_grower(backend, rng, "squared_error")
    job = grower._job(GrowingTree(np.ones(200), backend.mix_key(0)))
    trees = grower_of(grower).grow_together([job, None])
    assert len(next(iter(trees)).nodes) > 1  # the second one has not been looked at
