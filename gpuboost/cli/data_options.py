"""What commands that read tables share: their options, and checks of files to write."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager

from gpuboost.cli.common import FAILED, CliError, Options
from gpuboost.tables import FORMATS, Table, open_table

ABOUT_TABLES = """\
tables:
  CSV, TSV, Parquet, Arrow (Feather), NPZ and LibSVM, by the name's ending; CSV, TSV and LibSVM also
  packed (.gz, .zst, .bz2, .lz4).
  - is standard input: CSV unless --format says otherwise.
  Missing: empty fields, NA, N/A, NaN, null, None and ?. true and false are 1 and 0. Dates and times
  in ISO 8601, or such as 31/12/2024 3:30 pm, 31.12.2024 and Dec 31, 2024, are seconds since 1970.
  Currencies, percentages, separated thousands and decimal commas ($1,234.50; 12,5 %) are numbers;
  a note says what each such column was read as. A column with any other value is text: its values
  are numbered in ascending order. Whole numbers beyond 2^53 are rounded. NPZ: a matrix X and
  vectors such as y; columns are named by the array feature_names, or c0, c1, ... LibSVM: the target
  is y, the columns are x1, x2, ...; what is not written is 0.
"""


#: How to read a table.
TABLE_OPTIONS: Options = {
    "--format": {"choices": FORMATS, "help": "format of the tables, if their names do not tell"},
    "--delimiter": {
        "metavar": "C",
        "help": "what stands between the fields of CSV and TSV, such as ';' or '\\t'",
    },
    "--no-header": {
        "action": "store_true",
        "help": "the first line of CSV and TSV is a row: columns are c0, c1, ...",
    },
}


@contextmanager
def open_with_options(path: str, args: argparse.Namespace, keep: bool = True) -> Iterator[Table]:
    """A table, read as the options say; its file is closed at the end of the block."""
    delimiter = "\t" if args.delimiter in ("\\t", "tab") else args.delimiter
    table = open_table(path, args.format, delimiter, not args.no_header, keep)
    with closing(table.source):
        yield table


def names(text: str | None) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of the system, such as a full disk, with the name of the file that was written."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None or isinstance(error, BrokenPipeError):
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


@contextmanager
def without_name_warnings() -> Iterator[None]:
    """Hand matrices without names to a model that knows the names of its features.

    The columns of the matrices were found by these names before.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def check_output(path: str, *inputs: str | None) -> None:
    """Raise unless a file can be written, before any long work begins."""
    if path == "-":
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise CliError(f"{path}: is a folder; name a file")
    if not os.path.isdir(folder):
        raise CliError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise CliError(f"{path}: the folder {folder} is not writable", FAILED)
    for other in inputs:
        if (
            other is not None
            and os.path.exists(path)
            and os.path.exists(other)
            and os.path.samefile(path, other)
        ):
            raise CliError(f"{path}: would be written over what is read; choose another name")
