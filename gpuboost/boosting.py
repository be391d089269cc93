"""The boosting loop: gradients, trees, update, evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend, Grower
from gpuboost.binning import BinMapper, BinnedMatrix
from gpuboost.config import BoostParams
from gpuboost.dtypes import GROWTH, PACKED, ROW
from gpuboost.ensemble import Ensemble
from gpuboost.fixed_point import NEAREST_ROWS, coarse_scale, fine_scale
from gpuboost.losses import Loss
from gpuboost.metrics import Metric
from gpuboost.tree import Forest, Tree

#: What a key is for: the first counter of ``Backend.mix_key``.
ROUNDING, ROWS, COLUMNS = 1, 2, 3


@dataclass(frozen=True)
class GrowthLimits:
    """Sizes that a grower's buffers follow from."""

    order: int
    max_depth: int
    max_leaves: int
    max_open: int  # most nodes that have a histogram, or are split in one step
    tree_features: int
    sample_columns: bool  # by level or node
    count_rows: bool

    @classmethod
    def of(cls, params: BoostParams, n_rows: int, n_features: int, count_rows: bool) -> GrowthLimits:
        """Limits for this much data."""
        depth = min(params.depth_limit, 40)
        max_leaves = max(2, min(2**depth, params.leaf_limit, n_rows))
        return cls(
            order=params.order,
            max_depth=params.depth_limit,
            max_leaves=max_leaves,
            max_open=min(2 ** (depth - 1), max_leaves),
            tree_features=share(params.colsample_bytree, n_features),
            sample_columns=params.colsample_bylevel < 1 or params.colsample_bynode < 1,
            count_rows=count_rows,
        )


def share(fraction: float, n: int) -> int:
    """A fraction of n things, at least one."""
    return max(1, round(fraction * n))


@dataclass
class EvalSet:
    """A set to evaluate on, binned, with its raw scores so far."""

    name: str
    binned: BinnedMatrix
    y: np.ndarray
    weight: np.ndarray
    raw: np.ndarray


