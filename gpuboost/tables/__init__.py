"""Reading tables: files of several formats, in batches, into the matrices that models take."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from gpuboost.tables.arrays import LibsvmTable, NpzTable
from gpuboost.tables.batch import Batch, Table
from gpuboost.tables.columnar import ArrowTable, ParquetTable
from gpuboost.tables.delimited import DelimitedTable
from gpuboost.tables.errors import TableError
from gpuboost.tables.matrix import ModelColumns, Part, TrainingData, read_training, read_validation
from gpuboost.tables.source import FORMATS, PACKED, TEXT_FORMATS, Source, format_of

__all__ = [
    "FORMATS",
    "Batch",
    "ModelColumns",
    "Part",
    "Table",
    "TableError",
    "TrainingData",
    "open_table",
    "read_training",
    "read_validation",
]


def open_table(
    path: str,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    keep: bool = True,
) -> Table:
    r"""Open a table; nothing but its beginning is read.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    format : str, default=None
        One of ``FORMATS``. None: by the name's ending; CSV for standard input.
    delimiter : str, default=None
        Between the fields of CSV (a comma otherwise) and TSV (a tab).
    header : bool, default=True
        Whether the first line of CSV and TSV has the names of the columns; c0, c1, ... otherwise.
    keep : bool, default=True
        Whether standard input is copied to a temporary file first, so that it can be read again;
        formats that are not read from beginning to end always are.

    Returns
    -------
    Table
        Names, kinds and batches of its columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fruit.csv"
    >>> _ = path.write_text("name,weight\napple,150\npear,\n")
    >>> open_table(str(path)).kinds
    {'name': 'text', 'weight': 'number'}
    """
    if path != "-":
        os.stat(path)  # a file that is not there is just that, whatever its name
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", path)
    kind = format_of(path, format)
    source = Source(path, keep or kind not in ("csv", "tsv"))
    if kind not in TEXT_FORMATS and path.lower().endswith(tuple(PACKED)):
        raise TableError(f"{path}: {kind} files must not be packed again; unpack it first")
    if kind in ("csv", "tsv"):
        return DelimitedTable(source, delimiter or ("\t" if kind == "tsv" else ","), header)
    if delimiter is not None or not header:
        raise TableError(f"{path}: --delimiter and --no-header are for CSV and TSV; this is {kind}")
    others: dict[str, Callable[[Source], Table]] = {
        "parquet": ParquetTable,
        "arrow": ArrowTable,
        "npz": NpzTable,
        "libsvm": LibsvmTable,
    }
    return others[kind](source)
