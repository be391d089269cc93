"""Categorical columns: which ones they are, and their values as category numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpuboost.data.columns import CATEGORY, TEXT, Columns
from gpuboost.data.feature_options import feature_number

#: Distinct texts from which on a column that has nearly as many of them as rows is free text.
MANY_TEXTS = 1_000
#: Share of the rows with a value that is "nearly as many".
NEARLY_ALL = 0.8
#: A whole number as it is usually written: texts that are all such have the order of numbers.
WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")


def check_categorical_features(chosen: Any) -> None:
    """Raise if a text is given that is not "auto"."""
    if isinstance(chosen, str) and chosen != "auto":
        raise ValueError(
            f"categorical_features must be 'auto', None or a list of columns; got {chosen!r}"
        )


def categorical_columns(
    columns: Columns | None, n_columns: int, names: Sequence[Any] | None, chosen: Any
) -> list[int]:
    """Numbers of the columns that ``categorical_features`` names.

    "auto" are those that hold text or have a dtype of categories; a plain matrix has none.
    """
    check_categorical_features(chosen)
    if chosen is None:
        return []
    if isinstance(chosen, str):
        if columns is None:
            return []
        return [f for f in range(n_columns) if columns.holds(f) in (TEXT, CATEGORY)]
    if isinstance(chosen, np.ndarray):
        chosen = chosen.tolist()
    given = list(chosen) if isinstance(chosen, Iterable) else [chosen]
    if len(given) == n_columns and all(isinstance(c, (bool, np.bool_)) for c in given):
        return [f for f, yes in enumerate(given) if yes]
    known = None if names is None else list(map(str, names))
    return sorted({_column_number(one, known, n_columns) for one in given})


def _column_number(chosen: Any, names: Sequence[str] | None, n_columns: int) -> int:
    whole = isinstance(chosen, (int, np.integer)) and not isinstance(chosen, (bool, np.bool_))
    if whole and -n_columns <= chosen < 0:
        chosen += n_columns
    return feature_number("categorical_features", chosen, names, n_columns)


def refuse_free_text(columns: Columns, f: int) -> None:
    """Raise if a text column has nearly as many values as rows, and many."""
    codes, values = columns.levels(f)
    n_known = int((codes >= 0).sum())
    if columns.holds(f) != TEXT or len(values) < MANY_TEXTS or len(values) < NEARLY_ALL * n_known:
        return
    raise ValueError(
        f"column {columns.called(f)} of X is free text or a name of the row: {len(values):,} "
        f"distinct texts in {n_known:,} rows, such as {values[0]!r}. Leave it out, or make numbers "
        "of it (TfidfVectorizer); if these are categories, name it in categorical_features"
    )


def ascending(values: Iterable[Any], called: str) -> np.ndarray:
    """Distinct categories in the order of their numbers.

    Texts are sorted as texts, or as numbers if all of them are whole numbers: categories given as
    10 and "10" have the same number.
    """
    distinct = set(values)
    if all(isinstance(value, str) for value in distinct):
        as_numbers = all(map(WHOLE.fullmatch, distinct))
        ordered = sorted(distinct, key=int if as_numbers else None)
        return np.array(ordered, dtype=object)
    if any(isinstance(value, str) for value in distinct):
        text = next(value for value in distinct if isinstance(value, str))
        other = next(value for value in distinct if not isinstance(value, str))
        raise ValueError(
            f"categorical column {called} must hold values of one kind; got {text!r} and {other!r}"
        )
    try:
        out = np.array(sorted(distinct))
    except TypeError as error:
        raise ValueError(f"categorical column {called} must hold text or numbers: {error}") from (
            error
        )
    if out.dtype.kind not in "biuf" or out.ndim != 1:
        raise ValueError(
            f"categorical column {called} must hold text or numbers; got {next(iter(distinct))!r}"
        )
    return out


def are_texts(categories: np.ndarray) -> bool:
    """Whether categories are texts."""
    return categories.dtype.kind in "OUS" and len(categories) > 0


def places(values: Sequence[Any], categories: np.ndarray) -> np.ndarray:
    """The number of each value among the categories, -1 for those that are none of them."""
    numbers = {category: i for i, category in enumerate(categories.tolist())}
    return np.array([numbers.get(value, -1) for value in values], np.int64)
