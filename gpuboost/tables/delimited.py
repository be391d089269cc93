"""CSV and TSV: chunks of whole lines, converted by pyarrow in several threads.

The kind of a column is found on the way: what the first chunk shows is what later ones are read as,
and a chunk that does not fit is looked at again. A column that turns out to be text after numbers
of it were handed out makes the reading begin again, once for all such columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from gpuboost.backend import n_threads
from gpuboost.optional import load
from gpuboost.tables.batch import Batch, Table
from gpuboost.tables.columns import is_number, joined, kind_of
from gpuboost.tables.errors import RereadTable, TableError, check_distinct
from gpuboost.tables.source import Source, Stream

#: Fields that mean "no value", in columns of any kind.
MISSING = (
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NaN",
    "nan",
    "NAN",
    "-NaN",
    "-nan",
    "NULL",
    "null",
    "Null",
    "None",
    "?",
)
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
#: Bytes of a chunk: large enough for a few thousand rows, small enough for the caches.
CHUNK = 1 << 20
#: Longest line.
MAX_LINE = 1 << 26
#: Threads that convert chunks; more of them wait for the one that reads.
MAX_THREADS = 8


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a file."""

    data: bytes
    first_line: int  # number of its first line, from 1
    end: int  # place in the (packed) file behind it


