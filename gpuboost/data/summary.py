"""What cuts are learned from: a sample of the rows, which may come in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend, on_host
from gpuboost.data.array_math import exact_sum
from gpuboost.exchange import SparseRows
from gpuboost.scalar.fixed_point import NEAREST_ROWS

#: Rows from which cuts are taken; a quantile of 100,000 rows is off by about 0.15 % of the rows,
#: 0.4 bins.
SAMPLE_ROWS = 100_000

#: Steps of the share of a row of no weight: sums over all rows are exact.
SHARE_STEPS = 2.0**20


@dataclass(frozen=True, eq=False)
class Summary:
    """Rows that cuts are taken from, with their weights and targets.

    The summaries of the chunks of a table, merged in their order, give the cuts of the whole table.
    """

    x: Any  # (n_rows, n_features), or SparseRows
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
        shares = shares_of_bins(self.weight, self.rows)
        if isinstance(self.x, SparseRows):
            return backend.host.find_sparse_cuts(self.x, shares, self.rows, max_values)
        return backend.find_cuts(self.x, shares, self.rows, max_values)


def shares_of_bins(weight: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """How much each row counts where bins are shared out; empty if all count the same.

    Half of the bins go to the weight and half to the rows: a row counts as its weight over the mean
    weight, plus 1. By weight alone, rows of little weight would have next to no bins, however many
    they are. Whole numbers that add up to no more than ``NEAREST_ROWS`` are numbers of rows, and
    count as these: there a row of weight k is exactly k rows. Other shares are multiples of 2**-20,
    so that they can be added up in any order.
    """
    if not weight.size or (weight == weight[0]).all():
        return np.empty(0)
    sample = weight if rows is None else weight[rows]
    counted = sample[sample > 0]
    if (counted == counted[:1]).all():
        return (weight > 0).astype(np.float64)
    total = exact_sum(counted)
    if total <= NEAREST_ROWS and (counted == np.floor(counted)).all():
        return weight
    share = np.rint((weight / total * len(counted) + 1.0) * SHARE_STEPS) / SHARE_STEPS
    return np.where(weight > 0, share, 0.0)


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
