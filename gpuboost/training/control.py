"""What steers the rounds besides early stopping: learning rates, time, callbacks, checkpoints."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from gpuboost.config import RANGES
from gpuboost.model.tree import Tree
from gpuboost.training.callbacks import Callback, RoundState
from gpuboost.training.checkpoint import Checkpoint, SavedRounds
from gpuboost.training.evaluation import Watch

#: The learning rate of each round: a function of its number, counted from 0.
Schedule = Callable[[int], float]


def schedule_of(learning_rate: Any, n_rounds: int) -> Schedule | None:
    """A schedule from a function of the round, or from a number for each round.

    None if the learning rate is one number.
    """
    if callable(learning_rate):
        return lambda number: checked_rate(learning_rate(number), number)
    if (
        not isinstance(learning_rate, (list, tuple, np.ndarray))
        or getattr(learning_rate, "ndim", 1) == 0
    ):
        return None
    rates = list(learning_rate)
    if len(rates) < n_rounds:
        raise ValueError(
            f"learning_rate must have a number for each of the n_estimators={n_rounds} rounds; got "
            f"{len(rates)}"
        )
    checked = [checked_rate(rate, number) for number, rate in enumerate(rates)]
    return checked.__getitem__


def checked_rate(rate: Any, number: int) -> float:
    """The learning rate of a round, if it is one."""
    good = isinstance(rate, numbers.Real) and not isinstance(rate, (bool, np.bool_))
    if not good or not math.isfinite(rate):
        raise ValueError(
            f"learning_rate of round {number} (from 0) must be a number above 0; got {rate!r}"
        )
    RANGES["learning_rate"].check(f"learning_rate of round {number} (from 0)", rate)
    return float(rate)


@dataclass
class RoundControl:
    """Steers one training."""

    rate: float
    schedule: Schedule | None = None
    max_time: float | None = None  # seconds
    callbacks: Sequence[Callback] = ()
    signature: str = ""  # of the training, for checkpoints
    begun: float = field(default_factory=time.monotonic)
    stopped: bool = False  # by a callback

    def out_of_time(self) -> bool:
        """Whether no round may begin any more."""
        return self.max_time is not None and time.monotonic() - self.begun >= self.max_time

    def learning_rate(self, number: int, watch: Watch, n_rounds: int) -> float:
        """That of the round that begins; callbacks have the last word."""
        rate = self.rate if self.schedule is None else self.schedule(number)
        for callback in self.callbacks:
            answer = callback.before_round(self._state(number, watch, n_rounds, rate))
            rate = rate if answer is None else checked_rate(answer, number)
        return rate

    def after_round(
        self, number: int, watch: Watch, n_rounds: int, rate: float, trees: Callable[[], list[Tree]]
    ) -> None:
        """Tell the callbacks that a round has ended; write the checkpoints that are due."""
        if not self.callbacks:
            return
        state = self._state(number, watch, n_rounds, rate)
        for callback in self.callbacks:
            if callback.after_round(state):
                self.stopped = True
        last = number + 1 == n_rounds or self.stopped or watch.stopped
        for callback in self.callbacks:
            if isinstance(callback, Checkpoint) and (last or (number + 1) % callback.every == 0):
                rounds = SavedRounds(self.signature, watch.n_seen, trees(), watch.results)
                callback.write(rounds)

    def _state(self, number: int, watch: Watch, n_rounds: int, rate: float) -> RoundState:
        scores = {
            name: MappingProxyType({metric: curve[-1] for metric, curve in of_set.items() if curve})
            for name, of_set in watch.results.items()
        }
        return RoundState(
            round=number,
            n_rounds=n_rounds,
            learning_rate=rate,
            scores=MappingProxyType(scores),
            best_round=None if watch.best_score is None else watch.best_round,
            best_score=watch.best_score,
            seconds=time.monotonic() - self.begun,
        )


def saved_rounds(callbacks: Sequence[Callback], signature: str) -> SavedRounds | None:
    """The rounds that a checkpoint of an earlier run has; of several, the most."""
    saved = [one.read(signature) for one in callbacks if isinstance(one, Checkpoint)]
    found = [rounds for rounds in saved if rounds is not None]
    return max(found, key=lambda rounds: rounds.n_rounds, default=None)
