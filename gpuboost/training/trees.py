"""Classical trees: their parameters, and the growth of one tree or of many side by side."""

from __future__ import annotations

import math
import numbers
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import (
    NO_DEPTH_LIMIT,
    NO_LEAF_LIMIT,
    NO_ROW_LIMIT,
    Number,
    check_choice,
    is_count,
    is_share,
)
from gpuboost.data.targets import TreeTargets
from gpuboost.dtypes import (
    ABSOLUTE,
    AUTOMATIC,
    BEST,
    ENTROPY,
    EXHAUSTIVE,
    FISHER,
    MIDPOINT,
    MISCLASSIFICATION,
    ONE_VS_REST,
    POISSON,
    RANDOM,
    ROW,
    SQUARES,
    TREE_GROWTH,
    record_of,
)
from gpuboost.exchange import ClassicalGrower, FeatureMatrix, GrownTree, TreeJob
from gpuboost.model.tree import Tree
from gpuboost.scalar.formulas import power_of_two_below

#: What the key of a tree is for: the first counter of ``Backend.mix_key``.
TREES = 4

CLASS_CRITERIA = {
    "gini": SQUARES,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "misclassification": MISCLASSIFICATION,
}
#: friedman_mse is a name that scikit-learn has had for squared_error: its gain is the same.
VALUE_CRITERIA = {
    "squared_error": SQUARES,
    "friedman_mse": SQUARES,
    "absolute_error": ABSOLUTE,
    "poisson": POISSON,
}
SPLITTERS = {"exact": BEST, "hist": BEST, "random": RANDOM, "midpoint": MIDPOINT}
DIVISIONS = {
    "auto": AUTOMATIC,
    "fisher": FISHER,
    "one_vs_rest": ONE_VS_REST,
    "exhaustive": EXHAUSTIVE,
}

#: Sums of weights, and of weights times targets, stay below this many steps: float64 holds them
#: exactly.
ROOM = 2.0**52
#: Mean weight up to which a weight of k counts exactly as k rows.
HEAVY = 1024.0
#: Targets below this count as 0: their squares could not be written.
SMALLEST = 2.0**-400

RANGES = {
    "max_depth": Number(1, integer=True, none=True),
    "max_leaf_nodes": Number(2, integer=True, none=True),
    "min_impurity_decrease": Number(0),
    "min_weight_fraction_leaf": Number(0, 0.5),
    "min_data_per_category": Number(1, integer=True),
    "cat_smooth": Number(0),
    "max_cat_threshold": Number(1, integer=True, none=True),
    "max_bins": Number(2, 256, integer=True),
}


@dataclass(frozen=True)
class TreeParams:
    """Parameters of classical trees; the estimators' docstrings say what each one does."""

    criterion: str
    splitter: str = "exact"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None
    max_features: int | float | str | None = None
    categorical_split: str = "auto"
    min_data_per_category: int = 5
    cat_smooth: float = 10.0
    max_cat_threshold: int | None = None
    max_bins: int = 256

    def __post_init__(self) -> None:
        """Check every value."""
        for name, allowed in RANGES.items():
            allowed.check(name, getattr(self, name))
        for name, choices in (
            ("criterion", CLASS_CRITERIA | VALUE_CRITERIA),
            ("splitter", SPLITTERS),
            ("categorical_split", DIVISIONS),
        ):
            check_choice(name, getattr(self, name), choices)
        _check_rows("min_samples_split", self.min_samples_split, 2)
        _check_rows("min_samples_leaf", self.min_samples_leaf, 1)
        self.n_features_drawn(1)

    def n_features_drawn(self, n_features: int) -> int:
        """Features that a node looks at."""
        wanted = self.max_features
        if wanted is None:
            return n_features
        if isinstance(wanted, str) and wanted in ("sqrt", "log2"):
            return max(1, int(math.sqrt(n_features) if wanted == "sqrt" else math.log2(n_features)))
        if is_count(wanted):
            return min(int(wanted), n_features)
        if is_share(wanted):
            return max(1, int(float(wanted) * n_features))
        raise ValueError(
            "max_features must be None, 'sqrt', 'log2', an integer of at least 1 or a number "
            f"above 0 and at most 1; got {wanted!r}"
        )


