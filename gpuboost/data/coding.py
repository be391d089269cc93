"""Features as codes, for classical trees: ranks of the distinct values, bins, or categories.

Code 0 is the missing value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import HostBackend
from gpuboost.data.binning import BinMapper
from gpuboost.dtypes import N_CODES


@dataclass(frozen=True)
class CodedMatrix:
    """Codes of a matrix, and the values behind them."""

    codes: np.ndarray  # (n_features, n_rows) uint8 or uint32
    # (n_rows, n_features) of the same: nodes of few rows read the codes of a row together
    by_rows: np.ndarray
    n_codes: np.ndarray  # (n_features,) int32, code 0 included
    begin: np.ndarray  # (n_features + 1,) int64: where a feature's codes begin in lower and upper
    lower: np.ndarray  # float64: the lowest value that has the code; NaN for code 0
    upper: np.ndarray  # float64: and the highest
    nominal: np.ndarray  # (n_features,) uint8

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


def code_matrix(
    x: np.ndarray,
    weight: np.ndarray,
    nominal: np.ndarray,
    max_bins: int | None,
    backend: HostBackend,
) -> CodedMatrix:
    """Codes of every value.

    Exact ones, or at most ``max_bins`` bins for each feature that is not nominal.

    Nominal columns hold category numbers 0, 1, ... or NaN; their code is the number + 1.
    """
    n_rows, n_features = x.shape
    columns: list[Any] = [None] * n_features
    borders: list[Any] = [None] * n_features
    binned, used = None, np.flatnonzero(weight > 0)
    if max_bins is not None:
        equal = bool((weight == weight[:1]).all())  # then cuts need no weights, which take longer
        mapper = BinMapper.fit(x, np.empty(0) if equal else weight, max_bins, backend)
        binned = mapper.transform(x, backend, by_rows=False)

    def code_column(f: int) -> None:
        column = x[:, f]
        if nominal[f]:
            known = ~np.isnan(column)
            columns[f] = np.where(known, column + 1, 0).astype(np.int64)
            values = np.arange(int(columns[f].max(initial=0)), dtype=np.float64)
            borders[f] = values, values
        elif binned is not None:
            columns[f] = binned.columns[f]
            own = (column, columns[f]) if len(used) == n_rows else (column[used], columns[f][used])
            borders[f] = backend.code_borders(*own, int(binned.n_bins[f]))
        else:
            columns[f] = np.zeros(n_rows, np.uint32)  # for rows without weight no value counts
            columns[f][used], values = _ranks(column[used])
            borders[f] = values, values

    backend.share_out(n_features, code_column)
    n_codes = np.array([len(low) + 1 for low, _ in borders], np.int32)
    codes = np.empty((n_features, n_rows), np.uint8 if n_codes.max() <= N_CODES else np.uint32)
    for f in range(n_features):
        codes[f] = columns[f]
    unknown = [np.nan]
    return CodedMatrix(
        codes=codes,
        by_rows=np.ascontiguousarray(codes.T),
        n_codes=n_codes,
        begin=np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64),
        lower=np.concatenate([part for low, _ in borders for part in (unknown, low)]),
        upper=np.concatenate([part for _, high in borders for part in (unknown, high)]),
        nominal=nominal.astype(np.uint8),
    )


def _ranks(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank of every value among the distinct ones, from 1 on, 0 for missing.

    And the distinct values.
    """
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
