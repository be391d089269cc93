"""What all tables have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuboost.tables.errors import TableError
from gpuboost.tables.source import Source

#: Gets how much more was read, in the unit of the table.
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Batch:
    """Some rows: columns are Arrow or numpy arrays by name."""

    n_rows: int
    columns: Mapping[str, Any]


class StoredColumns(Mapping[str, Any]):
    """Columns of a sparse matrix: one by one they are dense, all together they stay sparse."""

    def __init__(self, stored: Any, places: Mapping[str, int], others: Mapping[str, Any]) -> None:
        self._stored, self._places, self._others = stored, dict(places), dict(others)
        self._by_column: Any = None

    def __len__(self) -> int:
        """How many columns."""
        return len(self._places) + len(self._others)

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        yield from self._places
        yield from self._others

    def __getitem__(self, name: str) -> Any:
        """One of them."""
        if name in self._others:
            return self._others[name]
        if self._by_column is None:
            self._by_column = self._stored.tocsc()
        return self._by_column[:, [self._places[name]]].toarray()[:, 0]

    def matrix(self, names: Sequence[str]) -> Any:
        """Some of them as a matrix in CSR format."""
        return self._stored[:, [self._places[name] for name in names]]


class Table(ABC):
    """A file that is read in batches.

    Parameters
    ----------
    source : Source
        Where its bytes come from.
    total : int or None
        Bytes or rows, as ``unit`` says; None: nobody knows.

    Attributes
    ----------
    names : list of str
        Columns in their order.
    kinds : dict
        Kind of each column, see columns.py; those of CSV and TSV may change while rows are read.
    default_target : str or None
        The target, in formats that have a place for it.
    fraction : float
        Part of the table that was read, 0 if nobody knows.
    first_text : dict
        For some columns that are text: the value that makes them so, and in words where it is.
    labels : set of str
        Columns that name classes: 01 and 1 are two of them. Where nothing but the file's text tells
        text from numbers, such a column is text if a number in it has a leading zero.
    """

    unit = "rows"
    #: Whether the file says which columns are text, and which numbers.
    typed = True
    #: What most likely is between whole numbers and fractions, if a number does not tell.
    decimal_comma = False
    default_target: str | None = None
    #: Whether the columns of batches are ``StoredColumns``.
    is_sparse = False
    names: list[str]
    kinds: dict[str, str]

    def __init__(self, source: Source, total: int | None) -> None:
        self.source, self.total, self.fraction = source, total, 0.0
        self.first_text: dict[str, tuple[str, str]] = {}
        self.labels: set[str] = set()

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Those of the wanted columns that the table does not have."""
        return [name for name in columns if name not in self.names]

    def check_dense(self) -> None:  # noqa: B027
        """Raise if the table is too large with all zeros written out."""

    def dtype(self, columns: Sequence[str]) -> str:
        """The dtype that holds these columns."""
        return "float64"

    def batches(
        self, columns: Sequence[str], text: set[str] | None, advance: Advance
    ) -> Iterator[Batch]:
        """Rows from the beginning.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        text : set of str or None
            Columns to read as text; others must not turn out to be text. None: whatever they turn
            out to be.
        advance : callable
            Gets how much was read, in the unit of the table, batch by batch.
        """
        done = 0
        for end, batch in self._read(columns, text):
            advance(end - done)
            done = end
            self.fraction = done / self.total if self.total else 0.0
            if batch.n_rows:
                yield batch

    @abstractmethod
    def _read(self, columns: Sequence[str], text: set[str] | None) -> Iterator[tuple[int, Batch]]:
        """Batches, some of them perhaps without rows, and how much was read with each of them."""

    def _check_numbers(self, columns: Sequence[str], text: set[str] | None) -> None:
        """Raise if a column holds text that must not."""
        for name in columns:
            if text is not None and name not in text and self.kinds[name] == "text":
                raise TableError(
                    f"{self.source.label}: column {name!r} must hold numbers, as it did in "
                    "training; it holds text"
                )
