"""Columns in a few figures each: what kind they are, how much is missing, where the values lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuboost.data.columns import BOOLEAN, CATEGORY, TEXT
from gpuboost.data.times import IN_SECONDS, written
from gpuboost.report.subject import Rows, Subject
from gpuboost.report.words import number as shown

#: Entries that are looked at; of more, a sample of the rows.
MAX_CELLS, MAX_ROWS = 5_000_000, 100_000
#: Bars of a column's histogram.
N_BARS = 20


@dataclass(frozen=True)
class Column:
    """One feature."""

    number: int
    name: str
    kind: str
    missing: float  # share of rows
    n_distinct: int
    #: least, middle, greatest; None for texts and empty columns
    places: tuple[float, float, float] | None
    top: list[tuple[str, float]]  # the most frequent texts and their shares of the known ones
    bars: np.ndarray  # (n,) counts

    def words(self) -> list[str]:
        """Least, middle and greatest value for people; times as they are written."""
        if self.places is None:
            return []
        is_time = self.kind in IN_SECONDS
        return [written(place, self.kind) if is_time else shown(place) for place in self.places]


NEW = "new categories"


def columns(subject: Subject, rows: Rows) -> tuple[list[Column], int]:
    """All features, and how many rows they were looked at in."""
    x = rows.sample(int(np.clip(MAX_CELLS // rows.x.shape[1], 1_000, MAX_ROWS))).x
    holds = [feature.holds for feature in subject.ensemble.features.features]
    return [
        _column(f, name, x[:, f], subject.values.get(f), holds[f])
        for f, name in enumerate(subject.names)
    ], len(x)


def _column(
    number: int, name: str, values: np.ndarray, texts: list[str] | None, holds: str
) -> Column:
    known = np.sort(values[~np.isnan(values)]).astype(np.float64)
    missing = 1.0 - len(known) / len(values)
    distinct, counts = np.unique(known, return_counts=True)
    if not len(known):
        return Column(number, name, "empty", missing, 0, None, [], np.empty(0))
    if texts is not None:
        kind = CATEGORY if holds == CATEGORY else TEXT
        order = np.argsort(-counts, kind="stable")
        texts = [*texts, NEW]  # behind the last one are those that training has not seen
        top = [(texts[int(distinct[i])], float(counts[i] / len(known))) for i in order[:3]]
        return Column(number, name, kind, missing, len(distinct), None, top, counts[order][:N_BARS])
    places = float(known[0]), float(known[(len(known) - 1) // 2]), float(known[-1])
    kind = "integer" if (np.floor(distinct) == distinct).all() else "number"
    kind = holds if holds in (*IN_SECONDS, BOOLEAN) else kind
    kind = "constant" if len(distinct) == 1 else kind
    return Column(number, name, kind, missing, len(distinct), places, [], bars_of(known))


def bars_of(ascending: np.ndarray) -> np.ndarray:
    """Counts between the 1st and the 99th percentile: a few far values do not hide all others."""
    finite = 0.25 * ascending[np.isfinite(ascending)]  # the span of the quarter is finite too
    if not len(finite):
        return np.empty(0)
    low, high = (
        finite[int(0.01 * (len(finite) - 1))],
        finite[int(np.ceil(0.99 * (len(finite) - 1)))],
    )
    if low == high:
        low, high = finite[0], finite[-1]
    if low == high:
        return np.array([len(finite)])
    place = ((finite - low) / (high - low) * N_BARS).clip(0, N_BARS - 1)[
        (finite >= low) & (finite <= high)
    ]
    return np.bincount(place.astype(np.int64), minlength=N_BARS)


def spark(bars: np.ndarray, width: float = 80.0, height: float = 20.0) -> str:
    """The outline of a small histogram as the path of an SVG; empty if there is nothing to show."""
    if not len(bars):
        return ""
    step = min(width / len(bars), width / 6)  # a single value is a bar, not a wall
    tops = height * (1.0 - bars / bars.max())
    return "".join(
        f"M{i * step:.1f} {height:g}V{top:.1f}h{max(step - 0.8, 0.8):.1f}V{height:g}z"
        for i, top in enumerate(tops)
        if top < height
    )
