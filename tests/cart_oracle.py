"""Naive searches for the best split, for tests of classical trees."""

from itertools import combinations

import numpy as np


def impurity(criterion, y, weight):
    """Impurity of some rows: y holds classes or numbers."""
    if criterion in ("gini", "entropy", "misclassification"):
        shares = np.array([weight[y == k].sum() for k in np.unique(y)]) / weight.sum()
        return {
            "gini": 1 - (shares**2).sum(),
            "entropy": -(shares * np.log2(shares)).sum(),
            "misclassification": 1 - shares.max(),
        }[criterion]
    mean = np.average(y, weights=weight)
    if criterion == "squared_error":
        return np.average((y - mean) ** 2, weights=weight)
    if criterion == "poisson":
        ratio = np.where(y > 0, y, 1) / mean if mean > 0 else np.ones(len(y))
        return np.average(np.where(y > 0, y * np.log(ratio), 0) - y + mean, weights=weight)
    assert criterion == "absolute_error"
    order = np.argsort(y)
    median = y[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
    return np.average(np.abs(y - median), weights=weight)


def gain(criterion, y, weight, left):
    """Decrease of weight times impurity by a split; ``left`` is a mask."""
    parts = [(y[side], weight[side]) for side in (left, ~left)]
    return weight.sum() * impurity(criterion, y, weight) - sum(
        w.sum() * impurity(criterion, own, w) for own, w in parts
    )


def numeric_cuts(column):
    """All divisions of a column's rows.

    Every cut, missing values on either side, and known against missing.
    """
    missing = np.isnan(column)
    known = np.unique(column[~missing])
    for low, high in zip(known[:-1], known[1:], strict=True):
        below = column <= (low + high) / 2
        yield below
        if missing.any():
            yield below | missing
    if missing.any() and len(known):
        yield ~missing


def subsets(column, sizes=None):
    """All divisions of a nominal column's rows by a set of its categories.

    Missing values on either side.
    """
    missing = np.isnan(column)
    known = np.unique(column[~missing])
    for size in sizes or range(1, len(known) + 1):
        for chosen in combinations(known, size):
            inside = np.isin(column, chosen)
            for left in (inside, inside | missing) if missing.any() else (inside,):
                if left.any() and not left.all():
                    yield left


def all_gains(criterion, x, y, weight, min_samples_leaf=1):
    """(gain, left rows) of every allowed split on numeric features."""
    out = []
    for f in range(x.shape[1]):
        for left in numeric_cuts(x[:, f]):
            if min(left.sum(), (~left).sum()) >= min_samples_leaf:
                out.append((gain(criterion, y, weight, left), left))
    return out


def fast_best(criterion, x, y, weight, min_samples_leaf=1):
    """(best gain, left rows of all splits that reach it) for gini.

    Entropy and squared error without missing values: all cuts at once.
    """
    n = len(y)
    if criterion == "squared_error":
        channels = np.stack([weight, weight * y, weight * y * y], axis=1)

        def cost(sums):
            return sums[..., 2] - sums[..., 1] ** 2 / sums[..., 0]
    else:
        channels = (y[:, None] == np.unique(y)) * weight[:, None]

        def cost(sums):
            total = sums.sum(axis=-1, keepdims=True)
            shares = sums / total
            if criterion == "gini":
                return total[..., 0] * (1 - (shares**2).sum(axis=-1))
            return -(sums * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)

    order = np.argsort(x, axis=0, kind="stable")
    ordered = np.take_along_axis(x, order, axis=0)
    left = np.cumsum(channels[order], axis=0)[:-1]  # (n - 1, n_features, n_channels)
    gains = cost(channels.sum(axis=0)) - cost(left) - cost(channels.sum(axis=0) - left)
    place = np.arange(1, n)[:, None]
    gains[
        (ordered[1:] == ordered[:-1]) | (place < min_samples_leaf) | (n - place < min_samples_leaf)
    ] = -np.inf
    best = gains.max(initial=-np.inf)
    if best == -np.inf:
        return best, []
    tolerance = 1e-9 * max(float(cost(channels.sum(axis=0))), 1e-12)
    return best, [
        (f, x[:, f] <= ordered[at, f])
        for at, f in zip(*np.nonzero(gains >= best - tolerance), strict=True)
    ]
