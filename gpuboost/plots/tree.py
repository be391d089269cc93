"""Drawing a tree."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from gpuboost.config import Number
from gpuboost.export.text import TreeWords, words_for
from gpuboost.model.tree import Tree
from gpuboost.optional import load
from gpuboost.plots.style import COLOURS, add_legend, cut_to_width, text_width

#: What tells further classes apart.
HATCHES = ("", "///", "...", "xxx")

#: Inches of a box with the space around it, and points of the text: a box holds about 20
#: characters.
SLOT, LEVEL, FONT = 1.6, 1.15, 8.0
#: Part of them that the box takes.
BOX_WIDTH, BOX_HEIGHT = 0.92, 0.64


def plot_tree(
    model: Any,
    tree: int = 0,
    *,
    max_depth: int | None = 4,
    feature_names: Any = None,
    decimals: int = 2,
    ax: Any = None,
) -> Any:
    """Draw a tree of a fitted model with matplotlib.

    A box shows the question of a node (yes: left), what the node says, the weight of its training
    rows, and a bar: the shares of the classes, or where the value lies between the lowest and the
    highest one of the tree. Missing values follow the thick line.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of this library.
    tree : int, default=0
        Number of the tree, for models with several.
    max_depth : int, default=4
        Levels of splits to draw. None: all.
    feature_names : sequence of str, default=None
        Names of the features. None: those of the training data, or "x0", "x1", ...
    decimals : int, default=2
        Digits behind the point.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; the text is made as small as the space needs. None: a figure of the size that
        the tree needs.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> import gpuboost as gb
    >>> model = gb.DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
    >>> gb.plot_tree(model).figure.savefig("/dev/null", format="png")
    """
    view = words_for(model, tree, feature_names, decimals)
    Number(0, integer=True, none=True).check("max_depth", max_depth)
    places = _places(view.tree, max_depth)
    width, height = _extent(places)
    if ax is None:
        ax = load("matplotlib.pyplot", "plot_tree").subplots(
            figsize=_inches(width, height), layout="constrained"
        )[1]
    ax.set_axis_off()
    ax.set_xlim(-0.5, width - 0.5)
    ax.set_ylim(-height + 0.5, 0.5)
    _draw(view, places, ax)
    return ax


def tree_size(model: Any, tree: int = 0, max_depth: int | None = 4) -> tuple[float, float]:
    """Width and height, in inches, that ``plot_tree`` needs for text of full size."""
    return _inches(*_extent(_places(words_for(model, tree, None, 2).tree, max_depth)))


def _places(tree: Tree, max_depth: int | None) -> dict[int, tuple[float, int]]:
    """(slot, depth) of every node to draw.

    Each lowest node has a slot of its own, others stand in the middle above their children.
    """
    places: dict[int, tuple[float, int]] = {}
    free_slots = count()

    def place(node: int, depth: int) -> float:
        if tree.left[node] < 0 or depth == max_depth:
            slot = float(next(free_slots))
        else:
            children = int(tree.left[node]), int(tree.right[node])
            slot = sum(place(child, depth + 1) for child in children) / 2
        places[node] = slot, depth
        return slot

    place(0, 0)
    return places


def _extent(places: dict[int, tuple[float, int]]) -> tuple[float, float]:
    """Slots and levels that the nodes take."""
    slots, depths = zip(*places.values(), strict=True)
    return max(slots) + 1.0, max(depths) + 1.0


def _inches(width: float, height: float) -> tuple[float, float]:
    """The size of a figure with so many slots and levels."""
    return max(width, 2.0) * SLOT, (height + 0.4) * LEVEL


def _draw(view: TreeWords, places: dict[int, tuple[float, int]], ax: Any) -> None:
    """Boxes, lines and the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    tree = view.tree
    n_slots, n_levels = np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0]
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    scale = min(1.0, inches.width / n_slots / SLOT, inches.height / n_levels / LEVEL)
    font, room = FONT * scale, 72 * SLOT * scale * (BOX_WIDTH - 0.06)
    bars = view.classes is None or len(view.classes) == 1
    for node, (x, depth) in places.items():
        is_split = tree.left[node] in places
        for child in (tree.left[node], tree.right[node]) if is_split else ():
            is_left = child == tree.left[node]
            below, middle = places[int(child)][0], BOX_HEIGHT / 2
            missing = bool(tree.missing_left[node]) == is_left
            ax.plot(
                [x, below],
                [-depth - middle, -depth - 1 + middle],
                color="0.35",
                linewidth=(2.2 if missing else 0.8) * scale,
                zorder=1,
            )
            if node == 0:
                ax.text(
                    (x + below) / 2 + (-0.06 if is_left else 0.06),
                    -depth - 0.46,
                    "yes" if is_left else "no",
                    ha="right" if is_left else "left",
                    va="center",
                    fontsize=font,
                )
        corner = x - BOX_WIDTH / 2, -depth - BOX_HEIGHT / 2
        ax.add_patch(
            Rectangle(
                corner,
                BOX_WIDTH,
                BOX_HEIGHT,
                facecolor="white",
                edgecolor="0.35",
                linewidth=0.8 * scale,
                zorder=2,
            )
        )
        lines = _box_lines(view, node, is_split, room, font)
        for k, line in enumerate(lines):
            y = (
                -depth
                + BOX_HEIGHT / 2
                - BOX_HEIGHT * (k + 0.75) / (len(lines) + (1.25 if bars else 0.5))
            )
            ax.text(x, y, line, ha="center", va="center", fontsize=font, zorder=3, parse_math=False)
        if bars:
            _draw_bar(view, node, corner[0] + 0.03, corner[1] + 0.03, ax)
    handles: list[Any] = (
        [Line2D([], [], color="0.35", linewidth=2.2 * scale, label="way of missing values")]
        if len(places) > 1
        else []
    )
    if view.classes is not None and bars:
        labels = [cut_to_width(str(name), room, font) for name in view.classes[0]]
        handles = [Patch(**_look(c), label=label) for c, label in enumerate(labels)] + handles
    if handles:
        look = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "fontsize": font}
        add_legend(ax, handles=handles, ncol=max(1, min(len(handles), int(n_slots))), **look)


