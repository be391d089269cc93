"""Importances as bars."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gpuboost.config import Number, check_choice
from gpuboost.explain.importance import Importance, Table
from gpuboost.export.text import check_names
from gpuboost.model.ensemble import IMPORTANCE_TYPES, ensemble_of
from gpuboost.optional import load
from gpuboost.plots.style import COLOURS, FONT, legend_above, shortened, text_width, tidy

#: What tells bars apart besides their colour.
HATCHES = ("", "/////", "xxxxx", "-----", "|||||", "+++++")
#: Most characters of a name.
LONGEST = 40


def plot_importance(
    model: Any,
    *,
    importance_type: str | None = None,
    values: Any = None,
    max_features: int = 20,
    feature_names: Any = None,
    ax: Any = None,
) -> Any:
    """Draw importances of features as bars, the highest on top.

    Parameters
    ----------
    model : estimator, importance.Importance or importance.Table
        A fitted estimator of this library, or what a function of ``gpuboost.importance`` returned.
        The measures of a table have other units: each is divided by its highest value.
    importance_type : {"gain", "split", "cover"}, default=None
        What to add up over the splits of a gradient boosting model. None: what the model's own
        ``importance_type`` says.
    values : array-like of shape (n_features,) or mapping of name to such arrays, default=None
        Importances to draw instead of the model's own.
    max_features : int, default=20
        Features to draw: the highest ones, by the first measure.
    feature_names : sequence of str, default=None
        Names of the features. None: those of the training data, or "x0", "x1", ...
    ax : matplotlib.axes.Axes, default=None
        Where to draw; the text is made as small as the space needs. None: a figure of the size that
        the bars need.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing. Whiskers are two standard errors, where they are known.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> import gpuboost as gb
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = gb.GPUBoostClassifier(n_estimators=10).fit(X, y)
    >>> [label.get_text() for label in gb.plot_importance(model, max_features=2).get_yticklabels()]
    ['petal length (cm)', 'petal width (cm)']
    """
    Number(1, integer=True).check("max_features", max_features)
    table = _table(model, importance_type, values, feature_names)
    order = np.argsort(-np.nan_to_num(table.values[0], nan=-np.inf), kind="stable")[
        : int(max_features)
    ]
    n, n_measures = len(order), len(table.methods)
    if ax is None:
        row = 0.28 if n_measures == 1 else 0.1 + 0.13 * n_measures
        ax = load("matplotlib.pyplot", "plot_importance").subplots(
            figsize=(6.4, 1.0 + row * n), layout="constrained"
        )[1]
    heights, scales = 0.8 / n_measures, np.ones(n_measures)
    if n_measures > 1:
        highest = np.nanmax(table.values, axis=1, initial=0.0)
        scales = np.where(highest > 0, highest, 1.0)
    for k, method in enumerate(table.methods):
        bars, errors = table.values[k, order] / scales[k], 2.0 * table.errors[k, order] / scales[k]
        ax.barh(
            np.arange(n) + (k - (n_measures - 1) / 2) * heights, np.nan_to_num(bars),
            height=heights, label=method,
            xerr=np.nan_to_num(errors) if np.isfinite(errors).any() else None,
            error_kw={"elinewidth": 0.9, "ecolor": "0.2"}, color=COLOURS[k % len(COLOURS)],
            hatch=HATCHES[k % len(HATCHES)], edgecolor="white", linewidth=0.4,
        )  # fmt: skip
    ax.set_ylim(n - 0.4, -0.6)
    tidy(ax, "x")
    _label_rows(ax, [table.names[f] for f in order])
    ax.set_xlabel(
        table.methods[0] if n_measures == 1 else "share of the measure's highest",
        fontsize=FONT,
        parse_math=False,
    )
    ax.axvline(0.0, color="0.2", linewidth=0.8)
    if n_measures > 1:
        legend_above(ax, n_columns=1 if ax.figure.get_figwidth() < 6 else 2)
    return ax


def _table(model: Any, importance_type: str | None, values: Any, feature_names: Any) -> Table:
    """What ``plot_importance`` was called with, as a table of importances."""
    if isinstance(model, (Table, Importance)):
        if values is not None or importance_type is not None:
            raise ValueError(
                "values and importance_type are for models; a table of importances has its own"
            )
        table = model if isinstance(model, Table) else Table.of([model])
    else:
        table = _of_model(model, importance_type, values)
    if feature_names is None:
        return table
    return replace(table, names=check_names(feature_names, len(table.names)))


def _of_model(model: Any, importance_type: str | None, values: Any) -> Table:
    """A model's own importances, or the values to draw instead."""
    ensemble = ensemble_of(model)
    if values is not None:
        if importance_type is not None:
            raise ValueError(
                f"importance_type={importance_type!r} was given together with values; give one "
                "of them"
            )
        measures = values if isinstance(values, Mapping) else {"importance": values}
        if not measures:
            raise ValueError("values must hold at least one measure; got none")
    else:
        kind: Any = importance_type or getattr(model, "importance_type", "gain")
        check_choice("importance_type", kind, IMPORTANCE_TYPES)
        word = "decrease of impurity" if kind == "gain" and not ensemble.adds_up else kind
        measures = {f"{word} (share)": ensemble.importance_shares(kind)}
    arrays = {name: np.asarray(array, np.float64) for name, array in measures.items()}
    for name, array in arrays.items():
        if array.shape != (ensemble.n_features,):
            raise ValueError(
                f"values must have one entry for each of the {ensemble.n_features} features; "
                f"{name!r} has shape {array.shape}"
            )
    stacked = np.stack(list(arrays.values()))
    return Table(list(map(str, arrays)), ensemble.names(), stacked, np.full_like(stacked, np.nan))


def _label_rows(ax: Any, names: list[str]) -> None:
    """Names beside the bars, as large and as long as there is room for."""
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    font = min(FONT, 0.85 * 72 * inches.height / len(names))
    # a layout engine makes room for the names, other axes leave what is on their left
    room = (
        0.42 * ax.figure.get_figwidth()
        if ax.figure.get_layout_engine() is not None
        else inches.x0 - 0.1
    )
    ax.set_yticks(
        np.arange(len(names)),
        [_fitted(name, 72 * room, font) for name in names],
        fontsize=font,
        parse_math=False,
    )
    ax.tick_params(axis="y", length=0)


def _fitted(name: str, room: float, font: float) -> str:
    """A name cut to a number of points."""
    fits = bisect_right(
        range(LONGEST + 1), room, key=lambda n: text_width(shortened(name, max(n, 3)), font)
    )
    return shortened(name, max(fits - 1, 3))