class DelimitedTable(Table):
    """A CSV or TSV file.

    Parameters
    ----------
    source : Source
        Where its bytes come from.
    delimiter : str
        One character between fields.
    header : bool
        Whether the first line has the names of the columns; they are c0, c1, ... otherwise.
    """

    unit = "B"
    typed = False

    def __init__(self, source: Source, delimiter: str, header: bool) -> None:
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise TableError(
                f"the delimiter must be one character other than a quote; got {delimiter!r}"
            )
        super().__init__(source, source.size)
        self.delimiter, self.header = delimiter, header
        self.decimal_comma = delimiter == ";"  # where commas are taken, something else separates
        self._csv = load("pyarrow.csv", "reading CSV and TSV files")
        self._arrow = load("pyarrow", "reading CSV and TSV files")
        self._begin()
        self.names = self._column_names()
        self.kinds = self._guess_kinds()

    def _begin(self) -> None:
        self._chunks = chunks_of(self.source.open())
        self._first = next(self._chunks, None)
        self._fresh = True

    def _column_names(self) -> list[str]:
        where, first = self.source.label, self._first
        if first is None:
            raise TableError(f"{where}: the file is empty")
        if first.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise TableError(f"{where}: the text is UTF-16; save it as UTF-8")
        with _long_fields():
            lines = csv.reader(_lines(first.data), delimiter=self.delimiter)
            fields = next((line for line in lines if line), None)
        if fields is None:
            raise TableError(f"{where}: the file has no lines with content")
        if len(fields) == 1:
            for other, shown in ((";", "';'"), ("\t", "'\\t'"), ("|", "'|'"), (",", "','")):
                if other in fields[0] and other != self.delimiter:
                    raise TableError(
                        f"{where}: the first line has one column only, {fields[0][:60]!r}; "
                        f"does --delimiter {shown} help?"
                    )
        names = (
            [name.strip() or f"c{i}" for i, name in enumerate(fields)]
            if self.header
            else [f"c{i}" for i in range(len(fields))]
        )
        check_distinct(where, names)
        if self.header:
            self._drop_header(lines.line_num)
        while self._first is not None and not self._first.data.strip(b"\r\n"):
            self._first = next(self._chunks, None)
        if self._first is None:
            raise TableError(f"{where}: the file has a header but no rows")
        return names

    def _drop_header(self, n_lines: int) -> None:
        """Take the lines of the header out of the first chunk."""
        first, place = self._first, 0
        assert first is not None
        for _ in range(n_lines):
            place = first.data.find(b"\n", place) + 1 or len(first.data)
        self._first = Chunk(first.data[place:], first.first_line + n_lines, first.end)

    def _guess_kinds(self) -> dict[str, str]:
        assert self._first is not None
        batch = self._parse(self._first, self.names, {})
        kinds = {name: self._kind(name, batch[name]) for name in self.names}
        for name in (name for name, kind in kinds.items() if kind == "text"):
            self._remember_text(name, self._first)
        return kinds

    def _kind(self, name: str, column: Any) -> str:
        kind = kind_of(column.type)
        if kind is None:
            raise TableError(
                f"{self.source.label}: column {name!r} is not UTF-8 text; save the file as UTF-8"
            )
        return kind

    # --- batches

    def _read(self, columns: Sequence[str], text: set[str] | None) -> Iterator[tuple[int, Batch]]:
        if not self._fresh:
            if self.source.path == "-":
                raise TableError("standard input cannot be read again: save it to a file first")
            names = self.names
            self._begin()
            if self._column_names() != names:
                raise TableError(f"{self.source.label}: the file has changed while it was read")
        self._fresh = False
        kinds = self.kinds  # what is learned about them stays
        if text is not None:
            numbers = {name: kind for name, kind in self.kinds.items() if kind != "text"}
            kinds = dict.fromkeys(columns, "empty") | numbers | dict.fromkeys(text, "text")
        reread = False
        for chunk, batch in self._parsed(columns, kinds):
            for name in columns:
                kind = joined(
                    kinds[name], self._kind(name, batch[name]) if kinds[name] != "text" else "text"
                )
                if kind == "text" and kinds[name] != "text":
                    self._remember_text(name, chunk)
                    if text is not None:
                        raise TableError(
                            f"{self.source.label}: column {name!r} must hold numbers, as it "
                            f"did in training; {self.first_text[name][1]}"
                        )
                    reread = reread or kinds[name] != "empty"
                kinds[name] = kind
            # once the table has to be read again, the rest of it only shows what else is text
            n_rows = 0 if reread else batch.num_rows
            yield chunk.end, Batch(n_rows, {name: batch[name] for name in columns})
        if reread:
            raise RereadTable

    def _parsed(self, columns: Sequence[str], kinds: dict[str, str]) -> Iterator[tuple[Chunk, Any]]:
        """Chunks and their columns, in order; a few are converted ahead.

        ``kinds`` may change on the way.
        """
        threads = min(n_threads(None), MAX_THREADS)
        waiting: deque[tuple[Chunk, dict[str, str], Future[Any]]] = deque()
        pool = ThreadPoolExecutor(threads)
        try:
            chunk = self._first
            while chunk is not None or waiting:
                if chunk is not None:
                    now = dict(kinds)
                    waiting.append((chunk, now, pool.submit(self._parse, chunk, columns, now)))
                    chunk = next(self._chunks, None)
                if len(waiting) > threads or chunk is None:
                    done, then, future = waiting.popleft()
                    batch = future.result()
                    # what was read as a number no longer has the text that the file has
                    if any(kinds[name] == "text" != then[name] for name in columns):
                        batch = self._parse(done, columns, kinds)
                    if batch.num_rows:
                        yield done, batch
        finally:
            pool.shutdown(cancel_futures=True)

    def _parse(self, chunk: Chunk, columns: Sequence[str], kinds: dict[str, str]) -> Any:
        """Columns of a chunk.

        Those of no known kind, and those that do not fit their kind, have the type that pyarrow
        finds for them.
        """
        if not chunk.data.strip(b"\r\n"):  # which pyarrow would complain about
            return self._arrow.table({})
        arrow = {
            "number": self._arrow.float64(),
            "bool": self._arrow.bool_(),
            "text": self._arrow.string(),
        }
        types = {name: arrow[kinds[name]] for name in columns if kinds.get(name) in arrow}
        labels = {name for name in self.labels if kinds.get(name) in ("number", "empty")}
        types |= {name: arrow["text"] for name in labels & set(columns)}
        while True:
            try:
                table = self._csv.read_csv(
                    self._arrow.BufferReader(chunk.data),
                    self._csv.ReadOptions(
                        use_threads=False,
                        block_size=max(len(chunk.data), 1) + 1,
                        column_names=self.names,
                    ),
                    self._csv.ParseOptions(
                        delimiter=self.delimiter, newlines_in_values=b'"' in chunk.data
                    ),
                    self._convert_options(columns, types),
                )
                batch = table.combine_chunks().to_batches()[0] if table.num_rows else table
                return self._with_numbers(batch, labels & set(columns))
            except self._arrow.ArrowInvalid as error:
                match = re.search(
                    r"In CSV column #(\d+): .*conversion error", str(error), re.DOTALL
                )
                if match is None:
                    raise self._explained(chunk, error) from error
                name = self.names[int(match[1])]
                if "UTF8" in str(error) or name not in types:
                    raise TableError(
                        f"{self.source.label}: column {name!r} is not UTF-8 text; save the "
                        "file as UTF-8"
                    ) from error
                del types[name]

    def _with_numbers(self, batch: Any, labels: set[str]) -> Any:
        """Columns that were read as text and may stay so as numbers, unless some begin with 0."""
        compute = load("pyarrow.compute", "reading CSV and TSV files")
        for name in labels if batch.num_rows else ():
            texts = compute.utf8_trim_whitespace(batch[name])
            numbered = compute.match_substring_regex(texts, "^[-+]?0[0-9]")
            if compute.any(numbered).as_py():
                continue
            with suppress(self._arrow.ArrowInvalid):
                numbers = texts.cast(self._arrow.float64())
                batch = batch.set_column(batch.schema.get_field_index(name), name, numbers)
        return batch

    def _convert_options(self, columns: Sequence[str], types: dict[str, Any]) -> Any:
        return self._csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            null_values=list(MISSING),
            strings_can_be_null=True,
            true_values=list(TRUE),
            false_values=list(FALSE),
        )

    # --- what is wrong, and where

    def _explained(self, chunk: Chunk, error: Exception) -> TableError:
        """An error of the parser as a sentence with a line number."""
        wanted = len(self.names)
        bad_row = self._find(chunk, lambda row: len(row) != wanted)
        if bad_row is None:
            return TableError(
                f"{self.source.label}: between line {chunk.first_line} and the next megabyte: "
                f"{error}"
            )
        line, row = bad_row
        more = " (quote fields that contain the delimiter)" if len(row) > wanted else ""
        return TableError(
            f"{self.source.label}, line {line}: expected {wanted} fields, found {len(row)}{more}"
        )

    def _find(
        self, chunk: Chunk, test: Callable[[list[str]], bool]
    ) -> tuple[int, list[str]] | None:
        """The first row of a chunk for which a test is true, and the number of its line."""
        rows = csv.reader(_lines(chunk.data), delimiter=self.delimiter)
        begin = 0
        with _long_fields():
            for row in rows:
                if row and test(row):
                    return chunk.first_line + begin, row
                begin = rows.line_num
        return None

    def _remember_text(self, name: str, chunk: Chunk) -> None:
        """Note which value makes a column text, and where, if others of the chunk are numbers."""
        f = self.names.index(name)
        first = self._find(
            chunk, lambda row: len(row) > f and row[f] not in MISSING and not is_number(row[f])
        )
        if first is not None:
            line, row = first
            self.first_text[name] = row[f], f"line {line} has {row[f][:40]!r}"


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let fields be as long as lines may be; Python's limit is one for the whole process."""
    limit = csv.field_size_limit(MAX_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _lines(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), "utf-8", errors="replace", newline="")