def _look(c: int) -> dict[str, Any]:
    """Colour and hatch of a class."""
    hatch = HATCHES[c // len(COLOURS) % len(HATCHES)]
    return {
        "facecolor": COLOURS[c % len(COLOURS)],
        "hatch": hatch,
        "edgecolor": "white" if hatch else "none",
        "linewidth": 0.0,
    }


def _draw_bar(view: TreeWords, node: int, x: float, y: float, ax: Any) -> None:
    """The bar of a box: class shares, or where the value lies from the lowest to the highest."""
    from matplotlib.patches import Rectangle

    width, height = BOX_WIDTH - 0.06, 0.09
    if view.classes is None:
        low, high = view.tree.value.min(), view.tree.value.max()
        ax.add_patch(Rectangle((x, y), width, height, facecolor="0.88", zorder=3))
        share = float((view.tree.value[node].mean() - low) / (high - low)) if high > low else 1.0
        ax.add_patch(Rectangle((x, y), width * share, height, facecolor=COLOURS[0], zorder=4))
        return
    for c, share in enumerate(view.tree.value[node]):
        ax.add_patch(Rectangle((x, y), width * share, height, zorder=3, **_look(c)))
        x += width * share


def _box_lines(view: TreeWords, node: int, is_split: bool, room: float, font: float) -> list[str]:
    """The text of a box, each line shortened to the room it has."""
    lines = [cut_to_width(line, room, font) for line in (view.says(node), view.weight(node))]
    if is_split:
        name = view.names[int(view.tree.feature[node])]
        rest = view.sides(node)[0].removesuffix(" or missing")[len(name) :]
        # a threshold fits, a long set gives way
        rest = cut_to_width(rest, room - min(text_width(name, font), 0.35 * room), font)
        return [cut_to_width(name, room - text_width(rest, font), font) + rest, *lines]
    if view.tree.left[node] >= 0:
        return [f"... {view.n_leaves_below(node)} leaves", *lines]
    return lines
