"""The long description: README.md as it can be shown outside the repository.

Everything else about the package is in ``pyproject.toml``. Package indexes show the long
description on a page of their own, where relative links lead nowhere.
"""

import importlib
import re
import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
#: Markdown links and pictures, ``[text](target)`` and ``![text](target)``.
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")


def portable(readme: str, source: str | None, version: str) -> str:
    """README text whose links and pictures work on any page.

    Where the project names the address of its source code (``Source`` in ``[project.urls]``),
    relative links and pictures become addresses below it, of the files of this version. Otherwise
    links to files become the name of the file in the source distribution, and pictures are left
    out.
    """

    def replace(match: re.Match) -> str:
        picture, text, target = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = target.partition("#")[0]
        if source:
            base = f"{source}/{'raw' if picture else 'blob'}/v{version}"
            return f"{picture}[{text}]({base}/{target if path else 'README.md' + target})"
        if picture:
            return ""
        return f"{text} (`{path}`)" if path and path not in text else text

    parts = re.split(r"(^```.*?^```$)", readme, flags=re.S | re.M)  # code stays as it is
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def project_table() -> dict:
    """``[project]`` of ``pyproject.toml``."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


if __name__ == "__main__":
    project = project_table()
    setup(
        long_description=portable(
            (ROOT / "README.md").read_text(encoding="utf-8"),
            project.get("urls", {}).get("Source"),
            project["version"],
        ),
        long_description_content_type="text/markdown",
    )