def chunks_of(stream: Stream) -> Iterator[Chunk]:
    """Cut a stream into chunks behind ends of lines that are not inside of quotes."""
    line = 1
    try:
        rest = stream.unpacked(3).removeprefix(b"\xef\xbb\xbf")
        rest += stream.unpacked(CHUNK)
        # lines may end in a carriage return alone
        old_ends = b"\r" in rest and b"\n" not in rest
        new, rest = rest, b""
        while True:
            data = rest + (new.replace(b"\r", b"\n") if old_ends else new)
            if len(data) == len(rest):
                if data:
                    yield Chunk(data, line, stream.position)
                return
            cut = _last_line_end(data)
            if cut == 0 and len(data) > MAX_LINE:
                raise TableError(
                    f"{stream.label}: line {line} does not end within {MAX_LINE >> 20} MB; is "
                    "a quote missing?"
                )
            if cut:
                yield Chunk(data[:cut], line, stream.position)
                line += data.count(b"\n", 0, cut)
            rest, new = data[cut:], stream.unpacked(CHUNK)
    finally:
        stream.close()


def _last_line_end(data: bytes) -> int:
    """The place behind the last end of a line that is not inside of quotes; 0 if there is none.

    Chunks begin outside of quotes, so an even number of quotes before a place means that it is
    outside.
    """
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end
