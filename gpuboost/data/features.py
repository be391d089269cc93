"""The map of features: from a user's columns to the codes that trees are grown on.

A column goes two steps. ``FeatureMap.encode`` makes numbers of a user's table: numbers stay as they
are, a category becomes its place among the categories. ``FeatureMap.matrix`` makes codes of these
numbers, 0 for a missing or unseen value and then 1, 2, ... A map is learned from a ``Summary``,
which summaries of chunks can be merged to.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import Backend, HostBackend, device_of, on_host
from gpuboost.data.categorical import (
    are_texts,
    categorical_columns,
    in_order,
    places,
    refuse_free_text,
)
from gpuboost.data.columns import (
    BOOLEAN,
    CATEGORY,
    EMPTY,
    HOLDS,
    NUMBER,
    TEXT,
    ArrayColumns,
    Columns,
    beside,
    columns_of,
)
from gpuboost.data.date_parts import DatePart, date_parts
from gpuboost.data.matrix import exact_codes, with_borders
from gpuboost.data.summary import Summary
from gpuboost.data.target_statistics import (
    BOTH,
    PARTITION,
    TARGET,
    RowLevels,
    TargetStatistic,
    TargetSums,
    encoding_of,
    pairs_to_try,
    says_more,
)
from gpuboost.data.times import DATE, DURATION, IN_SECONDS, TIME
from gpuboost.dtypes import MAX_VALUE_BINS, N_CODES
from gpuboost.exchange import FeatureMatrix, SparseRows, SplitRules

#: Kinds of features: numbers; categories that are split by their order; categories that are split
#: into sets; categories of which trees see a target statistic instead; categories of which they see
#: both.
NUMERIC, ORDINAL, CATEGORICAL = "numeric", "ordinal", "categorical"
ENCODED, SPLIT_AND_ENCODED = "encoded", "split and encoded"
KINDS = (NUMERIC, ORDINAL, CATEGORICAL, ENCODED, SPLIT_AND_ENCODED)
#: Kinds of which trees see sets, and of which they see statistics.
IN_SETS, WITH_STATISTIC = (CATEGORICAL, SPLIT_AND_ENCODED), (ENCODED, SPLIT_AND_ENCODED)
#: What encodings make of categories.
KIND_OF = {PARTITION: CATEGORICAL, TARGET: ENCODED, BOTH: SPLIT_AND_ENCODED}
#: What is done with a category that training has not seen: it is a missing value, an error, or,
#: where trees see the means of targets, one whose mean is that of all rows.
MISSING, ERROR, PRIOR = "missing", "error", "prior"
UNKNOWN = (MISSING, ERROR, PRIOR)

log = logging.getLogger("gpuboost")

#: Most categories of a column that have a number of their own, where codes are bytes: one code is
#: that of missing values, and one all others share.
MAX_OWN_NUMBERS = N_CODES - 2


@dataclass(frozen=True, eq=False)
class Feature:
    """How the values of one column become codes.

    The annotations say what a model file holds.
    """

    kind: Annotated[str, KINDS] = NUMERIC
    categories: np.ndarray | None = None  # ascending
    numbers: np.ndarray | None = None  # of the categories, if some share one; None: their places
    # ascending float64: the code of number v is 1 + how many cuts are below v; only in training
    cuts: np.ndarray = field(default_factory=lambda: np.empty(0), metadata={"stored": False})
    holds: Annotated[str, HOLDS] = NUMBER  # what the user's column holds

    @property
    def n_numbers(self) -> int:
        """How many numbers the categories have."""
        if self.categories is None:
            return 0
        return len(self.categories) if self.numbers is None else int(self.numbers.max()) + 1

    def number_of_new(self, unknown: str) -> float:
        """The number of categories that training has not seen."""
        if unknown == PRIOR and self.kind in WITH_STATISTIC and self.categories is not None:
            return float(len(self.categories))
        return float("nan")

    @property
    def number_names(self) -> np.ndarray:
        """What each number stands for: a category, or all that share the last one."""
        assert self.categories is not None
        if self.numbers is None:
            return self.categories
        shared = self.numbers == self.numbers.max()
        names = np.empty(self.n_numbers, object)
        names[:-1] = self.categories[~shared]
        names[-1] = f"{shared.sum()} others"
        return names


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How the columns of a table become codes; one ``Feature`` for each column.

    Trees may see further columns, which are made of these: means of targets by category, and parts
    of dates. In the place of a column that is ``ENCODED`` they see the first of its means.
    """

    features: list[Feature]
    statistics: list[TargetStatistic] = field(default_factory=list)
    date_parts: list[DatePart] = field(default_factory=list)

    @classmethod
    def of_numbers(cls, n_features: int) -> FeatureMap:
        """Columns that hold numbers."""
        return cls([Feature()] * n_features)

    @classmethod
    def of_table(cls, x: Any, categorical_features: Any) -> FeatureMap:
        """Learn what the columns hold, and the categories of those that have some.

        ``categorical_features`` is "auto" (columns of text, and those that have a dtype of
        categories), None, or a list of column numbers, names or booleans.
        """
        columns = columns_of(x)
        if columns is not None:
            n_features = len(columns)
        else:
            n_features = x.shape[1] if hasattr(x, "shape") else np.shape(x)[1]
        names = None if columns is None else columns.names
        chosen = categorical_columns(columns, n_features, names, categorical_features)
        if columns is None:
            if not chosen:
                return cls.of_numbers(n_features)
            columns = ArrayColumns(np.asarray(x))
        features = [_learned(columns, f, f in chosen) for f in range(n_features)]
        if categorical_features == "auto":
            for f in chosen:
                refuse_free_text(columns, f)
        _tell_of_times(columns, features)
        return cls(features)

    def __len__(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def categories(self) -> dict[int, np.ndarray]:
        """Categories of the columns that have some."""
        return {
            f: feature.categories
            for f, feature in enumerate(self.features)
            if feature.categories is not None
        }

    @cached_property
    def number_names(self) -> dict[int, np.ndarray]:
        """What the numbers stand for, in columns that have categories."""
        return {
            f: values if self.features[f].kind in WITH_STATISTIC else self.features[f].number_names
            for f, values in self.categories.items()
        }

    @property
    def is_categorical(self) -> np.ndarray:
        """1 for features that are split into sets of categories."""
        return np.array([feature.kind in IN_SETS for feature in self.features], np.uint8)

    def with_encoding(self, encoding: str) -> FeatureMap:
        """The same map, in which it is decided how the categories reach the trees."""
        kinds = [
            KIND_OF[encoding_of(encoding, len(f.categories))]
            if f.kind == CATEGORICAL and f.categories is not None
            else f.kind
            for f in self.features
        ]
        pairs = zip(self.features, kinds, strict=True)
        return replace(self, features=[replace(f, kind=kind) for f, kind in pairs])

    def with_categories(self, categories: dict[int, np.ndarray]) -> FeatureMap:
        """The same map with other categories of some columns; numbers become ordinal."""
        features = list(self.features)
        for f, values in categories.items():
            kind = ORDINAL if features[f].kind == NUMERIC else features[f].kind
            features[f] = replace(features[f], kind=kind, categories=values)
        return replace(self, features=features)

    def that_hold(self, holds: Sequence[str]) -> FeatureMap:
        """The same map of columns that hold something else."""
        pairs = zip(self.features, holds, strict=True)
        return replace(self, features=[replace(feature, holds=what) for feature, what in pairs])

    def on_numbers(self, places: bool) -> FeatureMap:
        """The map of rows that hold numbers of categories, or their places among them."""

        def renumbering(feature: Feature) -> Feature:
            if feature.kind in WITH_STATISTIC:
                return replace(feature, categories=None)  # these hold places anyway
            if not places or feature.categories is None or feature.numbers is None:
                return Feature()
            return replace(feature, categories=np.arange(len(feature.categories), dtype=np.float64))

        return replace(self, features=[renumbering(feature) for feature in self.features])

    def encode(self, x: Any, unknown: str = MISSING) -> Any:
        """The numbers of a table as a matrix: those of categories are their places.

        A category not seen in training becomes NaN (missing), or an error with ``unknown="error"``,
        or with ``unknown="prior"`` the place behind the last one in columns with a statistic.
        A matrix of numbers alone is returned as it is.
        """
        columns = columns_of(x)
        if columns is None:
            if not self.categories:
                return x
            columns = ArrayColumns(np.asarray(x))
        return self._matrix_of(columns, unknown)

    def _matrix_of(self, columns: Columns, unknown: str) -> np.ndarray:
        for f, feature in enumerate(self.features):
            _check_same(columns, f, feature)
        matrix = None if self.categories else columns.matrix()
        if matrix is not None:
            return matrix
        numbers = [
            columns.numbers(f)
            if feature.categories is None
            else _category_numbers(columns, f, feature, unknown)
            for f, feature in enumerate(self.features)
        ]
        return beside(numbers, columns.n_rows)

    def with_few_numbers(self, x: Any, weight: np.ndarray) -> tuple[FeatureMap, Any]:
        """A map and matrix in which the numbers of categories fit into codes of one byte.

        A longer column keeps its most frequent categories, the lower ones among equals; the others
        share the number behind theirs. Categories that no row with a weight has are forgotten. Of
        columns with a target statistic the matrix keeps the places of the categories.
        """
        features, out = list(self.features), x
        for f, categories in self.categories.items():
            column = x[:, f] if not weight.size else np.where(weight > 0, x[:, f], np.nan)
            known, kind = column[~np.isnan(column)].astype(np.int64), features[f].kind
            n_rows = np.bincount(known, minlength=len(categories))
            if n_rows.all() and (len(n_rows) <= MAX_OWN_NUMBERS or kind == ENCODED):
                continue
            used, numbers = np.flatnonzero(n_rows), None
            of_places = np.full(len(categories), np.nan)
            of_places[used] = np.arange(len(used))
            if len(used) > MAX_OWN_NUMBERS and kind != ENCODED:
                kept = np.sort(np.argsort(-n_rows[used], kind="stable")[:MAX_OWN_NUMBERS])
                numbers = np.full(len(used), MAX_OWN_NUMBERS, np.uint8)
                numbers[kept] = np.arange(MAX_OWN_NUMBERS)
                if kind == CATEGORICAL:
                    of_places[used] = numbers
            features[f] = replace(features[f], categories=categories[used], numbers=numbers)
            out = x.copy() if out is x else out
            out[:, f] = _renumbered(column, of_places, len(categories))
        return replace(self, features=features), out

    # --- columns that are made of others

    def with_date_parts(self, given: Any, names: Sequence[str] | None) -> FeatureMap:
        """A map with the parts of dates that ``date_features`` asks for."""
        holds = [feature.holds for feature in self.features]
        return replace(self, date_parts=date_parts(given, holds, names))

    @property
    def has_made_columns(self) -> bool:
        """Whether trees see further columns."""
        return bool(self.statistics or self.date_parts)

    @property
    def _part_places(self) -> list[tuple[int, DatePart]]:
        """Where the trees see each part of a date."""
        return list(enumerate(self.date_parts, self.n_tree_columns - len(self.date_parts)))

    @property
    def wants_statistics(self) -> bool:
        """Whether any column gets a target statistic."""
        return any(feature.kind in WITH_STATISTIC for feature in self.features)

    def with_target_statistics(
        self, x: np.ndarray, sums: TargetSums, pairs: bool, host: HostBackend
    ) -> tuple[FeatureMap, np.ndarray]:
        """A map with the statistics that columns want, and the training rows as trees see them.

        Statistics that tell nothing of the targets have no levels, so that trees see a constant;
        there are none of such pairs.
        """
        wanted = [f for f, one in enumerate(self.features) if one.kind in WITH_STATISTIC]
        n_levels = {f: len(self.categories[f]) for f in wanted}
        levels: dict[int, RowLevels] = {}
        made: dict[tuple[int, ...], tuple[TargetStatistic, np.ndarray]] = {}

        def learn_column(i: int) -> None:
            f = wanted[i]
            levels[f] = RowLevels.of(x, f, n_levels[f], sums.order, host)
            made[f,] = statistic, rows = sums.statistic(levels[f], host)
            if not sums.told_by(rows[:, : statistic.n_targets]):
                statistic = statistic.without_levels()
                made[f,] = statistic, np.repeat(statistic.of_rows(x[:1]), len(x), axis=0)

        host.share_out(len(wanted), learn_column)
        to_try = pairs_to_try(n_levels, len(x), len(sums.prior)) if pairs else []

        def learn_pair(i: int) -> None:
            a, b = to_try[i]
            statistic, rows = sums.statistic(levels[a].joined(levels[b], host), host)
            n_joint = len(statistic.key)
            if says_more(n_joint, n_levels[a], n_levels[b]) and sums.told_by(rows):
                made[a, b] = statistic, rows

        host.share_out(len(to_try), learn_pair)
        columns = [one for one in [*((f,) for f in wanted), *to_try] if one in made]
        out = replace(self, statistics=[made[one][0] for one in columns])
        return out, out._with_made_columns(x, [made[one][1] for one in columns])

    def expand(self, x: Any, backend: Backend) -> Any:
        """The columns that trees see, from a matrix of numbers, where it is."""
        if not self.has_made_columns:
            return x
        expanded = self.expand_on_host(on_host(x))
        return expanded if device_of(x) is None else backend.put(expanded)

    def expand_on_host(self, x: np.ndarray) -> np.ndarray:
        """The same for a matrix of the host."""
        return self._with_made_columns(x, [one.of_rows(x) for one in self.statistics])

    def _with_made_columns(self, x: np.ndarray, made: list[np.ndarray]) -> np.ndarray:
        if not self.has_made_columns:
            return x
        out = np.empty((len(x), self.n_tree_columns), x.dtype)
        out[:, : len(self)] = x
        for one in self.statistics:
            f = int(one.columns[0])
            if len(one.columns) == 1 and self.features[f].kind == SPLIT_AND_ENCODED:
                numbers, n_places = self.features[f].numbers, int(one.n_categories[0])
                out[:, f] = _renumbered(x[:, f], numbers, n_places)
        for seats, columns in zip(self._made_places, made, strict=True):
            out[:, seats] = columns
        for place, part in self._part_places:
            out[:, place] = part.of_rows(x)
        return out

    @cached_property
    def _made_places(self) -> list[np.ndarray]:
        """Where the trees see the columns of each statistic."""
        end, out = len(self), []
        for one in self.statistics:
            replaced = [f for f in one.columns if self.features[f].kind == ENCODED]
            first = replaced if len(one.columns) == 1 else []
            n_new = one.n_columns - len(first)
            out.append(np.array([*first, *range(end, end + n_new)]))
            end += n_new
        return out

    @cached_property
    def n_tree_columns(self) -> int:
        """How many columns trees see."""
        ends = (int(seats[-1]) + 1 for seats in self._made_places)
        return max([len(self), *ends]) + len(self.date_parts)

    @cached_property
    def of_trees(self) -> FeatureMap:
        """The map of the columns that trees see."""
        if not self.has_made_columns:
            return self
        of_users = [
            replace(f, kind=CATEGORICAL) if f.kind == SPLIT_AND_ENCODED else f
            for f in (Feature() if f.kind == ENCODED else f for f in self.features)
        ]
        return FeatureMap(of_users + [Feature()] * (self.n_tree_columns - len(self)))

    @cached_property
    def sources(self) -> np.ndarray:
        """The columns that those which trees see are made of, (n_tree_columns, 2): one is twice."""
        out = np.repeat(np.arange(self.n_tree_columns)[:, None], 2, axis=1)
        for one, seats in zip(self.statistics, self._made_places, strict=True):
            out[seats] = one.columns[[0, -1]]
        for place, part in self._part_places:
            out[place] = part.column
        return out

    def rules_of_trees(self, rules: SplitRules) -> SplitRules:
        """The rules of the columns that trees see: those of what they are made of.

        A pair is drawn as its rarer column is, and costs what both do.
        """
        if not self.has_made_columns:
            return rules
        first, second = self.sources.T
        weights, groups, costs = rules.feature_weights, rules.groups, rules.costs
        if costs is not None:
            costs = costs[first] + np.where(first == second, 0.0, costs[second])
        return replace(
            rules,
            directions=None if rules.directions is None else rules.directions[first],
            feature_weights=None if weights is None else np.minimum(*weights[self.sources.T]),
            groups=None if groups is None else groups[first],
            costs=costs,
        )

    def by_column(self, amounts: np.ndarray) -> np.ndarray:
        """Sums by the user's columns; a pair's go to both in equal parts."""
        out = amounts[: len(self)].copy()
        for one, seats in zip(self.statistics, self._made_places, strict=True):
            new = seats[seats >= len(self)]
            np.add.at(out, one.columns, amounts[new].sum() / len(one.columns))
        for place, part in self._part_places:
            out[part.column] += amounts[place]
        return out

    def told_by(self, columns: Sequence[int]) -> list[int]:
        """The columns that trees see which follow from these of the user's alone."""
        out = [f for f in columns if self.features[f].kind != ENCODED]
        for one, seats in zip(self.statistics, self._made_places, strict=True):
            out += seats.tolist() if set(one.columns.tolist()) <= set(columns) else []
        return out + [place for place, part in self._part_places if part.column in columns]

    def tree_names(self, names: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Names of the columns that trees see, from those of the columns and of the targets."""
        out = [*names, *[""] * (self.n_tree_columns - len(self))]
        for one, seats in zip(self.statistics, self._made_places, strict=True):
            for place, name in zip(seats, one.names(names, targets), strict=True):
                out[place] = name
        for place, part in self._part_places:
            out[place] = f"{part.part} of {names[part.column]}"
        return out

    # --- codes

    def with_cuts(self, summary: Summary, max_bins: int, backend: Backend) -> FeatureMap:
        """Find cuts of about equal weight, exact ones where a column has few distinct values."""
        cuts = summary.cuts(min(max_bins, MAX_VALUE_BINS), backend)
        for f in np.flatnonzero(self.is_categorical):
            n = self.features[f].n_numbers
            if n <= MAX_VALUE_BINS:  # cuts between the numbers: a code is the number + 1
                cuts[f] = np.arange(max(n - 1, 0), dtype=np.float64)
        pairs = zip(self.features, cuts, strict=True)
        return replace(self, features=[replace(old, cuts=new_cuts) for old, new_cuts in pairs])

    def without_cuts(self) -> FeatureMap:
        """What prediction needs: trees know their thresholds."""
        return replace(self, features=[replace(f, cuts=np.empty(0)) for f in self.features])

    @property
    def n_cuts(self) -> np.ndarray:
        """How many cuts each feature has, int32."""
        return np.array([len(feature.cuts) for feature in self.features], np.int32)

    def cut_table(self, dtype: Any = np.float64) -> np.ndarray:
        """The cuts of all features, as ``cut_table`` makes them."""
        return cut_table([feature.cuts for feature in self.features], np.dtype(dtype))

    def thresholds(self) -> tuple[np.ndarray, np.ndarray]:
        """The cuts of all features, each followed by +inf, and where those of each begin."""
        ends = np.cumsum(self.n_cuts, dtype=np.int64)
        cuts = np.concatenate([np.empty(0), *(feature.cuts for feature in self.features)])
        begins = np.concatenate([[0], ends[:-1] + np.arange(1, len(ends))])
        return np.insert(cuts, ends, np.inf), begins

    def matrix(self, x: Any, backend: Backend, by_rows: bool) -> FeatureMatrix:
        """Codes of every number, one byte each, laid out as the backend likes it."""
        n_cuts = self.n_cuts
        if isinstance(x, SparseRows):
            entries = backend.bin_sparse(x, [feature.cuts for feature in self.features])
            return FeatureMatrix(entries, None, n_cuts + np.int32(2), len(x), sparse=True)
        cuts = self.cut_table(x.dtype)
        columns, rows = backend.bin_matrix(x, cuts, n_cuts, by_rows)
        n_codes, sets = n_cuts + np.int32(2), self.is_categorical
        return FeatureMatrix(columns, rows, n_codes, x.shape[0], is_categorical=sets)

    def matrix_with_borders(
        self, x: Any, weight: np.ndarray, max_bins: int | None, backend: Backend
    ) -> FeatureMatrix:
        """Codes for classical trees, which put thresholds between the values of two codes.

        With ``max_bins`` cuts are found, at most so many bins a feature, where ``x`` is; None:
        every distinct value of a row with weight has a code of its own, and ``x`` is on the host.
        """
        if max_bins is None:
            return exact_codes(x, weight, self.is_categorical, backend.host)
        cut = self.with_cuts(Summary.of(x, weight), max_bins, backend)
        columns = backend.bin_columns(x, cut.cut_table(x.dtype), cut.n_cuts)
        n_codes = cut.n_cuts + np.int32(2)
        return with_borders(columns, x, weight, n_codes, self.is_categorical, backend)


def _learned(columns: Columns, f: int, is_categorical: bool) -> Feature:
    """What a column is, and its categories."""
    holds = columns.holds(f)
    if not is_categorical:
        return Feature(holds=holds)
    categories, order = in_order(columns.levels(f)[1], columns.called(f))
    columns.order_levels(f, order)  # places among the categories are then those of the values
    return Feature(CATEGORICAL, categories, holds=TEXT if holds == TEXT else CATEGORY)


def _tell_of_times(columns: Columns, features: list[Feature]) -> None:
    """Log which columns are taken as seconds."""
    times = [f for f, feature in enumerate(features) if feature.holds in IN_SECONDS]
    if times:
        words = {DATE: "dates, in seconds since 1970-01-01T00:00 UTC"}
        log.info(
            "columns of X that are taken as seconds: %s",
            ", ".join(
                f"{columns.called(f)} ({words.get(features[f].holds, features[f].holds)})"
                for f in times
            ),
        )


#: What columns hold that is the same to a model.
SAME = {BOOLEAN: NUMBER, TEXT: CATEGORY, TIME: DURATION}


def _check_same(columns: Columns, f: int, feature: Feature) -> None:
    """Raise if a column holds something else than in training."""
    holds = columns.holds(f)
    if EMPTY in (holds, feature.holds):
        return
    if feature.categories is not None:
        if not len(feature.categories) or feature.kind == ORDINAL:
            return
        values = columns.levels(f)[1]
        texts = are_texts(feature.categories), any(isinstance(value, str) for value in values)
        if values and texts[0] != texts[1]:
            raise _retyped(columns, f, *(TEXT if is_text else NUMBER for is_text in texts))
        return
    wanted, got = SAME.get(feature.holds, feature.holds), SAME.get(holds, holds)
    # a matrix of numbers has seconds where a frame has dates
    if wanted != got and not (got == NUMBER and not columns.is_frame):
        raise _retyped(columns, f, feature.holds, holds)


def _retyped(columns: Columns, f: int, wanted: str, got: str) -> ValueError:
    plural = {NUMBER: "numbers", DATE: "dates", BOOLEAN: "booleans", CATEGORY: "categories"}
    return ValueError(
        f"X must hold what it held in training: column {columns.called(f)} holds "
        f"{plural.get(got, got)}, and held {plural.get(wanted, wanted)}"
    )


def _category_numbers(columns: Columns, f: int, feature: Feature, unknown: str) -> np.ndarray:
    """Numbers of categories, as float32 (float64 if it does not hold them); NaN for none."""
    codes, values = columns.levels(f)
    categories = np.empty(0) if feature.categories is None else feature.categories
    place = places(values, categories)
    if unknown == ERROR and (place < 0).any():
        new = [value for value, at in zip(values, place, strict=True) if at < 0]
        raise ValueError(
            f"column {columns.called(f)} of X has a category that training has not seen: "
            f"{new[0]!r} ({len(new)} such); unknown_category='missing' takes it as missing"
        )
    dtype = np.float32 if len(categories) < 1 << 24 else np.float64
    own = feature.numbers is None or feature.kind in WITH_STATISTIC
    number = place if own else np.asarray(feature.numbers)[place]
    of_values = np.where(place < 0, feature.number_of_new(unknown), number)
    numbers = np.append(of_values, np.nan).astype(dtype)
    return numbers[codes]  # -1: the last one


def _renumbered(column: np.ndarray, numbers: np.ndarray | None, n_places: int) -> np.ndarray:
    """The numbers of the places in a column (None: the places); NaN for those that are none."""
    known = column < n_places
    places = column[known].astype(np.int64)
    out = np.full(len(column), np.nan)
    out[known] = places if numbers is None else numbers[places]
    return out


def cut_table(cuts: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Cuts as a table padded with +inf, (n_features, 256).

    For float32 data it is in float32, rounded down: value <= cut is then the same question.
    """
    table = np.full((len(cuts), N_CODES), np.inf)
    for row, c in zip(table, cuts, strict=True):
        row[: len(c)] = c
    if dtype != np.float32:
        return table
    with np.errstate(over="ignore"):
        rounded = table.astype(np.float32)
    return np.where(rounded > table, np.nextafter(rounded, np.float32(-np.inf)), rounded)
