"""Figures of matplotlib as SVG that stands inside a page.

The same figure gives the same bytes, and no two figures share an id.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gpuboost.optional import load
from gpuboost.plots.style import FONT


def inline_svg(
    name: str, size: tuple[float, float], draw: Callable[[Any], None], alt: str, font: float = FONT
) -> str:
    """Draw a figure of so many inches.

    ``draw`` gets the empty figure. ``alt`` is for those who cannot see it. No other figure of the
    page has the same ``name``.
    """
    with _plain_style(name, font):
        figure = load("matplotlib.figure", "a page").Figure(figsize=size, layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    return _inline(out.getvalue(), alt, round(96 * size[0]))


@contextmanager
def _plain_style(name: str, font: float) -> Iterator[None]:
    """Use the style of matplotlib itself, and ids that follow from the figure's name."""
    matplotlib = load("matplotlib", "a page")
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": f"gpuboost {name}",
                "font.size": font,
                "font.sans-serif": ["DejaVu Sans", "Verdana"],
            }
        )
        # the browser has fonts for them
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def _inline(svg: str, title: str, width: int) -> str:
    """The SVG as part of a page: no namespaces, no names of groups, no styles for the whole page.

    It gets a title for those who cannot see it.
    """
    head, body = re.search(r"<svg ([^>]*)>(.*)</svg>", svg, re.DOTALL).groups()  # type: ignore[union-attr]
    box = re.search(r'viewBox="[^"]*"', head).group()  # type: ignore[union-attr]
    body = re.sub(r"<style.*?</style>", "", body, count=1, flags=re.DOTALL)
    for pattern, plain in (("xlink:href=", "href="), ('<g id="[^"]*"', "<g"), (r">\s+<", "><")):
        body = re.sub(pattern, plain, body)
    body = re.sub(
        r' (d|x|y|points|transform)="[^"]*"',
        lambda part: re.sub(r"(\.\d\d)\d+", r"\1", part.group()),
        body,
    )
    return (
        f'<svg role="img" {box} '
        f'style="--width:{width}px"><title>{html.escape(title)}</title>{body.strip()}</svg>'
    )
