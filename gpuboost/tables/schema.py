"""What a model that was trained on a table remembers of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: What a target may be.
TASKS = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class TableSchema:
    """What a model was trained on: a column to predict, and columns to predict it from."""

    target: str
    task: str  # "binary", "multiclass" or "regression"
    columns: list[str]  # features, in the order of the model's

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Any) -> TableSchema:
        """Back from JSON; raises ValueError if anything in it is not what it should be."""
        if not isinstance(record, dict) or set(record) != {"target", "task", "columns"}:
            raise ValueError("the table's schema must have target, task and columns")
        schema = cls(**record)
        if not isinstance(schema.target, str) or schema.task not in TASKS:
            raise ValueError("the table's schema has no valid target and task")
        columns = schema.columns
        if (
            not isinstance(columns, list)
            or not all(isinstance(name, str) for name in columns)
            or len(set(columns)) != len(columns)
        ):
            raise ValueError("the columns of the table's schema must be distinct names")
        return schema

    def features(self, frame: Any) -> Any:
        """Make the columns that the model wants of a pandas data frame, in its order.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with at least the columns of the table that the model was trained on, its target
            aside.

        Returns
        -------
        pandas.DataFrame
            What the model's ``predict`` takes.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = TableSchema("price", "regression", ["name", "weight"])
        >>> schema.features(pd.DataFrame({"weight": [150, 90], "name": ["pear", "plum"]}))
           name  weight
        0  pear     150
        1  plum      90
        """
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"frame lacks columns that the model needs: {', '.join(map(repr, missing))}"
            )
        return frame[self.columns]
