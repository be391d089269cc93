"""What cuts are learned from: a sample of the rows, which may come in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend, on_host

#: Rows from which cuts are taken; a quantile of 100,000 rows is off by about 0.15 % of the rows,
#: 0.4 bins.
SAMPLE_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Summary:
    """Rows that cuts are taken from, with their weights and targets.

    The summaries of the chunks of a table, merged in their order, give the cuts of the whole table.
    """

    x: Any  # (n_rows, n_features)
    weight: np.ndarray  # (n_rows,) float64; empty: all equal
    y: np.ndarray | None = None  # (n_rows, ...): for features that are made from targets
    rows: np.ndarray | None = None  # the rows of x that count; None: all

    @classmethod
    def of(cls, x: Any, weight: np.ndarray, y: np.ndarray | None = None) -> Summary:
        """Of a whole table."""
        return cls(x, weight, y, sampled_rows(x.shape[0]))

    @classmethod
    def of_chunk(
        cls, x: Any, weight: np.ndarray, first_row: int, n_rows: int, y: np.ndarray | None = None
    ) -> Summary:
        """Of consecutive rows of a table that has ``n_rows`` in all, in memory of its own."""
        chosen = sampled_rows(n_rows)
        if chosen is None:
            local = np.arange(x.shape[0])
        else:
            begin, end = np.searchsorted(chosen, [first_row, first_row + x.shape[0]])
            local = chosen[begin:end] - first_row
        return cls(
            on_host(x[local]),
            weight[local] if weight.size else weight,
            None if y is None else y[local],
        )

    def merge(self, later: Summary) -> Summary:
        """Of both chunks, this one before the other."""
        both = len(self.x) > 0 and len(later.x) > 0
        if (self.y is None) != (later.y is None) or (
            both and bool(self.weight.size) != bool(later.weight.size)
        ):
            raise ValueError("summaries to be merged must both have weights and targets, or not")
        return Summary(
            np.concatenate([self.x, later.x]),
            np.concatenate([self.weight, later.weight]),
            None if self.y is None or later.y is None else np.concatenate([self.y, later.y]),
        )

    def cuts(self, max_values: int, backend: Backend) -> list[np.ndarray]:
        """Cuts of each column; rows of weight 0 are as if they were not there."""
        return backend.find_cuts(self.x, self.weight, self.rows, max_values)


def sampled_rows(n_rows: int) -> np.ndarray | None:
    """Rows to take cuts from.

    All of them (None), or a fixed random choice that does not depend on any parameter.
    """
    if n_rows <= SAMPLE_ROWS:
        return None
    # one row from each of SAMPLE_ROWS equal stretches: ascending, spread evenly, yet blind to
    # periods in the data
    edges = np.linspace(0, n_rows, SAMPLE_ROWS + 1).astype(np.int64)
    return edges[:-1] + (np.random.default_rng(0).random(SAMPLE_ROWS) * np.diff(edges)).astype(
        np.int64
    )
