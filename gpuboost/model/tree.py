"""Trees: one struct-of-arrays form for growing, prediction, importances and saving."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gpuboost.backend import Backend
from gpuboost.data.binning import cut_table
from gpuboost.dtypes import WALK_NODE

#: Entries (rows x trees) of the table of leaves that is made at once.
TABLE_CELLS = 1 << 24


@dataclass(frozen=True)
class Tree:
    """Nodes in the order in which they were made: the root first, children after their parents.

    A row goes left if its value is missing and ``missing_left`` is set, or if value <= threshold.
    """

    #: Arrays that define predictions; gains and counts describe how the tree came about.
    CANONICAL: ClassVar[tuple[tuple[str, str], ...]] = (
        ("feature", "<i4"),
        ("threshold", "<f8"),
        ("missing_left", "<u1"),
        ("left", "<i4"),
        ("right", "<i4"),
        ("value", "<f8"),
    )

    feature: np.ndarray  # (n_nodes,) int32, -1 in leaves
    threshold: np.ndarray  # (n_nodes,) float64
    missing_left: np.ndarray  # (n_nodes,) uint8
    left: np.ndarray  # (n_nodes,) int32, -1 in leaves
    right: np.ndarray  # (n_nodes,) int32
    value: np.ndarray  # (n_nodes,) float64: what a leaf adds to the raw score
    gain: np.ndarray  # (n_nodes,) float64
    cover: np.ndarray  # (n_nodes,) float64: hessian sum
    count: np.ndarray  # (n_nodes,) int64: training rows

    @classmethod
    def from_nodes(
        cls,
        nodes: np.ndarray,
        values: np.ndarray,
        cover: np.ndarray,
        counts: np.ndarray,
        cuts: np.ndarray,
    ) -> Tree:
        """Turn the grower's records into a tree; ``cuts`` is the training data's table of cuts."""
        split = nodes["split"]
        left = nodes["left"].copy()
        inner = left >= 0
        feature = np.where(inner, split["feature"], -1).astype(np.int32)
        # the table's padding is +inf, which is the threshold of "values left, missing right"
        threshold = np.where(
            inner, cuts[feature, np.where(inner, split["bin"], 0).astype(np.int64) - 1], 0.0
        )
        return cls(
            feature=feature,
            threshold=threshold,
            missing_left=np.where(inner, split["missing_left"], 0).astype(np.uint8),
            left=left,
            right=nodes["right"].copy(),
            value=values,
            gain=np.where(inner, split["gain"], 0.0),
            cover=cover,
            count=counts,
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (len(self.left) + 1) // 2

    def add_to_digest(self, digest: Any) -> None:
        """Feed everything that predictions depend on to a hash."""
        digest.update(np.array([len(self.left)], "<i8").tobytes())
        for name, dtype in self.CANONICAL:
            digest.update(getattr(self, name).astype(dtype).tobytes())


@dataclass(frozen=True)
class ClassicalTree(Tree):
    """A tree whose nodes say what they know.

    Shares of the classes, or means, of one or several outputs.

    A row goes left at a nominal feature if its category is in the node's set. The children of a
    node stand side by side.
    """

    CANONICAL = (*Tree.CANONICAL, ("first_word", "<i4"), ("sets", "<u8"))

    impurity: np.ndarray  # (n_nodes,) float64
    first_word: (
        np.ndarray
    )  # (n_nodes,) int32: where the node's set begins in ``sets``, -1: the feature is not nominal
    sets: (
        np.ndarray
    )  # (n_words,) uint64: bit c of a set is category code c, bit 0 the missing value

    # value is (n_nodes, n_channels) here, gain is weight times decrease of impurity, cover is the
    # weight

    @property
    def depth(self) -> np.ndarray:
        """Depth of every node."""
        depth = np.zeros(len(self.left), np.int32)
        for i in np.flatnonzero(self.left >= 0):
            depth[self.left[i]] = depth[self.right[i]] = depth[i] + 1
        return depth

    @property
    def parent(self) -> np.ndarray:
        """Parent of every node, -1 of the root."""
        parent = np.full(len(self.left), -1, np.int32)
        inner = np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent

    def importance(self, n_features: int) -> np.ndarray:
        """Share of each feature in the decrease of impurity; all 0 if there is none."""
        inner = self.left >= 0
        total = np.bincount(self.feature[inner], self.gain[inner], minlength=n_features)
        return total / total.sum() if total.sum() > 0 else total


@dataclass(frozen=True)
class ClassicalForest:
    """Classical trees that are asked together."""

    trees: list[ClassicalTree]

    def importance(self, n_features: int, tree_weights: np.ndarray | None = None) -> np.ndarray:
        """Mean over the trees of each feature's share in the decrease of impurity.

        All 0 if no tree has a split.
        """
        weights = np.ones(len(self.trees)) if tree_weights is None else tree_weights
        total = np.zeros(n_features)
        for tree, weight in zip(self.trees, weights, strict=True):
            total += weight * tree.importance(n_features)
        return total / (total.sum() or 1.0)

    def fingerprint(self, *more: np.ndarray) -> str:
        """SHA-256 of the trees.

        And of further arrays (numbers or text) that predictions depend on.
        """
        digest = hashlib.sha256(np.array([len(self.trees), *map(len, more)], "<i8").tobytes())
        for values in more:
            is_text = values.dtype.kind in "OUS"
            digest.update(
                "\0".join(map(str, values)).encode() if is_text else values.astype("<f8").tobytes()
            )
        for tree in self.trees:
            tree.add_to_digest(digest)
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be derived."""
        return {"trees": self.trees}

    @cached_property
    def walk_arrays(self) -> tuple[np.ndarray, ...]:
        """(begin of each tree's nodes, nodes as ``WALK_NODE``, values, begin of each tree's sets.

        Sets).
        """
        sizes, words = [len(t.left) for t in self.trees], [len(t.sets) for t in self.trees]
        begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        first_set = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
        nodes = np.empty(begin[-1], WALK_NODE)
        for name in ("threshold", "feature", "left", "missing_left", "first_word"):
            nodes[name] = np.concatenate([getattr(t, name) for t in self.trees])
        return (
            begin,
            nodes,
            np.concatenate([t.value for t in self.trees]),
            first_set,
            np.concatenate([t.sets for t in self.trees]),
        )


