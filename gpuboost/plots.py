"""Pictures of a fitted model: importances as bars, metrics as curves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuboost.config import Number
from gpuboost.export import COLOURS, text_width
from gpuboost.extras import load
from gpuboost.importance import Importance, Table

IMPORTANCE_TYPES = ("gain", "split", "cover")
#: Metrics of which more is better; of all others, functions of the user included, less is.
HIGHER_IS_BETTER = ("auc",)

#: What tells bars and lines apart besides their colour.
HATCHES = ("", "/////", "xxxxx", "-----", "|||||", "+++++")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Points of the text, and most characters of a name.
FONT, LONGEST = 9.0, 40


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
        A fitted estimator of this library, or what a function of ``gpuboost.importance`` returned. The measures of a table have other
        units: each is divided by its highest value.
    importance_type : {"gain", "split", "cover"}, default=None
        What to add up over the splits of a gradient boosting model. None: what the model's own ``importance_type`` says.
    values : array-like of shape (n_features,) or mapping of name to such arrays, default=None
        Importances to draw instead of the model's own.
    max_features : int, default=20
        Features to draw: the highest ones, by the first measure.
    feature_names : sequence of str, default=None
        Names of the features. None: those of the training data, or "x0", "x1", ...
    ax : matplotlib.axes.Axes, default=None
        Where to draw; the text is made as small as the space needs. None: a figure of the size that the bars need.

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
    order = np.argsort(-np.nan_to_num(table.values[0], nan=-np.inf), kind="stable")[: int(max_features)]
    n, n_measures = len(order), len(table.methods)
    if ax is None:
        row = 0.28 if n_measures == 1 else 0.1 + 0.13 * n_measures
        ax = load("matplotlib.pyplot", "plot_importance").subplots(figsize=(6.4, 1.0 + row * n), layout="constrained")[1]
    heights, scales = 0.8 / n_measures, np.ones(n_measures)
    if n_measures > 1:
        highest = np.nanmax(table.values, axis=1, initial=0.0)
        scales = np.where(highest > 0, highest, 1.0)
    for k, method in enumerate(table.methods):
        own, errors = table.values[k, order] / scales[k], 2.0 * table.errors[k, order] / scales[k]
        ax.barh(
            np.arange(n) + (k - (n_measures - 1) / 2) * heights, np.nan_to_num(own), height=heights, label=method,
            xerr=np.nan_to_num(errors) if np.isfinite(errors).any() else None, error_kw={"elinewidth": 0.9, "ecolor": "0.2"},
            color=COLOURS[k % len(COLOURS)], hatch=HATCHES[k % len(HATCHES)], edgecolor="white", linewidth=0.4,
        )  # fmt: skip
    ax.set_ylim(n - 0.4, -0.6)
    tidy(ax, "x")
    _label_rows(ax, [table.names[f] for f in order])
    ax.set_xlabel(table.methods[0] if n_measures == 1 else "share of the measure's highest", fontsize=FONT, parse_math=False)
    ax.axvline(0.0, color="0.2", linewidth=0.8)
    if n_measures > 1:
        legend_above(ax, n_columns=1 if ax.figure.get_figwidth() < 6 else 2)
    return ax


def plot_metric(model: Any, metric: str | None = None, *, ax: Any = None) -> Any:
    """Draw how the metrics of the eval sets changed from round to round.

    Parameters
    ----------
    model : estimator or dict
        A gradient boosting model that was fitted with an eval set, or its ``evals_result_``.
    metric : str, default=None
        The metric to draw. None: all of them, each in axes of its own.
    ax : matplotlib.axes.Axes or sequence of them, default=None
        Where to draw: as many as there are metrics to draw. None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        The axes with the drawing; an array if there are several metrics. A ring marks the best round of each curve, a
        dotted line the round that predictions stop at after early stopping.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> import gpuboost as gb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gb.GPUBoostRegressor(n_estimators=20).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
    >>> gb.plot_metric(model).get_ylabel()
    'rmse'
    """
    results = _results(model)
    names = list(dict.fromkeys(name for own in results.values() for name in own))
    if metric is not None:
        if metric not in names:
            raise ValueError(f"metric must be one of {', '.join(map(repr, names))}; got {metric!r}")
        names = [metric]
    if ax is None:
        pyplot = load("matplotlib.pyplot", "plot_metric")
        ax = pyplot.subplots(len(names), figsize=(6.4, 0.6 + 3.2 * len(names)), layout="constrained", squeeze=False)[1][:, 0]
    axes = list(ax) if isinstance(ax, (Sequence, np.ndarray)) else [ax]
    if len(axes) != len(names):
        raise ValueError(f"ax must have axes for each of the {len(names)} metrics {', '.join(map(repr, names))}; got {len(axes)}")
    for name, own in zip(names, axes, strict=True):
        _draw_curves(own, name, {label: result[name] for label, result in results.items() if name in result})
        if not isinstance(model, Mapping) and hasattr(model, "best_iteration_"):
            n_rounds = model.best_iteration_ + 1
            own.axvline(n_rounds, color="0.35", linestyle=":", linewidth=1.4, label=f"predictions use {n_rounds:,} rounds")
        legend_above(own, n_columns=1)
    return axes[0] if len(axes) == 1 else np.array(axes)


def shortened(text: str, length: int) -> str:
    """A text of at most ``length`` characters: what is too long loses its middle, as both ends of a name tell it from others.

    Parameters
    ----------
    text : str
        A text.
    length : int
        Most characters of the result, at least 3.

    Returns
    -------
    str
        The text, with an ellipsis where characters were left out.

    Examples
    --------
    >>> from gpuboost.plots import shortened
    >>> shortened("mean concavity", 9)
    'mean…vity'
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[-end:]}"


# --- importances


