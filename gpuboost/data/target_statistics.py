"""Ordered target statistics: the mean target of a category as a numeric column.

The mean of a row's own category would tell the row's own target, and a model that is trained on it
learns nothing else. So rows are put in a random order, and each gets the mean of the rows of its
category that come before it. New rows get the mean of all training rows of their category.

Both are (sum of targets + PRIOR_WEIGHT * prior) / (number of rows + PRIOR_WEIGHT), where the prior
is the mean of all targets: a category of few rows is near it. Rows count by their weights. Sums are
integers and the order comes from hashes of the rows' places, so that neither threads nor devices
nor chunks change a bit. The number of rows is a second column: it says how far a mean is to be
trusted. Pairs of columns are levels, too.

One order serves all columns and all trees. With an order for each column, or with several versions
that trees take turns in, columns together tell what each alone does not: the row's own target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import HostBackend
from gpuboost.config import Number
from gpuboost.data.array_math import exact_sum
from gpuboost.scalar.formulas import hash32, unit_for

#: How categories reach the trees: as sets of them, as the mean target of each, as both.
AUTO, PARTITION, TARGET, BOTH = "auto", "partition", "target", "both"
ENCODINGS = (AUTO, PARTITION, TARGET, BOTH)

#: Rows that the prior counts for.
PRIOR_WEIGHT = 1.0

#: Categories from which a column has many: "auto" takes their mean targets, and there are pairs.
MANY_LEVELS = 65
#: Pairs have at least this many times the levels of either column: else one column tells the other.
NEW_LEVELS = 1.2
#: Rows and columns up to which pairs are tried: they cost a column each.
PAIR_ROWS, PAIR_COLUMNS = 100_000, 12

#: Standard errors within which a statistic tells nothing: a column of noise is left out.
CHANCE = 2.0

#: Sums of fixed-point values stay below this: float64 holds them exactly.
ROOM = 2.0**51

#: Columns are float32. Targets of which the largest has an exponent in this range fit.
LARGEST_EXPONENT = 100


@dataclass(frozen=True, eq=False)
class TargetStatistic:
    """Sums by level of a column, or of a pair of columns: what new rows get.

    The annotations say what a model file holds.
    """

    columns: Annotated[np.ndarray, np.int32, "sources", Number(0)]  # one, or two
    n_categories: Annotated[np.ndarray, np.int32, "sources", Number(0)]
    #: Number of a level among all that could be: its place + 1 in the column's categories (0 is the
    #: missing value, and the number behind the last one a category that training has not seen). Of
    #: a pair that of the first times the count of those of the second, plus that of the second.
    #: Ascending; only levels that training rows have.
    key: Annotated[np.ndarray, np.int64, "levels", Number(0)]
    weight: Annotated[np.ndarray, np.float64, "levels", Number(0)]
    total: Annotated[np.ndarray, np.float64, "levels", "target_means", Number(-np.inf)]
    prior: Annotated[np.ndarray, np.float64, "target_means_of_statistics", Number(-np.inf)]

    @property
    def n_targets(self) -> int:
        """Means of each level."""
        return self.total.shape[1]

    @property
    def n_columns(self) -> int:
        """Columns that are made: the means, and of single columns the number of rows."""
        return self.n_targets + (len(self.columns) == 1)

    def of_rows(self, x: np.ndarray) -> np.ndarray:
        """What new rows get, (n_rows, n_columns) float32; ``x`` has places of categories."""
        key = level_keys(x, self.columns, self.n_categories)
        place = np.searchsorted(self.key, key)
        place[~np.isin(key, self.key)] = len(self.key)  # where those that nobody has seen are
        weight, total = np.append(self.weight, 0.0), np.append(self.total, [0.0 * self.prior], 0)
        return self._joined(total[place], weight[place], weight[place])

    def _joined(self, total: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(weight), self.n_columns), np.float32)
        prior = PRIOR_WEIGHT * self.prior
        out[:, : self.n_targets] = (total + prior) / (weight[:, None] + PRIOR_WEIGHT)
        if len(self.columns) == 1:
            out[:, -1] = rows
        return out

    def without_levels(self) -> TargetStatistic:
        """The same, with nothing to say of any level."""
        none = np.zeros(0)
        return replace(self, key=self.key[:0], weight=none, total=self.total[:0])

    def names(self, names: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Names of the columns; ``targets`` are those of the means."""
        called = " x ".join(names[f] for f in self.columns)
        means = [f"{called}: {target}" for target in targets]
        return [*means, f"{called}: rows"][: self.n_columns]


