"""The training targets behind the leaves of a forest: what quantiles are predicted from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import Backend, HostOnly
from gpuboost.config import Number
from gpuboost.data.targets import TreeTargets
from gpuboost.model.ensemble import Ensemble, begins_of
from gpuboost.model.file import need


@dataclass(frozen=True)
class LeafTargets:
    """Training rows by leaves, and their targets: 12 bytes for each row of each tree's bag."""

    #: Where each tree's nodes begin.
    first_node: Annotated[np.ndarray, np.int64, "trees_and_end"]
    begin: Annotated[np.ndarray, np.int64, "nodes_and_end"]  # where each node's rows begin
    rows: Annotated[np.ndarray, np.int32, "entries"]  # rows of all trees' leaves
    #: Their parts of the weight of their leaf.
    share: Annotated[np.ndarray, np.float64, "entries", Number(0, 1)]
    #: Of the row's target among the distinct ones of its output.
    rank: Annotated[np.ndarray, np.int32, "rows", "outputs"]
    #: These, ascending.
    by_rank: Annotated[np.ndarray, np.float64, "distinct", "outputs", Number(-math.inf)]

    @classmethod
    def of(
        cls,
        x: Any,
        targets: TreeTargets,
        ensemble: Ensemble,
        weight_of: Callable[[int], np.ndarray],
        backend: Backend,
    ) -> LeafTargets:
        """Find the training rows of all leaves.

        ``weight_of(i)`` are the rows' weights in tree i.
        """
        rows, share, n_rows = [], [], []
        for i, tree, leaves in ensemble.leaves_by_tree(x, backend):
            weight, n_nodes = weight_of(i), len(tree.left)
            in_bag = np.flatnonzero(weight > 0)
            by_leaf = in_bag[np.argsort(leaves[in_bag], kind="stable")].astype(np.int32)
            weight, leaf = weight[by_leaf], leaves[by_leaf]
            rows.append(by_leaf)
            share.append(weight / np.bincount(leaf, weights=weight, minlength=n_nodes)[leaf])
            n_rows.append(np.bincount(leaf, minlength=n_nodes))
        return cls(
            first_node=begins_of([len(n) for n in n_rows]),
            begin=begins_of(np.concatenate(n_rows)),
            rows=np.concatenate(rows),
            share=np.concatenate(share),
            rank=targets.ranks[0],
            by_rank=targets.ranks[1],
        )

    def check(self, ensemble: Ensemble) -> None:
        """Raise ModelFormatError unless every leaf of a model has targets, and only leaves do."""
        begin, rows, rank, by_rank = self.begin, self.rows, self.rank, self.by_rank
        is_leaf = ensemble.all_nodes("left") < 0
        need(
            np.array_equal(self.first_node, ensemble.walk_arrays[0])
            and len(begin) == len(is_leaf) + 1,
            "the targets of the leaves are of other trees",
        )
        need(
            begin[0] == 0 and begin[-1] == len(rows) and (begin[1:] >= begin[:-1]).all(),
            "the rows of the leaves are not in order",
        )
        need(
            ((begin[1:] > begin[:-1]) == is_leaf).all(),
            "a leaf has no training rows, or a node that is none has some",
        )
        need(
            ((rows >= 0) & (rows < len(rank))).all(),
            "a leaf has a training row that does not exist",
        )
        need(
            rank.shape[1] == ensemble.n_outputs
            and (rank >= 0).all()
            and int(rank.max()) + 1 == len(by_rank),
            "the targets' ranks are not those of the targets",
        )
        for ranks, targets in zip(rank.T, by_rank.T, strict=True):
            used = targets[: int(ranks.max()) + 1]
            need((used[1:] > used[:-1]).all(), "the training targets are not ascending")

    def quantiles(self, leaves: np.ndarray, wanted: np.ndarray, backend: HostOnly) -> np.ndarray:
        """Quantiles (n_rows, n_outputs, n_quantiles) from the rows' leaves (n_rows, n_trees)."""
        arrays = self.first_node, self.begin, self.rows, self.share
        out = np.empty((self.rank.shape[1], len(leaves), len(wanted)))
        for o in range(len(out)):
            rank, by_rank = map(np.ascontiguousarray, (self.rank[:, o], self.by_rank[:, o]))
            backend.leaf_quantiles(leaves, arrays, rank, by_rank, wanted, out[o])
        return np.ascontiguousarray(out.transpose(1, 0, 2))
