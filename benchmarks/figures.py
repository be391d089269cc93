"""Plots of the page as SVG.

One colour, marker and line for a library everywhere, so that nobody depends on colours alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuboost.benchmarks.findings import LOSS, Measure, digits
from gpuboost.benchmarks.peers import OURS
from gpuboost.optional import load
from gpuboost.report.svg import inline_svg

FONT = 8.5
#: Inches of a panel: four stand side by side on a desktop, one fills a phone.
WIDTH, HEIGHT = 2.9, 2.4
#: Colour (Okabe and Ito's, without their yellow, which white paper swallows), marker and dashes of
#: each library.
LOOKS: dict[str, tuple[str, str, Any]] = {
    OURS: ("#0072B2", "o", "solid"),
    "xgboost": ("#E69F00", "s", (0, (5, 1.5))),
    "lightgbm": ("#009E73", "^", (0, (4, 1.5, 1, 1.5))),
    "lightgbm-quantised": ("#56B4E9", "v", (0, (1, 1.2))),
    "catboost": ("#D55E00", "D", (0, (7, 2))),
    "sklearn": ("#CC79A7", "P", (0, (3, 1, 1, 1, 1, 1))),
    "chimeraboost": ("#000000", "X", (0, (2, 2))),
}


@dataclass(frozen=True)
class Series:
    """Values of one library along a factor, in the measure's unit."""

    peer: str
    x: list[int]
    y: list[float]


def short(value: float) -> str:
    """A number for an axis.

    >>> [short(v) for v in (7, 400, 30_000, 1_500_000, 0.05)]
    ['7', '400', '30k', '1.5M', '0.05']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def line_panel(name: str, factor: str, measure: Measure, series: list[Series]) -> str:
    """How one measure grows with one factor; axes are logarithmic but for depths and losses."""

    def draw(axis: Any) -> None:
        for one in sorted(series, key=lambda s: s.peer == OURS):  # ours on top
            kept = [(x, y) for x, y in zip(one.x, one.y, strict=True) if measure is LOSS or y > 0]
            if kept:
                axis.plot(*zip(*kept, strict=True), clip_on=False, **_look(one.peer))
        values = sorted({x for one in series for x in one.x})
        if factor != "depth":
            axis.set_xscale("log")
            axis.set_xlim(values[0] / 1.15, values[-1] * 1.15)
        axis.set_xticks(values, [short(v) for v in values])
        axis.minorticks_off()
        _value_axis(axis.yaxis, measure, [y for one in series for y in one.y])
        axis.set_xlabel(factor)
        axis.grid(color="0.9", linewidth=0.6)
        axis.set_axisbelow(True)

    what = f"{measure.title} over {factor}: " + "; ".join(
        f"{s.peer} from {digits(s.y[0], measure)} to "
        f"{digits(s.y[-1], measure)} {measure.unit}".strip()
        for s in series
        if s.y
    )
    return panel(name, (WIDTH, HEIGHT), draw, heading(measure), what)


def dot_panel(name: str, measure: Measure, values: dict[str, float]) -> str:
    """One measure of one workload.

    A marker for each library on a logarithmic axis, with its value.
    """
    peers = list(values)

    def draw(axis: Any) -> None:
        for at, (peer, value) in enumerate(values.items()):
            look = _look(peer)
            axis.plot(
                [value],
                [at],
                marker=look["marker"],
                markersize=7,
                color=look["color"],
                linestyle="none",
                clip_on=False,
            )
            bold = "bold" if peer == OURS else "normal"
            axis.annotate(
                digits(value, measure),
                (value, at),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontweight=bold,
            )
        low, high = min(values.values()), max(values.values())
        room = max((high / low), 2.0) ** 0.45  # for the values beside the markers
        axis.set_xscale("log")
        axis.set_xlim(low / max(high / low, 2.0) ** 0.08, high * room)
        axis.minorticks_off()
        ticks(axis.xaxis, low, high * room)
        axis.set_yticks(range(len(peers)), peers)
        axis.get_yticklabels()[0].set_fontweight("bold" if peers[0] == OURS else "normal")
        axis.set_ylim(len(peers) - 0.5, -0.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", color="0.9", linewidth=0.6)
        axis.set_axisbelow(True)

    what = f"{measure.title}: " + "; ".join(
        f"{peer} {digits(value, measure)} {measure.unit}" for peer, value in values.items()
    )
    return panel(name, (WIDTH, 0.24 * len(peers) + 0.75), draw, heading(measure), what)


def legend_key(name: str, peer: str) -> str:
    """The line and marker of a library, as wide as a word."""

    def draw(axis: Any) -> None:
        axis.plot([0, 0.5, 1], [0, 0, 0], markevery=[1], clip_on=False, **_look(peer))
        axis.set_axis_off()
        axis.set_xlim(0, 1)

    return panel(name, (0.56, 0.16), draw, "", peer)


def heading(measure: Measure) -> str:
    """Title of a panel."""
    return f"{measure.title}, {measure.unit}" if measure.unit else measure.title


def _look(peer: str) -> dict[str, Any]:
    colour, marker, dashes = LOOKS[peer]
    ours = peer == OURS
    return {
        "color": colour,
        "marker": marker,
        "linestyle": dashes,
        "linewidth": 2.2 if ours else 1.3,
        "markersize": 5.5 if ours else 4.5,
        "zorder": 4 if ours else 3,
    }


def _value_axis(axis: Any, measure: Measure, values: list[float]) -> None:
    """The axis of the values: logarithmic, with at least two labels; of losses linear."""
    if measure is LOSS:
        return
    positive = [v for v in values if v > 0] or [1.0]
    low, high = min(positive), max(positive)
    middle = math.sqrt(low * high)
    # values that hardly differ look like it
    low, high = min(low / 1.25, middle / 2.2), max(high * 1.25, middle * 2.2)
    axis.axes.set_yscale("log")
    axis.axes.set_ylim(low, high)
    axis.axes.minorticks_off()
    ticks(axis, low, high)


def ticks(axis: Any, low: float, high: float) -> None:
    """Labels at round numbers, as dense as there is room."""
    ticker = load("matplotlib.ticker", "the page of a benchmark")
    decades = math.log10(high / low)
    dense = [(0.7, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)), (1.7, (1.0, 2.0, 5.0)), (2.6, (1.0, 3.0))]
    steps = next((subs for most, subs in dense if decades < most), (1.0,))
    axis.set_major_locator(ticker.LogLocator(subs=steps))
    axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: short(v)))


def panel(
    name: str, size: tuple[float, float], draw: Callable[[Any], None], title: str, what: str
) -> str:
    """A plot of one axis with a title; ``what`` says it to those who cannot see it."""

    def draw_axis(figure: Any) -> None:
        axis = figure.add_subplot()
        axis.spines[["top", "right"]].set_visible(False)
        if title:
            axis.set_title(title, fontsize=FONT + 0.5, loc="left", fontweight="bold")
        draw(axis)

    return inline_svg(name, size, draw_axis, what, FONT)
