"""Eval sets, the metrics of the rounds, and the decision to stop early."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import BoostParams
from gpuboost.exchange import DeviceArray, FeatureMatrix, ScoreLike
from gpuboost.objectives.metrics import Metric

#: Values of every round, by eval set and metric.
Results: TypeAlias = dict[str, dict[str, list[float]]]


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
        raw: np.ndarray,
        arrays: np.ndarray,
        backend: Backend,
    ) -> EvalSet:
        """An eval set with the raw scores (n_outputs, n_rows) that training begins with."""
        put = backend.put
        return cls(name, binned, put(y), put(weight), put(raw), put(arrays))


@dataclass(frozen=True)
class Stopping:
    """When to stop early: which curve counts, and what an improvement is."""

    rounds: int | None  # without improvement; None: never
    min_delta: float = 0.0
    eval_set: int = -1  # numbers of those that count: the last ones
    metric: int = -1

    @classmethod
    def of(cls, params: BoostParams, eval_names: list[str], metrics: list[Metric]) -> Stopping:
        """From the names of the set and the metric; raises if nothing has such a name."""
        places = []
        for name, value, known in (
            ("stopping_set", params.stopping_set, eval_names),
            ("stopping_metric", params.stopping_metric, [metric.name for metric in metrics]),
        ):
            if value is not None and value not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))} or None; got {value!r}"
                )
            places.append(-1 if value is None else known.index(value))
        return cls(params.early_stopping_rounds, params.min_delta, *places)


@dataclass(frozen=True)
class History:
    """What the evaluation of the rounds said."""

    results: Results
    best_round: int
    best_score: float | None


class Watch:
    """Collects the metrics of the rounds, in their order, and knows when to stop."""

    def __init__(
        self,
        stopping: Stopping,
        evals: list[EvalSet],
        metrics: list[Metric],
        report: Callable[[Results], None] | None,
        backend: Backend,
        n_rounds: int,
        n_seen: int = 0,
    ) -> None:
        self.stopping, self.evals, self.metrics = stopping, evals, metrics
        self.report, self.backend = report, backend
        self.results: Results = {e.name: {m.name: [] for m in metrics} for e in evals}
        self.pending: deque[list[ScoreLike]] = deque()
        self.n_seen = n_seen
        self.best_round = n_rounds - 1
        self.best_score: float | None = None
        self.stopped = False
        #: Metrics of the training rows, before the first round and before the round in hand.
        self.at_start: list[ScoreLike] = []
        self.before: list[ScoreLike] = []
        self.warned: set[tuple[str, str]] = set()

    def _ask(self, e: EvalSet) -> list[ScoreLike]:
        return [m.score(e.y, e.raw, e.weight, e.arrays, self.backend) for m in self.metrics]

    def take_over(self, results: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
        """Go on from the curves of the last rounds that are there already."""
        report, self.report = self.report, None
        curves = [results[e.name][m.name] for e in self.evals for m in self.metrics]
        n_values = len(curves[0]) if curves else 0
        for i in range(n_values):
            for e in self.evals:
                for m in self.metrics:
                    self.results[e.name][m.name].append(float(results[e.name][m.name][i]))
            self._note(self.n_seen - n_values + i)
        self.report = report

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
        if self.stopping.rounds is None:
            return
        of_set, metric = self.evals[self.stopping.eval_set], self.metrics[self.stopping.metric]
        score = self.results[of_set.name][metric.name][-1]
        if not math.isnan(score) and (
            self.best_score is None or self._is_better(score, self.best_score, metric)
        ):
            self.best_round, self.best_score = number, score
        if self.best_score is not None:
            self.stopped = number - self.best_round >= self.stopping.rounds

    def _is_better(self, score: float, best: float, metric: Metric) -> bool:
        delta = self.stopping.min_delta
        return score > best + delta if metric.higher_is_better else score < best - delta

    def _warn_of_nan(self, e: EvalSet, m: Metric, number: int) -> None:
        """Say once for each metric and eval set that NaN is no score."""
        if (e.name, m.name) not in self.warned:
            self.warned.add((e.name, m.name))
            needs = f" (it needs {m.needs})" if m.needs else ""
            warnings.warn(
                f"eval_metric {m.name!r} on {e.name} is NaN in round {number} (from 0){needs}; NaN "
                "never counts as the best score",
                stacklevel=8,
            )

    def finish(self) -> None:
        """Say it if early stopping had nothing to go by."""
        if self.stopping.rounds is not None and self.best_score is None:
            metric, of_set = self.metrics[self.stopping.metric], self.evals[self.stopping.eval_set]
            warnings.warn(
                f"early stopping had nothing to go by: eval_metric {metric.name!r} on "
                f"{of_set.name} was NaN in every round; all {self.n_seen} rounds are kept",
                stacklevel=6,
            )
