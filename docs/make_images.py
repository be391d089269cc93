"""Draw figures of the pages: ``python docs/make_images.py``.

Runs the code blocks of ``docs/gallery.md`` in order, in ``docs/images``, where they save their
figures, and draws the way of a column of ``docs/categories.md``.
"""

import os
import re
from itertools import pairwise
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Run the page."""
    import matplotlib

    matplotlib.rcParams |= {"savefig.dpi": 110, "font.size": 10}
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    os.chdir(DOCS / "images")
    names: dict = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M):
        exec(compile(block, "docs/gallery.md", "exec"), names)
    draw_columns("columns.png")


#: What columns hold, the same as numbers and as codes, and a split on them.
WAYS = [
    ("number", ["3.5", "7.25", "NaN"], ["3.5", "7.25", "NaN"], "250", "size <= 4.2"),
    ("boolean", ["True", "False", "None"], ["1", "0", "NaN"], "210", "ripe <= 0.5"),
    (
        "date",
        ["2024-05-02", "2024-05-01", "NaT"],
        ["1714608000", "1714521600", "NaN"],
        "210",
        "day <= 2024-05-01T12:00:00",
    ),
    ("category", ["red", "blue", "None"], ["1", "0", "NaN"], "210", "colour in {blue}"),
]
STEPS = [("your column", 0.14), ("numbers", 0.40), ("codes, one byte each", 0.62), ("split", 0.86)]
GREY, MISSING, BOX = "#57606a", "#D55E00", "#eef3f8"


def draw_columns(path):
    """How a column travels from a table to a split."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.6))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    for name, x in STEPS:
        axes.text(x, 0.94, name, ha="center", weight="bold")
    for (_, a), (_, b) in pairwise(STEPS):
        axes.annotate("", (b - 0.1, 0.945), (a + 0.1, 0.945), arrowprops={"arrowstyle": "->"})
    for i, (kind, *cells, split) in enumerate(WAYS):
        y = 0.81 - 0.205 * i
        axes.text(0.012, y, kind, color=GREY, size=9, va="center", rotation=90)
        for (_, x), texts in zip(STEPS, cells, strict=False):
            for k, text in enumerate(texts):
                missing = k == 2
                axes.text(
                    x, y + 0.055 - 0.055 * k, text, ha="center", va="center", family="monospace",
                    size=9, color=MISSING if missing else "black",
                    bbox={"boxstyle": "round,pad=0.2", "fc": BOX, "ec": "none"},
                )  # fmt: skip
        axes.text(STEPS[3][1], y, split, ha="center", va="center", family="monospace", size=9)
        if i:
            axes.axhline(y + 0.103, 0.03, 0.97, color="#d0d7de", linewidth=0.6)
    axes.text(
        0.5, 0.022, "Code 0 is the missing value: it goes to the side that the split has learned "
        "for it.", ha="center", size=9, color=MISSING,
    )  # fmt: skip
    figure.savefig(path)


if __name__ == "__main__":
    main()
