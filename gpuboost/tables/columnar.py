"""Parquet and Arrow files (Feather is one of them): batches of typed columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuboost.optional import load
from gpuboost.tables.batch import Batch, Table
from gpuboost.tables.columns import fits_float32, kind_of
from gpuboost.tables.errors import TableError, check_distinct
from gpuboost.tables.source import Source

#: Rows of a batch, fewer if there are many columns.
BATCH_ROWS, BATCH_CELLS = 65_536, 1 << 20


class ColumnarTable(Table):
    """A table whose columns have types."""

    def __init__(self, source: Source, schema: Any, n_rows: int | None) -> None:
        super().__init__(source, n_rows)
        self.names = list(schema.names)
        check_distinct(source.label, self.names)
        if n_rows == 0:
            raise TableError(f"{source.label}: the table has columns but no rows")
        self._types = dict(zip(self.names, schema.types, strict=True))
        # a column of another type, such as a list, is an error only if somebody wants it
        self.kinds = {
            name: kind_of(arrow_type) or str(arrow_type) for name, arrow_type in self._types.items()
        }

    def dtype(self, columns: Sequence[str]) -> str:
        """float32 if it holds every value of these columns."""
        return "float32" if all(fits_float32(self._types[name]) for name in columns) else "float64"

    def _read(self, columns: Sequence[str], text: set[str] | None) -> Iterator[tuple[int, Batch]]:
        for name in columns:
            if kind_of(self._types[name]) is None:
                raise TableError(
                    f"{self.source.label}: column {name!r} has the type {self._types[name]}; "
                    f"leave it out with --drop {name}"
                )
        self._check_numbers(columns, text)
        done = 0
        with explained(self.source.label):
            for batch in self._batches(list(dict.fromkeys(columns))):
                done += batch.num_rows
                yield done, Batch(batch.num_rows, {name: batch.column(name) for name in columns})

    @abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[Any]:
        """Record batches of some columns."""


class ParquetTable(ColumnarTable):
    """A Parquet file."""

    def __init__(self, source: Source) -> None:
        parquet = load("pyarrow.parquet", "reading Parquet files")
        with explained(source.label):
            self._file = parquet.ParquetFile(source.path)
            schema, n_rows = self._file.schema_arrow, self._file.metadata.num_rows
        super().__init__(source, schema, n_rows)

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        rows = max(1024, min(BATCH_ROWS, BATCH_CELLS // max(len(columns), 1)))
        yield from self._file.iter_batches(batch_size=rows, columns=columns)


class ArrowTable(ColumnarTable):
    """An Arrow IPC file or stream, or Feather."""

    def __init__(self, source: Source) -> None:
        self._arrow, self._ipc = (
            load("pyarrow", "reading Arrow files"),
            load("pyarrow.ipc", "reading Arrow files"),
        )
        with explained(source.label):
            with open(source.path, "rb") as file:
                magic = file.read(6)
            self._is_file = magic == b"ARROW1"
            if magic.startswith(b"FEA1"):
                raise TableError(
                    f"{source.label}: this is a file of Feather's first version; write it "
                    "again with a current one"
                )
            reader = self._reader(source)
        super().__init__(source, reader.schema, self._count(reader) if self._is_file else None)

    def _reader(self, source: Source) -> Any:
        mapped = self._arrow.memory_map(source.path)
        return self._ipc.open_file(mapped) if self._is_file else self._ipc.open_stream(mapped)

    @staticmethod
    def _count(reader: Any) -> int:
        """About how many rows there are: writers make batches of one size."""
        n = reader.num_record_batches
        return (
            int((n - 1) * reader.get_batch(0).num_rows + reader.get_batch(n - 1).num_rows)
            if n
            else 0
        )

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        reader = self._reader(self.source)
        rows = max(1024, min(BATCH_ROWS, BATCH_CELLS // max(len(columns), 1)))
        for whole in (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if self._is_file
            else reader
        ):
            chosen = whole.select(columns)
            yield from (chosen.slice(begin, rows) for begin in range(0, whole.num_rows, rows))


@contextmanager
def explained(label: str) -> Iterator[None]:
    """Errors of pyarrow with the name of the file."""
    arrow = load("pyarrow", "reading tables")
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = " ".join(str(error).split())
        raise TableError(
            f"{label}: the file is damaged, or of another format: {text[:200]}"
        ) from error
