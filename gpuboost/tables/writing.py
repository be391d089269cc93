"""Writing tables in batches."""

from __future__ import annotations

import csv
import io
import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from gpuboost.atomic_files import atomic_write
from gpuboost.optional import load
from gpuboost.tables.errors import TableError
from gpuboost.tables.source import PACKED, format_of
from gpuboost.terminal import visible

#: Formats that can be written batch by batch.
WRITABLE = ("csv", "tsv", "parquet", "arrow")
#: Texts that spreadsheets take for formulas, if they are not numbers.
FORMULA = "^[=+\\-@\t\r\n＝＋－＠]"  # noqa: RUF001
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def writable_format(path: str, escape_formulas: bool = False) -> str:
    """The format to write to a path; CSV for standard output."""
    kind = format_of(path)
    if kind not in WRITABLE:
        raise TableError(
            f"{path}: results are written as {', '.join(WRITABLE)}; {kind} is for reading only"
        )
    if kind in ("parquet", "arrow") and path.lower().endswith(tuple(PACKED)):
        raise TableError(f"{path}: {kind} files are packed inside; leave {Path(path).suffix} away")
    if escape_formulas and kind not in ("csv", "tsv"):
        raise TableError(
            f"{path}: --escape-formulas is for CSV and TSV; in {kind} files text is never a formula"
        )
    return kind


@contextmanager
def open_writer(path: str, escape_formulas: bool = False) -> Iterator[Writer]:
    """A writer of batches; the file appears under its name when the block ends without an error.

    "-" is standard output. ``escape_formulas`` puts a single quote before text cells of CSV and TSV
    that a spreadsheet would take for formulas.
    """
    kind = writable_format(path, escape_formulas)
    with _standard_output() if path == "-" else atomic_write(path) as file:
        packing = PACKED.get(Path(path).suffix.lower(), (None,))[0]
        writer = Writer(file, kind, packing, escape_formulas)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()
        file.flush()


@contextmanager
def _standard_output() -> Iterator[Any]:
    """Bytes as they are for a file or a program; for a terminal, what it can show."""
    terminal = sys.stdout.isatty()
    yield _ForTerminal(sys.stdout) if terminal else sys.stdout.buffer


class _ForTerminal:
    """Text for a terminal, which must not obey what is in it."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> None:
        """Write the bytes of some text."""
        text = self._decoder.decode(bytes(data))
        parts = re.split("([\t\n])", text)
        self._terminal.write("".join(p if p in "\t\n" else visible(p) for p in parts))

    def flush(self) -> None:
        """Show what was written."""
        self._terminal.flush()


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
    """Writes columns to a file.

    Parameters
    ----------
    file : file
        Open for writing bytes.
    kind : str
        One of ``WRITABLE``.
    packing : str or None
        pyarrow's name of how to pack it.
    escape_formulas : bool
        Whether to put a single quote before text cells that a spreadsheet would take for formulas.

    Attributes
    ----------
    n_formulas : int
        Such cells in what was written so far.
    """

    def __init__(
        self, file: BinaryIO, kind: str, packing: str | None, escape_formulas: bool
    ) -> None:
        self._arrow, self._kind = load("pyarrow", "writing tables"), kind
        self._escape_formulas, self.n_formulas = escape_formulas, 0
        self._names: list[str] = []
        self._kept = _KeptOpen(file)
        self._file: Any = (
            self._arrow.CompressedOutputStream(self._kept, packing) if packing else self._kept
        )
        self._writer: Any = None

    def write(self, columns: dict[str, Any]) -> None:
        """Some rows: arrays by name."""
        if self._kind in ("csv", "tsv"):
            columns = self._checked(columns)
        batch = self._arrow.RecordBatch.from_pydict(columns)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_batch(batch)

    def _checked(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Count formulas, and escape them if asked to."""
        if not self._names:
            names = self._arrow.array(list(columns), self._arrow.string())
            self._names = self._without_formulas(names).to_pylist()
        return {
            name: self._without_formulas(self._arrow.array(column))
            for name, column in zip(self._names, columns.values(), strict=True)
        }

    def _without_formulas(self, column: Any) -> Any:
        types, compute = self._arrow.types, load("pyarrow.compute", "writing tables")
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            return column
        formulas = compute.and_not(
            compute.match_substring_regex(column, FORMULA),
            compute.match_substring_regex(column, NUMBER),
        )
        n = compute.sum(formulas).as_py() or 0
        self.n_formulas += n
        if not n or not self._escape_formulas:
            return column
        quoted = compute.binary_join_element_wise("'", column, "")
        return compute.if_else(formulas, quoted, column)

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
