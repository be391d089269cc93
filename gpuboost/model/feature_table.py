"""How a model takes each column: a table for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from html import escape
from typing import Any

import numpy as np

from gpuboost.data.categorical import are_texts
from gpuboost.data.columns import BOOLEAN, EMPTY, NUMBER
from gpuboost.data.features import (
    CATEGORICAL,
    ENCODED,
    ERROR,
    MISSING,
    ORDINAL,
    PRIOR,
    SPLIT_AND_ENCODED,
    WITH_STATISTIC,
    Feature,
)
from gpuboost.data.times import DATE, DURATION, TIME
from gpuboost.model.ensemble import Ensemble

#: Kinds of columns, and how their values are taken.
TAKEN = {
    NUMBER: ("number", "as it is"),
    BOOLEAN: ("true or false", "1 and 0"),
    DATE: ("date", "seconds since 1970-01-01T00:00 UTC"),
    TIME: ("time of day", "seconds since midnight"),
    DURATION: ("length of time", "seconds"),
    EMPTY: ("no value in training", "as it is"),
}
#: What trees see of categories.
SPLIT = {
    ORDINAL: "places in ascending order",
    CATEGORICAL: "sets of categories",
    ENCODED: "mean target",
    SPLIT_AND_ENCODED: "sets of categories and mean target",
}
LEARNED = "learned side, else the heavier one"
MEAN = "mean of missing ones, else of all"
NEW = {
    MISSING: "a new one is missing",
    ERROR: "a new one is an error",
    PRIOR: "a new one has the mean of all",
}
#: Characters of the categories that are listed, and rows that are printed.
LISTED, PRINTED = 40, 60


@dataclass(frozen=True)
class FeatureRow:
    """One column.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        What it holds.
    levels : int or None
        How many categories it has; None: it has no categories.
    taken : str
        How its values are taken.
    missing : str
        What becomes of missing values and new categories.
    """

    name: str
    kind: str
    levels: int | None
    taken: str
    missing: str


@dataclass(frozen=True, repr=False)
class FeatureTable:
    """How a model takes each column.

    A sequence of ``FeatureRow``, one for each column; ``table["name"]`` finds one by its name.
    """

    rows: list[FeatureRow]

    @classmethod
    def of(cls, ensemble: Ensemble, unknown: str = MISSING) -> FeatureTable:
        """Of a fitted model."""
        parts: dict[int, list[str]] = {}
        for one in ensemble.features.date_parts:
            parts.setdefault(one.column, []).append(one.part)
        pairs = zip(ensemble.names(), ensemble.features.features, strict=True)
        return cls(
            [
                _row(name, feature, unknown, parts.get(f, []))
                for f, (name, feature) in enumerate(pairs)
            ]
        )

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.rows)

    def __iter__(self) -> Iterator[FeatureRow]:
        """The rows, in the order of the columns."""
        return iter(self.rows)

    def __getitem__(self, column: Any) -> FeatureRow:
        """The row of a column, by its number or name."""
        if not isinstance(column, str):
            return self.rows[column]
        for row in self.rows:
            if row.name == column:
                return row
        raise KeyError(column)

    def __repr__(self) -> str:
        """The table as text."""
        head, *body = self._cells()
        shown = [head, *body[:PRINTED]]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in shown
        ]
        more = [f"... and {len(body) - PRINTED} more"] if len(body) > PRINTED else []
        return "\n".join([*lines, *more])

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        head, *body = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(self.rows), self._cells(), strict=True)
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _cells(self) -> list[list[str]]:
        head = [field.name for field in fields(FeatureRow)]
        body = [["" if cell is None else str(cell) for cell in astuple(row)] for row in self.rows]
        return [head, *body]


def _row(name: str, feature: Feature, unknown: str, parts: list[str]) -> FeatureRow:
    categories = feature.categories
    if categories is None:
        kind, how = TAKEN[feature.holds]
        how = ", ".join([how, *parts])
        return FeatureRow(name, kind, None, how, LEARNED)
    kind = "category (text)" if are_texts(categories) else "category (number)"
    how = SPLIT[feature.kind]
    missing = MEAN if feature.kind == ENCODED else LEARNED
    new = NEW[unknown if feature.kind in WITH_STATISTIC or unknown == ERROR else MISSING]
    return FeatureRow(
        name, kind, len(categories), f"{how}: {_listed(categories)}", f"{missing}; {new}"
    )


def _listed(categories: np.ndarray) -> str:
    """The first categories, as many as there is room for."""
    words, length = [], 0
    for category in map(str, categories.tolist()):
        length += len(category) + 2
        if length > LISTED:
            break
        words.append(category)
    return ", ".join([*words, "..."] if len(words) < len(categories) else words)
