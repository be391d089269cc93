"""What the subcommands share: exit codes, errors and output."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gpuboost.terminal import YELLOW, visible, write_line

FAILED, USAGE, INTERRUPTED = 1, 2, 130

#: Arguments and options of a command by name, each with what ``add_argument`` takes.
Options = dict[str, dict[str, Any]]

JSON_OPTION: Options = {
    "--json": {
        "action": "store_true",
        "help": "write the result to standard output as one JSON object",
    }
}


class CliError(Exception):
    """An error whose text is all that a user needs to see."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with room for long options; descriptions and examples stay as they were written."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


class Parser(argparse.ArgumentParser):
    """A parser whose errors may repeat whatever was typed, or came from the names of files."""

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        """End with a message."""
        lines = (message or "").splitlines(keepends=True)
        super().exit(status, "".join(visible(line.rstrip("\n")) + "\n" for line in lines))


def say(text: str = "", head: str = "", colour: str = "") -> None:
    """A line for people; on standard error, so that standard output stays free for results."""
    write_line(sys.stderr, text, head, colour)


def warn(text: str) -> None:
    """What may be wrong."""
    say(text, "warning: ", YELLOW)


class Voice:
    """What a command says beside its result, for people; nothing with ``--quiet``."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def tell(self, text: str) -> None:
        """What is going on."""
        if not self.quiet:
            say(text)

    def note(self, text: str) -> None:
        """What people should know about their data."""
        if not self.quiet:
            say(text, "note: ", YELLOW)

    def warn(self, text: str) -> None:
        """What may be wrong."""
        if not self.quiet:
            warn(text)


def show(text: str = "", head: str = "", colour: str = "") -> None:
    """A line of a result for people, on standard output."""
    write_line(sys.stdout, text, head, colour)


def show_block(text: str) -> None:
    """Several lines of a result."""
    for line in text.removesuffix("\n").split("\n"):
        show(line)


def add_options(parser: Any, options: Options) -> None:
    """Add options to a parser, or to a group of one."""
    for name, settings in options.items():
        parser.add_argument(name, **settings)


def write_json(record: Any) -> None:
    """A result for a script, on standard output."""
    print(json.dumps(record, indent=2), flush=True)
