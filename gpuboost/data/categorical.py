"""Categorical columns: which ones they are, and their values as category numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def column_of(x: Any, f: int) -> np.ndarray:
    """One column of a matrix or frame."""
    column = x.iloc[:, f] if hasattr(x, "iloc") else np.asarray(x)[:, f]
    return np.asarray(column)


def categorical_columns(x: Any, categorical_features: Any) -> list[int]:
    """Numbers of the columns that ``categorical_features`` names."""
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
    if isinstance(categorical_features, np.ndarray):
        categorical_features = categorical_features.tolist()
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


def distinct(column: np.ndarray) -> np.ndarray:
    """The values of a column, ascending."""
    try:
        return np.unique(column[_known(column)])
    except TypeError as error:  # numbers and text together
        raise ValueError(f"a categorical column must hold values of one kind: {error}") from error


def category_numbers(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Places among ascending values, as floats; NaN for missing and unknown ones."""
    out = np.full(len(column), np.nan)
    known = _known(column)
    if len(values):
        try:
            place = np.searchsorted(values, column[known]).clip(max=len(values) - 1)
        except TypeError:  # values of another kind than in training: none of them is known
            return out
        out[known] = np.where(values[place] == column[known], place, np.nan)
    return out
