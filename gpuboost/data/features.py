"""The map of features: from a user's columns to the codes that trees are grown on.

A column goes two steps. ``FeatureMap.encode`` makes numbers of a user's table: numbers stay as they
are, a category becomes its place among the categories. ``FeatureMap.matrix`` makes codes of these
numbers, 0 for a missing or unseen value and then 1, 2, ... A map is learned from a ``Summary``,
which summaries of chunks can be merged to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.data.categorical import categorical_columns, category_numbers, column_of, distinct
from gpuboost.data.matrix import exact_codes, with_borders
from gpuboost.data.summary import Summary
from gpuboost.dtypes import MAX_VALUE_BINS, N_CODES
from gpuboost.exchange import FeatureMatrix, SparseRows

#: Kinds of features: numbers; categories that are split by their order; categories that are split
#: into sets.
NUMERIC, ORDINAL, CATEGORICAL = "numeric", "ordinal", "categorical"
KINDS = (NUMERIC, ORDINAL, CATEGORICAL)


@dataclass(frozen=True, eq=False)
class Feature:
    """How the values of one column become codes.

    The annotations say what a model file holds.
    """

    kind: Annotated[str, KINDS] = NUMERIC
    categories: np.ndarray | None = None  # ascending; the number of a category is its place
    # ascending float64: the code of number v is 1 + how many cuts are below v; only in training
    cuts: np.ndarray = field(default_factory=lambda: np.empty(0), metadata={"stored": False})


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How the columns of a table become codes; one ``Feature`` for each column."""

    features: list[Feature]

    @classmethod
    def of_numbers(cls, n_features: int) -> FeatureMap:
        """Columns that hold numbers."""
        return cls([Feature()] * n_features)

    @classmethod
    def of_table(cls, x: Any, categorical_features: Any) -> FeatureMap:
        """Learn the categories of the columns that ``categorical_features`` names.

        That is None, "from_dtype" (columns of a data frame that have a category dtype), or a list
        of column numbers, names or booleans.
        """
        chosen = categorical_columns(x, categorical_features)
        n_features = x.shape[1] if hasattr(x, "shape") else np.asarray(x).shape[1]
        known = {f: Feature(CATEGORICAL, distinct(column_of(x, f))) for f in chosen}
        return cls([known.get(f, Feature()) for f in range(n_features)])

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

    @property
    def is_categorical(self) -> np.ndarray:
        """1 for features that are split into sets of categories."""
        return np.array([feature.kind == CATEGORICAL for feature in self.features], np.uint8)

    def with_categories(self, categories: dict[int, np.ndarray]) -> FeatureMap:
        """The same map with other categories of some columns; numbers become ordinal."""
        features = list(self.features)
        for f, values in categories.items():
            kind = ORDINAL if features[f].kind == NUMERIC else features[f].kind
            features[f] = replace(features[f], kind=kind, categories=values)
        return FeatureMap(features)

    def encode(self, x: Any) -> Any:
        """A copy of a matrix or frame with numbers in the columns that have categories.

        A value not seen in training becomes NaN (missing).
        """
        if not self.categories:
            return x
        is_frame = hasattr(x, "iloc")
        kind = object if not is_frame and np.asarray(x).dtype.kind in "OUS" else np.float64
        out: Any = x.copy() if is_frame else np.array(x, dtype=kind)
        for f, categories in self.categories.items():
            numbers = category_numbers(column_of(x, f), categories)
            if is_frame:
                out.isetitem(f, numbers)
            else:
                out[:, f] = numbers
        return out

    # --- codes

    def with_cuts(self, summary: Summary, max_bins: int, backend: Backend) -> FeatureMap:
        """Find cuts of about equal weight, exact ones where a column has few distinct values."""
        cuts = summary.cuts(min(max_bins, MAX_VALUE_BINS), backend)
        pairs = zip(self.features, cuts, strict=True)
        return FeatureMap([Feature(old.kind, old.categories, new_cuts) for old, new_cuts in pairs])

    def without_cuts(self) -> FeatureMap:
        """What prediction needs: trees know their thresholds."""
        return FeatureMap([Feature(feature.kind, feature.categories) for feature in self.features])

    @property
    def n_cuts(self) -> np.ndarray:
        """How many cuts each feature has, int32."""
        return np.array([len(feature.cuts) for feature in self.features], np.int32)

    def cut_table(self, dtype: Any = np.float64) -> np.ndarray:
        """The cuts of all features, as ``cut_table`` makes them."""
        return cut_table([feature.cuts for feature in self.features], np.dtype(dtype))

    def thresholds(self) -> tuple[np.ndarray, np.ndarray]:
        """The cuts of all features, each followed by +inf, and where those of each begin."""
        ends = np.cumsum(self.n_cuts.astype(np.int64) + 1)
        with_ends = [part for feature in self.features for part in (feature.cuts, [np.inf])]
        return np.concatenate(with_ends), np.concatenate([[0], ends[:-1]])

    def matrix(self, x: Any, backend: Backend, by_rows: bool) -> FeatureMatrix:
        """Codes of every number, one byte each, laid out as the backend likes it."""
        n_cuts = self.n_cuts
        if isinstance(x, SparseRows):
            entries = backend.bin_sparse(x, [feature.cuts for feature in self.features])
            return FeatureMatrix(entries, None, n_cuts + np.int32(2), len(x), sparse=True)
        cuts = self.cut_table(x.dtype)
        columns, rows = backend.bin_matrix(x, cuts, n_cuts, by_rows)
        return FeatureMatrix(columns, rows, n_cuts + np.int32(2), x.shape[0])

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
