"""Features that alone give the target away.

A feature that was written down together with the target, or made from it, makes every figure of a
model worthless. Such a feature can be told from the data: the target of a row is then what the
rows with the nearest values of this feature have. Nothing is fitted and nothing is drawn, so the
answer is the same every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gpuboost.report.words import percent

#: Rows times features that are looked at, and the least and the most rows.
MAX_CELLS, FEWEST_ROWS, MOST_ROWS = 5_000_000, 1_000, 20_000
#: Rows that a first look takes; features that are bad at telling the target there are let go.
FIRST_ROWS, FIRST_SHARE = 1_000, 0.1
#: Errors of always saying the most frequent class, and rows with numbers, below which a feature may
#: be this good by nature: one kind of iris differs from the others by the length of its petals.
FEWEST_ERRORS, FEWEST_NUMBERS = 100, 100
#: What a feature leaves unexplained at most: a share of those errors, or of the variance.
UNEXPLAINED = {"classes": 0.01, "numbers": 0.001}


@dataclass(frozen=True)
class Suspect:
    """A feature that alone nearly tells the target."""

    feature: int
    classes: bool
    unexplained: float  # share of the errors without a feature, or of the variance

    @property
    def extent(self) -> str:
        """How much it tells, in words."""
        of = "the errors of guessing" if self.classes else "the variance"
        return f"it leaves {percent(self.unexplained)} of {of}"


def suspects(x: np.ndarray, y: np.ndarray, classes: bool) -> list[Suspect]:
    """Find features that alone give the target away.

    Parameters
    ----------
    x : ndarray or CSR matrix of shape (n_rows, n_features)
        Numbers; NaN where a value is missing, which counts as a value.
    y : ndarray of shape (n_rows,)
        Numbers, or codes of classes from 0.
    classes : bool
        Whether they are codes of classes.

    Returns
    -------
    list of Suspect
        In the order of the features. It is a hint: whether the feature is known when the model is
        used, only its owner can say.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> celsius = rng.normal(15, 8, 500)
    >>> x = np.column_stack([rng.normal(size=500), 32 + 1.8 * celsius])
    >>> [suspect.feature for suspect in suspects(x, celsius, classes=False)]
    [1]
    """
    if not len(y):
        return []
    rows = _some(len(y), int(np.clip(MAX_CELLS // max(x.shape[1], 1), FEWEST_ROWS, MOST_ROWS)))
    y = y[rows].astype(np.int64 if classes else np.float64)
    unexplained, limit = (
        (_errors, UNEXPLAINED["classes"]) if classes else (_variance, UNEXPLAINED["numbers"])
    )
    if not _enough(y, classes):
        return []
    first = _some(len(y), FIRST_ROWS)
    out = []
    stored: Any = x[rows].tocsc() if issparse(x) else None
    for f in range(x.shape[1]):
        column = x[rows, f] if stored is None else stored[:, [f]].toarray()[:, 0]
        column = column.astype(np.float64)
        if min(_shares(unexplained, column[first], y[first], classes)) <= FIRST_SHARE:
            share = min(_shares(unexplained, column, y, classes))
            out += [Suspect(f, classes, share)] if share <= limit else []
    return out


def _shares(unexplained: Any, column: np.ndarray, y: np.ndarray, classes: bool) -> Iterator[float]:
    """What a feature leaves unexplained of all rows, and of those where it is known.

    The latter only if these are half of the rows, and enough.
    """
    yield unexplained(column, y)
    known = ~np.isnan(column)
    if len(y) // 2 <= known.sum() < len(y) and _enough(y[known], classes):
        yield unexplained(column[known], y[known])


def _some(n: int, most: int) -> np.ndarray:
    """At most so many of n rows, always the same ones, in their order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _enough(y: np.ndarray, classes: bool) -> bool:
    """Whether there is enough to be surprised by."""
    if classes:
        return len(y) - int(np.bincount(y).max()) >= FEWEST_ERRORS
    return len(y) >= FEWEST_NUMBERS and bool(np.isfinite(y).all()) and float(np.ptp(y)) > 0


def _errors(column: np.ndarray, y: np.ndarray) -> float:
    """Errors when a row has the class of the others with its value, over those without a feature.

    A value that is there once takes the class of the next smaller value.
    """
    _, group, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return 1.0
    n_classes = int(y.max()) + 1
    pairs, n = np.unique(group * n_classes + y, return_counts=True)
    of_group, label = np.divmod(pairs, n_classes)
    most, winner = np.zeros((2, len(counts)), np.int64)
    np.maximum.at(most, of_group, n)
    best = n == most[of_group]
    winner[of_group[best]] = label[best]
    neighbour = np.append(winner[1], winner[:-1])
    wrong = np.where(counts == 1, neighbour != winner, counts - most)
    return float(wrong.sum()) / max(len(y) - int(np.bincount(y).max()), 1)


def _variance(column: np.ndarray, y: np.ndarray) -> float:
    """Squared error when a row has the mean of the others with its value, over the variance.

    A value that is there once takes what lies on the line between its neighbours. The smallest and
    the greatest value have one neighbour only and do not count, unless they are there more often.
    """
    values, group, counts = np.unique(column, return_inverse=True, return_counts=True)
    y = (y - y.mean()) / np.abs(y - y.mean()).max()  # squares are finite
    sums = np.bincount(group, y)
    guess, means = np.full(len(counts), np.nan), sums / counts
    low, middle, high = (slice(i, len(values) - 2 + i) for i in range(3))
    with np.errstate(invalid="ignore"):  # missing and infinite values have no neighbours
        part = (values[middle] - values[low]) / (values[high] - values[low])
        guess[1:-1] = means[low] + part * (means[high] - means[low])
    others = (sums[group] - y) / np.maximum(counts[group] - 1, 1)
    guesses = np.where(counts[group] > 1, others, guess[group])
    known = np.isfinite(guesses)
    spread = float(y[known].var()) if known.any() else 0.0
    if known.sum() < 0.9 * len(y) or spread == 0.0:
        return 1.0
    return float(((y - guesses)[known] ** 2).mean()) / spread
