"""The boosting loop: gradients, trees, update, evaluation."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import NO_LEAF_LIMIT, NO_ROW_LIMIT, VECTOR_LEAF, BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.dtypes import (
    GROWTH,
    IN_SET,
    LEAFWISE,
    N_CODES,
    PACKED,
    ROW,
    SET_WORDS,
    record_of,
)
from gpuboost.exchange import (
    BoostedTree,
    DeviceArray,
    Drawn,
    FeatureMatrix,
    GrowthLimits,
    ScoreLike,
    SplitRules,
)
from gpuboost.model.ensemble import Ensemble, begins_of
from gpuboost.model.tree import Tree
from gpuboost.objectives.metrics import Metric
from gpuboost.objectives.objective import Objective
from gpuboost.scalar.fixed_point import NEAREST_ROWS, coarse_room, fine_room
from gpuboost.training.projection import projection_factors
from gpuboost.training.row_sampling import RowSampler, RowUnits

#: What a key is for: the first counter of ``Backend.mix_key``.
ROUNDING, ROWS, COLUMNS, SIGNS, TARGET_ORDER = 1, 2, 3, 4, 5

#: Rounds that training may be ahead of the metrics it has seen, on a device that works while the
#: host goes on.
MAX_ROUNDS_AHEAD = 8

#: Of trees without sets of categories.
NO_SETS = np.empty(0, np.uint64)

#: Sums of gradients and hessians beyond which their squares might not be written.
LARGEST_SUM = 2.0**500


def growth_limits(
    params: BoostParams,
    n_rows: int,
    n_features: int,
    count_rows: bool,
    rules: SplitRules | None = None,
    n_values: int = 1,
) -> GrowthLimits:
    """Limits for this much data."""
    rules = SplitRules() if rules is None else rules
    weights = rules.feature_weights
    n_drawn = n_features if weights is None else int(np.count_nonzero(weights))
    depth = min(params.depth_limit, 40)
    max_leaves = max(2, min(2**depth, params.leaf_limit, n_rows))
    return GrowthLimits(
        order=params.order,
        max_depth=params.depth_limit,
        max_leaves=max_leaves,
        max_open=min(2 ** (depth - 1), max_leaves),
        tree_features=max(share(params.colsample_bytree, n_drawn), len(rules.forced_features)),
        leaves_per_step=min(int(params.leaves_per_step), NO_LEAF_LIMIT),
        max_steps=max_steps(params, max_leaves),
        sample_columns=(
            params.colsample_bylevel < 1 or params.colsample_bynode < 1 or rules.groups is not None
        ),
        count_rows=count_rows,
        n_values=n_values,
    )


def max_steps(params: BoostParams, max_leaves: int) -> int:
    """Steps in which a tree has to be grown; a device that cannot look runs all of them.

    A level is a step. Leaf-wise growth gets a step for each split, or, with several splits a step,
    twice what it needs if none is missed.
    """
    if params.order != LEAFWISE:
        return min(params.depth_limit, max_leaves - 1)
    at_once = min(int(params.leaves_per_step), NO_LEAF_LIMIT)
    if at_once == 1:
        return max_leaves - 1
    return min(max_leaves - 1, 2 * -(-(max_leaves - 1) // at_once) + at_once.bit_length() - 1)


def share(fraction: float, n: int) -> int:
    """A fraction of n things, at least one."""
    return max(1, round(fraction * n))


@dataclass
class EvalSet:
    """A set to evaluate on, binned, with its raw scores so far.

    Arrays are where the backend wants them.
    """

    name: str
    binned: FeatureMatrix | None  # None: the training rows, whose scores are there anyway
    y: DeviceArray
    weight: DeviceArray
    raw: DeviceArray
    arrays: DeviceArray

    @classmethod
    def of(
        cls,
        name: str,
        binned: FeatureMatrix,
        y: np.ndarray,
        weight: np.ndarray,
        base_score: np.ndarray,
        arrays: np.ndarray,
        backend: Backend,
    ) -> EvalSet:
        """An eval set before the first round."""
        raw = np.repeat(base_score[:, None], y.shape[-1], axis=1)
        put = backend.put
        return cls(name, binned, put(y), put(weight), put(raw), put(arrays))


class Booster:
    """Grows one tree after another on one binned training set.

    ``y`` is (n_rows,), or (n_outputs, n_rows) for several outputs, each of which is an objective of
    its own.
    """

    def __init__(
        self,
        features: FeatureMap,
        binned: FeatureMatrix,
        y: np.ndarray,
        weight: np.ndarray,
        base_score: np.ndarray,
        objective: Objective,
        params: BoostParams,
        seed: int,
        backend: Backend,
        row_arrays: Mapping[str, Any] | None = None,
        rules: SplitRules | None = None,
        row_units: RowUnits | None = None,
        out_of_bag: bool = False,
    ) -> None:
        self.feature_map, self.binned = features, binned
        self.objective, self.params, self.seed, self.backend = objective, params, seed, backend
        n_rows, n_outputs, n_features = y.shape[-1], len(base_score), len(features)
        usable = (
            np.arange(n_rows, dtype=ROW)
            if not weight.size
            else np.flatnonzero(weight > 0).astype(ROW)
        )
        total_weight = float(weight.sum()) if weight.size else float(n_rows)
        self.nearest = max(n_rows, total_weight) <= NEAREST_ROWS
        self.rooms = (coarse_room(n_rows, total_weight, self.nearest), fine_room(n_rows))
        self.vector = params.multi_strategy == VECTOR_LEAF and n_outputs > 1
        only_drawn = not self.vector and objective.leaf_value is None
        self.sampler = RowSampler(
            usable, n_rows, params, row_units, out_of_bag, backend, only_drawn
        )
        # with hessians of 1 the hessian sum is the row count
        hessian_counts = (
            objective.constant_hessian and not weight.size and not self.sampler.changes_gradients
        )
        count_rows = params.min_samples_leaf > 1 and not hessian_counts
        n_values = n_outputs if self.vector else 1
        self.limits = growth_limits(params, len(usable), n_features, count_rows, rules, n_values)
        self.grower = backend.make_grower(binned, self.limits, rules)
        self.y, self.weight = backend.put(y), backend.put(weight)
        self.several = y.ndim == 2
        self.raw = backend.put(np.repeat(base_score[:, None], n_rows, axis=1))
        arrays = objective.stack_arrays(row_arrays, n_rows)
        groups = objective.group_rows(row_arrays, usable, n_rows)
        self.arrays = backend.put(arrays)
        self.groups = None if groups is None else (backend.put(groups[0]), backend.put(groups[1]))
        self.host_rows = y, weight, arrays  # for leaf values from rows
        # gradients of groups leave those of rows without weight as they are
        self.g, self.h = (
            backend.empty((n_outputs, n_rows), np.float64)
            if groups is None
            else backend.put(np.zeros((n_outputs, n_rows)))
            for _ in range(2)
        )
        self.gh = backend.empty((n_rows,), PACKED)
        self.fine_units = backend.empty((n_values, 2), np.float64)
        if self.vector:
            factors = projection_factors(objective, y, base_score, weight, backend.host)
            self.factors = backend.put(factors)
            shapes = (1, n_rows), (1, n_rows), (1, 2)
            self.projected = tuple(backend.empty(shape, np.float64) for shape in shapes)
        # leaf values from rows are computed on the host, which waits for every round
        n_unchecked = 1 if objective.leaf_value is not None else backend.rounds_unchecked
        self.in_step = n_unchecked == 1
        self.sums = backend.empty((n_unchecked, n_outputs, 2), np.float64)
        self.n_checked = 0
        self.growth = backend.put(_growth_record(params, self.limits, hessian_counts))
        self.features = backend.put(
            np.arange(n_features, dtype=np.int32)[: self.limits.tree_features]
        )
        self.draw_features = self.limits.tree_features < n_features
        weights = None if rules is None else rules.tree_weights(n_features)
        self.feature_weights = None if weights is None else backend.put(weights)
        self.thresholds = features.thresholds()
        # bit 0 of a set is the missing value, the others are numbers of categories
        self.set_words = np.array([f.n_numbers // 64 + 1 for f in features.features], np.int32)
        #: Training rows as an eval set: those that a round has not drawn.
        self.out_of_bag: EvalSet | None = None
        if out_of_bag:
            self.out_of_bag = EvalSet(
                "out_of_bag", None, self.y, self.weight, self.raw, self.arrays
            )

    def round(
        self, number: int, evals: list[EvalSet], rows_drawn: Callable[[], None] | None = None
    ) -> None:
        """One boosting round: a tree for each output, added to all raw scores.

        ``rows_drawn`` is called when it is known which rows are out of the round's bag.
        """
        backend, params = self.backend, self.params
        sums = self.sums[number % len(self.sums)]
        self._compute_gradients(sums)
        if self.in_step:
            self.check_gradients(number + 1)
        key = backend.mix_key(self.seed, ROWS, number)
        drawn = self.sampler.draw(key, self.g, self.h, self.weight, sums)
        if self.out_of_bag is not None:
            self.out_of_bag.weight = self.sampler.weight_left_out(self.weight)
        if rows_drawn is not None:
            rows_drawn()
        for first in range(0, len(self.raw), self.limits.n_values):
            part = slice(first, first + self.limits.n_values)
            # each of several outputs has the trees that it would have alone
            turn = 0 if self.several else first
            keys = (
                backend.mix_key(self.seed, COLUMNS, number, turn),
                backend.mix_key(self.seed, ROUNDING, number, turn),
            )
            g, h, split_sums = self._split_gradients(number, part, sums, drawn)
            backend.begin_tree(
                split_sums, sums[part], self.rooms, keys, self.growth, self.fine_units
            )
            rounded = g, h, drawn.weight, self.growth, self.nearest, self.gh
            gh = backend.quantize(drawn.rows, *rounded)
            if self.draw_features:
                backend.draw_features(
                    len(self.feature_map), self.growth, self.features, self.feature_weights
                )
            self.grower.grow(drawn.rows, self.features, gh, self.growth)
            self.grower.finish(
                drawn.rows,
                drawn.g[part],
                drawn.h[part],
                drawn.weight,
                self.growth,
                self.fine_units,
                float(params.learning_rate),
            )
            if self.objective.leaf_value is not None:
                self._replace_leaf_values(drawn.rows, number, first)
            self.grower.add_leaf_values(self.raw[part])
            for e in evals:
                if e.binned is not None:
                    self.grower.add_tree(e.binned, e.raw[part])

    def _split_gradients(
        self, number: int, part: slice, sums: DeviceArray, drawn: Drawn
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Gradients and hessians (n_rows,) that splits are chosen by, and their sums (1, 2)."""
        if not self.vector:
            return drawn.g[part.start], drawn.h[part.start], sums[part]
        key, (g, h, projected_sums) = self.backend.mix_key(self.seed, SIGNS, number), self.projected
        self.backend.project(self.g, self.h, self.weight, self.factors, key, g, h, projected_sums)
        return g[0], h[0], projected_sums

    def _compute_gradients(self, sums: DeviceArray) -> None:
        """Gradients and hessians of all outputs, and their sums."""
        whole = slice(None)
        parts = [slice(k, k + 1) for k in range(len(self.raw))] if self.several else [whole]
        for part in parts:
            self.backend.gradients(
                self.objective,
                self.y[part.start] if self.several else self.y,
                self.raw[part],
                self.weight,
                self.arrays,
                self.groups,
                self.g[part],
                self.h[part],
                sums[part],
            )

    def _replace_leaf_values(self, rows: DeviceArray, number: int, k: int) -> None:
        """Leaf values that the objective computes from the rows of each leaf."""
        objective, learning_rate = self.objective, float(self.params.learning_rate)
        y, weight, arrays = self.host_rows
        y = y[k] if self.several else y
        raw = self.backend.to_host(self.raw[k])
        factor = (
            self.backend.to_host(self.sampler.factor) if self.sampler.changes_gradients else None
        )

        def value_of_rows(leaf: np.ndarray) -> float:
            leaf_weight = weight[leaf] if weight.size else np.ones(len(leaf))
            leaf_weight = leaf_weight if factor is None else leaf_weight * factor[leaf]
            value = float(objective.value_of_leaf(y[leaf], raw[leaf], leaf_weight, arrays[:, leaf]))
            if not np.isfinite(value):
                raise ValueError(
                    f"objective {objective.name!r} gave the leaf value {value!r} in round {number} "
                    f"(from 0), for a leaf of {len(leaf)} rows; it must be a finite number"
                )
            return learning_rate * value

        self.grower.replace_leaf_values(rows, value_of_rows)

    def sums_full(self, number: int) -> bool:
        """Whether the sums of gradients must be checked before the round after this one."""
        return number + 1 - self.n_checked >= len(self.sums)

    def check_gradients(self, n_rounds: int) -> None:
        """Raise if gradients or hessians of one of the first rounds were not as they must be."""
        sums = self.backend.to_host(self.sums)
        numbers = np.arange(self.n_checked, n_rounds)
        sums = sums[numbers % len(sums)]
        bad = ~(sums <= LARGEST_SUM).all(axis=(1, 2))
        if bad.any():
            first = bad.argmax()
            whose = f"objective {self.objective.name!r}"
            when = f"in round {numbers[first]} (from 0)"
            finite = np.isfinite(sums[first]).all(axis=0)
            if finite.all():
                raise ValueError(
                    f"gradients or hessians of {whose} add up to {sums[first].max():.3g} {when}, "
                    "too much to be squared: the training diverges; try a lower learning_rate than "
                    f"{self.params.learning_rate!r}"
                )
            problem = "hessian below zero or" if finite[0] else "gradient"
            advice = f": try a lower learning_rate than {self.params.learning_rate!r}"
            raise ValueError(
                f"{whose} gave a {problem} not finite, or sums too large for float64, "
                f"{when}{advice if numbers[first] > 0 else ''}"
            )
        self.n_checked = n_rounds

    def take_trees(self, everything: bool) -> list[Tree]:
        """Trees that have not been taken yet: those at hand, or everything after a wait."""
        return _trees(self.grower.take_trees(everything), *self.thresholds, self.set_words)


