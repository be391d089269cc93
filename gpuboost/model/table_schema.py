"""What a model that was trained on a table remembers of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

from gpuboost.data.formatted_values import is_date, is_format, numbers_of

#: What a target may be.
TASKS = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class TableSchema:
    """What a model was trained on: a column to predict, and columns to predict it from."""

    target: str
    task: Annotated[str, TASKS]
    columns: list[str]  # features, in the order of the model's
    #: How columns write numbers and dates that are no plain ones, see formatted_values.py.
    formats: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value."""
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("the columns of a table must be distinct names")
        for name, form in self.formats.items():
            if name not in (*self.columns, self.target) or not is_format(form):
                raise ValueError(f"the format of column {name!r} is not known: {form!r}")

    def features(self, frame: Any) -> Any:
        """Make the columns that the model wants of a frame, in its order.

        Parameters
        ----------
        frame : frame of pandas, polars, Arrow or another library
            Rows with at least the columns of the table that the model was trained on, its target
            aside.

        Returns
        -------
        frame of the same library
            What the model's ``predict`` takes. Texts that stand for numbers or dates are numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = TableSchema("price", "regression", ["name", "weight"])
        >>> schema.features(pd.DataFrame({"weight": [150, 90], "name": ["pear", "plum"]}))
           name  weight
        0  pear     150
        1  plum      90
        """
        import narwhals.stable.v2 as nw  # not with the library: only frames need it

        table = nw.from_native(frame, eager_only=True)
        missing = [name for name in self.columns if name not in table.columns]
        if missing:
            raise ValueError(
                f"frame lacks columns that the model needs: {', '.join(map(repr, missing))}"
            )
        return self.numbers(table.select(*self.columns).to_native())

    def numbers(self, frame: Any) -> Any:
        """A frame with numbers and dates in place of texts that stand for them."""
        import narwhals.stable.v2 as nw

        table = nw.from_native(frame, eager_only=True)
        for name, form in self.formats.items():
            if name in table.columns and not _is_number(table[name].dtype):
                column = table[name]
                known = column.is_null().to_list()
                texts = [
                    None if is_null else value
                    for value, is_null in zip(column.to_list(), known, strict=True)
                ]
                values: Any = numbers_of(name, texts, form)
                dtype: Any = nw.Float64()
                if is_date(form):
                    dtype, values = nw.Datetime(), [_moment(seconds) for seconds in values]
                new = nw.new_series(name, values, dtype, backend=table.implementation)
                table = table.with_columns(new)
        return table.to_native()


def _moment(seconds: float) -> datetime | None:
    """A date from its seconds since 1970; None for NaN."""
    return None if seconds != seconds else datetime(1970, 1, 1) + timedelta(seconds=seconds)


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype.is_temporal() or str(dtype) == "Boolean")
