"""What all tables have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: Gets how much more was read, in the unit of the table.
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Batch:
    """Some rows: columns are Arrow or numpy arrays by name."""

    n_rows: int
    columns: dict[str, Any]


class Table(Protocol):
    """A file that is read in batches."""

    names: list[str]
    kinds: dict[
        str, str
    ]  # of each column, see columns.py; those of CSV and TSV may change while rows are read
    total: int | None  # bytes or rows, as ``unit`` says; None: nobody knows
    unit: str
    fraction: float  # part of the table that was read, 0 if nobody knows
    first_text: dict[
        str, str
    ]  # the value that makes a column text, and where it is, for some columns
    source: Any
    default_target: str | None  # of formats that have a place for it

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Those of the wanted columns that the table does not have."""

    def dtype(self, columns: Sequence[str]) -> str:
        """The dtype that holds these columns."""

    def batches(
        self, columns: Sequence[str], text: set[str] | None, advance: Advance
    ) -> Iterator[Batch]:
        """Rows from the beginning; see ``DelimitedTable.batches``."""
