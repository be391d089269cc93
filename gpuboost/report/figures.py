"""Figures of a report as SVG that stands inside a page.

The same input gives the same bytes, and no two figures share an id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.explain.importance import Table
from gpuboost.plots.importance import plot_importance
from gpuboost.plots.metric import plot_metric
from gpuboost.plots.style import COLOURS, FONT, legend_above, shortened, tidy
from gpuboost.plots.tree import plot_tree, tree_size
from gpuboost.report.judge import Calibration
from gpuboost.report.svg import inline_svg

#: Inches: narrow enough for a phone to show text of a readable size.
WIDTH = 4.4
#: Rows that are drawn as points; of more, counts in hexagons.
MAX_POINTS = 2_000
BLUE, RED, GREY = COLOURS[0], COLOURS[5], "0.35"


@dataclass(frozen=True)
class Picture:
    """An SVG and what is said about it."""

    svg: str  # whole, with its title
    caption: str


def _picture(
    name: str,
    size: tuple[float, float],
    draw: Callable[[Any], Any],
    alt: str,
    caption: str = "",
    **panels: Any,
) -> Picture:
    """Draw a figure and make it part of a page.

    ``draw`` gets its axes: one, or what ``panels``, the arguments of ``subplots``, ask for.
    """
    return Picture(
        inline_svg(name, size, lambda figure: draw(figure.subplots(**panels)), alt), caption
    )


# --- the model


def curves(results: Any, caption: str) -> list[Picture]:
    """Learning curves, one picture for each metric.

    ``results`` is a model or what its evals_result_ would be.
    """
    by_set = getattr(results, "evals_result_", results)
    return [
        _picture(
            f"curve {name}",
            (WIDTH, 3.4),
            lambda ax, name=name: plot_metric(results, name, ax=ax),  # type: ignore[misc]
            f"Learning curves: {name} by rounds",
            caption,
        )
        for name in dict.fromkeys(name for result in by_set.values() for name in result)
    ]


def importances(table: Table, max_features: int) -> Picture:
    """Bars of several measures."""
    n = min(max_features, len(table.names))
    return _picture(
        "importances",
        (WIDTH + 0.6, 1.2 + (0.1 + 0.13 * len(table.methods)) * n),
        lambda ax: plot_importance(table, max_features=max_features, ax=ax),
        f"Importances of the {n} highest features by {', '.join(table.methods)}; the table "
        "below has the numbers",
    )


def first_tree(model: Any, names: list[str], max_depth: int) -> Picture:
    """The upper levels of the first tree."""
    return _picture(
        "tree",
        tree_size(model, 0, max_depth),
        lambda ax: plot_tree(model, max_depth=max_depth, feature_names=names, ax=ax),
        "The upper levels of the first tree; the same as text is below",
    )


# --- two classes


def calibration(bins: Calibration, label: str) -> Picture:
    """Observed against predicted shares, with the counts below."""

    def draw(panels: Any) -> None:
        upper, lower = panels
        upper.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="perfect")
        upper.errorbar(
            bins.predicted,
            bins.observed,
            np.stack([bins.observed - bins.low, bins.high - bins.observed]),
            color=BLUE,
            marker="o",
            markersize=5,
            linewidth=1.4,
            elinewidth=1.0,
            capsize=2,
            label="this model (whiskers: 95 %)",
        )
        _frame(upper, "", "observed share", (-0.03, 1.03), (-0.03, 1.03))
        legend_above(upper, n_columns=2)
        lower.bar(bins.predicted, bins.counts, width=0.02, color=BLUE)
        lower.set_ylim(bottom=0)
        lower.locator_params(axis="y", nbins=3, integer=True)
        _frame(lower, f"predicted probability of {shortened(label, 20)}", "rows", (-0.03, 1.03))

    n_bins = "one bin" if len(bins.counts) == 1 else f"{len(bins.counts)} bins"
    return _picture(
        "calibration",
        (WIDTH, 4.2),
        draw,
        f"Calibration of the probability of {label}",
        f"Rows in {n_bins} of about equal counts by predicted probability. Points below "
        "the line: the model promises too much.",
        nrows=2,
        sharex=True,
        height_ratios=[3.4, 1],
    )


def roc(false: np.ndarray, true: np.ndarray, area: float, label: str) -> Picture:
    """True against false positives."""

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="by chance (0.5)")
        ax.plot(false, true, color=BLUE, linewidth=1.8, label=f"this model (AUC {area:.4g})")
        _frame(ax, "false positive rate", "true positive rate", (-0.02, 1.02), (-0.02, 1.02))
        legend_above(ax, n_columns=2)

    return _picture(
        "roc",
        (WIDTH, 4.2),
        draw,
        f"ROC curve for {label}: area {area:.4g}",
        f"For every threshold on the probability of {label}: the part of its rows found, "
        "against the part of other rows taken for it.",
    )


# --- numbers


def predicted_and_true(name: str, y: np.ndarray, prediction: np.ndarray) -> Picture:
    """Predictions against the truth."""
    low, high = min(y.min(), prediction.min()), max(y.max(), prediction.max())

    def draw(ax: Any) -> None:
        _cloud(ax, y, prediction)
        ax.plot([low, high], [low, high], color=RED, linestyle="--", linewidth=1.4, label="perfect")
        _frame(ax, "true value", "predicted value")
        legend_above(ax, n_columns=2)

    return _picture(
        f"predicted {name}",
        (WIDTH, 3.8),
        draw,
        f"Predicted against true {name}",
        "One point for each row."
        if len(y) <= MAX_POINTS
        else f"{len(y):,} rows, counted in hexagons; the scale of the colours is logarithmic.",
    )


def residuals(name: str, y: np.ndarray, prediction: np.ndarray) -> Picture:
    """What is left, against the predictions."""

    def draw(ax: Any) -> None:
        _cloud(ax, prediction, y - prediction)
        ax.axhline(0.0, color=RED, linestyle="--", linewidth=1.4, label="perfect")
        _frame(ax, "predicted value", "true minus predicted")
        legend_above(ax, n_columns=2)

    return _picture(
        f"residuals {name}",
        (WIDTH, 3.8),
        draw,
        f"Residuals of {name} against predictions",
        "A cloud around 0 without a shape is what to hope for; a funnel or a bend says "
        "what the model has not learned.",
    )


def histogram(
    key: str, values: np.ndarray, label: str, alt: str, caption: str = "", zero: bool = False
) -> Picture:
    """A distribution of numbers."""

    def draw(ax: Any) -> None:
        ax.hist(
            values,
            bins=min(30, max(5, round(len(values) ** 0.5))),
            color=BLUE,
            edgecolor="white",
            linewidth=0.6,
        )
        if zero:
            ax.axvline(0.0, color="black", linestyle="--", linewidth=1.2)
        ax.locator_params(axis="y", integer=True)
        _frame(ax, label, "rows")

    return _picture(key, (WIDTH, 3.0), draw, alt, caption)


def _cloud(ax: Any, x: np.ndarray, y: np.ndarray) -> None:
    """Points, or counts where they would hide each other."""
    if len(x) <= MAX_POINTS:
        ax.plot(
            x,
            y,
            linestyle="none",
            marker="o",
            markersize=3.5,
            color=BLUE,
            alpha=0.5,
            markeredgewidth=0,
            label="rows",
        )
        return
    hexagons = ax.hexbin(x, y, gridsize=32, mincnt=1, bins="log", cmap="cividis_r", linewidths=0.1)
    bar = ax.figure.colorbar(hexagons, ax=ax, pad=0.02, fraction=0.06)
    bar.set_label("rows", fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT)


def _frame(ax: Any, x: str, y: str, x_range: Any = None, y_range: Any = None) -> None:
    """Labels, grid and ranges."""
    ax.set_xlabel(x, fontsize=FONT, parse_math=False)
    ax.set_ylabel(y, fontsize=FONT, parse_math=False)
    tidy(ax, "both")
    if x_range is None:
        ax.locator_params(axis="x", nbins=6)
    else:
        ax.set_xlim(*x_range)
    if y_range is not None:
        ax.set_ylim(*y_range)
