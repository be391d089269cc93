"""Small forests, for the tests of importances."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from gpuboost.backend import get_backend
from gpuboost.data.features import FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.model.ensemble import Ensemble
from gpuboost.training.trees import GrowingTree, TreeGrower, TreeParams


def grow_forest(x, y, n_trees=10, classes=False, seed=0, replace=True, **params):
    """What the importances ask of a forest.

    Trees, how often rows are in their bags, and the channels of the outputs.
    """
    rng = np.random.default_rng(seed)
    n = len(x)
    counts = (
        rng.multinomial(n, np.full(n, 1 / n), n_trees) if replace else np.ones((n_trees, n), int)
    )
    y = np.asarray(y).reshape(n, -1)
    codes = [np.unique(y[:, o], return_inverse=True) for o in range(y.shape[1])]
    with get_backend("cpu", 2) as backend:
        if not classes:
            targets = TreeTargets.of_values(y)
        else:
            targets = TreeTargets.of_classes(
                np.stack([own for _, own in codes], axis=1), [len(values) for values, _ in codes]
            )
        coded = FeatureMap.of_numbers(x.shape[1]).matrix_with_borders(
            np.asarray(x), np.ones(n), None, backend
        )
        grower = TreeGrower(
            coded, targets, TreeParams("gini" if classes else "squared_error", **params), backend
        )
        trees = grower.grow_all(
            n_trees, lambda i: GrowingTree(counts[i].astype(float), backend.mix_key(seed, 5, i))
        )
    one = Ensemble.of_tree(trees[0], x.shape[1], targets.first_channel)
    ensemble = dataclasses.replace(
        one.with_trees(trees),
        shares=classes,
        classes=[values for values, _ in codes] if classes else None,
    )
    return SimpleNamespace(
        ensemble_=ensemble,
        bag_counts=lambda i: counts[i],
        check_rows=np.asarray,
        device="cpu",
        n_jobs=2,
        n_features_in_=x.shape[1],
    )


SMALL = ("two classes", "three classes", "numbers", "two outputs")
