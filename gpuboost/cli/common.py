"""What the subcommands share: exit codes, errors and output."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

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


def say(text: str = "") -> None:
    """A line for people; on standard error, so that standard output stays free for results."""
    print(text, file=sys.stderr, flush=True)


def add_options(parser: Any, options: Options) -> None:
    """Add options to a parser, or to a group of one."""
    for name, settings in options.items():
        parser.add_argument(name, **settings)


def write_json(record: Any) -> None:
    """A result for a script, on standard output."""
    print(json.dumps(record, indent=2), flush=True)
