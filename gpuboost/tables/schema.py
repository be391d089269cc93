"""How the columns of a table become the features of a model.

A model that was trained on a file remembers it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

TASKS = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class TableSchema:
    """Columns that a model wants, and how text in them becomes numbers."""

    target: str
    task: Annotated[str, TASKS]
    columns: list[str]  # features, in the order of the model's
    #: Values of each text column, ascending: a value's number is its place.
    text: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value."""
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("the columns of a table must be distinct names")
        for name, values in self.text.items():
            if name not in self.columns or any(a >= b for a, b in pairwise(values)):
                raise ValueError(
                    f"the values of text column {name[:50]!r} must be ascending texts, and the "
                    "column a feature"
                )

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
