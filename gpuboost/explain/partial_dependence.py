"""Partial dependence by recursion through the trees."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gpuboost.backend import on_host
from gpuboost.config import Number
from gpuboost.data.sparse import dense_matrix
from gpuboost.model.ensemble import Ensemble, ensemble_of, votes
from gpuboost.model.tree import Tree

#: Numbers (nodes x grid points) that are held at once.
CELLS = 1 << 22
#: Bits of a word of a set.
BITS = 64


def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
) -> Bunch:
    """Partial dependence of the prediction on one or more features, by recursion.

    A grid point is sent through every tree. Where a node asks for one of the features, it goes the
    way of its value; elsewhere it goes both ways, with the shares of the training rows that went
    there. This is the method "recursion" of ``sklearn.inspection.partial_dependence``, which is
    much faster than to predict all rows for each point ("brute", which takes any estimator).

    Parameters
    ----------
    model : estimator
        A fitted boosting model, decision tree or forest. The votes and medians of AdaBoost are no
        sums over trees: it is refused.
    X : array-like of shape (n_samples, n_features)
        Rows whose values give the grid.
    features : int, str, or list of them
        Numbers or names of the features. Several are varied together.
    percentiles : tuple of float, default=(0.05, 0.95)
        Lowest and highest point of the grid, as shares of the rows.
    grid_resolution : int, default=100
        Most points for a feature. One with no more distinct values has all of them; a nominal
        feature has all of its categories.

    Returns
    -------
    Bunch
        ``grid_values``, a list with the points of each feature, and ``average``, an array of shape
        (n_outputs, n_points, ...) with an axis for each feature. Outputs are the raw scores of
        boosting (log odds of two classes), and the predicted numbers or class shares of trees and
        forests; of two classes those of the second.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import gpuboost as gb
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = gb.GPUBoostRegressor(n_estimators=20).fit(X, y)
    >>> result = gb.partial_dependence(model, X, "bmi", grid_resolution=5)
    >>> result["average"].shape
    (1, 5)
    >>> bool(result["average"][0, -1] > result["average"][0, 0])
    True
    """
    ensemble = ensemble_of(model).in_use
    if ensemble.combine == "median" or (ensemble.vote and ensemble.combine == "sum"):
        raise TypeError(
            f"{type(model).__name__} is no sum of its trees, which recursion needs; use "
            "sklearn.inspection.partial_dependence with method='brute'"
        )
    chosen = _numbers_of(features, ensemble.names())
    Number(1, integer=True).check("grid_resolution", grid_resolution)
    limits = _checked(percentiles)
    rows = dense_matrix(on_host(model.check_rows(X)))
    grids = [_grid(ensemble, rows, f, limits, grid_resolution) for f in chosen]
    shown, codes = [shown for shown, _ in grids], [codes for _, codes in grids]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*codes, indexing="ij")], axis=1)
    average = np.repeat(ensemble.base_score[:, None], len(points), axis=1)
    told, points = _as_trees_see(ensemble, chosen, points)
    for t, tree in enumerate(ensemble.trees):
        of_tree = _average_of_tree(tree, ensemble, told, points)
        if len(of_tree) == len(average):
            average += of_tree
        else:
            average[t % len(average)] += of_tree[0]
    if ensemble.combine == "mean":
        average /= len(ensemble.trees)
    if ensemble.n_outputs == 1 and ensemble.classes is not None and len(average) == 2:
        average = average[1:]
    return Bunch(grid_values=shown, average=average.reshape(-1, *map(len, shown)))


def _numbers_of(features: Any, names: Sequence[str]) -> list[int]:
    """Numbers of features that are given by number or name."""
    several = not isinstance(features, (str, numbers.Integral))
    out = []
    for feature in list(features) if several else [features]:
        if isinstance(feature, str) and feature in names:
            out.append(list(names).index(feature))
        elif isinstance(feature, numbers.Integral) and int(feature) in range(len(names)):
            out.append(int(feature))
        else:
            raise ValueError(
                f"features must be numbers below {len(names)} or names of features; got {feature!r}"
            )
    if not out or len(set(out)) < len(out):
        raise ValueError(f"features must be one or more, each once; got {features!r}")
    return out


def _checked(percentiles: Any) -> tuple[float, float]:
    try:
        low, high = map(float, percentiles)
        good = 0 <= low < high <= 1
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"percentiles must be two rising numbers between 0 and 1; got {percentiles!r}"
        )
    return low, high


def _grid(
    ensemble: Ensemble, x: Any, f: int, limits: tuple[float, float], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The points of a feature, and these as the trees see them."""
    categories = ensemble.features.categories.get(f)
    if categories is not None:
        numbers = ensemble.features.features[f].numbers
        places = np.arange(len(categories)) if numbers is None else numbers
        return categories, places.astype(np.float64)
    column = np.asarray(x[:, f], np.float64)
    values = np.unique(column[~np.isnan(column)])
    if not len(values):
        raise ValueError(f"X has no value of feature {ensemble.names()[f]!r}")
    if len(values) > most:
        from scipy.stats.mstats import mquantiles  # importing it takes long

        lowest, highest = mquantiles(column[~np.isnan(column)], limits)
        values = np.linspace(float(lowest), float(highest), most)
    return values, values


def _as_trees_see(
    ensemble: Ensemble, chosen: list[int], points: np.ndarray
) -> tuple[list[int], np.ndarray]:
    """The columns of trees that follow from the chosen features, and the points in these."""
    features = ensemble.features
    told = features.told_by(chosen)
    if not features.has_made_columns:
        return told, points
    rows = np.full((len(points), len(features)), np.nan)
    rows[:, chosen] = points
    return told, features.expand_on_host(rows)[:, told]


def _average_of_tree(
    tree: Tree, ensemble: Ensemble, chosen: list[int], points: np.ndarray
) -> np.ndarray:
    """What a tree says of grid points, (n_values, n_points)."""
    value = votes(tree.value, ensemble.first_channel) if ensemble.vote else tree.value
    rows = (tree.count if ensemble.adds_up else tree.cover).astype(np.float64)
    leaves, step = np.flatnonzero(tree.left < 0), max(1, CELLS // len(rows))
    out = np.empty((value.shape[1], len(points)))
    for first in range(0, len(points), step):
        part = points[first : first + step]
        share = np.ones((len(rows), len(part)))
        for i in np.flatnonzero(tree.left >= 0):
            left, right, f = tree.left[i], tree.left[i] + 1, tree.feature[i]
            if f in chosen:
                goes = _goes_left(tree, i, part[:, chosen.index(f)])
                share[left], share[right] = share[i] * goes, share[i] * ~goes
            else:
                share[left] = share[i] * (rows[left] / rows[i])
                share[right] = share[i] * (rows[right] / rows[i])
        for c, of_channel in enumerate(value[leaves].T):
            out[c, first : first + step] = (of_channel[:, None] * share[leaves]).sum(axis=0)
    return out


def _goes_left(tree: Tree, i: Any, values: np.ndarray) -> np.ndarray:
    """Whether a node sends these values, none of which is missing, to the left."""
    if tree.first_word[i] < 0:
        return values <= tree.threshold[i]
    codes = values.astype(np.int64) + 1
    words = tree.sets[tree.first_word[i] + codes // BITS]
    return (words >> (codes % BITS).astype(np.uint64)) & np.uint64(1) != 0
