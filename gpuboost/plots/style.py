"""What all pictures share: colours, texts that fit, quiet frames."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Any

#: Colours that people with any kind of colour vision can tell apart (Okabe and Ito 2008); hatches
#: tell further classes apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#F0E442", "#D55E00", "#CC79A7", "#000000")
#: Points of the text.
FONT = 9.0


def tidy(ax: Any, grid: str) -> None:
    """A quiet frame and grid."""
    ax.tick_params(labelsize=FONT)
    ax.grid(axis=grid, linewidth=0.5, color="0.85")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_above(ax: Any, n_columns: int) -> None:
    """A legend over the axes, where it hides nothing."""
    look = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "handlelength": 3.0}
    add_legend(ax, ncol=n_columns, fontsize=FONT, **look)


def add_legend(ax: Any, **look: Any) -> None:
    """A legend without a frame, whose texts are shown as they are written."""
    for text in ax.legend(frameon=False, **look).get_texts():
        text.set_parse_math(False)


def shortened(text: str, length: int) -> str:
    """A text of at most ``length`` characters.

    What is too long loses its middle, as both ends of a name tell it from others.

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
    >>> from gpuboost.plots.style import shortened
    >>> shortened("mean concavity", 9)
    'mean…vity'
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[-end:]}"


@lru_cache(maxsize=4096)
def text_width(text: str, font: float) -> float:
    """Points that a text takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    return float(
        TextPath((0, 0), text.replace("$", "S") + ".", size=font, prop=FontProperties())
        .get_extents()
        .width
    )


def cut_to_width(text: str, room: float, font: float) -> str:
    """A text cut to a number of points, with dots at its end if it had to be."""
    if text_width(text, font) <= room:
        return text
    n_kept = (
        bisect_right(range(len(text)), room, key=lambda n: text_width(text[:n] + "...", font)) - 1
    )
    return text[: max(n_kept, 1)] + "..."
