"""The boosting loop: gradients, trees, update, evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import DART, NO_LEAF_LIMIT, NO_ROW_LIMIT, VECTOR_LEAF, BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.dtypes import (
    GROWTH,
    LEAFWISE,
    N_CODES,
    PACKED,
    ROW,
    record_of,
)
from gpuboost.exchange import (
    BoostedTree,
    DeviceArray,
    Drawn,
    FeatureMatrix,
    GrowthLimits,
    LeafQuantile,
    SplitRules,
)
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.tree import Tree
from gpuboost.objectives.objective import Objective
from gpuboost.scalar.fixed_point import NEAREST_ROWS, coarse_room, fine_room, weight_unit
from gpuboost.training.control import RoundControl
from gpuboost.training.dart import Dart, grid_of
from gpuboost.training.evaluation import EvalSet, History, Watch
from gpuboost.training.projection import projection_factors
from gpuboost.training.prune import pruned
from gpuboost.training.records import RecordReader
from gpuboost.training.row_sampling import RowSampler, RowUnits
from gpuboost.training.start import Start

#: What a key is for: the first counter of ``Backend.mix_key``.
ROUNDING, ROWS, COLUMNS, SIGNS, TARGET_ORDER = 1, 2, 3, 4, 5

#: Rounds that training may be ahead of the metrics it has seen, on a device that works while the
#: host goes on.
MAX_ROUNDS_AHEAD = 8

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


class Booster:
    """Grows one tree after another on one binned training set.

    ``y`` is (n_rows,), or (n_outputs, n_rows) for several outputs, each of which is an objective of
    its own. ``raw`` are the scores before the first round, which has the number ``first_round``;
    None: the base scores. ``first_trees`` are those of earlier rounds.
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
        raw: np.ndarray | None = None,
        first_round: int = 0,
        first_trees: Sequence[Tree] = (),
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
        only_drawn = not self.vector and objective.leaf_level is None
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
        raw = np.repeat(base_score[:, None], n_rows, axis=1) if raw is None else raw
        self.raw = backend.put(raw)
        arrays = objective.stack_arrays(row_arrays, n_rows)
        groups = objective.group_rows(row_arrays, usable, n_rows)
        self.arrays = backend.put(arrays)
        self.groups = None if groups is None else (backend.put(groups[0]), backend.put(groups[1]))
        # for leaf values from rows: targets by output, and weights as whole numbers
        self.leaf_quantiles: list[LeafQuantile] = []  # of the round
        self.no_factor = backend.empty((0,), np.float64)
        self.y_rows = self.y if self.several else self.y.reshape((1, n_rows))
        self.weight_unit = weight_unit(total_weight) if weight.size else 1.0
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
        # trees that are changed are the host's, which waits for them
        self.changes_trees = params.prune or params.boosting == DART
        self.changed: list[BoostedTree] = []
        n_unchecked = 1 if self.changes_trees else backend.rounds_unchecked
        self.in_step = n_unchecked == 1
        self.sums = backend.empty((n_unchecked, n_outputs, 2), np.float64)
        self.n_checked = first_round
        self.learning_rate = float(params.learning_rate)
        self.growth = backend.put(_growth_record(params, self.limits, hessian_counts))
        self.features = backend.put(
            np.arange(n_features, dtype=np.int32)[: self.limits.tree_features]
        )
        self.draw_features = self.limits.tree_features < n_features
        weights = None if rules is None else rules.tree_weights(n_features)
        self.feature_weights = None if weights is None else backend.put(weights)
        self.reader = RecordReader(features)
        #: Trees of a model, but with ``dart``, which has what trees say until the end.
        self.trees = list(first_trees)
        self.dart: Dart | None = None
        if params.boosting == DART:
            grid = grid_of(objective, y, weight, n_outputs)
            rounds = self._rounds_of(first_trees, n_outputs // n_values)
            self.dart = Dart(params, seed, grid, rounds, backend)
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
        backend = self.backend
        sums = self.sums[number % len(self.sums)]
        if self.dart is not None:
            self.dart.begin_round(number, self.grower, self.binned, self.raw)
        self.step = self.learning_rate * self._weight_of_round()
        self._compute_gradients(sums)
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
                self.step,
            )
            if self.leaf_quantiles:
                self._set_leaf_quantiles(drawn.rows, part)
            if self.changes_trees:
                self._change_tree(part)
            else:
                self.grower.add_leaf_values(self.raw[part])
            for e in evals:
                if e.binned is not None:
                    self.grower.add_tree(e.binned, e.raw[part])
        if self.dart is not None:
            self.dart.put_back(self.learning_rate, self.grower, self.binned, self.raw, evals)

    def _weight_of_round(self) -> float:
        return 1.0 if self.dart is None else self.dart.weights(self.learning_rate)[0]

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
        quantiles: list[LeafQuantile] = []
        for part in parts:
            objective = self.objective.adapted(partial(self._residual_quantile, part))
            quantiles += objective.leaf_quantiles or []
            self.backend.gradients(
                objective,
                self.y[part.start] if self.several else self.y,
                self.raw[part],
                self.weight,
                self.arrays,
                self.groups,
                self.g[part],
                self.h[part],
                sums[part],
            )
        self.leaf_quantiles = quantiles

    def _residual_quantile(self, part: slice, level: float) -> float:
        """A quantile of the absolute residuals of one output."""
        return self.backend.residual_quantile(
            self.sampler.usable,
            self.y_rows[part.start or 0],
            self.raw[part.start or 0],
            self.weight,
            self.weight_unit,
            level,
        )

    def _set_leaf_quantiles(self, rows: DeviceArray, part: slice) -> None:
        """Leaf values that follow from the residuals of the rows of each leaf."""
        of_outputs = self.leaf_quantiles
        factor = self.sampler.factor if self.sampler.changes_gradients else self.no_factor
        self.grower.set_leaf_quantiles(
            rows,
            self.y_rows[part] if self.several else self.y_rows,
            self.raw[part],
            (self.weight, factor, self.weight_unit),
            of_outputs[part] if len(of_outputs) > 1 else of_outputs,
            self.growth,
            self.step,
        )

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
                    f"{self.learning_rate!r}"
                )
            problem = "hessian below zero or" if finite[0] else "gradient"
            advice = f": try a lower learning_rate than {self.learning_rate!r}"
            raise ValueError(
                f"{whose} gave a {problem} not finite, or sums too large for float64, "
                f"{when}{advice if numbers[first] > 0 else ''}"
            )
        self.n_checked = n_rounds

    def _rounds_of(self, trees: Sequence[Tree], per_round: int) -> list[list[BoostedTree]]:
        """The records of trees, round by round."""
        records = [self.reader.records(tree) for tree in trees]
        return [records[i : i + per_round] for i in range(0, len(records), per_round)]

    def _change_tree(self, part: slice) -> None:
        """Do what happens to a grown tree before it is added to the scores, and add it."""
        tree = self.grower.take_last()
        if self.params.prune:
            tree = pruned(tree, float(self.params.min_split_gain))
        if self.dart is not None:
            tree = self.dart.add(tree, part.start)
        else:
            self.changed.append(tree)
        self.grower.put_tree(tree)
        self.grower.add_tree(self.binned, self.raw[part])

    def collect_trees(self, everything: bool) -> None:
        """Keep the trees that have not been kept yet: those at hand, or all after a wait."""
        if self.dart is None:
            grown, self.changed = self.changed or self.grower.take_trees(everything), []
            self.trees += self.reader.trees(grown)

    def trees_after(self, n_rounds: int) -> list[Tree]:
        """The trees of the first rounds; with DART as many as have been grown."""
        if self.dart is not None:
            return self.reader.trees([tree for one in self.dart.rounds for tree in one])
        self.collect_trees(everything=True)
        return self.trees[: n_rounds * (len(self.raw) // self.limits.n_values)]


def _growth_record(params: BoostParams, limits: GrowthLimits, hessian_counts: bool) -> np.ndarray:
    """What does not change from tree to tree."""
    min_child_weight = float(params.min_child_weight)
    min_samples = min(int(params.min_samples_leaf), NO_ROW_LIMIT)
    if hessian_counts:
        min_child_weight, min_samples = max(min_child_weight, float(min_samples)), 1
    level_features = share(params.colsample_bylevel, limits.tree_features)
    fields = {
        "min_child_weight": min_child_weight,
        "min_split_gain": 0.0 if params.prune else params.min_split_gain,
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


def boost(
    booster: Booster,
    watch: Watch,
    control: RoundControl,
    start: Start,
) -> tuple[Ensemble, History]:
    """Run the rounds after those that are there; stop early when the watch or the control says so.

    A device may be rounds ahead of the metrics that have arrived; rounds after the one that ends
    the training are then dropped.
    """
    n_rounds, in_step = booster.params.n_estimators, booster.in_step or bool(control.callbacks)

    def trees_so_far() -> list[Tree]:
        return booster.trees_after(watch.n_seen)

    watch.begin()
    for number in range(start.n_rounds, n_rounds):
        if watch.stopped or control.stopped or (number > start.n_rounds and control.out_of_time()):
            break
        booster.learning_rate = control.learning_rate(number, watch, n_rounds)
        booster.round(number, watch.evals, watch.rows_drawn)
        booster.collect_trees(everything=False)
        watch.evaluate()
        watch.see(0 if in_step else MAX_ROUNDS_AHEAD)
        if booster.sums_full(number):
            watch.see(0)
            booster.check_gradients(watch.n_seen)
        control.after_round(number, watch, n_rounds, booster.learning_rate, trees_so_far)
    watch.see(0)
    watch.finish()
    booster.check_gradients(watch.n_seen)
    features, link = booster.feature_map.without_cuts(), booster.objective.link
    n_outputs = len(start.base_score) if booster.several else 1
    ensemble = Ensemble.boosted(trees_so_far(), start.base_score, features, link, n_outputs)
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
            stacklevel=5,
        )
