"""A trained ensemble: base score, trees, and raw prediction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.model.tree import Forest


@dataclass(frozen=True)
class Ensemble:
    """Raw scores are the base score plus what the trees add."""

    forest: Forest
    base_score: np.ndarray  # (n_outputs,) float64
    n_features: int

    @property
    def n_rounds(self) -> int:
        """Boosting rounds; each has one tree per output."""
        return len(self.forest.trees) // self.forest.n_outputs

    def raw(self, x: Any, backend: Backend, n_rounds: int | None = None) -> Any:
        """Raw scores after some rounds (all of them by default), (n_outputs, n_rows).

        Where ``x`` is.
        """
        out = backend.base_scores(self.base_score, x)
        end = (self.n_rounds if n_rounds is None else n_rounds) * self.forest.n_outputs
        backend.add_trees(x, self.forest, 0, end, out)
        return out

    def staged_raw(self, x: Any, backend: Backend) -> Iterator[Any]:
        """Raw scores after each round."""
        out = backend.base_scores(self.base_score, x)
        k = self.forest.n_outputs
        for r in range(self.n_rounds):
            backend.add_trees(x, self.forest, r * k, (r + 1) * k, out)
            yield out.copy()

    def importance(self, kind: str) -> np.ndarray:
        """Sum over all splits of a feature.

        Of their gains, of 1 (``split``), or of the hessians that pass through (``cover``).
        """
        total = np.zeros(self.n_features)
        for tree in self.forest.trees:
            inner = tree.left >= 0
            amount = {"gain": tree.gain, "split": np.ones(len(tree.left)), "cover": tree.cover}[
                kind
            ]
            np.add.at(total, tree.feature[inner], amount[inner])
        return total

    def fingerprint(self) -> str:
        """SHA-256 of the model: equal fingerprints mean equal predictions, bit for bit."""
        digest = hashlib.sha256()
        digest.update(
            np.array(
                [self.n_features, self.forest.n_outputs, len(self.forest.trees)], "<i8"
            ).tobytes()
        )
        digest.update(self.base_score.astype("<f8").tobytes())
        for tree in self.forest.trees:
            tree.add_to_digest(digest)
        return digest.hexdigest()
