"""Writing tables in batches."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from gpuboost.atomic_files import atomic_write
from gpuboost.optional import load
from gpuboost.tables.errors import TableError
from gpuboost.tables.source import PACKED, format_of

#: Formats that can be written batch by batch.
WRITABLE = ("csv", "tsv", "parquet", "arrow")


def writable_format(path: str) -> str:
    """The format to write to a path; CSV for standard output."""
    kind = format_of(path)
    if kind not in WRITABLE:
        raise TableError(
            f"{path}: results are written as {', '.join(WRITABLE)}; {kind} is for reading only"
        )
    if kind in ("parquet", "arrow") and path.lower().endswith(tuple(PACKED)):
        raise TableError(f"{path}: {kind} files are packed inside; leave {Path(path).suffix} away")
    return kind


@contextmanager
def open_writer(path: str) -> Iterator[Writer]:
    """A writer of batches; the file appears under its name when the block ends without an error.

    "-" is standard output.
    """
    kind = writable_format(path)
    with nullcontext(sys.stdout.buffer) if path == "-" else atomic_write(path) as file:
        writer = Writer(file, kind, PACKED.get(Path(path).suffix.lower(), (None,))[0])
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()
        file.flush()


class _KeptOpen(io.RawIOBase):
    """A file that its user cannot close, as whoever has opened it does that.

    What is written to an abandoned one is dropped, as writers still write when they are closed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._written, self.abandoned = file, 0, False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        if not self.abandoned:
            self._file.write(data)
        self._written += len(data)
        return len(data)


class Writer:
    """Writes columns to a file."""

    def __init__(self, file: BinaryIO, kind: str, packing: str | None) -> None:
        self._arrow, self._kind = load("pyarrow", "writing tables"), kind
        self._kept = _KeptOpen(file)
        self._file: Any = (
            self._arrow.CompressedOutputStream(self._kept, packing) if packing else self._kept
        )
        self._writer: Any = None

    def write(self, columns: dict[str, Any]) -> None:
        """Some rows: arrays by name."""
        batch = self._arrow.RecordBatch.from_pydict(columns)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_batch(batch)

    def _open(self, schema: Any) -> Any:
        if self._kind == "parquet":
            return load("pyarrow.parquet", "writing Parquet files").ParquetWriter(
                self._file, schema
            )
        if self._kind == "arrow":
            return load("pyarrow.ipc", "writing Arrow files").new_file(self._file, schema)
        delimiter = "\t" if self._kind == "tsv" else ","
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(schema.names)
        self._file.write(header.getvalue().encode())
        arrow_csv = load("pyarrow.csv", "writing CSV files")
        options = arrow_csv.WriteOptions(
            include_header=False, delimiter=delimiter, quoting_style="needed"
        )
        return arrow_csv.CSVWriter(self._file, schema, write_options=options)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()
        if self._file is not self._kept:
            self._file.close()

    def abandon(self) -> None:
        """Let go of the file without caring for its content.

        The error that led here counts, not those that follow from it.
        """
        self._kept.abandoned = True
        if self._file is not self._kept:
            self._file.close()
