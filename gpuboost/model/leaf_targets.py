"""The training targets behind the leaves of a forest: what quantiles are predicted from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpuboost.backend import HostOnly
from gpuboost.data.targets import TreeTargets
from gpuboost.model.ensemble import Ensemble


@dataclass(frozen=True)
class LeafTargets:
    """Training rows by leaves, and their targets: 12 bytes for each row of each tree's bag."""

    first_node: np.ndarray  # (n_trees + 1,) int64: where each tree's nodes begin
    begin: np.ndarray  # (n_nodes + 1,) int64: where each node's rows begin
    rows: np.ndarray  # (n,) int32: rows of all trees' leaves
    share: np.ndarray  # (n,) float64: their parts of the weight of their leaf
    rank: (
        np.ndarray
    )  # (n_rows, n_outputs) int32: of the row's target among the distinct ones of its output
    by_rank: np.ndarray  # (n_distinct, n_outputs) float64: these, ascending

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        targets: TreeTargets,
        ensemble: Ensemble,
        weight_of: Callable[[int], np.ndarray],
        backend: HostOnly,
    ) -> LeafTargets:
        """Find the training rows of all leaves.

        ``weight_of(i)`` are the rows' weights in tree i.
        """
        rows, share, n_rows = [], [], []
        for i, tree, leaves in ensemble.leaves_by_tree(x, backend):
            weight = weight_of(i)
            inside = np.flatnonzero(weight > 0)
            inside = inside[np.argsort(leaves[inside], kind="stable")].astype(np.int32)
            own, n_nodes = leaves[inside], len(tree.left)
            rows.append(inside)
            share.append(
                weight[inside] / np.bincount(own, weights=weight[inside], minlength=n_nodes)[own]
            )
            n_rows.append(np.bincount(own, minlength=n_nodes))
        return cls(
            first_node=np.concatenate([[0], np.cumsum([len(n) for n in n_rows])]).astype(np.int64),
            begin=np.concatenate([[0], np.cumsum(np.concatenate(n_rows))]).astype(np.int64),
            rows=np.concatenate(rows),
            share=np.concatenate(share),
            rank=targets.ranks[0],
            by_rank=targets.ranks[1],
        )

    def quantiles(self, leaves: np.ndarray, wanted: np.ndarray, backend: HostOnly) -> np.ndarray:
        """Quantiles (n_rows, n_outputs, n_quantiles) for rows whose leaves (n_rows.

        N_trees) are given.
        """
        arrays = self.first_node, self.begin, self.rows, self.share
        out = np.empty((self.rank.shape[1], len(leaves), len(wanted)))
        for o in range(len(out)):
            by_rank = np.ascontiguousarray(self.by_rank[:, o])
            backend.leaf_quantiles(
                leaves, arrays, np.ascontiguousarray(self.rank[:, o]), by_rank, wanted, out[o]
            )
        return np.ascontiguousarray(out.transpose(1, 0, 2))
