"""The command ``gpuboost``: one module of this folder for each subcommand."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from gpuboost.cli.common import (
    FAILED,
    INTERRUPTED,
    USAGE,
    CliError,
    HelpFormatter,
    Parser,
    add_options,
    say,
    warn,
)
from gpuboost.terminal import RED

#: Subcommands in the order in which a newcomer meets them.
COMMANDS = ("demo", "train", "predict", "inspect", "bench", "doctor", "warmup", "completion")

DESCRIPTION = """\
Train tree ensembles on tables: the same model, bit for bit, on a CPU with any number of threads and
on a GPU.
"""
EPILOG = """\
begin here:
  gpuboost demo                                       train on data that scikit-learn ships
  gpuboost train sales.csv --target price             train on a table of your own: writes model.gb
  gpuboost predict model.gb new.csv --out prices.csv  predict new rows
  gpuboost COMMAND --help                             what a command does, with examples

exit codes:
  0 done   1 something failed   2 wrong usage or input   130 interrupted (Ctrl-C)
"""
#: Names of files that are wrong, as opposed to files that the system does not let us use.
NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    from gpuboost import __version__

    parser = Parser(
        prog="gpuboost", description=DESCRIPTION, epilog=EPILOG, formatter_class=HelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"gpuboost {__version__}")
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code an error came from"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in COMMANDS:
        module = import_module(f"gpuboost.cli.{name}")
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=module.EPILOG,
            formatter_class=HelpFormatter,
        )
        if hasattr(module, "EXCLUSIVE"):
            add_options(command.add_mutually_exclusive_group(), module.EXCLUSIVE)
        add_options(command, module.OPTIONS)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        say()
        say("gpuboost: interrupted; nothing was written that is not complete")
        if argv is None:
            _exit_interrupted()
        return INTERRUPTED
    # the reader of our output has gone, which is its right; Python would complain at exit
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _exit_interrupted() -> None:
    """End the process with the exit code of an interrupt.

    Python would end it by a signal instead if the interrupt came while some module, of numba for
    instance, was executing code that it had written.
    """
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(INTERRUPTED)


def _run(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    args, rest = parser.parse_known_args(argv)
    # argparse gives key=value arguments to a command only if they stand right behind its other
    # arguments
    if rest and (
        not hasattr(args, "parameters") or any(argument.startswith("-") for argument in rest)
    ):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    elif rest:
        args.parameters += rest
    if args.command is None:
        parser.print_help()
        return 0
    if argv is None:
        sys.excepthook = _say_defect
    try:
        with _warnings_in_a_line(getattr(args, "quiet", False)):
            return int(args.run(args))
    except BrokenPipeError:
        raise
    except CliError as error:
        return _say(args, error, error.code)
    # what the library says about parameters and data is meant for users, and so are names of files
    # that are not there
    except (ValueError, TypeError, ImportError, *NO_FILE) as error:
        return _say(args, error, USAGE)
    # a device that cannot be used is a RuntimeError
    except (OSError, MemoryError, RuntimeError) as error:
        return _say(args, error, FAILED)


def _say(args: argparse.Namespace, error: BaseException, code: int) -> int:
    if args.traceback:
        _say_lines(traceback.format_exc().rstrip())
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    _say_lines(text, "gpuboost: error: ")
    return code


def _say_lines(text: str, head: str = "") -> None:
    """Lines of an error; those behind the first are indented, so that none looks like another."""
    first, *others = text.split("\n")
    say(first, head, RED)
    for line in others:
        say(f"  {line}")


def _say_defect(kind: Any, error: BaseException, where: Any) -> None:
    """The traceback of what is neither input nor the machine's fault."""
    _say_lines("".join(traceback.format_exception(kind, error, where)).rstrip())


@contextmanager
def _warnings_in_a_line(quiet: bool) -> Iterator[None]:
    """Warnings of the library as a line for people."""

    def say_it(message: Warning | str, *where: Any, **more: Any) -> None:
        if not quiet:
            warn(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.showwarning = say_it
        yield
