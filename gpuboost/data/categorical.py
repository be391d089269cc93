"""Categorical columns: which ones they are, and their values as category numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from gpuboost.data.columns import CATEGORY, TEXT, Columns
from gpuboost.data.feature_options import feature_number

#: Distinct texts from which on a column that has nearly as many of them as rows is free text.
MANY_TEXTS = 1_000
#: Share of the rows with a value that is "nearly as many".
NEARLY_ALL = 0.8
#: Digits of the longest texts that are numbers: 64 bits hold these.
MOST_DIGITS = 18


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
    """Distinct categories in the order of their numbers; ``values`` may have some of them twice."""
    return in_order(list(set(values)), called)[0]


def in_order(distinct: list[Any], called: str) -> tuple[np.ndarray, np.ndarray]:
    """Distinct categories in the order of their numbers, and where each stands in the list.

    Texts are sorted as texts, or as numbers if all of them are whole numbers: categories given as
    10 and "10" have the same number.
    """
    kinds = set(map(type, distinct))
    are_str = [issubclass(kind, str) for kind in kinds]
    if all(are_str):
        numbers = whole_numbers(distinct)
        order = _order_of(distinct) if numbers is None else np.argsort(numbers)
        texts = np.empty(len(distinct), object)
        texts[:] = distinct
        return texts[order], order
    if any(are_str):
        text = next(value for value in distinct if isinstance(value, str))
        other = next(value for value in distinct if not isinstance(value, str))
        raise ValueError(
            f"categorical column {called} must hold values of one kind; got {text!r} and {other!r}"
        )
    try:
        order = _order_of(distinct)
        out = np.array([distinct[i] for i in order])
    except TypeError as error:
        raise ValueError(f"categorical column {called} must hold text or numbers: {error}") from (
            error
        )
    if out.dtype.kind not in "biuf" or out.ndim != 1:
        raise ValueError(
            f"categorical column {called} must hold text or numbers; got {distinct[0]!r}"
        )
    return out, order


def _order_of(values: list[Any]) -> np.ndarray:
    return np.array(sorted(range(len(values)), key=values.__getitem__), np.int64)


def whole_numbers(texts: Sequence[str]) -> np.ndarray | None:
    """Texts as numbers, if each is a whole number as it is usually written; else None.

    That is an optional minus, and up to 18 digits of which the first is no 0; or 0. All texts are
    read together, digit by digit from the last one on.
    """
    try:
        letters = np.frombuffer(("\n".join(texts) + "\n").encode("ascii"), np.uint8)
    except UnicodeEncodeError:
        return None
    end = np.flatnonzero(letters == ord("\n"))
    if len(end) != len(texts) or not len(texts):
        return None
    begin = np.append(0, end[:-1] + 1)
    is_negative = letters[begin] == ord("-")
    begin += is_negative
    n_digits = end - begin
    first = letters[begin]
    digits = letters - np.uint8(ord("0"))  # other letters wrap or are above 9
    starts_well = (first > ord("0")) | ((first == ord("0")) & (n_digits == 1) & ~is_negative)
    n_letters = len(texts) + int(is_negative.sum())  # that are no digits
    if (
        n_digits.min() < 1
        or n_digits.max() > MOST_DIGITS
        or not starts_well.all()
        or int((digits > 9).sum()) != n_letters
    ):
        return None
    numbers = np.zeros(len(texts), np.int64)
    for k in range(int(n_digits.max()), 0, -1):
        there = n_digits >= k
        numbers = np.where(there, numbers * 10 + digits[end - np.where(there, k, 1)], numbers)
    return np.where(is_negative, -numbers, numbers)


def are_texts(categories: np.ndarray) -> bool:
    """Whether categories are texts."""
    return categories.dtype.kind in "OUS" and len(categories) > 0


def places(values: Sequence[Any], categories: np.ndarray) -> np.ndarray:
    """The number of each value among the categories, -1 for those that are none of them."""
    known = categories.tolist()
    if len(known) == len(values) and known == list(values):
        return np.arange(len(known))
    numbers = dict(zip(known, range(len(known)), strict=True))
    return np.fromiter(map(numbers.get, values, repeat(-1)), np.int64, len(values))
