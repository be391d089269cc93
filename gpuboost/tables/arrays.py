"""NPZ and LibSVM files."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gpuboost.tables.batch import Batch, StoredColumns, Table
from gpuboost.tables.delimited import Chunk, chunks_of
from gpuboost.tables.errors import TableError
from gpuboost.tables.source import Source

#: Bytes of a batch.
BATCH_BYTES = 1 << 22
#: Largest dense matrix that a sparse file may become.
MAX_DENSE_BYTES = 64 << 30
#: Columns of a LibSVM file: each has a name, and models know something of each.
MAX_COLUMNS = 1 << 22
#: Integers and floats that float32 holds.
SMALL = ("f4", "f2", "i1", "u1", "i2", "u2", "b1")


class NpzTable(Table):
    """Arrays of an NPZ file.

    The table has the columns of a matrix (named "X", or the only one), and vectors under their own
    names. The columns of the matrix are called as the array "feature_names" says, or c0, c1, ...
    """

    default_target = "y"

    def __init__(self, source: Source) -> None:
        super().__init__(source, None)
        try:
            with zipfile.ZipFile(source.path) as archive:
                headers = {
                    member.removesuffix(".npy"): self._header(archive, member)
                    for member in archive.namelist()
                }
            self._matrix = self._choose_matrix(
                {name: shape for name, (shape, _, _) in headers.items()}
            )
            (self.total, n_columns), self._fortran, dtype = headers[self._matrix]
            with np.load(source.path, allow_pickle=False) as arrays:
                features = (
                    [str(name) for name in arrays["feature_names"]]
                    if "feature_names" in headers
                    else [f"c{i}" for i in range(n_columns)]
                )
                self._vectors = {
                    name: arrays[name]
                    for name, (shape, _, _) in headers.items()
                    if shape == (self.total,) and name != "feature_names"
                }
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError) as error:
            if isinstance(error, TableError):
                raise
            raise TableError(
                f"{source.label}: the NPZ file is damaged, or holds what is no plain array "
                f"({error})"
            ) from error
        self._dtypes = dict.fromkeys(features, dtype)
        self._dtypes |= {name: vector.dtype for name, vector in self._vectors.items()}
        if not len(features) == n_columns == len(self._dtypes) - len(self._vectors):
            raise TableError(
                f"{source.label}: feature_names must have {n_columns} names that differ from "
                "each other and from the vectors'"
            )
        if self.total == 0:
            raise TableError(f"{source.label}: {self._matrix} has no rows")
        self._place = {name: i for i, name in enumerate(features)}
        self.names = list(self._dtypes)
        self.kinds = {name: self._kind(name, dtype) for name, dtype in self._dtypes.items()}

    @staticmethod
    def _header(archive: zipfile.ZipFile, member: str) -> tuple[tuple[int, ...], bool, np.dtype]:
        with archive.open(member) as file:
            return _npy_header(file)

    def _choose_matrix(self, shapes: dict[str, tuple[int, ...]]) -> str:
        matrices = [name for name, shape in shapes.items() if len(shape) == 2]
        if "X" in matrices:
            return "X"
        if len(matrices) != 1:
            content = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "nothing"
            raise TableError(
                f"{self.source.label}: there should be one matrix, or one that is called X; "
                f"the file has {content}"
            )
        return matrices[0]

    def _kind(self, name: str, dtype: np.dtype) -> str:
        kinds = {"b": "bool", "i": "number", "u": "number", "f": "number", "U": "text"}
        if dtype.kind not in kinds:
            raise TableError(
                f"{self.source.label}: array {name!r} has the dtype {dtype}; it must hold "
                "numbers, booleans or text"
            )
        return kinds[dtype.kind]

    def dtype(self, columns: Sequence[str]) -> str:
        """float32 if it holds every value of these columns."""
        dtypes = {self._dtypes[name] for name in columns}
        small = all(dtype.kind == "U" or dtype.str[1:] in SMALL for dtype in dtypes)
        return "float32" if small else "float64"

    def _read(self, columns: Sequence[str], text: set[str] | None) -> Iterator[tuple[int, Batch]]:
        self._check_numbers(columns, text)
        done = 0
        for block in self._blocks():
            n = len(block)
            parts = {
                name: self._vectors[name][done : done + n]
                if name in self._vectors
                else block[:, self._place[name]]
                for name in columns
            }
            done += n
            yield done, Batch(n, parts)

    def _blocks(self) -> Iterator[np.ndarray]:
        """Rows of the matrix, straight from the file if they are stored row by row."""
        if self._fortran:
            with np.load(self.source.path, allow_pickle=False) as arrays:
                whole = arrays[self._matrix]
            rows = max(1, BATCH_BYTES // max(whole[:1].nbytes, 1))
            yield from (whole[begin : begin + rows] for begin in range(0, len(whole), rows))
            return
        with (
            zipfile.ZipFile(self.source.path) as archive,
            archive.open(f"{self._matrix}.npy") as file,
        ):
            (n_rows, n_columns), _, dtype = _npy_header(file)
            row = n_columns * dtype.itemsize
            rows = max(1, BATCH_BYTES // max(row, 1))
            for begin in range(0, n_rows, rows):
                n = min(rows, n_rows - begin)
                try:
                    data = file.read(n * row)
                except (zipfile.BadZipFile, zlib.error) as error:
                    raise TableError(
                        f"{self.source.label}: the NPZ file is damaged ({error})"
                    ) from error
                if len(data) < n * row:
                    raise TableError(f"{self.source.label}: the NPZ file is cut short")
                yield np.frombuffer(data, dtype).reshape(n, n_columns)


def _npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether columns come first, and dtype of a stored array."""
    version = np.lib.format.read_magic(file)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if reader is None:
        raise ValueError(
            f"version {version} of the array format is for records, which are no features"
        )
    shape, fortran, dtype = reader(file)
    if dtype.hasobject:
        raise ValueError("objects can only be read with pickle, which runs code")
    return shape, fortran, dtype


