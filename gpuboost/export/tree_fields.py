"""A tree with the fields of scikit-learn's trees, for code that reads those."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gpuboost.backend import on_host
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.tree import Tree

#: What scikit-learn writes for a child, and for a question, that is not there.
LEAF, UNDEFINED = -1, -2


class TreeFields:
    """Arrays of a tree under scikit-learn's names, one entry for each node.

    Nodes have the numbers that ``apply`` returns: the root is 0, and the children of a node stand
    side by side behind it. (scikit-learn numbers nodes in the order of a depth-first search.) A
    node that divides categories into sets has no threshold; it is NaN.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs, max_n_classes : int
        Sizes. ``max_n_classes`` is 1 if the tree predicts numbers.
    n_classes : ndarray of shape (n_outputs,)
        Number of classes of each output, 1 if the tree predicts numbers.
    children_left, children_right : ndarray of shape (node_count,)
        Numbers of the children; -1 in leaves.
    feature : ndarray of shape (node_count,)
        Feature that a node asks for; -2 in leaves.
    threshold : ndarray of shape (node_count,)
        Rows with at most this value go left; -2 in leaves.
    missing_go_to_left : ndarray of shape (node_count,)
        1 if rows with a missing value go left.
    value : ndarray of shape (node_count, n_outputs, max_n_classes)
        Predicted numbers, or shares of the classes.
    impurity : ndarray of shape (node_count,)
        Impurity of the training rows in the node. NaN in trees of gradient boosting.
    n_node_samples : ndarray of shape (node_count,)
        Training rows in the node.
    weighted_n_node_samples : ndarray of shape (node_count,)
        Sum of their weights; in gradient boosting of their hessians.
    """

    def __init__(self, tree: Tree, model: Any, ensemble: Ensemble) -> None:
        self._tree, self._model, self._ensemble = tree, model, ensemble
        inner = tree.left >= 0
        classes = ensemble.classes if ensemble.shares else None
        n_outputs = ensemble.n_outputs
        self.n_features = ensemble.features.n_tree_columns
        self.n_outputs = n_outputs
        self.n_classes = np.array([len(c) for c in classes] if classes else [1] * n_outputs)
        self.max_n_classes = int(self.n_classes.max())
        self.node_count = self.capacity = len(inner)
        self.n_leaves = tree.n_leaves
        self.max_depth = int(tree.depth.max())
        self.children_left = tree.left.astype(np.int64)
        self.children_right = tree.right.astype(np.int64)
        self.feature = np.where(inner, tree.feature, UNDEFINED).astype(np.int64)
        has_set = tree.first_word >= 0
        self.threshold = np.where(inner, np.where(has_set, np.nan, tree.threshold), UNDEFINED)
        self.missing_go_to_left = tree.missing_left.copy()
        self.impurity = tree.impurity if len(tree.impurity) else np.full(len(inner), np.nan)
        self.n_node_samples = tree.count.copy()
        self.weighted_n_node_samples = tree.cover.copy()
        self.value = by_output(tree.value, ensemble.first_channel, self.max_n_classes)

    def predict(self, X: Any) -> np.ndarray:
        """What the leaves of rows say, as in ``value``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, max_n_classes), or without the second for one
            Numbers, or shares of the classes.
        """
        out = self.value[self.apply(X)]
        return out[:, 0] if self.n_outputs == 1 else out

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of nodes.
        """
        return np.asarray(on_host(self._model.apply(X)))

    def decision_path(self, X: Any) -> Any:
        """The nodes that each row passes through.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        sparse matrix of shape (n_samples, node_count)
            1 where a row passes through a node.
        """
        return self._model.decision_path(X)

    def compute_node_depths(self) -> np.ndarray:
        """Depth of every node.

        Returns
        -------
        ndarray of shape (node_count,)
            1 for the root.
        """
        return self._tree.depth.astype(np.int64) + 1

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """Decrease of the impurity by the splits on each feature.

        Parameters
        ----------
        normalize : bool, default=True
            Whether to divide by the sum.

        Returns
        -------
        ndarray of shape (n_features,)
            Importances.
        """
        tree = self._tree
        by_column = self._ensemble.features.by_column
        sums = by_column(tree.sum_by_feature(tree.gain, self.n_features)) / tree.cover[0]
        return sums / (sums.sum() or 1.0) if normalize else sums


def by_output(value: np.ndarray, first_channel: np.ndarray, width: int) -> np.ndarray:
    """What nodes say, (n_nodes, n_channels), as (n_nodes, n_outputs, width), 0 where nothing is."""
    out = np.zeros((len(value), len(first_channel) - 1, width))
    for o, (begin, end) in enumerate(pairwise(first_channel)):
        out[:, o, : end - begin] = value[:, begin:end]
    return out
