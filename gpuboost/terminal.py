"""Lines on a terminal.

Whatever is written there may come from a file that somebody else has made: names of columns, cells,
classes, parameters. Characters that a terminal would obey instead of show are escaped.
"""

from __future__ import annotations

import os
from typing import TextIO

#: Codes of ANSI terminals for the colour of what follows.
RED, GREEN, YELLOW, BOLD = "31", "32", "33", "1"


def visible(text: str) -> str:
    r"""A text with everything escaped that is not printed as a character of its own.

    That is control characters, line ends among them, and those that change the direction of text.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The text on one line.

    Examples
    --------
    >>> print(visible("5 \u20ac \x1b[31mred\x1b[0m \u202egnp.exe"))
    5 € \x1b[31mred\x1b[0m \u202egnp.exe
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and NO_COLOR is not set."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    known = os.name != "nt" or "WT_SESSION" in os.environ
    return wanted and known and stream.isatty()


def write_line(stream: TextIO, text: str = "", head: str = "", colour: str = "") -> None:
    """A line of text behind a head, which has a colour where the stream is a terminal."""
    head = visible(head)
    if head and colour and has_colour(stream):
        head = f"\x1b[{colour}m{head}\x1b[0m"
    print(head + visible(text), file=stream, flush=True)
