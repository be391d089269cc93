"""Parquet and Arrow files (Feather is one of them): batches of typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuboost.optional import load
from gpuboost.tables.batch import Advance, Batch
from gpuboost.tables.columns import fits_float32, kind_of
from gpuboost.tables.errors import TableError
from gpuboost.tables.source import Source

#: Rows of a batch, fewer if there are many columns.
BATCH_ROWS, BATCH_CELLS = 65_536, 1 << 20


class ColumnarTable:
    """A table whose columns have types."""

    unit = "rows"
    default_target: str | None = None

    def __init__(self, source: Source, schema: Any, n_rows: int | None) -> None:
        self.source, self.total, self.fraction = source, n_rows, 0.0
        self.names: list[str] = list(schema.names)
        self.first_text: dict[str, str] = {}
        for i, name in enumerate(self.names):
            if name in self.names[:i]:
                raise TableError(
                    f"{source.label}: columns {self.names.index(name) + 1} and {i + 1} have "
                    f"the same name, {name!r}"
                )
        if n_rows == 0:
            raise TableError(f"{source.label}: the table has columns but no rows")
        self._types = dict(zip(self.names, schema.types, strict=True))
        # a column of another type, such as a list, is an error only if somebody wants it
        self.kinds = {
            name: kind_of(arrow_type) or str(arrow_type) for name, arrow_type in self._types.items()
        }

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Those of the wanted columns that the table does not have."""
        return [name for name in columns if name not in self.names]

    def dtype(self, columns: Sequence[str]) -> str:
        """float32 if it holds every value of these columns."""
        return "float32" if all(fits_float32(self._types[name]) for name in columns) else "float64"

    def batches(
        self, columns: Sequence[str], text: set[str] | None, advance: Advance
    ) -> Iterator[Batch]:
        """Rows from the beginning; see ``DelimitedTable.batches``."""
        for name in columns:
            if kind_of(self._types[name]) is None:
                raise TableError(
                    f"{self.source.label}: column {name!r} has the type {self._types[name]}; "
                    f"leave it out with --drop {name}"
                )
            if text is not None and name not in text and self.kinds[name] == "text":
                raise TableError(
                    f"{self.source.label}: column {name!r} must hold numbers, as it did in "
                    "training; it holds text"
                )
        done = 0
        with explained(self.source.label):
            for batch in self._batches(list(dict.fromkeys(columns))):
                advance(batch.num_rows)
                done += batch.num_rows
                self.fraction = done / self.total if self.total else 0.0
                if batch.num_rows:
                    yield Batch(
                        batch.num_rows,
                        {
                            name: batch.column(batch.schema.get_field_index(name))
                            for name in columns
                        },
                    )

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        raise NotImplementedError


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
