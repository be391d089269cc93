"""The AdaBoost loops: weights of the rows go up where the trees so far are wrong.

Classes: SAMME (Zhu, Zou, Rosset and Hastie 2009), which is AdaBoost for two of them. Numbers:
AdaBoost.R2 (Drucker 1997).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import MOST_ROUNDS, Number, check_choice
from gpuboost.data.array_math import exact_sum, exp
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.tree import Tree
from gpuboost.scalar import formulas
from gpuboost.training.trees import GrowingTree, TreeGrower

#: What a key is for: the first counter of ``Backend.mix_key``.
TREES, DRAWS = 11, 12

#: Least weight of a row that has any, as a share of all: a row that is always right must not
#: vanish.
LEAST_WEIGHT = np.finfo(np.float64).eps

RANGES = {
    "n_estimators": Number(1, MOST_ROUNDS, integer=True),
    "learning_rate": Number(0, low_open=True),
}

#: How much a row is to blame, from its absolute error as a share of the largest.
LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda error: error,
    "square": np.square,
    "exponential": lambda error: 1.0 - exp(-error),
}


@dataclass(frozen=True)
class AdaBoostParams:
    """Parameters of the loops; the estimators' docstrings say what each one does."""

    n_estimators: int = 50
    learning_rate: float = 1.0
    loss: str = "linear"

    def __post_init__(self) -> None:
        """Check every value."""
        for name, allowed in RANGES.items():
            allowed.check(name, getattr(self, name))
        check_choice("loss", self.loss, LOSSES)


class Learner(Protocol):
    """What the loops boost."""

    n_channels: int

    def key(self, a: int, r: int) -> np.uint32:
        """A key for one purpose in a round."""

    def learn(self, weight: np.ndarray, r: int) -> Any:
        """A member of the ensemble, from weights or numbers of draws of the training rows."""

    def says(self, member: Any) -> np.ndarray:
        """What a member says of the training rows, (n_rows, n_channels)."""


class TreeLearner:
    """Trees."""

    def __init__(self, grower: TreeGrower, x: Any, seed: int, backend: Backend) -> None:
        self.grower, self.seed, self.backend = grower, seed, backend
        self.x = backend.put(x)  # every round predicts all rows
        self.n_channels = grower.targets.n_channels

    def key(self, a: int, r: int) -> np.uint32:
        """A key for one purpose in a round."""
        return self.backend.mix_key(self.seed, a, r)

    def learn(self, weight: np.ndarray, r: int) -> Tree:
        """A tree."""
        return self.grower.grow(GrowingTree(weight, self.key(TREES, r)))

    def says(self, member: Tree) -> np.ndarray:
        """What a tree says of the training rows."""
        first_channel = self.grower.targets.first_channel
        one = Ensemble.of_tree(member, self.x.shape[1], first_channel)
        return self.backend.to_host(one.raw(self.x, self.backend)).T


@dataclass(frozen=True)
class Boosted:
    """Members with their weights in the vote and their weighted errors."""

    members: list[Any]
    weights: np.ndarray  # (n_members,) float64
    errors: np.ndarray  # (n_members,) float64

    @classmethod
    def of(cls, rounds: list[tuple[Any, float, float]]) -> Boosted:
        """From (member, weight, error) of each round."""
        members, weights, errors = zip(*rounds, strict=True)
        return cls(list(members), np.array(weights), np.array(errors))


def boost_classes(
    learner: Learner, codes: np.ndarray, weight: np.ndarray, params: AdaBoostParams
) -> Boosted:
    """SAMME on weighted rows; ``codes`` are the classes of the rows."""
    n_classes = learner.n_channels
    chance = 1.0 - 1.0 / n_classes
    rounds: list[tuple[Any, float, float]] = []
    weight = _shares(weight, weight > 0)
    for r in range(params.n_estimators):
        member = learner.learn(weight, r)
        wrong = learner.says(member).argmax(axis=1) != codes
        error = exact_sum(weight[wrong])
        if error <= 0:
            rounds.append((member, 1.0, 0.0))
            break
        if error >= chance:
            if not rounds:
                raise ValueError(
                    f"the first tree's weighted error {error:.3g} is no better than chance "
                    f"({chance:.3g}): "
                    "X does not tell the classes apart with such trees; try a larger "
                    "max_depth, a smaller min_samples_leaf or min_weight_fraction_leaf, or other "
                    "features"
                )
            _warn(rounds, params, error, chance)
            break
        step = tree_weight(
            params, float(formulas.log((1.0 - error) / error) + formulas.log(n_classes - 1.0))
        )
        rounds.append((member, step, error))
        weight = reweigh_classes(weight, wrong, step)
    return Boosted.of(rounds)


