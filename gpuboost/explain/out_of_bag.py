"""What out-of-bag rows say of the features of a forest.

The computations behind ``importance``, on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpuboost.backend import Backend
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.tree import Tree


@dataclass(frozen=True)
class Bagged:
    """A forest with the rows it was trained on, as arrays."""

    ensemble: Ensemble
    x: np.ndarray  # (n_rows, n_features) float64, category numbers in nominal columns
    # (n_rows, n_channels) float64: values, or 1 for the row's class and 0 for the others
    y: np.ndarray
    bag_counts: Callable[[int], np.ndarray]  # how often each row is in the bag of a tree

    def by_tree(self, backend: Backend) -> Iterator[tuple[Tree, np.ndarray, np.ndarray]]:
        """Each tree, how often each row is in its bag, and the leaf of each row.

        Trees that have all rows in the bag are left out.
        """
        for t, tree, leaves in self.ensemble.leaves_by_tree(self.x, backend):
            counts = self.bag_counts(t)
            if (counts == 0).any():
                yield tree, counts.astype(np.float64), leaves


def permuted_by_tree(
    bagged: Bagged, rng: np.random.Generator, backend: Backend
) -> Iterator[np.ndarray]:
    """Increase of each tree's out-of-bag error by permuting each feature, (n_features,)."""
    for tree, counts, leaves in bagged.by_tree(backend):
        rows = np.flatnonzero(counts == 0)
        x = bagged.x[rows]
        error = _tree_error(bagged, tree, leaves[rows], rows)
        increase = np.zeros(x.shape[1])
        for f in np.unique(tree.feature[tree.left >= 0]):
            column = x[:, f].copy()
            x[:, f] = rng.permutation(column)
            # a few rows at a time, which go through one tree faster than to a device
            permuted = bagged.ensemble.with_trees([tree]).leaves(x, backend.host)[:, 0]
            x[:, f] = column
            increase[f] = _tree_error(bagged, tree, permuted, rows) - error
        yield increase


def _tree_error(bagged: Bagged, tree: Tree, leaves: np.ndarray, rows: np.ndarray) -> float:
    """Mean over rows and outputs of the squared error, or of wrong classes."""
    predicted, true = tree.value[leaves], bagged.y[rows]
    if not bagged.ensemble.shares:
        return float(((predicted - true) ** 2).mean())
    is_wrong = [
        predicted[:, a:b].argmax(axis=1) != true[:, a:b].argmax(axis=1)
        for a, b in pairwise(bagged.ensemble.first_channel)
    ]
    return float(np.mean(is_wrong))


def steps_by_tree(bagged: Bagged, backend: Backend) -> Iterator[np.ndarray]:
    """MDI-oob of each tree, (n_features,)."""
    for tree, counts, leaves in bagged.by_tree(backend):
        _, mean = _node_means(tree, leaves, counts, bagged.y)
        outside, outside_sums = node_sums(tree, leaves, (counts == 0).astype(np.float64), bagged.y)
        # y less the root's mean, summed over the out-of-bag rows of each node, times the node's
        # mean
        product = (mean * (outside_sums - outside[:, None] * mean[0])).sum(axis=1)
        gain = -_gain_by_feature(tree, product, bagged.x.shape[1])
        yield gain / outside[0] / bagged.ensemble.n_outputs


def improvements_by_tree(bagged: Bagged, backend: Backend) -> Iterator[np.ndarray]:
    """Unbiased split improvement of each tree, (n_features,)."""
    y = bagged.y - bagged.y.mean(axis=0)  # differences are the same, and lose no digits
    both, k = np.hstack([y, y * y]), y.shape[1]
    for tree, counts, leaves in bagged.by_tree(backend):
        bag_weight, bag = _node_means(tree, leaves, counts, both)
        outside, oob = _node_means(tree, leaves, (counts == 0).astype(np.float64), both)
        product = (bag[:, :k] * oob[:, :k]).sum(axis=1)
        impurity = 0.5 * (bag[:, k:] + oob[:, k:]).sum(axis=1) - product
        weighted = bag_weight / bag_weight[0] * impurity
        # both children of a split are reached by out-of-bag rows; of a leaf's, -1, nobody asks
        reached = (tree.left >= 0) & (outside[tree.left] > 0) & (outside[tree.right] > 0)
        gain = _gain_by_feature(tree, weighted, bagged.x.shape[1], reached)
        yield gain / bagged.ensemble.n_outputs


def projected_increase(bagged: Bagged, backend: Backend) -> np.ndarray:
    """Increase of each row's squared out-of-bag error when a feature is ignored.

    The shape is (n_features, n_rows), without the rows that are in the bag of every tree.
    """
    n_rows, n_features = bagged.x.shape
    sums = np.zeros((n_features + 1, *bagged.y.shape))  # the last is of the forest as it is
    n_trees = np.zeros(n_rows)
    for t, tree in enumerate(bagged.ensemble.trees):
        counts = bagged.bag_counts(t).astype(np.float64)
        outside = counts == 0
        ignored = [-1, *np.unique(tree.feature[tree.left >= 0])]
        predicted = np.zeros((len(ignored), *bagged.y.shape))

        def project(
            i: int,
            t: int = t,
            counts: np.ndarray = counts,
            ignored: list[int] = ignored,
            predicted: np.ndarray = predicted,
        ) -> None:
            backend.host.project_tree(
                bagged.x, bagged.ensemble, t, ignored[i], counts, bagged.y, predicted[i]
            )

        backend.host.share_out(len(ignored), project)
        # features that the tree does not ask for change nothing
        place = np.zeros(n_features + 1, np.int64)
        place[ignored[1:]] = np.arange(1, len(ignored))
        sums[:, outside] += predicted[place][:, outside]
        n_trees += outside
    rows = n_trees > 0
    errors = ((sums[:, rows] / n_trees[rows, None] - bagged.y[rows]) ** 2).sum(axis=2)
    return np.asarray(errors[:-1] - errors[-1])


def node_sums(
    tree: Tree, leaves: np.ndarray, weight: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight, and sum of weight times y, of the rows that reach each node."""
    rows = np.flatnonzero(weight)
    columns = [weight[rows], *(weight[rows] * y[rows, c] for c in range(y.shape[1]))]
    sums = np.stack(
        [np.bincount(leaves[rows], column, minlength=len(tree.left)) for column in columns], axis=1
    )
    levels = [np.array([0])]
    while len(levels[-1]):
        inner = levels[-1][tree.left[levels[-1]] >= 0]
        levels.append(np.concatenate([tree.left[inner], tree.right[inner]]))
    for level in reversed(levels):
        inner = level[tree.left[level] >= 0]
        sums[inner] = sums[tree.left[inner]] + sums[tree.right[inner]]
    return sums[:, 0], sums[:, 1:]


def _node_means(
    tree: Tree, leaves: np.ndarray, weight: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and mean of y of the rows that reach each node; 0 where there are none."""
    total, sums = node_sums(tree, leaves, weight, y)
    return total, sums / np.maximum(total, 1.0)[:, None]


def _gain_by_feature(
    tree: Tree, amount: np.ndarray, n_features: int, use: np.ndarray | None = None
) -> np.ndarray:
    """Sum over a feature's splits of the node's amount less those of its children."""
    inner = np.flatnonzero((tree.left >= 0) if use is None else use)
    gain = amount[inner] - amount[tree.left[inner]] - amount[tree.right[inner]]
    return np.bincount(tree.feature[inner], gain, minlength=n_features)
