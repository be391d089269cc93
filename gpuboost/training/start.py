"""Where training begins: at constants, at scores that the user gives, or behind other rounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gpuboost.backend import Backend
from gpuboost.data.features import FeatureMap
from gpuboost.exchange import DeviceArray, SplitRules
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.stored import Writer
from gpuboost.model.tree import Tree
from gpuboost.objectives.objective import Objective
from gpuboost.training.checkpoint import SavedRounds
from gpuboost.training.dart import on_grid
from gpuboost.training.evaluation import Results


@dataclass(frozen=True)
class Start:
    """Rounds that are there before training begins, in the unit of its targets."""

    base_score: np.ndarray  # (n_outputs,)
    trees: list[Tree] = field(default_factory=list)
    n_rounds: int = 0
    results: Results | None = None  # the curves of these rounds; None: new ones begin
    grid: np.ndarray | None = None  # (n_outputs,): steps of the scores, with DART

    @classmethod
    def behind(cls, ensemble: Ensemble, exponent: int, results: Results | None) -> Start:
        """After all rounds of a model whose targets are two to the exponent times ours."""
        trees, base_score = ensemble.trees, ensemble.base_score
        if exponent:
            trees = [replace(tree, value=np.ldexp(tree.value, -exponent)) for tree in trees]
            base_score = np.ldexp(base_score, -exponent)
        return cls(base_score, trees, ensemble.n_rounds, results)

    def on_grid(self, grid: np.ndarray) -> Start:
        """Constants on the grid of DART's scores; raises if trees are not."""
        for i, tree in enumerate(self.trees):
            n = tree.value.shape[1]
            own = grid if n > 1 else grid[i % len(grid)]
            if (on_grid(tree.value, own) != tree.value).any():
                raise ValueError(
                    "boosting='dart' goes on from models of boosting='dart' on the same targets "
                    "only: their trees can be taken out of the scores exactly"
                )
        return replace(self, base_score=on_grid(self.base_score, grid), grid=grid)

    def or_saved(self, saved: SavedRounds | None) -> Start:
        """After the rounds of a checkpoint, if there is one; it has those of this start, too."""
        if saved is None:
            return self
        return replace(self, trees=saved.trees, n_rounds=saved.n_rounds, results=saved.results)

    def raw(
        self,
        x: DeviceArray,
        n_rows: int,
        margin: np.ndarray | None,
        features: FeatureMap,
        objective: Objective,
        backend: Backend,
    ) -> np.ndarray:
        """Raw scores (n_outputs, n_rows) of rows as trees see them, on the host.

        The trees are added in the order of training, so that these are its scores to the bit.
        """
        if not self.trees:
            raw = np.repeat(self.base_score[:, None], n_rows, axis=1)
            raw = raw if margin is None else raw + margin
            return raw if self.grid is None else on_grid(raw, self.grid[:, None])
        ensemble = Ensemble.boosted(
            self.trees, self.base_score, features.without_cuts(), objective.link
        )
        if margin is not None and self.grid is not None:
            margin = on_grid(margin, self.grid[:, None])
        return np.array(backend.to_host(ensemble.raw(x, backend, margin=margin)))

    def rules(self, rules: SplitRules) -> SplitRules:
        """The rules with nothing to pay for features that the trees have used."""
        if rules.costs is None or not self.trees:
            return rules
        costs = rules.costs.copy()
        for tree in self.trees:
            costs[tree.feature[tree.left >= 0]] = 0.0
        return replace(rules, costs=costs)


def same_features(one: FeatureMap, other: FeatureMap) -> bool:
    """Whether two maps turn columns into the same codes, cuts aside."""
    parts = []
    for features in (one, other):
        writer = Writer()
        parts.append((writer.put(FeatureMap, features.without_cuts(), ""), writer.arrays))
    (text, arrays), (other_text, other_arrays) = parts
    return (
        text == other_text
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(array, other_arrays[name]) for name, array in arrays.items())
    )
