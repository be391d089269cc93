"""What can be wrong with a table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

#: How alike names must be, as difflib measures it: one letter in five may differ.
CLOSE = 0.8


class TableError(ValueError):
    """A table that cannot be read, or that is not what a model needs.

    The text is one sentence for its owner.
    """


class RereadTable(Exception):
    """A column turned out to be text after numbers of it were handed out.

    Whoever reads must begin again; the table knows by now that the column is text.
    """


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question, if one of some names is so close that it may have been meant; else nothing.

    Capital letters, spaces, hyphens and underscores make no difference.

    Examples
    --------
    >>> did_you_mean("max deph", ["max_bins", "max_depth"])
    " (did you mean 'max_depth'?)"
    >>> did_you_mean("prise", ["size", "rise time"])
    ''
    """
    known = {_plain(one): one for one in names}
    near = difflib.get_close_matches(_plain(name), known, n=1, cutoff=CLOSE)
    return f" (did you mean {known[near[0]]!r}?)" if near else ""


def _plain(name: str) -> str:
    return re.sub("[ _-]+", "_", name.strip()).casefold()


def check_columns(
    where: str, wanted: Iterable[str], names: Sequence[str], what: str = "column"
) -> None:
    """Raise unless every wanted column is there; the error names what comes nearest."""
    known = set(names)
    for name in wanted:
        if name not in known:
            raise TableError(
                f"{where}: there is no {what} {name!r}{did_you_mean(name, names)}; the columns "
                f"are {shortened(names)}"
            )


def check_distinct(where: str, names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise TableError(
                f"{where}: columns {names.index(name) + 1} and {i + 1} have the same name, {name!r}"
            )


def shortened(names: Sequence[str], most: int = 12) -> str:
    """Names as a list for a sentence; the first few of many."""
    text = ", ".join(map(str, names[:most]))
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"
