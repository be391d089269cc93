"""Sparse matrices of scipy: their rows for training, and dense blocks of them for prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gpuboost.exchange import SparseRows

#: Cells of a dense block: 8 MiB of float64.
BLOCK_CELLS = 1 << 20
#: Largest matrix that is made dense, in bytes.
LARGEST_DENSE = 1 << 31


def sparse_rows(x: Any, absent_is_missing: bool) -> SparseRows:
    """The rows of a CSR matrix that scikit-learn has checked."""
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    dtype = x.dtype if x.dtype in (np.float32, np.float64) else np.float64
    return SparseRows(
        data=x.data.astype(dtype, copy=False),
        column=x.indices.astype(np.int32, copy=False),
        begin=x.indptr.astype(np.int64, copy=False),
        n_features=x.shape[1],
        absent=np.nan if absent_is_missing else 0.0,
    )


def dense_blocks(x: SparseRows, columns: np.ndarray) -> Iterator[np.ndarray]:
    """Some columns of consecutive rows, as dense matrices that are small."""
    step = max(1, BLOCK_CELLS // max(1, len(columns)))
    place = np.full(x.n_features, -1, np.int64)
    place[columns] = np.arange(len(columns))
    for first in range(0, len(x), step):
        end = min(first + step, len(x))
        block = np.full((end - first, len(columns)), x.absent, x.dtype)
        stored = slice(x.begin[first], x.begin[end])
        row = np.repeat(np.arange(end - first), np.diff(x.begin[first : end + 1]))
        column = place[x.column[stored]]
        asked = column >= 0
        block[row[asked], column[asked]] = x.data[stored][asked]
        yield block


def take_sparse_rows(x: SparseRows, rows: np.ndarray) -> SparseRows:
    """Some rows, given by their numbers."""
    sizes = np.diff(x.begin)[rows]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    entries = np.repeat(x.begin[rows] - begin[:-1], sizes) + np.arange(begin[-1])
    return replace(x, data=x.data[entries], column=x.column[entries], begin=begin)


def dense_matrix(x: Any) -> Any:
    """A sparse matrix as a dense one, for what does not work on stored values alone.

    Anything else stays as it is.
    """
    if not isinstance(x, SparseRows):
        return x
    n_bytes = len(x) * x.n_features * x.dtype.itemsize
    if n_bytes > LARGEST_DENSE:
        raise ValueError(
            f"X is sparse, shape {x.shape}; only the training and the predictions of gradient "
            "boosting work on stored values alone, and all else makes a dense matrix of it, "
            f"which would take {n_bytes / 2**30:.1f} GiB: at most {LARGEST_DENSE / 2**30:.0f} GiB "
            "are allowed. Use GPUBoostClassifier or GPUBoostRegressor, or choose some columns"
        )
    out = csr_array((x.data, x.column, x.begin), shape=x.shape).toarray()
    if np.isnan(x.absent):
        stored = np.zeros(x.shape, np.bool_)
        stored[np.repeat(np.arange(len(x)), np.diff(x.begin)), x.column] = True
        out[~stored] = np.nan
    return out
