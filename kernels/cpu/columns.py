"""Codes by columns, whatever they are laid out in: what partition and the walks through trees read.

A dense matrix is an array of columns. A sparse one is ``SparseColumns``: the codes of the stored
values of each row, one row after another; what is not stored has a code of its column's own. Which
of both it is, is a type: each is compiled for itself."""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from gpuboost.kernels.cpu._jit import by_type
from gpuboost.scalar.search import first_from


class SparseColumns(NamedTuple):
    """The codes of a sparse matrix."""

    begin: Any  # (n_rows + 1,) int64: where the entries of each row begin
    entries: Any  # (n,) uint32: first[feature] + code, ascending within a row
    first: Any  # (n_features + 1,) int64: what the entries of each feature begin with
    absent: Any  # (n_features,) uint8: code of the values that are not stored


def column_of(columns, feature):
    """One column, for ``code_of``."""
    raise NotImplementedError  # compiled code only


def code_of(column, row):
    """The code of a row."""
    raise NotImplementedError  # compiled code only


@by_type(column_of, views=True)
def _column_of(columns, feature):
    if isinstance(columns, types.Array):
        return lambda columns, feature: columns[feature]
    return lambda columns, feature: (
        columns.begin,
        columns.entries,
        columns.first[feature],
        columns.first[feature + 1],
        columns.absent[feature],
    )


@by_type(code_of)
def _code_of(column, row):
    if isinstance(column, types.Array):
        return lambda column, row: column[np.uint64(row)]
    return _find_entry


def _find_entry(column, row):
    """Binary search among the entries of the row."""
    begin, entries, first, end, absent = column
    last = begin[row + 1]
    place = first_from(entries, begin[row], last, first)
    return np.uint8(entries[place] - first) if place < last and entries[place] < end else absent