def tree_weight(params: AdaBoostParams, quality: float) -> float:
    """The weight of a tree in the vote; sums of them must be numbers above 0."""
    weight = float(params.learning_rate) * quality
    if not sys.float_info.min <= weight <= sys.float_info.max / params.n_estimators:
        raise ValueError(
            f"learning_rate={params.learning_rate!r} gives a tree the weight {weight:.3g}, which "
            "is too small or too large for float64"
        )
    return weight


def reweigh_classes(weight: np.ndarray, wrong: np.ndarray, step: float) -> np.ndarray:
    """Weights after a round.

    Those of wrong rows grow by e**step, and all are divided by their sum.
    """
    return _shares(
        weight * np.where(wrong, 1.0, formulas.exp(-step)), weight > 0
    )  # so written that nothing overflows


def boost_values(
    learner: Learner, y: np.ndarray, weight: np.ndarray, params: AdaBoostParams
) -> Boosted:
    """AdaBoost.R2: a tree is grown on rows drawn with replacement by their weights."""
    rounds: list[tuple[Any, float, float]] = []
    weight = _shares(weight, weight > 0)
    for r in range(params.n_estimators):
        member = learner.learn(draw_by_weight(weight, learner.key(DRAWS, r)), r)
        blame = blame_of_rows(np.abs(learner.says(member)[:, 0] - y), weight, params.loss)
        error = exact_sum(weight * blame)
        if error <= 0:
            rounds.append((member, 1.0, 0.0))
            break
        if error >= 0.5:
            if not rounds:
                rounds.append((member, 1.0, error))
            _warn(rounds, params, error, 0.5)
            break
        beta = error / (1.0 - error)
        rounds.append((member, tree_weight(params, float(-formulas.log(beta))), error))
        weight = reweigh_values(weight, blame, beta, params.learning_rate)
    return Boosted.of(rounds)


def draw_by_weight(weight: np.ndarray, key: np.uint32) -> np.ndarray:
    """How often each row is drawn, as many draws as there are rows with weight.

    Rows without weight change nothing.
    """
    rows = np.flatnonzero(weight > 0)
    ends = np.cumsum(weight[rows])
    uniform = (formulas.hash32(key, np.arange(len(rows))) + 0.5) / 2.0**32
    drawn = np.searchsorted(ends, uniform * ends[-1], side="right").clip(max=len(rows) - 1)
    return np.bincount(rows[drawn], minlength=len(weight)).astype(np.float64)


def blame_of_rows(error: np.ndarray, weight: np.ndarray, loss: str) -> np.ndarray:
    """Loss of each row between 0 and 1, from the absolute errors; 0 for rows without weight."""
    error = np.where(weight > 0, error, 0.0)
    largest = float(error.max())
    return LOSSES[loss](error / largest) if largest > 0 else error


def reweigh_values(
    weight: np.ndarray, blame: np.ndarray, beta: float, learning_rate: float
) -> np.ndarray:
    """Weights after a round.

    The less a row is to blame, the closer to beta is the factor it shrinks by.
    """
    return _shares(weight * exp((1.0 - blame) * learning_rate * formulas.log(beta)), weight > 0)


def _shares(weight: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Weights that add up to 1, none of those present too small to count."""
    weight = np.where(present, np.maximum(weight / exact_sum(weight), LEAST_WEIGHT), 0.0)
    return weight / exact_sum(weight)


def _warn(
    rounds: list[tuple[Any, float, float]],
    params: AdaBoostParams,
    error: float,
    chance: float,
) -> None:
    warnings.warn(
        f"AdaBoost stopped after {len(rounds)} of {params.n_estimators} rounds: the next "
        f"tree's weighted error {error:.3g} is no better "
        f"than chance ({chance:.3g}). The model is usable; for more rounds try a larger "
        "max_depth or a lower learning_rate.",
        stacklevel=5,
    )