class LibsvmTable(Table):
    """A LibSVM file: target and index:value pairs; what is not there is 0.

    The target is the column y, the others are x1, x2, ... as they are numbered (from x0 if an index
    0 occurs).
    """

    unit = "B"
    default_target = "y"
    is_sparse = True

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.size)
        lowest, highest, n_rows = 1, 0, 0
        for chunk in chunks_of(source.open()):
            sparse, _ = self._parse(chunk)
            n_rows += sparse.shape[0]
            if sparse.nnz:
                lowest, highest = (
                    min(lowest, int(sparse.indices.min())),
                    max(highest, int(sparse.indices.max())),
                )
        if n_rows == 0:
            raise TableError(f"{source.label}: the file has no rows")
        n_columns = highest - lowest + 1
        if n_columns > MAX_COLUMNS:
            raise TableError(
                f"{source.label}: the highest index is {highest:,}; at most {MAX_COLUMNS:,} "
                "columns are read from this format"
            )
        self._shape = n_rows, n_columns
        self.names = ["y", *(f"x{i}" for i in range(lowest, highest + 1))]
        self.kinds = dict.fromkeys(self.names, "number")

    def check_dense(self) -> None:
        """Raise if the matrix is too large with all zeros written out."""
        n_rows, n_columns = self._shape
        size = 8 * n_rows * n_columns
        if size > MAX_DENSE_BYTES:
            raise TableError(
                f"{self.source.label}: {n_rows:,} rows of {n_columns:,} columns would take "
                f"{size / 2**30:,.0f} GB with all zeros written out, at most "
                f"{MAX_DENSE_BYTES >> 30} GB are read. Gradient boosting without categories reads "
                "the values alone"
            )

    def missing(self, columns: Iterable[str]) -> list[str]:
        """None of x0, x1, ...: columns that the file has no value of are 0."""
        return [
            name
            for name in columns
            if name != "y" and not re.fullmatch(r"x(0|[1-9][0-9]{0,8})", name)
        ]

    def _read(self, columns: Sequence[str], text: set[str] | None) -> Iterator[tuple[int, Batch]]:
        width = 1 + max(
            (int(name[1:]) for name in [*columns, *self.names] if name != "y"), default=0
        )
        for chunk in chunks_of(self.source.open()):
            sparse, y = self._parse(chunk)
            sparse.resize(sparse.shape[0], width)
            rows = max(1, BATCH_BYTES // (8 * width))
            for begin in range(0, max(1, sparse.shape[0]), rows):  # comments count as read, too
                block, of_block = sparse[begin : begin + rows], y[begin : begin + rows]
                places = {name: int(name[1:]) for name in columns if name != "y"}
                target = {"y": of_block} if "y" in columns else {}
                yield chunk.end, Batch(block.shape[0], StoredColumns(block, places, target))

    def _parse(self, chunk: Chunk) -> tuple[Any, np.ndarray]:
        """A sparse matrix whose columns are the indices in the file, and the targets."""
        from sklearn.datasets import load_svmlight_file

        if not any(line.split(b"#")[0].strip() for line in chunk.data.splitlines()):
            from scipy.sparse import csr_matrix

            return csr_matrix((0, 0)), np.empty(0)
        try:
            sparse, y = load_svmlight_file(io.BytesIO(chunk.data), zero_based=True)
        except (ValueError, IndexError) as error:
            last = chunk.first_line + chunk.data.count(b"\n")
            raise TableError(
                f"{self.source.label}: not in LibSVM format (target index:value ...) between "
                f"lines {chunk.first_line} and {last}: {error}"
            ) from error
        return sparse, y
