"""How the columns of a table become the features of a model.

A model that was trained on a file remembers it.
"""

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
    text: dict[str, list[str]] = field(
        default_factory=dict
    )  # values of each text column, ascending: a value's number is its place

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "target": self.target,
            "task": self.task,
            "columns": self.columns,
            "text": self.text,
        }

    @classmethod
    def from_json(cls, record: Any) -> TableSchema:
        """Back from JSON; raises ValueError if anything in it is not what it should be."""
        if not isinstance(record, dict) or set(record) != {"target", "task", "columns", "text"}:
            raise ValueError("the table's schema must have target, task, columns and text")
        target, task, columns, text = (
            record[name] for name in ("target", "task", "columns", "text")
        )
        if not isinstance(target, str) or task not in ("binary", "multiclass", "regression"):
            raise ValueError("the table's schema has no valid target and task")
        if (
            not _are_texts(columns)
            or len(set(columns)) != len(columns)
            or not isinstance(text, dict)
        ):
            raise ValueError("the columns of the table's schema must be distinct names")
        for name, values in text.items():
            if (
                name not in columns
                or not _are_texts(values)
                or any(a >= b for a, b in zip(values, values[1:], strict=False))
            ):
                raise ValueError(
                    f"the values of text column {name!r} must be ascending texts, and the "
                    "column a feature"
                )
        return cls(target, task, columns, text)

    def features(self, frame: Any) -> Any:
        """Make the columns that the model wants of a pandas data frame.

        In its order, with numbers for texts.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with at least the columns of the table that the model was trained on, its target
            aside.

        Returns
        -------
        pandas.DataFrame
            What the model's ``predict`` takes. A text that training has not seen is missing.

        Examples
        --------
        -------- >>> import pandas as pd >>> schema = TableSchema("price", "regression", ["name",
        "weight"], {"name": ["apple", "pear"]}) >>> schema.features(pd.DataFrame({"weight": [150,
        90], "name": ["pear", "plum"]}))
           name  weight
        0   1.0     150
        1   NaN      90
        """
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"frame lacks columns that the model needs: {', '.join(map(repr, missing))}"
            )
        out = frame[self.columns].copy()
        for name, values in self.text.items():
            place = {value: float(i) for i, value in enumerate(values)}
            out[name] = np.array([place.get(value, np.nan) for value in frame[name]], np.float64)
        return out


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
