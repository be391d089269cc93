"""Draw the figures of the gallery: ``python docs/make_images.py``.

Runs the code blocks of ``docs/gallery.md`` in order, in ``docs/images``, where they save their
figures.
"""

import os
import re
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


if __name__ == "__main__":
    main()