def _block_arrays(
    tree_begin: np.ndarray,
    feature: np.ndarray,
    bins: np.ndarray,
    missing_left: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    backend: Backend,
) -> tuple[Any, ...]:
    """Arrays of ``kernels/cpu/predict.py``: a bin goes right when uint8(bin - shift) > limit."""
    feature = np.maximum(feature, 0)
    shift = (1 - missing_left).astype(np.uint8)
    limit = (bins - shift).astype(np.uint8)
    inner = left >= 0
    n_trees = len(tree_begin) - 1
    n_splits = int(inner.sum())
    node_of_split = np.empty(n_splits, np.int64)
    asked = np.empty(n_splits, np.int32)
    leaf_value = np.empty(n_splits + n_trees)
    backend.list_splits(tree_begin, left, right, value, node_of_split, asked, leaf_value)
    split_begin = np.concatenate([[0], np.cumsum(inner)])[tree_begin].astype(np.int64)
    return (
        tree_begin,
        feature,
        shift,
        limit,
        left,
        right,
        value,
        split_begin,
        feature[node_of_split],
        shift[node_of_split],
        limit[node_of_split],
        asked,
        leaf_value,
    )


@dataclass(frozen=True)
class Forest:
    """Trees one after another; tree t belongs to output t % n_outputs."""

    trees: list[Tree]
    n_outputs: int
    _cut_tables: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be derived."""
        return {"trees": self.trees, "n_outputs": self.n_outputs, "_cut_tables": {}}

    def _all(self, name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in self.trees])

    @cached_property
    def walk_arrays(self) -> tuple[np.ndarray, ...]:
        """Nodes with thresholds, for predicting a few rows."""
        begin = np.concatenate([[0], np.cumsum([len(tree.left) for tree in self.trees])]).astype(
            np.int64
        )
        return (
            begin,
            *(
                self._all(name)
                for name in ("feature", "threshold", "missing_left", "left", "right", "value")
            ),
        )

    @cached_property
    def _thresholds(self) -> dict[int, np.ndarray]:
        """Distinct thresholds of each feature in use."""
        _, feature, threshold, _, left, _, _ = self.walk_arrays
        inner = left >= 0
        return {
            int(f): np.unique(threshold[inner & (feature == f)]) for f in np.unique(feature[inner])
        }

    @cached_property
    def used_features(self) -> np.ndarray:
        """Features that any tree asks for."""
        return np.array(sorted(self._thresholds), np.int32)

    @cached_property
    def n_cuts(self) -> np.ndarray:
        """Distinct thresholds of each of them."""
        return np.array([len(self._thresholds[f]) for f in self.used_features], np.int32)

    def cut_table(self, dtype: np.dtype) -> np.ndarray:
        """Their thresholds, as ``binning.cut_table`` makes them."""
        key = "float32" if dtype == np.float32 else "float64"
        if key not in self._cut_tables:
            self._cut_tables[key] = cut_table(
                [self._thresholds[f] for f in self.used_features], np.dtype(key)
            )
        return self._cut_tables[key]

    def block_arrays(self, backend: Backend) -> tuple[Any, ...]:
        """All trees as the block prediction takes them.

        Features by their place in ``used_features``, bins by rank among thresholds.
        """
        if "_blocks" not in self.__dict__:
            begin, feature, threshold, missing_left, left, right, value = self.walk_arrays
            place = np.zeros(len(feature), np.int32)
            bins = np.zeros(len(feature), np.uint8)
            for u, f in enumerate(self.used_features):
                own = feature == f
                place[own] = u
                bins[own] = np.searchsorted(self._thresholds[int(f)], threshold[own]) + 1
            self.__dict__["_blocks"] = _block_arrays(
                begin, place, bins, missing_left, left, right, value, backend
            )
        return self.__dict__["_blocks"]  # type: ignore[no-any-return]


def leaves_by_tree(
    x: np.ndarray, trees: list[ClassicalTree], backend: Backend
) -> Iterator[tuple[int, np.ndarray]]:
    """The number of each tree and the leaves (n_rows,) that it has for the rows."""
    step = max(1, TABLE_CELLS // len(x))
    for first in range(0, len(trees), step):
        part = ClassicalForest(trees[first : first + step])
        leaves = np.empty((len(x), len(part.trees)), np.int32)
        backend.find_leaves(x, part, leaves)
        for i in range(len(part.trees)):
            yield first + i, leaves[:, i]
