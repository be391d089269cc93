"""How the columns of a table become the features of a model; a model that was trained on a file remembers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TableSchema:
    """Columns that a model wants, and how text in them becomes numbers."""

    target: str
    task: str  # "binary", "multiclass" or "regression"
    columns: list[str]  # features, in the order of the model's
    text: dict[str, list[str]] = field(default_factory=dict)  # values of each text column, ascending: a value's number is its place

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"target": self.target, "task": self.task, "columns": self.columns, "text": self.text}

    @classmethod
    def from_json(cls, record: Any) -> TableSchema:
        """Back from JSON; raises ValueError if anything in it is not what it should be."""
        if not isinstance(record, dict) or set(record) != {"target", "task", "columns", "text"}:
            raise ValueError("the table's schema must have target, task, columns and text")
        target, task, columns, text = (record[name] for name in ("target", "task", "columns", "text"))
        if not isinstance(target, str) or task not in ("binary", "multiclass", "regression"):
            raise ValueError("the table's schema has no valid target and task")
        if not _are_texts(columns) or len(set(columns)) != len(columns) or not isinstance(text, dict):
            raise ValueError("the columns of the table's schema must be distinct names")
        for name, values in text.items():
            if name not in columns or not _are_texts(values) or any(a >= b for a, b in zip(values, values[1:], strict=False)):
                raise ValueError(f"the values of text column {name!r} must be ascending texts, and the column a feature")
        return cls(target, task, columns, text)

    def numbers(self, name: str, values: Any) -> np.ndarray:
        """Texts of a column as numbers; NaN for None and for texts that training has not seen."""
        place = {value: float(i) for i, value in enumerate(self.text[name])}
        return np.array([place.get(value, np.nan) for value in values], np.float64)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
