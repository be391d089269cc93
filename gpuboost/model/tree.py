"""The tree: one struct of arrays for growing, prediction, importances, drawing and saving."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from gpuboost.config import Number
from gpuboost.model.stored import OPTIONAL


def _nothing(dtype: Any, **options: Any) -> Any:
    empty = np.empty(0, dtype)
    return field(default_factory=lambda: empty, **options)


@dataclass(frozen=True)
class Tree:
    """Nodes in the order in which they were made: the root first, children behind their parents.

    The two children of a node stand side by side. A row goes left if its value is missing and
    ``missing_left`` is set; else if value <= threshold, or, where the node has a set of categories,
    if its category is in the set.

    The annotations say what a model file holds (``stored.py``).
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

    feature: Annotated[np.ndarray, np.int32, "nodes"]  # -1 in leaves
    threshold: Annotated[np.ndarray, np.float64, "nodes"]
    missing_left: Annotated[np.ndarray, np.uint8, "nodes", Number(0, 1)]
    left: Annotated[np.ndarray, np.int32, "nodes"]  # -1 in leaves
    #: What a node says.
    value: Annotated[np.ndarray, np.float64, "nodes", "values", Number(-math.inf)]
    #: Of the split; classical trees: weight times decrease.
    gain: Annotated[np.ndarray, np.float64, "nodes"]
    #: Sum of hessians, or of weights.
    cover: Annotated[np.ndarray, np.float64, "nodes", Number(0)]
    count: Annotated[np.ndarray, np.int64, "nodes", Number(0)]  # training rows
    #: Where the node's set begins in sets; -1: it has none.
    first_word: Annotated[np.ndarray, np.int32, "nodes"]
    #: Bit c of a set is category c, bit 0 the missing value.
    sets: Annotated[np.ndarray, np.uint64, "words"] = _nothing(np.uint64)
    #: Empty: trees of gradient boosting.
    impurity: Annotated[np.ndarray, np.float64, "nodes"] = _nothing(np.float64, metadata=OPTIONAL)

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
