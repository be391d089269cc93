"""Where the bytes of a table come from, and which format they are in.

They come from a file or from standard input, packed or not.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from gpuboost.optional import load
from gpuboost.tables.errors import TableError

#: Endings of file names and the formats they stand for.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
}
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
#: Formats made of lines; they may be packed.
TEXT_FORMATS = ("csv", "tsv", "libsvm")
#: Endings of packed files: pyarrow's name of the packing, and the bytes that such files begin with.
PACKED = {
    ".gz": ("gzip", b"\x1f\x8b"),
    ".zst": ("zstd", b"\x28\xb5\x2f\xfd"),
    ".bz2": ("bz2", b"BZh"),
    ".lz4": ("lz4", b"\x04\x22\x4d\x18"),
}


def format_of(path: str, chosen: str | None = None) -> str:
    """The format of a file: the chosen one, or what the name's ending says.

    Standard input is CSV unless another format was chosen.
    """
    if chosen is not None:
        return chosen
    if path == "-":
        return "csv"
    name = Path(path).name.lower()
    ending = Path(name).suffix
    if ending in PACKED:
        ending = Path(name.removesuffix(ending)).suffix
    if ending not in ENDINGS:
        raise TableError(
            f"{path}: no format is known for this name; its ending should be one of "
            f"{', '.join(ENDINGS)}, or use --format"
        )
    return ENDINGS[ending]


class Source:
    """A file, or standard input.

    Parameters
    ----------
    path : str
        Name of the file; "-" is standard input.
    keep : bool
        Whether standard input is first copied to a temporary file, so that it can be read again.
    """

    def __init__(self, path: str, keep: bool = True) -> None:
        self.path, self.label = path, "standard input" if path == "-" else path
        self._copy: Any = None
        self.size: int | None = None
        if path == "-":
            if keep:
                self._keep(sys.stdin.buffer)
        # a pipe, such as <(zcat table.csv.gz): it can be opened once
        elif os.path.exists(path) and not os.path.isfile(path):
            with open(path, "rb") as pipe:
                self._keep(pipe)
        if self.path != "-":
            with open(self.path, "rb") as file:  # an error here says which file, and why
                self.size = file.seek(0, os.SEEK_END)
            if self.size == 0:
                raise TableError(f"{self.label}: the file is empty")

    def _keep(self, stream: BinaryIO) -> None:
        """Copy a stream to a temporary file and read that."""
        self._copy = tempfile.NamedTemporaryFile(prefix="gpuboost-")  # noqa: SIM115 (closed by close)
        try:
            shutil.copyfileobj(stream, self._copy, 1 << 20)
            self._copy.flush()
        except BaseException:  # an interrupt, too: nobody else can remove the file
            self.close()
            raise
        self.path = self._copy.name

    def open(self) -> Stream:
        """The bytes from the beginning, unpacked.

        Standard input that was not kept can be opened once.
        """
        if self.path == "-":
            return Stream(sys.stdin.buffer, self.label, ending="")
        ending = Path(self.path).suffix.lower()
        file = open(self.path, "rb")  # noqa: SIM115 (the stream closes it)
        return Stream(file, self.label, ending if ending in PACKED else "")

    def close(self) -> None:
        """Remove the temporary file."""
        if self._copy is not None:
            self._copy.close()


class Stream:
    """Bytes that are unpacked on the way; ``position`` is the place in the packed file."""

    def __init__(self, raw: BinaryIO, label: str, ending: str) -> None:
        self._raw, self.label, self.position, self._begin = raw, label, 0, raw.read(4)
        packing = next(
            (name for name, magic in PACKED.values() if self._begin.startswith(magic)), None
        )
        if ending and packing != PACKED[ending][0]:
            raise TableError(
                f"{label}: the name ends in {ending}, but the content is not {PACKED[ending][0]}"
            )
        self._unpacked: Any = None
        if packing is not None:
            pa = load("pyarrow", "reading packed files")
            self._unpacked = pa.CompressedInputStream(pa.PythonFile(self, mode="r"), packing)

    def read(self, n: int) -> bytes:
        """The next n packed bytes, fewer only at the end."""
        begin, self._begin = self._begin[:n], self._begin[n:]
        data = begin + self._raw.read(n - len(begin))
        self.position += len(data)
        return data

    def unpacked(self, n: int) -> bytes:
        """The next n bytes of content, fewer only at the end."""
        if self._unpacked is None:
            return self.read(n)
        try:
            return bytes(self._unpacked.read(n))
        except (OSError, ValueError) as error:
            raise TableError(
                f"{self.label}: the packed file is damaged or cut short ({error})"
            ) from error

    # what pyarrow wants of a file

    closed = False

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()
