"""The model that a fit leaves behind: trees, how they are added up, and what the result means."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from gpuboost.backend import Backend, device_of
from gpuboost.config import Number
from gpuboost.data.features import KINDS, MAX_OWN_NUMBERS, FeatureMap, cut_table
from gpuboost.data.sparse import dense_blocks
from gpuboost.dtypes import BY_SET, MAX_VALUE_BINS, SET_WORDS, WALK_NODE
from gpuboost.exchange import SparseRows
from gpuboost.model.stored import OPTIONAL
from gpuboost.model.tree import Tree
from gpuboost.objectives.links import IDENTITY, Link
from gpuboost.scalar.rows import mean_of_trees, sum_of_scores

#: Entries (rows x trees) of the table of leaves that is made at once.
TABLE_CELLS = 1 << 24

#: How what the trees say becomes one answer: their sum, their mean or their median, by weights.
COMBINE = ("sum", "mean", "median")

IMPORTANCE_TYPES = ("gain", "split", "cover")


@dataclass(frozen=True)
class Ensemble:
    """Trees of any family with everything that predictions depend on.

    The raw score of a channel is the base score plus the sum of the trees' values times their
    weights, divided by the sum of the weights if they are combined by their mean. A tree whose
    nodes say one number belongs to channel t modulo n_channels, t being its place; others say a
    number for every channel.

    The annotations say what a model file holds (``stored.py``).
    """

    trees: list[Tree]
    base_score: Annotated[np.ndarray, np.float64, "channels", Number(-math.inf)]
    features: FeatureMap
    first_channel: Annotated[np.ndarray, np.int32, "outputs_and_end"]  # channels of each output
    tree_weights: Annotated[np.ndarray, np.float64, "trees", Number(0)]
    combine: Annotated[str, COMBINE] = "sum"
    link: Link = IDENTITY  # from raw scores to predictions
    vote: bool = False  # a leaf says 1 for its best class instead of what it holds
    shares: bool = False  # what nodes say are shares of classes
    classes: list[np.ndarray] | None = None  # of each output; None: numbers
    feature_names: list[str] | None = field(default=None, metadata=OPTIONAL)
    n_used: int = -1  # trees that predictions use, the first ones; -1: all
    _cut_tables: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def boosted(
        cls,
        trees: list[Tree],
        base_score: np.ndarray,
        features: FeatureMap,
        link: Link = IDENTITY,
        n_outputs: int = 1,
    ) -> Ensemble:
        """Trees of gradient boosting, one for each channel in turn, or of all channels each.

        One output may have several channels; of several outputs each has one.
        """
        first_channel = np.linspace(0, len(base_score), n_outputs + 1).astype(np.int32)
        return cls(trees, base_score, features, first_channel, np.ones(len(trees)), link=link)

    @classmethod
    def of_tree(cls, tree: Tree, n_features: int, first_channel: np.ndarray) -> Ensemble:
        """One classical tree, for rows of numbers."""
        base_score, features = np.zeros(tree.n_channels), FeatureMap.of_numbers(n_features)
        return cls([tree], base_score, features, first_channel, np.ones(1), combine="mean")

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be derived."""
        names = self.__dataclass_fields__
        return {name: self.__dict__[name] for name in names} | {"_cut_tables": {}}

    # --- its parts

    @property
    def n_features(self) -> int:
        """Columns of the rows to predict."""
        return len(self.features)

    @property
    def n_channels(self) -> int:
        """Raw scores of a row."""
        return len(self.base_score)

    @property
    def n_outputs(self) -> int:
        """Targets that are predicted."""
        return len(self.first_channel) - 1

    @property
    def trees_per_round(self) -> int:
        """Trees that are grown together: one, or one for each channel."""
        return self.n_channels // self.trees[0].n_channels

    @property
    def n_rounds(self) -> int:
        """Rounds of growing, all of them."""
        return len(self.trees) // self.trees_per_round

    @property
    def used_rounds(self) -> int:
        """Rounds that predictions use."""
        return self.n_rounds if self.n_used < 0 else self.n_used // self.trees_per_round

    @cached_property
    def in_use(self) -> Ensemble:
        """The same with only the trees that predictions use."""
        if self.n_used < 0:
            return self
        weights = self.tree_weights[: self.n_used]
        return replace(self.with_trees(self.trees[: self.n_used], weights), n_used=-1)

    @property
    def adds_up(self) -> bool:
        """Whether trees correct each other, as in gradient boosting."""
        return self.combine == "sum" and not self.vote

    def names(self) -> list[str]:
        """Names of the features: those of the training data, or "x0", "x1", ..."""
        return self.feature_names or [f"x{f}" for f in range(self.n_features)]

    def tree_names(self, names: list[str] | None = None) -> list[str]:
        """Names of the columns that trees see, from names of the features."""
        n_targets = max([one.n_targets for one in self.features.statistics], default=0)
        classes = self.classes[0] if self.classes and len(self.classes) == 1 else None
        if classes is not None:
            targets = [f"share of {value}" for value in classes[-n_targets:]]
        elif n_targets == 1:
            targets = ["mean of target"]
        else:
            targets = [f"mean of target {k}" for k in range(n_targets)]
        return self.features.tree_names(names or self.names(), targets)

    def with_trees(self, trees: list[Tree], tree_weights: np.ndarray | None = None) -> Ensemble:
        """The same with other trees."""
        weights = np.ones(len(trees)) if tree_weights is None else tree_weights
        return replace(self, trees=trees, tree_weights=weights, _cut_tables={})

    # --- predictions

    def raw(
        self,
        x: Any,
        backend: Backend,
        n_rounds: int | None = None,
        first_round: int = 0,
        margin: np.ndarray | None = None,
    ) -> Any:
        """Raw scores (n_channels, n_rows), where ``x`` is; after all rounds in use by default.

        ``margin``, of the same shape and on the host, is added to the base scores. Rounds before
        ``first_round`` are left out.
        """
        if isinstance(x, SparseRows):
            seen = 0

            def answer(reduced: Ensemble, block: np.ndarray) -> np.ndarray:
                nonlocal seen
                first, seen = seen, seen + len(block)
                part = None if margin is None else margin[:, first:seen]
                out: np.ndarray = reduced.raw(block, backend, n_rounds, first_round, part)
                return out

            return self._by_blocks(x, answer, axis=1)
        x = self.features.expand(x, backend)
        n_used = len(self.trees) if self.n_used < 0 else self.n_used
        end = n_used if n_rounds is None else n_rounds * self.trees_per_round
        if self.combine == "median":
            return backend.medians(x, self, end - 1, end)
        out = self._before_trees(x, margin, backend)
        backend.add_trees(x, self, first_round * self.trees_per_round, end, out)
        return self._mean(out, end, backend) if self.combine == "mean" else out

    def _before_trees(self, x: Any, margin: np.ndarray | None, backend: Backend) -> Any:
        """Base scores of rows, and their margins."""
        out = backend.base_scores(self, x)
        if margin is None:
            return out
        there = margin if device_of(x) is None else backend.put(margin)
        return backend.each_row(sum_of_scores, out.shape[::-1], out.T, there.T).T

    def staged_raw(self, x: Any, backend: Backend) -> Iterator[Any]:
        """Raw scores after each round."""
        if isinstance(x, SparseRows):
            reduced = self._on_used_features
            blocks = [reduced.staged_raw(block, backend) for block in dense_blocks(x, self._used)]
            yield from (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
            return
        x = self.features.expand(x, backend)
        if self.combine == "median":
            medians = backend.medians(x, self, 0, len(self.trees))
            yield from (medians[i : i + 1] for i in range(len(self.trees)))
            return
        out, step = backend.base_scores(self, x), self.trees_per_round
        for end in range(step, len(self.trees) + 1, step):
            backend.add_trees(x, self, end - step, end, out)
            yield self._mean(out, end, backend) if self.combine == "mean" else out.copy("K")

    def _mean(self, sums: Any, end: int, backend: Backend) -> Any:
        total = float(self.tree_weights[:end].sum())
        return backend.each_row(mean_of_trees, sums.shape[::-1], sums.T, total).T

    def leaves(self, x: Any, backend: Backend) -> Any:
        """The leaf of each row in each tree, (n_rows, n_trees) int32, where ``x`` is."""
        if isinstance(x, SparseRows):
            return self._by_blocks(x, lambda reduced, block: reduced.leaves(block, backend), axis=0)
        return backend.find_leaves(self.features.expand(x, backend), self)

    def leaves_by_tree(self, x: Any, backend: Backend) -> Iterator[tuple[int, Tree, np.ndarray]]:
        """The number of each tree, the tree, and the leaves (n_rows,) that it has for the rows.

        These come to the host.
        """
        step = max(1, TABLE_CELLS // len(x))
        for first in range(0, len(self.trees), step):
            part = self.with_trees(self.trees[first : first + step])
            for i, leaves in enumerate(backend.to_host(part.leaves(x, backend)).T):
                yield first + i, part.trees[i], leaves

    def staged_unseen_raw(
        self, x: Any, bag: Callable[[int], np.ndarray], ends: Sequence[int], backend: Backend
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """Sums of what the trees whose bags do not have a row say of it, and how many these are.

        ``bag(i)`` says which rows are in the bag of tree i. Sums are (n_channels, n_rows), over as
        many trees as ``ends`` say, one after another.
        """
        out, n_unseen = backend.base_scores(self, x), np.zeros(len(x), np.int64)
        step = max(1, 4 * TABLE_CELLS // len(x))  # bytes, where leaves take four
        for begin, stop in pairwise([0, *ends]):
            for first in range(begin, stop, step):
                end = min(first + step, stop)
                in_bag = np.stack([bag(i) for i in range(first, end)]).astype(np.uint8)
                backend.add_unseen(x, self, first, end, in_bag, out)
                n_unseen += (in_bag == 0).sum(axis=0)
            yield out, n_unseen

    # --- rows of a sparse matrix, a dense block at a time

    @cached_property
    def _used(self) -> np.ndarray:
        """Features that any tree asks for, ascending."""
        used = np.unique(self.all_nodes("feature")[self.all_nodes("left") >= 0])
        return used if len(used) else np.zeros(1, np.int64)

    @cached_property
    def _on_used_features(self) -> Ensemble:
        """The same for matrices that have only these columns."""
        used = self._used
        trees = [
            replace(
                tree,
                feature=np.where(tree.left >= 0, np.searchsorted(used, tree.feature), -1).astype(
                    np.int32
                ),
            )
            for tree in self.trees
        ]
        features = FeatureMap([self.features.features[f] for f in used])
        return replace(self, trees=trees, features=features, feature_names=None, _cut_tables={})

    def _by_blocks(
        self, x: SparseRows, answer: Callable[[Ensemble, np.ndarray], Any], axis: int
    ) -> np.ndarray:
        """Answers to dense blocks of rows, one after another."""
        reduced = self._on_used_features
        return np.concatenate(
            [answer(reduced, block) for block in dense_blocks(x, self._used)], axis
        )

    # --- what it knows of its features

    def importance(self, kind: str = "gain") -> np.ndarray:
        """Importance of each feature, not normalised.

        Gradient boosting: the sum over all splits on a feature of their gains, of 1 (``split``), or
        of the hessians that pass through (``cover``). Other ensembles: the mean over the trees, by
        their weights, of each feature's share in these.
        """
        n_columns = self.features.n_tree_columns
        total = np.zeros(n_columns)
        for tree, weight in zip(self.trees, self.tree_weights, strict=True):
            inner = tree.left >= 0
            amount = {"gain": tree.gain, "split": np.ones(len(inner)), "cover": tree.cover}[kind]
            if self.adds_up:
                np.add.at(total, tree.feature[inner], amount[inner])
            else:
                sums = tree.sum_by_feature(amount, n_columns)
                total += weight * (sums / sums.sum() if sums.sum() > 0 else sums)
        return self.features.by_column(total)

    def importance_shares(self, kind: str = "gain") -> np.ndarray:
        """Importances that add up to 1; all 0 if no tree has a split."""
        total = self.importance(kind)
        return total / (total.sum() or 1.0)

    def decreases(self) -> np.ndarray:
        """Importance by gain, in the unit of the gain.

        Gradient boosting: the sum of the gains. Other ensembles: the mean over the trees, by their
        weights, of the decrease of the impurity.
        """
        if self.adds_up:
            return self.importance("gain")
        n_columns = self.features.n_tree_columns
        by_tree = [tree.sum_by_feature(tree.gain, n_columns) / tree.cover[0] for tree in self.trees]
        mean = np.average(by_tree, axis=0, weights=self.tree_weights)
        return self.features.by_column(np.asarray(mean))

    def fingerprint(self) -> str:
        """SHA-256 of the model: equal fingerprints mean equal predictions, bit for bit.

        Of rows of numbers and codes: names of features, classes and categories are not part of it.
        """
        kind = f"{self.combine} {self.link} {self.vote} {self.shares}"
        sizes = [self.n_features, self.n_channels, len(self.trees), self.n_outputs]
        digest = hashlib.sha256(kind.encode() + np.array(sizes, "<i8").tobytes())
        kinds = [KINDS.index(feature.kind) for feature in self.features.features]
        for values in (self.base_score, self.first_channel, self.tree_weights, np.array(kinds)):
            digest.update(values.astype("<f8").tobytes())
        for f, values in self.features.categories.items():
            digest.update(np.array([f, len(values)], "<i8").tobytes())
            numbers = self.features.features[f].numbers
            if numbers is not None:
                digest.update(numbers.tobytes())
        for one in self.features.statistics:
            for array in (one.columns, one.n_categories, one.key, one.weight, one.total, one.prior):
                digest.update(array.astype("<f8").tobytes())
        for part in self.features.date_parts:
            digest.update(f"{part.part} of {part.column}".encode())
        for tree in self.trees:
            tree.add_to_digest(digest)
        return digest.hexdigest()

    # --- as prediction reads it

    @cached_property
    def walk_arrays(self) -> tuple[np.ndarray, ...]:
        """(begin of each tree's nodes, nodes as ``WALK_NODE``, values, begin of sets, sets).

        The values of trees that vote are votes.
        """
        begin = begins_of([len(tree.left) for tree in self.trees])
        nodes = np.empty(begin[-1], WALK_NODE)
        for name in ("threshold", "feature", "left", "missing_left", "first_word"):
            nodes[name] = self.all_nodes(name)
        value = self.all_nodes("value")
        value = votes(value, self.first_channel) if self.vote else value
        first_set = begins_of([len(tree.sets) for tree in self.trees])
        return begin, nodes, value, first_set, self.all_nodes("sets")

    def all_nodes(self, name: str) -> np.ndarray:
        """An array of all trees, one after another."""
        return np.concatenate([getattr(tree, name) for tree in self.trees])

    @cached_property
    def _thresholds(self) -> dict[int, np.ndarray]:
        """Distinct thresholds of each feature in use, or cuts between numbers of categories."""
        inner = self.all_nodes("left") >= 0
        feature, threshold = self.all_nodes("feature")[inner], self.all_nodes("threshold")[inner]
        out = {int(f): np.unique(threshold[feature == f]) for f in np.unique(feature)}
        by_set = np.unique(feature[self.all_nodes("first_word")[inner] >= 0]).tolist()
        return out | {f: np.arange(MAX_OWN_NUMBERS, dtype=np.float64) for f in by_set}

    @cached_property
    def by_blocks(self) -> bool:
        """Whether blocks of rows are binned and run through all splits of a tree at once."""
        return self.adds_up and all(
            len(cuts) - np.isinf(cuts[-1:]).sum() < MAX_VALUE_BINS
            for cuts in self._thresholds.values()
        )

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
            cuts = [self._thresholds[f] for f in self.used_features]
            self._cut_tables[key] = cut_table(cuts, np.dtype(key))
        return self._cut_tables[key]

    def block_arrays(self, list_splits: Callable[..., None]) -> tuple[np.ndarray, ...]:
        """All trees as the block prediction takes them (``kernels/cpu/predict.py``).

        ``list_splits`` is the kernel that lists them.

        Features are numbered by their place in ``used_features``, bins by their rank among the
        thresholds. A bin goes right when uint8(bin - shift) > limit; the bins of categories are
        their codes, and sets are those that go left.
        """
        if "_blocks" not in self.__dict__:
            tree_begin, nodes, values, _, _ = self.walk_arrays
            place, bins = np.zeros(len(nodes), np.int32), np.zeros(len(nodes), np.uint8)
            for u, f in enumerate(self.used_features):
                asks = nodes["feature"] == f
                place[asks] = u
                bins[asks] = np.searchsorted(self._thresholds[int(f)], nodes["threshold"][asks]) + 1
            shift = (1 - nodes["missing_left"]).astype(np.uint8)
            limit = (bins - shift).astype(np.uint8)
            node_sets = self._sets_of_nodes()
            if node_sets is not None:
                shift[nodes["first_word"] >= 0] = BY_SET
            left = nodes["left"].copy()
            split_begin = begins_of(left >= 0)[tree_begin]
            n_splits = split_begin[-1]
            node_of_split, asked = np.empty(n_splits, np.int64), np.empty(n_splits, np.int32)
            leaf_value = np.empty((values.shape[1], n_splits + len(self.trees)))
            list_splits(tree_begin, left, values, node_of_split, asked, leaf_value)
            of_splits = [array[node_of_split] for array in (place, shift, limit)]
            walked = (tree_begin, place, shift, limit, left, values)
            sets = node_sets, None if node_sets is None else node_sets[node_of_split]
            self.__dict__["_blocks"] = (*walked, split_begin, *of_splits, asked, leaf_value, *sets)
        return self.__dict__["_blocks"]

    def _sets_of_nodes(self) -> np.ndarray | None:
        """The set of every node, (n_nodes, SET_WORDS) uint64; None if no node has one."""
        tree_begin, nodes, _, first_set, sets = self.walk_arrays
        has_set = np.flatnonzero(nodes["first_word"] >= 0)
        if not len(has_set):
            return None
        of_tree = np.searchsorted(tree_begin, has_set, side="right") - 1
        first = first_set[of_tree] + nodes["first_word"][has_set]
        out = np.zeros((len(nodes), SET_WORDS), np.uint64)
        # words behind the set are of codes that the feature does not have
        out[has_set] = sets[(first[:, None] + np.arange(SET_WORDS)).clip(max=len(sets) - 1)]
        return out


def ensemble_of(model: Any, trees: bool = True) -> Ensemble:
    """The model that an estimator has been fitted to; raises if it has not been.

    Also if it has no trees, but other members, unless these are not asked for.
    """
    ensemble: Ensemble | None = getattr(model, "ensemble_", None)
    if ensemble is None:
        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet; call fit before using "
            "this method"
        )
    if trees and not ensemble.trees:
        raise TypeError(
            f"this {type(model).__name__} has no trees, as it boosts "
            f"estimator={model.estimator!r}: it cannot be saved, drawn, exported or "
            "explained as trees are; pickle can store it"
        )
    return ensemble


def on_numbers(model: Any, places: bool = False) -> Any:
    """A copy of a fitted estimator that predicts what its ``check_rows`` returns.

    It compares no names, and columns with categories hold their numbers, or their places among the
    categories of the column.
    """
    plain, ensemble = copy.copy(model), ensemble_of(model)
    plain.__dict__.pop("feature_names_in_", None)
    plain.ensemble_ = replace(ensemble, features=ensemble.features.on_numbers(places))
    return plain


def votes(value: np.ndarray, first_channel: np.ndarray) -> np.ndarray:
    """1 for the class of highest share of each output, the first among equals."""
    out = np.zeros_like(value)
    for begin, end in pairwise(first_channel):
        out[np.arange(len(value)), begin + value[:, begin:end].argmax(axis=1)] = 1.0
    return out


def begins_of(sizes: Any) -> np.ndarray:
    """Where parts of these sizes begin, one after another, and the end; int64."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
