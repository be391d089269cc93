"""What the subcommands share: exit codes, errors and output."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

FAILED, USAGE, INTERRUPTED = 1, 2, 130


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


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option ``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="write the result to standard output as one JSON object"
    )


def write_json(record: Any) -> None:
    """A result for a script, on standard output."""
    print(json.dumps(record, indent=2), flush=True)
