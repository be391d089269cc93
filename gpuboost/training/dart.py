"""DART: rounds that leave earlier trees out, which then share their weight with the new ones.

What trees say is rounded to a grid, and so are the scores that training begins with: sums are
exact,
and trees can be taken out of the scores and put back without a trace. The scores of a training that
goes on from its trees are therefore those of one that was not interrupted.
"""

from __future__ import annotations

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import BoostParams
from gpuboost.exchange import BoostedTree, DeviceArray, FeatureMatrix, Grower
from gpuboost.objectives.objective import Objective
from gpuboost.training.evaluation import EvalSet

#: Bits of the grid below the size of the targets, or below 1 for scores that are log odds. Sums may
#: be 2**12 times as large before they are rounded.
GRID_BITS = 40

#: What keys are for; ``boosting.py`` has the others.
SKIPS, DROPS = 6, 7


def grid_of(objective: Objective, y: np.ndarray, weight: np.ndarray, n_outputs: int) -> np.ndarray:
    """Steps of the scores of each output, powers of two, (n_outputs,)."""
    sizes = np.ones(n_outputs)
    if objective.link.name == "identity":
        counted = y[..., weight > 0] if weight.size else y
        sizes = np.abs(np.atleast_2d(counted)).max(axis=1)
    sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
    return np.ldexp(1.0, np.frexp(sizes)[1] - GRID_BITS)


def on_grid(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The nearest multiples of steps that are powers of two."""
    return np.rint(values / grid) * grid


def with_values(tree: BoostedTree, values: np.ndarray) -> BoostedTree:
    """The tree with other values."""
    return BoostedTree(tree.nodes, values, tree.cover, tree.counts)


class Dart:
    """The rounds so far, and which of them the next round leaves out."""

    def __init__(
        self,
        params: BoostParams,
        seed: int,
        grid: np.ndarray,
        rounds: list[list[BoostedTree]],
        backend: Backend,
    ) -> None:
        self.params, self.seed, self.backend = params, seed, backend
        self.grid, self.rounds = grid, rounds
        self.dropped: list[int] = []

    def _draw(self, number: int) -> None:
        """Choose the rounds that round ``number`` leaves out, by hashes."""
        params = self.params
        skips = self._uniform(SKIPS, number, 0) < params.skip_drop
        self.dropped = (
            []
            if skips
            else [
                earlier
                for earlier in range(len(self.rounds))
                if self._uniform(DROPS, number, earlier) < params.rate_drop
            ]
        )

    def _uniform(self, what: int, number: int, earlier: int) -> float:
        return float(self.backend.mix_key(self.seed, what, number, earlier)) * 2.0**-32

    def weights(self, learning_rate: float) -> tuple[float, float]:
        """Factors of the new trees and of those that were left out."""
        n = len(self.dropped)
        if n == 0:
            return 1.0, 1.0
        if self.params.normalize_type == "forest":
            return 1.0 / (1.0 + learning_rate), 1.0 / (1.0 + learning_rate)
        return 1.0 / (n + learning_rate), n / (n + learning_rate)

    def begin_round(
        self, number: int, grower: Grower, binned: FeatureMatrix, raw: DeviceArray
    ) -> None:
        """Choose the rounds to leave out, and take them out of the scores of the training rows."""
        self._draw(number)
        for earlier in self.dropped:
            for tree, part in self._places(earlier):
                grower.put_tree(with_values(tree, -tree.values))
                grower.add_tree(binned, raw[part])
        self.rounds.append([])

    def add(self, tree: BoostedTree, first_output: int) -> BoostedTree:
        """Keep a new tree, with values on the grid."""
        grid = self.grid[first_output : first_output + tree.values.shape[1]]
        tree = with_values(tree, on_grid(tree.values, grid))
        self.rounds[-1].append(tree)
        return tree

    def put_back(
        self,
        learning_rate: float,
        grower: Grower,
        binned: FeatureMatrix,
        raw: DeviceArray,
        evals: list[EvalSet],
    ) -> None:
        """Add the rounds that were left out again, with the weight that is left to them."""
        _, factor = self.weights(learning_rate)
        for earlier in self.dropped:
            for i, (tree, part) in enumerate(self._places(earlier)):
                values = on_grid(factor * tree.values, self.grid[part])
                grower.put_tree(with_values(tree, values))
                grower.add_tree(binned, raw[part])
                grower.put_tree(with_values(tree, values - tree.values))
                for e in evals:
                    if e.binned is not None:
                        grower.add_tree(e.binned, e.raw[part])
                self.rounds[earlier][i] = with_values(tree, values)

    def _places(self, earlier: int) -> list[tuple[BoostedTree, slice]]:
        """The trees of a round with the outputs that they are for."""
        first, out = 0, []
        for tree in self.rounds[earlier]:
            end = first + tree.values.shape[1]
            out.append((tree, slice(first, end)))
            first = end
        return out