def _table(model: Any, importance_type: str | None, values: Any, feature_names: Any) -> Table:
    """Whatever was given as a table of importances."""
    if isinstance(model, (Table, Importance)):
        if values is not None or importance_type is not None:
            raise ValueError("values and importance_type are for models; a table of importances has its own")
        found = model if isinstance(model, Table) else Table([model.method], model.names, model.values[None], model.errors[None])
    else:
        found = _of_model(model, importance_type, values)
    if feature_names is None:
        return found
    names = [str(name) for name in feature_names]
    if len(names) != len(found.names):
        raise ValueError(f"feature_names must have one entry for each of the {len(found.names)} features; got {len(names)}")
    return Table(found.methods, names, found.values, found.errors)


def _of_model(model: Any, importance_type: str | None, values: Any) -> Table:
    """A model's own importances, or those that were given for it."""
    inside = model._check_fitted()
    n_features = model.n_features_in_
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{f}" for f in range(n_features)])]
    if values is not None:
        if importance_type is not None:
            raise ValueError(f"importance_type={importance_type!r} was given together with values; give one of them")
        given = values if isinstance(values, Mapping) else {"importance": values}
        arrays = [np.asarray(own, np.float64) for own in given.values()]
        for name, array in zip(given, arrays, strict=True):
            if array.shape != (n_features,):
                raise ValueError(f"values must have one entry for each of the {n_features} features; {name!r} has shape {array.shape}")
        if not arrays:
            raise ValueError("values must hold at least one measure; got none")
        return _without_errors(list(map(str, given)), names, np.stack(arrays))
    if not hasattr(model, "importance_type"):
        if importance_type is not None:
            raise ValueError(f"importance_type is for gradient boosting; {type(model).__name__} has only the decrease of impurity")
        return _without_errors(["decrease of impurity (share)"], names, model.feature_importances_[None])
    kind = model.importance_type if importance_type is None else importance_type
    if kind not in IMPORTANCE_TYPES:
        raise ValueError(f"importance_type must be one of {', '.join(map(repr, IMPORTANCE_TYPES))}; got {kind!r}")
    total = inside.importance(kind)
    return _without_errors([f"{kind} (share)"], names, total[None] / (total.sum() or 1.0))


def _without_errors(methods: list[str], names: list[str], values: np.ndarray) -> Table:
    return Table(methods, names, values, np.full(values.shape, np.nan))


def _label_rows(ax: Any, names: list[str]) -> None:
    """Names beside the bars, as large and as long as there is room for."""
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    font = min(FONT, 0.85 * 72 * inches.height / len(names))
    # a layout engine makes room for the names, other axes leave what is on their left
    room = 0.42 * ax.figure.get_figwidth() if ax.figure.get_layout_engine() is not None else inches.x0 - 0.1
    ax.set_yticks(np.arange(len(names)), [_fitted(name, 72 * room, font) for name in names], fontsize=font, parse_math=False)
    ax.tick_params(axis="y", length=0)


def _fitted(name: str, room: float, font: float) -> str:
    """A name cut to a number of points."""
    n = bisect_right(range(LONGEST + 1), room, key=lambda n: text_width(shortened(name, max(n, 3)), font)) - 1
    return shortened(name, max(n, 3))


# --- metrics


def _results(model: Any) -> dict[str, dict[str, Any]]:
    """{eval set: {metric: values}}, with at least one value."""
    results = model if isinstance(model, Mapping) else getattr(model, "evals_result_", None)
    if results is None:
        name = type(model).__name__
        raise ValueError(f"plot_metric needs a fitted GPUBoostClassifier or GPUBoostRegressor, or its evals_result_; got {name}")
    if not results:
        raise ValueError("there is nothing to draw: the model was fitted without an eval_set")
    for label, own in results.items():
        for name, values in own.items():
            if np.ndim(values) != 1 or not len(values):
                raise ValueError(f"evals_result_[{label!r}][{name!r}] must be a list of one number for each round")
    return {str(label): dict(own) for label, own in results.items()}


def _draw_curves(ax: Any, metric: str, curves: dict[str, Any]) -> None:
    """One metric on all eval sets."""
    from matplotlib.ticker import MaxNLocator

    higher = metric in HIGHER_IS_BETTER
    for k, (label, numbers) in enumerate(curves.items()):
        values = np.asarray(numbers, np.float64)
        rounds, colour = np.arange(1, len(values) + 1), COLOURS[k % len(COLOURS)]
        finite = np.where(np.isfinite(values), values, -np.inf if higher else np.inf)
        best = int(finite.argmax() if higher else finite.argmin())
        said = f"{label}: best {values[best]:.4g} after {best + 1:,} round{'s' if best else ''}"
        look: dict[str, Any] = {"color": colour, "linestyle": LINES[k % len(LINES)], "linewidth": 1.6, "marker": MARKERS[k % len(MARKERS)]}
        every = max(1, len(values) // 8)
        ax.plot(rounds, values, **look, markersize=4, markevery=(min(k, len(values) - 1), every), label=said)
        ax.plot(rounds[best], values[best], "o", markersize=11, markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.8)
    ax.set_xlabel("rounds", fontsize=FONT)
    ax.set_ylabel(metric, fontsize=FONT, parse_math=False)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    tidy(ax, "both")


# --- both


def tidy(ax: Any, grid: str) -> None:
    """A quiet frame and grid."""
    ax.tick_params(labelsize=FONT)
    ax.grid(axis=grid, linewidth=0.5, color="0.85")
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend_above(ax: Any, n_columns: int) -> None:
    """A legend over the axes, where it hides nothing."""
    legend = ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncol=n_columns, frameon=False, fontsize=FONT, handlelength=3.0)
    for text in legend.get_texts():
        text.set_parse_math(False)
