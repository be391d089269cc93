"""Training rows that are held out to watch the training on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuboost.backend import Backend
from gpuboost.data.sparse import take_sparse_rows
from gpuboost.exchange import SparseRows
from gpuboost.training.row_sampling import RowUnits


class TrainingRows(NamedTuple):
    """Rows with all that there is for each of them."""

    x: Any
    y: np.ndarray  # (n_rows,) or (n_outputs, n_rows)
    weight: np.ndarray  # (n_rows,), or empty
    row_arrays: Mapping[str, Any] | None = None
    row_units: RowUnits | None = None
    margin: np.ndarray | None = None  # (n_outputs, n_rows)

    def take(self, rows: np.ndarray, backend: Backend) -> TrainingRows:
        """Some of them, where they are."""
        units, arrays = self.row_units, self.row_arrays
        sparse = isinstance(self.x, SparseRows)
        return TrainingRows(
            take_sparse_rows(self.x, rows) if sparse else backend.take_rows(self.x, rows),
            np.ascontiguousarray(self.y[..., rows]),
            self.weight[rows] if self.weight.size else self.weight,
            None if arrays is None else {k: np.asarray(v)[rows] for k, v in arrays.items()},
            None if units is None else RowUnits(units.units[rows], units.shares[rows]),
            None if self.margin is None else np.ascontiguousarray(self.margin[:, rows]),
        )


class HeldOut(NamedTuple):
    """Numbers of rows, ascending."""

    train: np.ndarray
    valid: np.ndarray


def hold_out(
    fraction: float,
    how: str,
    n_rows: int,
    seed: int,
    weight: np.ndarray,
    classes: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> HeldOut:
    """Rows to train on, and about this share of all rows to validate on.

    Of each class the same share is held out; with groups, whole groups are. Rows of weight 0 are
    not counted: they stay with the training rows, which they do not change.
    """
    counted = np.arange(n_rows) if not weight.size else np.flatnonzero(weight > 0)
    if how == "last":
        n_valid = _part(fraction, len(counted))
        valid = counted[len(counted) - n_valid :]
    elif groups is not None:
        valid = _whole_groups(fraction, counted, groups, seed)
    else:
        of_rows = np.zeros(n_rows, np.int64) if classes is None else classes
        valid = _of_each_class(fraction, counted, of_rows, seed)
    chosen = np.zeros(n_rows, bool)
    chosen[valid] = True
    left = counted[~chosen[counted]]
    if not len(valid) or not len(left):
        raise ValueError(
            f"validation_fraction={fraction!r} of {len(counted)} rows leaves "
            f"{len(left)} rows to train on and {len(valid)} to validate on; both need one"
        )
    if classes is not None:
        lost = np.setdiff1d(classes[counted], classes[left])
        if len(lost):
            raise ValueError(
                f"validation_split={how!r} holds out all rows of class number {lost[0]}, of which "
                "none is left to train on"
            )
    return HeldOut(np.flatnonzero(~chosen), np.flatnonzero(chosen))


def rounds_for_all(n_rounds: int, held_out: HeldOut) -> int:
    """Rounds for all rows, from those that were best for the rows that were trained on.

    In proportion to the rows: more of them bear more rounds.
    """
    n_train, n_valid = map(len, held_out)
    return round(n_rounds * (n_train + n_valid) / n_train)


def _part(fraction: float, n: int) -> int:
    return min(max(1, round(fraction * n)), n - 1)


def _of_each_class(
    fraction: float, counted: np.ndarray, classes: np.ndarray, seed: int
) -> np.ndarray:
    """A random choice with the same share of every class, up to rounding."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(counted)
    by_class = order[np.argsort(classes[order], kind="stable")]
    values, first, sizes = np.unique(classes[by_class], return_index=True, return_counts=True)
    wanted = fraction * sizes
    n_valid = np.floor(wanted).astype(np.int64)
    missing = _part(fraction, len(counted)) - int(n_valid.sum()) if len(counted) > 1 else 0
    # what rounding down has left goes to the classes that lost most by it, and keep a row
    can_give = np.flatnonzero(n_valid < sizes - 1)
    by_loss = can_give[np.argsort((n_valid - wanted)[can_give], kind="stable")]
    n_valid[by_loss[: max(0, missing)]] += 1
    parts = [by_class[a : a + n] for a, n in zip(first, n_valid, strict=True)]
    return np.concatenate(parts)


def _whole_groups(
    fraction: float, counted: np.ndarray, groups: np.ndarray, seed: int
) -> np.ndarray:
    """Rows of groups that are drawn until they have the share."""
    numbers = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(numbers[counted], minlength=numbers.max() + 1)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(np.flatnonzero(sizes))
    ends = np.cumsum(sizes[order])
    n_groups = 1 + int(np.abs(ends - fraction * len(counted)).argmin())
    drawn = np.zeros(len(sizes), bool)
    drawn[order[:n_groups]] = True
    return counted[drawn[numbers[counted]]]