def _trees(
    grown: list[BoostedTree], cuts: np.ndarray, first_cut: np.ndarray, set_words: np.ndarray
) -> list[Tree]:
    """The grower's records as trees; ``cuts`` are those of all features of the training data.

    ``set_words`` says how long the sets of each feature are.

    All at once: for small trees a call of numpy takes longer than what it does.
    """
    if not grown:
        return []
    # as bytes: numpy copies records field by field
    dtype = grown[0].nodes.dtype
    nodes = np.concatenate([tree.nodes.view(np.uint8) for tree in grown]).view(dtype)
    split, left = nodes["split"], nodes["left"].copy()
    inner = left >= 0
    feature = np.where(inner, split["feature"], -1).astype(np.int32, copy=False)
    # the last one of a feature is +inf, which is the threshold of "values left, missing right"
    cut = first_cut[feature] + np.where(inner, split["bin"], 1) - 1
    threshold = np.where(inner, cuts[cut], 0.0)
    missing_left = np.where(inner, split["missing_left"], 0).astype(np.uint8, copy=False)
    gain = np.where(inner, split["gain"], 0.0)
    first_word, sets = np.full(len(left), -1, np.int32), NO_SETS
    words = np.zeros(len(grown) + 1, np.int64)
    begins = begins_of([len(tree.nodes) for tree in grown]).tolist()
    if "set" in (split.dtype.names or ()):
        by_set = inner & (split["kind"] == IN_SET)
        threshold[by_set] = 0.0
        first_word, words, sets = _sets_of_nodes(
            split["set"], np.where(by_set, set_words[feature], 0), begins
        )
    return [
        Tree(
            feature=feature[a:b],
            threshold=threshold[a:b],
            missing_left=missing_left[a:b],
            left=left[a:b],
            value=tree.values,
            gain=gain[a:b],
            cover=tree.cover,
            count=tree.counts,
            first_word=first_word[a:b],
            sets=sets[words[t] : words[t + 1]],
        )
        for t, (tree, (a, b)) in enumerate(zip(grown, pairwise(begins), strict=True))
    ]