class Booster:
    """Grows one tree after another on one binned training set."""

    def __init__(
        self,
        mapper: BinMapper,
        binned: BinnedMatrix,
        y: np.ndarray,
        weight: np.ndarray,
        base_score: np.ndarray,
        loss: Loss,
        params: BoostParams,
        seed: int,
        backend: Backend,
    ) -> None:
        self.mapper, self.binned, self.y, self.weight = mapper, binned, y, weight
        self.loss, self.params, self.seed, self.backend = loss, params, seed, backend
        n_rows, n_outputs = len(y), len(base_score)
        self.usable = np.arange(n_rows, dtype=ROW) if not weight.size else np.flatnonzero(weight > 0).astype(ROW)
        self.total_weight = float(weight.sum()) if weight.size else float(n_rows)
        self.nearest = max(n_rows, self.total_weight) <= NEAREST_ROWS
        self.raw = np.repeat(base_score[:, None], n_rows, axis=1)
        self.g = np.empty((n_outputs, n_rows))
        self.h = np.empty((n_outputs, n_rows))
        self.gh = np.empty(n_rows, PACKED)
        # with hessians of 1 the hessian sum is the row count
        self.hessian_counts = loss.constant_hessian and not weight.size
        count_rows = params.min_samples_leaf > 1 and not self.hessian_counts
        self.limits = GrowthLimits.of(params, len(self.usable), len(mapper.cuts), count_rows)
        self.grower: Grower = backend.make_grower(binned.columns, binned.bins, binned.n_bins, self.limits)
        self.all_features = np.arange(len(mapper.cuts), dtype=np.int32)
        self.sampled = np.empty_like(self.usable) if params.subsample < 1 else self.usable

    def round(self, number: int) -> list[Tree]:
        """One boosting round: a tree for each output."""
        backend, params = self.backend, self.params
        sums = backend.gradients(self.loss, self.y, self.raw, self.weight, self.g, self.h)
        rows = self.usable
        if params.subsample < 1:
            n = backend.draw_rows(self.usable, params.subsample, backend.mix_key(self.seed, ROWS, number), self.sampled)
            rows = self.sampled[:n]
        return [self._grow(number, k, rows, sums[k]) for k in range(len(self.raw))]

    def _grow(self, number: int, k: int, rows: np.ndarray, sums: np.ndarray) -> Tree:
        backend, params, n_rows = self.backend, self.params, len(self.y)
        scales = [coarse_scale(float(s), n_rows, self.total_weight, self.nearest) for s in sums]
        rounding = backend.mix_key(self.seed, ROUNDING, number, k)
        backend.quantize(self.g[k], self.h[k], self.weight, scales[0], scales[1], self.nearest, rounding, self.gh)
        column_key = backend.mix_key(self.seed, COLUMNS, number, k)
        features = self.all_features
        if self.limits.tree_features < len(features):
            allowed = np.ones(len(features), np.uint8)
            features = backend.draw_features(self.limits.tree_features, column_key ^ np.uint32(1), allowed)
        growth = self._growth_record(scales, len(features), column_key)
        nodes = self.grower.grow(rows, features, self.gh, growth)
        fine = tuple(fine_scale(float(s), n_rows) for s in sums)
        values, cover, counts = self.grower.leaf_values(
            nodes, rows, self.g[k], self.h[k], self.weight, fine, growth, float(params.learning_rate)
        )
        self.grower.add_leaf_values(values, self.raw[k])
        return Tree.from_nodes(nodes, values, cover, counts, self.mapper.table)

    def _growth_record(self, scales: list[float], n_features: int, column_key: Any) -> np.ndarray:
        params, limits = self.params, self.limits
        level = share(params.colsample_bylevel, n_features)
        min_child_weight, min_samples = float(params.min_child_weight), int(params.min_samples_leaf)
        if self.hessian_counts:
            min_child_weight, min_samples = max(min_child_weight, float(min_samples)), 1
        record = np.zeros(1, GROWTH)
        record[0] = (
            1.0 / scales[0],
            1.0 / scales[1],
            min_child_weight,
            params.min_split_gain,
            params.reg_lambda,
            params.reg_alpha,
            params.max_delta_step,
            min_samples,
            limits.order,
            limits.max_depth,
            limits.max_leaves,
            level,
            share(params.colsample_bynode, level),
            column_key,
        )
        return record


@dataclass(frozen=True)
class History:
    """What the evaluation of the rounds said."""

    results: dict[str, dict[str, list[float]]]
    best_round: int
    best_score: float | None


def boost(
    booster: Booster,
    base_score: np.ndarray,
    evals: list[EvalSet],
    metrics: list[Metric],
    report: Callable[[int, dict[str, dict[str, list[float]]]], None] | None = None,
) -> tuple[Ensemble, History]:
    """Run the rounds; stop early when the last metric of the last eval set has not improved for a while."""
    params = booster.params
    results: dict[str, dict[str, list[float]]] = {e.name: {m.name: [] for m in metrics} for e in evals}
    trees: list[Tree] = []
    best_round, best_score = params.n_estimators - 1, None
    for number in range(params.n_estimators):
        new = booster.round(number)
        trees += new
        for e in evals:
            for k, tree in enumerate(new):
                booster.backend.add_tree_binned(e.binned.columns, tree, e.raw[k])
            for m in metrics:
                results[e.name][m.name].append(m.value(e.y, e.raw, e.weight))
        if report is not None:
            report(number, results)
        if params.early_stopping_rounds is not None:
            score = results[evals[-1].name][metrics[-1].name][-1]
            if best_score is None or (score > best_score if metrics[-1].higher_is_better else score < best_score):
                best_round, best_score = number, score
            if number - best_round >= params.early_stopping_rounds:
                break
    forest = Forest(trees, len(base_score))
    return Ensemble(forest, base_score, len(booster.mapper.cuts)), History(results, best_round, best_score)
