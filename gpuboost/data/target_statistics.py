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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import HostBackend
from gpuboost.config import Number
from gpuboost.data.array_math import exact_sum
from gpuboost.dtypes import ROW
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

#: Part of the sizes of numbers by which their sum may be off; squares that no underflow changes.
ROUGHLY, SMALLEST_SQUARES = 1e-9, 1e-250

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
        out = np.empty((len(place), self.n_columns), np.float32)
        prior = PRIOR_WEIGHT * self.prior
        means = (total + prior) / (weight[:, None] + PRIOR_WEIGHT)
        out[:, : self.n_targets] = means[place]
        if len(self.columns) == 1:
            out[:, -1] = weight[place]
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
class RowLevels:
    """The levels that training rows have of a column, or of a pair of columns."""

    columns: tuple[int, ...]
    n_categories: tuple[int, ...]
    code: np.ndarray  # (n_rows,) int32: of the first column
    key: np.ndarray  # (n_rows,) int64: see ``TargetStatistic.key``
    rows: np.ndarray  # (n_counted,) int32: by level, those of a level in the order they count in

    @classmethod
    def of(
        cls, x: np.ndarray, f: int, n_categories: int, order: np.ndarray, host: HostBackend
    ) -> RowLevels:
        """Of one column; ``order`` has the rows in the order in which they count."""
        code = level_codes(x, f)
        rows = host.sort_by_code(order, code, n_categories + 2)
        return cls((f,), (n_categories,), code, code.astype(np.int64), rows)

    def joined(self, second: RowLevels, host: HostBackend) -> RowLevels:
        """Of this column and another one."""
        n_categories = self.n_categories + second.n_categories
        # by the second column they are in order already, which stays within a code of the first
        rows = host.sort_by_code(second.rows, self.code, n_categories[0] + 2)
        key = self.key * (n_categories[1] + 2) + second.key
        return RowLevels(self.columns + second.columns, n_categories, self.code, key, rows)


@dataclass(frozen=True, eq=False)
class TargetSums:
    """Weights and targets of training rows in fixed point, and the order in which they count."""

    order: np.ndarray  # (n_counted,) int32
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
        return cls(
            shuffled(counted, key).astype(ROW), fixed_weight, fixed, weight_unit, np.array(units)
        )

    @cached_property
    def prior(self) -> np.ndarray:
        """Mean of each target."""
        total = self.target.sum(axis=0) * self.target_unit
        return np.asarray(total / (self.weight.sum() * self.weight_unit or 1.0))

    @cached_property
    def deviation(self) -> np.ndarray:
        """Weight times (target - prior) of each row, (n_rows, n_targets)."""
        return np.asarray(
            self.target * self.target_unit - np.outer(self.weight * self.weight_unit, self.prior)
        )

    def statistic(self, levels: RowLevels, host: HostBackend) -> tuple[TargetStatistic, np.ndarray]:
        """The statistic of one or two columns, and what the training rows get."""
        prior, n_rows, is_single = self.prior, len(levels.key), len(levels.columns) == 1
        out = np.empty((n_rows, len(prior) + is_single), np.float32)
        means = out[:, : len(prior)]
        if len(self.order) < n_rows:  # rows without weight get the mean of no rows
            means[:] = PRIOR_WEIGHT * prior / PRIOR_WEIGHT
        key, weight, total = host.ordered_means(
            levels.rows, levels.key, self.weight, self.target,
            (self.weight_unit, self.target_unit), PRIOR_WEIGHT * prior, PRIOR_WEIGHT, means,
        )  # fmt: skip
        if is_single:
            of_codes = np.zeros(levels.n_categories[0] + 2, np.float32)
            of_codes[key] = weight * self.weight_unit
            out[:, -1] = of_codes[levels.code]
        seen = weight > 0
        sources = np.array(levels.columns, np.int32), np.array(levels.n_categories, np.int32)
        by_level = weight[seen] * self.weight_unit, total[seen] * self.target_unit
        return TargetStatistic(*sources, key[seen], *by_level, prior), out

    def told_by(self, means: np.ndarray) -> bool:
        """Whether rows that get a higher mean have a higher target, beyond chance.

        ``means`` is (n_rows, n_targets), and one target is enough: the sum of (mean - prior) *
        (target - prior) is this many times the root of the sum of their squares, which is its
        standard error if there is nothing to be told.
        """
        return any(map(beyond_chance, (self.deviation * (means - self.prior)).T))


def beyond_chance(products: np.ndarray) -> bool:
    """Whether numbers add up to more than ``CHANCE`` roots of the sum of their squares.

    By exact sums, if those of numpy, whose last bits depend on the machine, leave it open.
    """
    score, squares = float(products.sum()), float((products * products).sum())
    slack = ROUGHLY * float(np.abs(products).sum())
    wanted = CHANCE * CHANCE * squares
    if score + slack <= 0.0:
        return False
    if math.isfinite(wanted) and wanted > SMALLEST_SQUARES:
        if (score + slack) ** 2 < wanted * (1.0 - ROUGHLY):
            return False
        if score > slack and (score - slack) ** 2 > wanted * (1.0 + ROUGHLY):
            return True
    parts = products / float(np.abs(products).max())
    score = exact_sum(parts)
    return score > 0.0 and score * score > CHANCE * CHANCE * exact_sum(parts * parts)


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
        key = key * (n + 2) + level_codes(x, f)
    return key


def level_codes(x: np.ndarray, f: int) -> np.ndarray:
    """Places of the categories of a column + 1; 0 for NaN."""
    return np.where(np.isnan(x[:, f]), -1, x[:, f]).astype(np.int32) + np.int32(1)


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
