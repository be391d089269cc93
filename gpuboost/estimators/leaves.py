"""Where rows end up in the trees: ``apply`` and ``decision_path``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gpuboost.backend import on_host
from gpuboost.model.ensemble import ensemble_of


def find_leaves(model: Any, x: Any) -> Any:
    """The leaf of each checked row in each tree in use, (n_rows, n_trees) int32."""
    with model._backend(x) as backend:
        return ensemble_of(model).in_use.leaves(x, backend)


def find_paths(model: Any, x: Any) -> csr_matrix:
    """1 where a row passes through a node, (n_rows, nodes of all trees); on the host."""
    ensemble, leaves = ensemble_of(model).in_use, on_host(find_leaves(model, x))
    begin = ensemble.walk_arrays[0]
    rows, columns = [], []
    for tree, first, node in zip(ensemble.trees, begin, leaves.T, strict=False):
        parent, row = tree.parent, np.arange(len(x))
        while len(row):
            rows.append(row)
            columns.append(first + node)
            node = parent[node]
            row, node = row[node >= 0], node[node >= 0]
    entries = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(entries[0]), np.int64)
    paths = csr_matrix((ones, entries), shape=(len(x), begin[-1]))
    paths.sort_indices()
    return paths


class LeavesOfTrees:
    """What estimators of several trees say of their leaves."""

    def apply(self, X: Any) -> Any:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; the result is where they are.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Numbers of leaves; the nodes of each tree are numbered from 0 on. Boosting has one tree
            for each score of a round, side by side, and leaves out the rounds behind the best one
            after early stopping.
        """
        return find_leaves(self, self.check_rows(X))  # type: ignore[attr-defined]

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """Find the nodes that each row passes through, from the roots to the leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes through a node; the trees' nodes stand one after another. It is
            always on the host.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns from ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]`` are the nodes of tree i.
        """
        x = self.check_rows(X)  # type: ignore[attr-defined]
        return find_paths(self, x), ensemble_of(self).in_use.walk_arrays[0]
