"""Targets of classical trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class TreeTargets:
    """What trees are grown on: classes as channel numbers, or values.

    One column for each output.
    """

    classes: np.ndarray  # (n_rows, n_outputs) int32; empty for values
    y: np.ndarray  # (n_rows, n_outputs) float64; empty for classes
    first_channel: np.ndarray  # (n_outputs + 1,) int32: channels of each output; a value has one

    @classmethod
    def of_classes(cls, codes: np.ndarray, n_classes: list[int]) -> TreeTargets:
        """From class codes (n_rows, n_outputs)."""
        first = np.concatenate([[0], np.cumsum(n_classes)]).astype(np.int32)
        return cls((codes + first[:-1]).astype(np.int32), np.empty((0, len(n_classes))), first)

    @classmethod
    def of_values(cls, y: np.ndarray) -> TreeTargets:
        """From numbers (n_rows, n_outputs)."""
        return cls(
            np.empty((0, y.shape[1]), np.int32),
            np.ascontiguousarray(y, np.float64),
            np.arange(y.shape[1] + 1, dtype=np.int32),
        )

    def of_rows(self, rows: np.ndarray) -> TreeTargets:
        """Those of some rows, given by numbers or by a mask."""
        classes, y = (a[rows] if len(a) else a for a in (self.classes, self.y))
        return TreeTargets(classes, y, self.first_channel)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.first_channel) - 1

    @property
    def n_channels(self) -> int:
        """Numbers that a node says."""
        return int(self.first_channel[-1])

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Rank of each value among the distinct ones of its output, and these by rank."""
        if not len(self.y):
            return np.empty((0, self.n_outputs), np.int32), np.empty((0, self.n_outputs))
        parts = [np.unique(self.y[:, o], return_inverse=True) for o in range(self.n_outputs)]
        by_rank = np.zeros((max(len(values) for values, _ in parts), self.n_outputs))
        for o, (values, _) in enumerate(parts):
            by_rank[: len(values), o] = values
        return np.stack([inverse for _, inverse in parts], axis=1).astype(np.int32), by_rank
