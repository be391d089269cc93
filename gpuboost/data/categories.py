"""Nominal columns: which ones they are, and their values as category numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Categories:
    """The values of each nominal column of the training data, ascending.

    A value's category number is its place.
    """

    values: dict[int, np.ndarray]

    @classmethod
    def fit(cls, x: Any, categorical_features: Any) -> Categories:
        """Learn the categories of the columns that ``categorical_features`` names.

        That is None, "from_dtype" (columns of a data frame that have a category dtype), or a list
        of column numbers, names or booleans.
        """
        columns = nominal_columns(x, categorical_features)
        return cls({f: _distinct(column_of(x, f)) for f in columns})

    def encode(self, x: Any) -> Any:
        """A copy of a matrix or frame with category numbers in nominal columns.

        A value not seen in training becomes NaN (missing).
        """
        if not self.values:
            return x
        out: Any = (
            x.copy()
            if hasattr(x, "iloc")
            else np.array(x, dtype=object if np.asarray(x).dtype.kind in "OUS" else np.float64)
        )
        for f, values in self.values.items():
            numbers = _numbers(column_of(x, f), values)
            if hasattr(x, "iloc"):
                out.isetitem(f, numbers)
            else:
                out[:, f] = numbers
        return out

    def mask(self, n_features: int) -> np.ndarray:
        """1 for nominal columns."""
        mask = np.zeros(n_features, np.uint8)
        mask[list(self.values)] = 1
        return mask


def column_of(x: Any, f: int) -> np.ndarray:
    """One column of a matrix or frame."""
    column = x.iloc[:, f] if hasattr(x, "iloc") else np.asarray(x)[:, f]
    return np.asarray(column)


def nominal_columns(x: Any, categorical_features: Any) -> list[int]:
    """Numbers of the nominal columns."""
    if categorical_features is None:
        return []
    names = list(x.columns) if hasattr(x, "columns") else None
    n_features = len(names) if names is not None else np.asarray(x).shape[1]
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be None, 'from_dtype' or a list of columns; got "
                f"{categorical_features!r}"
            )
        return (
            [f for f, dtype in enumerate(x.dtypes) if str(dtype) == "category"]
            if names is not None
            else []
        )
    chosen = (
        list(categorical_features)
        if isinstance(categorical_features, Iterable)
        else [categorical_features]
    )
    if len(chosen) == n_features and all(isinstance(c, (bool, np.bool_)) for c in chosen):
        return [f for f, yes in enumerate(chosen) if yes]
    return sorted({_column_number(c, names, n_features) for c in chosen})


def _column_number(chosen: Any, names: list[Any] | None, n_features: int) -> int:
    if isinstance(chosen, str):
        if names is None or chosen not in names:
            raise ValueError(
                f"categorical_features names a column that X does not have: {chosen!r}"
            )
        return names.index(chosen)
    if (
        isinstance(chosen, (bool, np.bool_))
        or not isinstance(chosen, (int, np.integer))
        or not -n_features <= chosen < n_features
    ):
        raise ValueError(
            f"categorical_features must hold names or numbers of the {n_features} columns of "
            f"X; got {chosen!r}"
        )
    return int(chosen) % n_features


def _known(column: np.ndarray) -> np.ndarray:
    """Where a column has a value."""
    return (
        np.array([v is not None and v == v for v in column], bool)
        if column.dtype == object
        else column == column
    )


def _distinct(column: np.ndarray) -> np.ndarray:
    try:
        return np.unique(column[_known(column)])
    except TypeError as error:  # numbers and text together
        raise ValueError(f"a categorical column must hold values of one kind: {error}") from error


def _numbers(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Category numbers as floats."""
    out = np.full(len(column), np.nan)
    known = _known(column)
    if len(values):
        try:
            place = np.searchsorted(values, column[known]).clip(max=len(values) - 1)
        except TypeError:  # values of another kind than in training: none of them is known
            return out
        out[known] = np.where(values[place] == column[known], place, np.nan)
    return out
