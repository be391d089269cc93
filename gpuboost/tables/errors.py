"""What can be wrong with a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class TableError(ValueError):
    """A table that cannot be read, or that is not what a model needs.

    The text is one sentence for its owner.
    """


class RereadTable(Exception):
    """A column turned out to be text after numbers of it were handed out.

    Whoever reads must begin again; the table knows by now that the column is text.
    """


def check_columns(
    where: str, wanted: Iterable[str], names: Sequence[str], what: str = "column"
) -> None:
    """Raise unless every wanted column is there; the error names what comes nearest."""
    known = set(names)
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TableError(
                f"{where}: there is no {what} {name!r}{hint}; the columns are {shortened(names)}"
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
