"""Codes by columns, whatever they are laid out in: what partition and the walks through trees read.

A dense matrix is an array of columns. A sparse one is ``SparseColumns``: the codes of the stored
values of each row, one row after another; what is not stored has a code of its column's own. Which
of both it is, is a type: each is compiled for itself."""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from gpuboost.kernels.cpu._jit import by_type, helper
from gpuboost.scalar.search import first_from

#: Times that one list must be as long as another one to be searched and not gone through.
FEW = 8


class SparseColumns(NamedTuple):
    """The codes of a sparse matrix."""

    begin: Any  # (n_rows + 1,) int64: where the entries of each row begin
    entries: Any  # (n,) uint32: first[feature] + code, ascending within a row
    first: Any  # (n_features + 1,) int64: what the entries of each feature begin with
    absent: Any  # (n_features,) uint8: code of the values that are not stored


class StoredByColumn(NamedTuple):
    """The same codes by columns, each with its rows in ascending order."""

    begin: Any  # (n_features + 1,) int64: where the entries of each column begin
    rows: Any  # (n,) int32
    codes: Any  # (n,) uint8


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


@helper
def codes_of(columns, stored, feature, rows, codes):
    """Codes of ascending rows in one column of a sparse matrix, into ``codes``.

    What is stored is looked up among the rows, or each row among what is stored, or both are gone
    through side by side: which is least depends on how many there are of both.
    """
    n = rows.shape[0]
    if n == 0:
        return
    begin, end = stored.begin[feature], stored.begin[feature + 1]
    end = first_from(stored.rows, begin, end, rows[n - 1] + 1)
    begin = first_from(stored.rows, begin, end, rows[0])
    absent = columns.absent[feature]
    if end - begin > FEW * n:
        column = column_of(columns, feature)
        for i in range(n):
            codes[i] = code_of(column, rows[i])
        return
    for i in range(np.uint64(n)):
        codes[i] = absent
    i = 0
    for e in range(begin, end):
        row = stored.rows[e]
        if n > FEW * (end - begin):
            i = first_from(rows, i, n, row)
        else:
            while i < n and rows[i] < row:
                i += 1
        if i < n and rows[i] == row:
            codes[i] = stored.codes[e]


def _find_entry(column, row):
    """Binary search among the entries of the row."""
    begin, entries, first, end, absent = column
    last = begin[row + 1]
    place = first_from(entries, begin[row], last, first)
    return np.uint8(entries[place] - first) if place < last and entries[place] < end else absent