@dataclass(frozen=True, eq=False)
class TargetSums:
    """Weights and targets of training rows in fixed point, and the order in which they count."""

    order: np.ndarray  # (n_counted,) int64
    weight: np.ndarray  # (n_rows,) int64
    target: np.ndarray  # (n_rows, n_targets) int64
    weight_unit: float
    target_unit: np.ndarray  # (n_targets,)

    @classmethod
    def of(cls, targets: np.ndarray, weight: np.ndarray, key: Any) -> TargetSums:
        """From targets (n_targets, n_rows), weights (empty: all 1) and the key of the order."""
        n_rows = targets.shape[1]
        counted = np.flatnonzero(weight > 0) if weight.size else np.arange(n_rows)
        weights = weight if weight.size else np.ones(n_rows)
        # whole weights are numbers of rows, and a row of weight k is exactly k rows
        weight_unit = unit_for(ROOM, exact_sum(weights[counted])) if weight.size else 1.0
        fixed_weight = np.zeros(n_rows, np.int64)
        fixed_weight[counted] = np.rint(weights[counted] / weight_unit)
        fixed = np.zeros((n_rows, len(targets)), np.int64)
        units = []
        for k, values in enumerate(targets):
            known = _of_float32(values[counted])
            units.append(unit_for(ROOM, exact_sum(np.abs(known) * weights[counted])))
            steps = np.rint(known / units[k])
            fixed[counted, k] = np.rint(steps * weights[counted])
        return cls(shuffled(counted, key), fixed_weight, fixed, weight_unit, np.array(units))

    @property
    def prior(self) -> np.ndarray:
        """Mean of each target."""
        total = self.target.sum(axis=0) * self.target_unit
        return np.asarray(total / (self.weight.sum() * self.weight_unit or 1.0))

    def statistic(
        self, columns: Sequence[int], n_categories: Sequence[int], x: np.ndarray, host: HostBackend
    ) -> tuple[TargetStatistic, np.ndarray]:
        """The statistic of one or two columns, and what the training rows get."""
        sources = np.array(columns, np.int32), np.array(n_categories, np.int32)
        key = level_keys(x, *sources)
        levels, level = np.unique(key, return_inverse=True)
        by_level = (
            np.zeros(len(levels), np.int64),
            np.zeros((len(levels), len(self.prior)), np.int64),
        )
        before = np.zeros(len(key), np.int64), np.zeros(self.target.shape, np.int64)
        host.ordered_sums(self.order, level, self.weight, self.target, *by_level, *before)
        weight, total = by_level[0] * self.weight_unit, by_level[1] * self.target_unit
        seen = by_level[0] > 0
        statistic = TargetStatistic(*sources, levels[seen], weight[seen], total[seen], self.prior)
        past = before[1] * self.target_unit, before[0] * self.weight_unit
        return statistic, statistic._joined(*past, weight[level])

    def told_by(self, means: np.ndarray) -> bool:
        """Whether rows that get a higher mean have a higher target, beyond chance.

        ``means`` is (n_rows, n_targets), and one target is enough: the sum of (mean - prior) *
        (target - prior) is this many times the root of the sum of their squares, which is its
        standard error if there is nothing to be told.
        """
        deviation = self.target * self.target_unit - np.outer(
            self.weight * self.weight_unit, self.prior
        )
        for products in (deviation * (means - self.prior)).T:
            largest = float(np.abs(products).max(initial=0.0))
            if largest > 0.0:
                parts = products / largest
                score = exact_sum(parts)
                if score > 0.0 and score * score > CHANCE * CHANCE * exact_sum(parts * parts):
                    return True
        return False


def target_columns(y: np.ndarray, n_classes: int) -> np.ndarray:
    """What means are taken of, (n_targets, n_rows): outputs, or 1 for the rows of each class.

    ``y`` has values, codes of classes, or a row for each output. The second of two classes is
    enough.
    """
    if y.ndim == 2:
        return y
    if n_classes > 2:
        return (y == np.arange(n_classes)[:, None]).astype(np.float64)
    return y[None]


def _of_float32(targets: np.ndarray) -> np.ndarray:
    """Targets that float32 holds: those of any other size are divided by a power of two."""
    exponent = int(np.frexp(np.abs(targets).max(initial=0.0))[1])
    return np.ldexp(targets, -exponent) if abs(exponent) > LARGEST_EXPONENT else targets


def shuffled(rows: np.ndarray, key: Any) -> np.ndarray:
    """Rows in the order of the hashes of their places among these rows, which are all distinct."""
    places = np.arange(len(rows), dtype=np.uint32)
    with np.errstate(over="ignore"):
        return rows[np.argsort(hash32(np.uint32(key), places), kind="stable")]


def level_keys(x: np.ndarray, columns: np.ndarray, n_categories: np.ndarray) -> np.ndarray:
    """Keys of the rows' levels, from a matrix with places of categories, or NaN."""
    key = np.zeros(len(x), np.int64)
    for f, n in zip(columns.tolist(), n_categories.tolist(), strict=True):
        place = np.where(np.isnan(x[:, f]), -1, x[:, f]).astype(np.int64)
        key = key * (n + 2) + place + 1
    return key


def encoding_of(encoding: str, n_levels: int) -> str:
    """How a column with so many categories reaches the trees."""
    if encoding != AUTO:
        return encoding
    return TARGET if n_levels >= MANY_LEVELS else PARTITION


def pairs_to_try(n_levels: dict[int, int], n_rows: int, n_targets: int) -> list[tuple[int, int]]:
    """Pairs of columns, all of which have many categories, whose levels may be worth a column.

    ``n_levels`` has the categories of each column with a statistic of its own. There are none with
    many rows, columns or targets.
    """
    many = [f for f, n in n_levels.items() if n >= MANY_LEVELS]
    if n_rows > PAIR_ROWS or len(many) > PAIR_COLUMNS or n_targets > 1:
        return []
    return list(combinations(many, 2))


def says_more(n_joint: int, n_first: int, n_second: int) -> bool:
    """Whether pairs of levels are more than the levels of one column under two names."""
    return n_joint >= NEW_LEVELS * max(n_first, n_second)