def _sets_of_nodes(
    sets: np.ndarray, n_words: np.ndarray, begins: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets with as many words as each node needs, of trees that begin at these nodes.

    Where the set of each node begins among those of its tree (-1: it has none), where those of each
    tree begin, and all words.
    """
    ends = np.concatenate([[0], np.cumsum(n_words)])
    words = ends[begins]
    first = ends[:-1] - np.repeat(words[:-1], np.diff(begins))
    kept = np.arange(SET_WORDS) < n_words[:, None]
    return np.where(n_words > 0, first, -1).astype(np.int32), words, sets[kept]


def _growth_record(params: BoostParams, limits: GrowthLimits, hessian_counts: bool) -> np.ndarray:
    """What does not change from tree to tree."""
    min_child_weight = float(params.min_child_weight)
    min_samples = min(int(params.min_samples_leaf), NO_ROW_LIMIT)
    if hessian_counts:
        min_child_weight, min_samples = max(min_child_weight, float(min_samples)), 1
    level_features = share(params.colsample_bylevel, limits.tree_features)
    fields = {
        "min_child_weight": min_child_weight,
        "min_split_gain": params.min_split_gain,
        "reg_lambda": params.reg_lambda,
        "reg_alpha": params.reg_alpha,
        "max_delta_step": params.max_delta_step,
        "min_samples_leaf": min_samples,
        "cat_smooth": params.cat_smooth,
        "min_data_per_category": min(params.min_data_per_category, NO_ROW_LIMIT),
        "max_cat_to_onehot": min(params.max_cat_to_onehot, N_CODES),
        "max_cat_threshold": min(params.max_cat_threshold, N_CODES),
        "order": limits.order,
        "max_depth": limits.max_depth,
        "max_leaves": limits.max_leaves,
        "level_features": level_features,
        "node_features": share(params.colsample_bynode, level_features),
        "leaves_per_step": limits.leaves_per_step,
        "max_steps": limits.max_steps,
    }
    return record_of(GROWTH, fields)


@dataclass(frozen=True)
class History:
    """What the evaluation of the rounds said."""

    results: dict[str, dict[str, list[float]]]
    best_round: int
    best_score: float | None


class Watch:
    """Collects the metrics of the rounds, in their order, and knows when to stop."""

    def __init__(
        self,
        params: BoostParams,
        evals: list[EvalSet],
        metrics: list[Metric],
        report: Any,
        backend: Backend,
    ) -> None:
        self.params, self.evals, self.metrics = params, evals, metrics
        self.report, self.backend = report, backend
        self.results: dict[str, dict[str, list[float]]] = {
            e.name: {m.name: [] for m in metrics} for e in evals
        }
        self.pending: deque[list[ScoreLike]] = deque()
        self.n_seen = 0
        self.best_round = params.n_estimators - 1
        self.best_score: float | None = None
        self.stopped = False
        #: Metrics of the training rows, before the first round and before the round in hand.
        self.at_start: list[ScoreLike] = []
        self.before: list[ScoreLike] = []
        self.warned: set[tuple[str, str]] = set()

    def _ask(self, e: EvalSet) -> list[ScoreLike]:
        return [m.score(e.y, e.raw, e.weight, e.arrays, self.backend) for m in self.metrics]

    def begin(self) -> None:
        """Ask for the metrics of the training rows before the first round, if they count."""
        if self.evals and self.evals[0].binned is None:
            self.at_start = self._ask(self.evals[0])

    def rows_drawn(self) -> None:
        """Ask for the metrics of the rows that the round in hand leaves out, before its trees."""
        if self.at_start:
            self.before = self._ask(self.evals[0])

    def evaluate(self) -> None:
        """Ask for the metrics of the round that has just been grown."""
        self.pending.append([*self.before, *(score for e in self.evals for score in self._ask(e))])

    def see(self, most_pending: int) -> None:
        """Take note of the rounds whose metrics are there.

        Wait for more until at most so many rounds are pending.
        """
        while self.pending and not self.stopped:
            if len(self.pending) <= most_pending and not all(
                score.ready() for score in self.pending[0]
            ):
                return
            scores = [score.value() for score in self.pending.popleft()]
            before, scores = scores[: len(self.at_start)], scores[len(self.at_start) :]
            for e in self.evals:
                for m in self.metrics:
                    self.results[e.name][m.name].append(scores.pop(0))
            self._sum_changes(before)
            self._note(self.n_seen)
            self.n_seen += 1

    def _sum_changes(self, before: list[float]) -> None:
        """Make the metrics of the rows left out those of a curve.

        Earlier rounds have seen rows that this one leaves out, so that their metrics say too
        little; what a round changes in the metrics of the rows that it has not seen is honest. The
        curve is the sum of these changes, and begins with the metrics before the first round.
        """
        for m, start, old in zip(self.metrics, self.at_start, before, strict=bool(before)):
            curve = self.results[self.evals[0].name][m.name]
            change = curve.pop() - old
            last = curve[-1] if curve else start.value()
            curve.append(last if math.isnan(change) else last + change)

    def _note(self, number: int) -> None:
        if self.report is not None:
            self.report(self.results)
        for e in self.evals:
            for m in self.metrics:
                if math.isnan(self.results[e.name][m.name][-1]):
                    self._warn_of_nan(e, m, number)
        if self.params.early_stopping_rounds is None:
            return
        score = self.results[self.evals[-1].name][self.metrics[-1].name][-1]
        higher = self.metrics[-1].higher_is_better
        if not math.isnan(score) and (
            self.best_score is None
            or (score > self.best_score if higher else score < self.best_score)
        ):
            self.best_round, self.best_score = number, score
        if self.best_score is not None:
            self.stopped = number - self.best_round >= self.params.early_stopping_rounds

    def _warn_of_nan(self, e: EvalSet, m: Metric, number: int) -> None:
        """Say once for each metric and eval set that NaN is no score."""
        if (e.name, m.name) not in self.warned:
            self.warned.add((e.name, m.name))
            needs = f" (it needs {m.needs})" if m.needs else ""
            warnings.warn(
                f"eval_metric {m.name!r} on {e.name} is NaN in round {number} (from 0){needs}; NaN "
                "never counts as the best score",
                stacklevel=7,
            )

    def finish(self) -> None:
        """Say it if early stopping had nothing to go by."""
        if self.params.early_stopping_rounds is not None and self.best_score is None:
            warnings.warn(
                f"early stopping had nothing to go by: eval_metric {self.metrics[-1].name!r} on "
                f"{self.evals[-1].name} was NaN in every round; all {self.n_seen} rounds are kept",
                stacklevel=5,
            )


def boost(
    booster: Booster,
    base_score: np.ndarray,
    evals: list[EvalSet],
    metrics: list[Metric],
    report: Callable[[dict[str, dict[str, list[float]]]], None] | None = None,
) -> tuple[Ensemble, History]:
    """Run the rounds; stop early when the last metric has not improved for a while.

    The last eval set is the one that counts. A device may be rounds ahead of the metrics that have
    arrived; rounds after the one that ends the training are then dropped.
    """
    watch = Watch(booster.params, evals, metrics, report, booster.backend)
    trees: list[Tree] = []
    watch.begin()
    for number in range(booster.params.n_estimators):
        booster.round(number, evals, watch.rows_drawn)
        trees += booster.take_trees(everything=False)
        watch.evaluate()
        watch.see(0 if booster.in_step else MAX_ROUNDS_AHEAD)
        if booster.sums_full(number):
            watch.see(0)
            booster.check_gradients(watch.n_seen)
        if watch.stopped:
            break
    watch.see(0)
    watch.finish()
    booster.check_gradients(watch.n_seen)
    trees += booster.take_trees(everything=True)
    del trees[watch.n_seen * (len(base_score) // booster.limits.n_values) :]
    features, link = booster.feature_map.without_cuts(), booster.objective.link
    n_outputs = len(base_score) if booster.several else 1
    ensemble = Ensemble.boosted(trees, base_score, features, link, n_outputs)
    return ensemble, History(watch.results, watch.best_round, watch.best_score)


def warn_of_light_rows(ensemble: Ensemble, weight: np.ndarray, params: BoostParams) -> None:
    """Say it if weights are so small that ``min_child_weight`` has forbidden every split."""
    cover = float(max(tree.cover[0] for tree in ensemble.trees))
    splits = any(len(tree.left) > 1 for tree in ensemble.trees)
    # hessians may be as low as a quarter of the weights; where they are lower, all rows are alike
    light = weight.size and weight.sum() < 8 * params.min_child_weight
    if light and not splits and cover < 2 * params.min_child_weight:
        warnings.warn(
            f"no tree has a split: the hessians of all rows, times their weights, add up to "
            f"{cover:.3g}, and min_child_weight={params.min_child_weight!r} is needed on both "
            "sides of a split; multiply sample_weight by a constant, or lower min_child_weight and "
            "reg_lambda",
            stacklevel=4,
        )
