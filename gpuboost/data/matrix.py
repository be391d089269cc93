"""Codes of a matrix, in the layouts that training reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuboost.backend import Backend, HostBackend, device_of
from gpuboost.dtypes import BIN, N_CODES
from gpuboost.exchange import FeatureMatrix


def with_borders(
    columns: Any,
    x: Any,
    weight: np.ndarray,
    n_codes: np.ndarray,
    is_categorical: np.ndarray,
    backend: Backend,
) -> FeatureMatrix:
    """Bins by columns with the lowest and highest value of each, and codes of categories.

    The bins of a matrix on a device stay there; it has no categories.
    """
    lower, upper = backend.code_borders(x, weight, columns, n_codes)
    borders = [(lower[f, : n - 1], upper[f, : n - 1]) for f, n in enumerate(n_codes)]
    if device_of(columns) is not None:
        return _matrix(columns, np.empty(0, BIN), borders, is_categorical, x.shape[0])
    return _coded(x, is_categorical, lambda f: (columns[f], *borders[f]), backend.host)


def exact_codes(
    x: np.ndarray, weight: np.ndarray, is_categorical: np.ndarray, backend: HostBackend
) -> FeatureMatrix:
    """A matrix in which every distinct value of a row with weight has a code of its own."""
    used = np.flatnonzero(weight > 0)

    def code(f: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        codes = np.zeros(len(x), np.uint32)  # for rows without weight no value counts
        codes[used], values = _ranks(x[used, f])
        return codes, values, values

    return _coded(x, is_categorical, code, backend)


def _coded(
    x: np.ndarray,
    is_categorical: np.ndarray,
    code: Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]],
    backend: HostBackend,
) -> FeatureMatrix:
    """Codes of all columns; ``code(f)`` says those of a number, and their borders.

    Categorical columns hold category numbers 0, 1, ... or NaN; their code is the number + 1.
    """
    coded: list[Any] = [None] * x.shape[1]

    def code_column(f: int) -> None:
        if is_categorical[f]:
            codes = np.where(np.isnan(x[:, f]), 0, x[:, f] + 1).astype(np.int64)
            numbers = np.arange(int(codes.max(initial=0)), dtype=np.float64)
            coded[f] = codes, numbers, numbers
        else:
            coded[f] = code(f)

    backend.share_out(x.shape[1], code_column)
    most = max(len(lower) for _, lower, _ in coded) + 1
    columns = np.empty(x.shape[::-1], BIN if most <= N_CODES else np.uint32)
    for column, (codes, _, _) in zip(columns, coded, strict=True):
        column[:] = codes
    borders = [(lower, upper) for _, lower, upper in coded]
    return _matrix(columns, np.ascontiguousarray(columns.T), borders, is_categorical, len(x))


def _matrix(
    columns: Any,
    by_rows: np.ndarray,
    borders: list[tuple[np.ndarray, np.ndarray]],
    is_categorical: np.ndarray,
    n_rows: int,
) -> FeatureMatrix:
    """Codes with the lowest and highest value of each code but 0, by features."""
    n_codes = np.array([len(lower) + 1 for lower, _ in borders], np.int32)
    unknown = [np.nan]
    return FeatureMatrix(
        columns=columns,
        by_rows=by_rows,
        n_codes=n_codes,
        n_rows=n_rows,
        begin=np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64),
        lower=np.concatenate([part for lower, _ in borders for part in (unknown, lower)]),
        upper=np.concatenate([part for _, upper in borders for part in (unknown, upper)]),
        is_categorical=is_categorical,
    )


def _ranks(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank of every value among the distinct ones, from 1 on, and these; 0 for missing values."""
    column = column.astype(np.float64, copy=False)
    order = np.argsort(column, kind="stable")  # missing values last
    ordered = column[order]
    n_known = int(np.searchsorted(ordered, np.nan))
    new = np.empty(len(column), np.bool_)
    new[:1] = True
    new[1:] = ordered[1:] != ordered[:-1]
    new[n_known:] = False
    ranks = np.empty(len(column), np.uint32)
    numbers = np.cumsum(new, dtype=np.uint32)
    numbers[n_known:] = 0
    ranks[order] = numbers
    return ranks, ordered[new]