def _check_rows(name: str, value: Any, least: int) -> None:
    """Raise unless a value is a number of rows, or a share of them."""
    if not is_count(value, least) and not is_share(value):
        raise ValueError(
            f"{name} must be an integer of at least {least} or a number above 0 and at most 1; "
            f"got {value!r}"
        )


def _rows(value: int | float, n_rows: int, least: int) -> int:
    """A number of rows that may be a share of all of them."""
    is_integer = isinstance(value, numbers.Integral)
    return min(int(value), NO_ROW_LIMIT) if is_integer else max(least, math.ceil(value * n_rows))


@dataclass(frozen=True)
class GrowingTree:
    """One tree to be grown: its rows' weights (0: not in the tree) and its key."""

    weight: np.ndarray  # (n_rows,) float64
    key: np.uint32


class _OfThread(threading.local):
    """The grower of a thread, which has one from its first tree on."""

    grower: ClassicalGrower


class TreeGrower:
    """Grows classical trees on one coded matrix."""

    def __init__(
        self,
        coded: FeatureMatrix,
        targets: TreeTargets,
        params: TreeParams,
        backend: Backend,
        probability: np.ndarray | None = None,
    ) -> None:
        self.coded, self.targets, self.params, self.backend = coded, targets, params, backend
        self.probability = np.empty(0) if probability is None else probability
        self.criterion = (CLASS_CRITERIA if len(targets.classes) else VALUE_CRITERIA)[
            params.criterion
        ]
        self._of_thread = _OfThread()

    def grow(self, tree: GrowingTree) -> Tree:
        """Grow one tree; may be called from several threads at once."""
        return self._grow_together([tree])[0]

    def _grow_together(self, trees: list[GrowingTree]) -> list[Tree]:
        """Grow at most as many trees as the backend likes to have at once."""
        if not hasattr(self._of_thread, "grower"):
            n_ranks = len(self.targets.ranks[1]) if self.criterion == ABSOLUTE else 0
            self._of_thread.grower = self.backend.make_tree_grower(
                self.coded, self.probability, self.targets.first_channel, n_ranks
            )
        grower = self._of_thread.grower
        grown = list(grower.grow_together(self._each(len(trees), lambda i: self._job(trees[i]))))
        return self._each(len(trees), lambda i: self._finish(trees[i], grown[i], grower))

    def _each(self, n: int, result: Callable[[int], Any]) -> list[Any]:
        """Results for several trees, by the threads of the host: a device grows the trees alone."""
        if n == 1:
            return [result(0)]
        out: list[Any] = [None] * n

        def keep(i: int) -> None:
            out[i] = result(i)

        self.backend.host.share_out(n, keep)
        return out

    def _job(self, tree: GrowingTree) -> TreeJob:
        """A tree to be grown, in fixed point."""
        targets, params = self.targets, self.params
        rows = np.flatnonzero(tree.weight > 0).astype(ROW)
        weight, total_weight = tree.weight, float(tree.weight.sum())
        weight_scale = power_of_two_below(ROOM / total_weight)
        growth = self._growth(rows, total_weight, tree.key)
        growth["weight_unit"] = 1.0 / weight_scale
        values, value_scale = self._fixed_values(weight)
        growth["value_unit"] = 1.0 / value_scale
        rank, by_rank = targets.ranks
        max_leaves = len(rows)
        if params.max_leaf_nodes is not None:
            max_leaves = min(max_leaves, int(params.max_leaf_nodes))
        if params.max_depth is not None:
            max_leaves = min(max_leaves, 2 ** min(int(params.max_depth), 40))
        scaled = by_rank * (value_scale / weight_scale) if self.criterion == ABSOLUTE else by_rank
        return TreeJob(
            rows=rows,
            weight=np.rint(weight * weight_scale).astype(np.int64),
            classes=targets.classes,
            values=values,
            rank=rank,
            by_rank=scaled,
            growth=growth,
            max_leaves=max_leaves,
        )

    def _finish(self, tree: GrowingTree, grown: GrownTree, grower: ClassicalGrower) -> Tree:
        """A grown tree with what its nodes say."""
        targets, nodes = self.targets, grown.nodes
        node_weight, value, impurity = grower.describe(
            nodes, grown.rows, tree.weight, targets.classes, targets.y, self.criterion
        )
        inner = nodes["left"] >= 0
        return Tree(
            feature=np.where(inner, nodes["feature"], -1).astype(np.int32),
            threshold=np.where(inner, nodes["threshold"], 0.0),
            missing_left=np.where(inner, nodes["missing_left"], 0).astype(np.uint8),
            left=nodes["left"].copy(),
            value=value,
            gain=np.where(inner, nodes["gain"] / targets.n_outputs, 0.0),
            cover=node_weight,
            count=nodes["end"] - nodes["begin"],
            impurity=impurity,
            first_word=np.where(inner, nodes["first_word"], -1).astype(np.int32),
            sets=grown.sets,
        )

    def grow_all(
        self,
        n_trees: int,
        tree: Callable[[int], GrowingTree],
        report: Callable[[int], None] | None = None,
    ) -> list[Tree]:
        """Grow trees side by side.

        ``tree(i)`` says what the i-th is grown on, ``report(n)`` is told of every n that are grown.
        """
        trees: list[Any] = [None] * n_trees
        step = self.backend.trees_at_once(self.coded.n_rows, self.targets.n_outputs)

        def grow_some(i: int) -> None:
            batch = range(i * step, min((i + 1) * step, n_trees))
            weighted = self._each(len(batch), lambda k: tree(batch[k]))
            trees[batch.start : batch.stop] = self._grow_together(weighted)
            if report is not None:
                report(len(batch))

        self.backend.share_out(-(-n_trees // step), grow_some)
        return trees

    def _growth(self, rows: np.ndarray, total_weight: float, key: np.uint32) -> np.ndarray:
        params, n_rows = self.params, self.coded.n_rows
        min_samples_leaf = _rows(params.min_samples_leaf, n_rows, 1)
        fields = {
            "min_weight_leaf": params.min_weight_fraction_leaf * total_weight,
            "min_gain": (params.min_impurity_decrease - np.finfo(float).eps)
            * total_weight
            * self.targets.n_outputs,
            "min_samples_split": max(
                _rows(params.min_samples_split, n_rows, 2), 2 * min_samples_leaf
            ),
            "min_samples_leaf": min_samples_leaf,
            "min_data_per_category": min(int(params.min_data_per_category), NO_ROW_LIMIT),
            "cat_smooth": params.cat_smooth,
            "max_cat_threshold": min(int(params.max_cat_threshold or NO_ROW_LIMIT), NO_ROW_LIMIT),
            "criterion": self.criterion,
            "splitter": SPLITTERS[params.splitter],
            "division": DIVISIONS[params.categorical_split],
            "max_depth": min(int(params.max_depth or NO_DEPTH_LIMIT), NO_DEPTH_LIMIT),
            "max_leaves": min(int(params.max_leaf_nodes or 0), NO_LEAF_LIMIT),
            "max_features": (
                1  # the cell is halved along one feature
                if params.splitter == "midpoint"
                else params.n_features_drawn(len(self.coded.n_codes))
            ),
            "key": key,
        }
        return record_of(TREE_GROWTH, fields)

    def _fixed_values(self, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """Weight times target in fixed point, and its scale.

        Rounded before it is multiplied, so that weight k counts exactly as k rows.
        """
        y = self.targets.y
        if not len(y):
            return np.empty(y.shape, np.int64), 1.0
        if self.criterion == SQUARES:
            # the middle makes no difference to a variance; the bits are better spent on what does
            y = y - np.average(y, axis=0, weights=weight)
        # heavy rows leave few steps for the targets: weights are taken in a larger unit then
        unit = power_of_two_below(max(1.0, float(weight[weight > 0].mean()) / HEAVY))
        weight = weight / unit
        total = float((np.abs(y) * weight[:, None]).sum(axis=0).max())
        total += float(weight.sum()) * SMALLEST
        scale = power_of_two_below(ROOM / total) / 2.0
        return np.rint(np.rint(y * scale) * weight[:, None]).astype(np.int64), scale / unit
