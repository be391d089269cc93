"""Metrics over the rounds as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuboost.optional import load
from gpuboost.plots.style import COLOURS, FONT, legend_above, tidy

#: Metrics of which more is better; of all others, functions of the user included, less is.
HIGHER_IS_BETTER = ("auc",)

#: What tells lines apart besides their colour.
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


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
        The axes with the drawing; an array if there are several metrics. A ring marks the best
        round of each curve, a dotted line the round that predictions stop at after early stopping.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> import gpuboost as gb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gb.GPUBoostRegressor(n_estimators=20)
    >>> model = model.fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
    >>> gb.plot_metric(model).get_ylabel()
    'rmse'
    """
    results = _results(model)
    names = list(dict.fromkeys(name for result in results.values() for name in result))
    if metric is not None:
        if metric not in names:
            raise ValueError(f"metric must be one of {', '.join(map(repr, names))}; got {metric!r}")
        names = [metric]
    if ax is None:
        ax = load("matplotlib.pyplot", "plot_metric").subplots(
            len(names), figsize=(6.4, 0.6 + 3.2 * len(names)), layout="constrained", squeeze=False
        )[1][:, 0]
    axes = list(ax) if isinstance(ax, (Sequence, np.ndarray)) else [ax]
    if len(axes) != len(names):
        raise ValueError(
            f"ax must have axes for each of the {len(names)} metrics "
            f"{', '.join(map(repr, names))}; got {len(axes)}"
        )
    for name, panel in zip(names, axes, strict=True):
        curves = {label: result[name] for label, result in results.items() if name in result}
        _draw_curves(panel, name, curves)
        if not isinstance(model, Mapping) and hasattr(model, "best_iteration_"):
            n_rounds = model.best_iteration_ + 1
            panel.axvline(
                n_rounds,
                color="0.35",
                linestyle=":",
                linewidth=1.4,
                label=f"predictions use {n_rounds:,} rounds",
            )
        legend_above(panel, n_columns=1)
    return axes[0] if len(axes) == 1 else np.array(axes)


def _results(model: Any) -> dict[str, dict[str, Any]]:
    """{eval set: {metric: values}}, with at least one value."""
    results = model if isinstance(model, Mapping) else getattr(model, "evals_result_", None)
    if results is None:
        raise ValueError(
            "plot_metric needs a fitted GPUBoostClassifier or GPUBoostRegressor, or its "
            f"evals_result_; got {type(model).__name__}"
        )
    if not results:
        raise ValueError("there is nothing to draw: the model was fitted without an eval_set")
    for label, result in results.items():
        for name, values in result.items():
            if np.ndim(values) != 1 or not len(values):
                raise ValueError(
                    f"evals_result_[{label!r}][{name!r}] must be a list of one number for each "
                    "round"
                )
    return {str(label): dict(result) for label, result in results.items()}


def _draw_curves(ax: Any, metric: str, curves: dict[str, Any]) -> None:
    """One metric on all eval sets."""
    from matplotlib.ticker import MaxNLocator

    higher = metric in HIGHER_IS_BETTER
    for k, (label, numbers) in enumerate(curves.items()):
        values = np.asarray(numbers, np.float64)
        rounds, colour = np.arange(1, len(values) + 1), COLOURS[k % len(COLOURS)]
        finite = np.where(np.isfinite(values), values, -np.inf if higher else np.inf)
        best = int(finite.argmax() if higher else finite.argmin())
        ax.plot(
            rounds,
            values,
            color=colour,
            linestyle=LINES[k % len(LINES)],
            linewidth=1.6,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4,
            markevery=(min(k, len(values) - 1), max(1, len(values) // 8)),
            label=f"{label}: best {values[best]:.4g} after {best + 1:,} round{'s' if best else ''}",
        )
        ax.plot(
            rounds[best],
            values[best],
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=colour,
            markeredgewidth=1.8,
        )
    ax.set_xlabel("rounds", fontsize=FONT)
    ax.set_ylabel(metric, fontsize=FONT, parse_math=False)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    tidy(ax, "both")
