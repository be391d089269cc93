"""The tree: one struct of arrays for growing, prediction, importances, drawing and saving."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


def _nothing(dtype: Any) -> Any:
    return field(default_factory=lambda: np.empty(0, dtype))


@dataclass(frozen=True)
class Tree:
    """Nodes in the order in which they were made: the root first, children behind their parents.

    The two children of a node stand side by side. A row goes left if its value is missing and
    ``missing_left`` is set; else if value <= threshold, or, where the node has a set of categories,
    if its category is in the set.
    """

    #: Arrays that define predictions; the others describe how the tree came about.
    CANONICAL: ClassVar[tuple[tuple[str, str], ...]] = (
        ("feature", "<i4"),
        ("threshold", "<f8"),
        ("missing_left", "<u1"),
        ("left", "<i4"),
        ("value", "<f8"),
        ("first_word", "<i4"),
        ("sets", "<u8"),
    )

    feature: np.ndarray  # (n_nodes,) int32, -1 in leaves
    threshold: np.ndarray  # (n_nodes,) float64
    missing_left: np.ndarray  # (n_nodes,) uint8
    left: np.ndarray  # (n_nodes,) int32, -1 in leaves
    value: np.ndarray  # (n_nodes, n_channels) float64: what a node says
    gain: np.ndarray  # (n_nodes,) float64: of the split; classical trees: weight times decrease
    cover: np.ndarray  # (n_nodes,) float64: sum of hessians, or of weights
    count: np.ndarray  # (n_nodes,) int64: training rows
    first_word: np.ndarray  # (n_nodes,) int32: where the node's set begins in sets; -1: it has none
    sets: np.ndarray = _nothing(np.uint64)  # bit c of a set is category c, bit 0 the missing value
    impurity: np.ndarray = _nothing(np.float64)  # (n_nodes,); empty: trees of gradient boosting

    @property
    def right(self) -> np.ndarray:
        """(n_nodes,) int32: the right child of every node, -1 in leaves."""
        return self.left + (self.left >= 0)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (len(self.left) + 1) // 2

    @property
    def n_channels(self) -> int:
        """Numbers that a node says."""
        return int(self.value.shape[1])

    @property
    def depth(self) -> np.ndarray:
        """Depth of every node."""
        depth = np.zeros(len(self.left), np.int32)
        for i in np.flatnonzero(self.left >= 0):
            depth[self.left[i]] = depth[self.left[i] + 1] = depth[i] + 1
        return depth

    @property
    def parent(self) -> np.ndarray:
        """Parent of every node, -1 of the root."""
        parent = np.full(len(self.left), -1, np.int32)
        inner = np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.left[inner] + 1] = inner
        return parent

    def sum_by_feature(self, amount: np.ndarray, n_features: int) -> np.ndarray:
        """Sum of an amount of every node over the splits on each feature."""
        inner = self.left >= 0
        return np.bincount(self.feature[inner], amount[inner], minlength=n_features)

    def add_to_digest(self, digest: Any) -> None:
        """Feed everything that predictions depend on to a hash."""
        digest.update(np.array([*self.value.shape, len(self.sets)], "<i8").tobytes())
        for name, dtype in self.CANONICAL:
            digest.update(getattr(self, name).astype(dtype).tobytes())
