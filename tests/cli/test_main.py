"""The frame of the command line: help, exit codes, and one sentence for each error."""

import ast
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gpuboost import __version__, cli
from gpuboost.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]


def test_no_command_shows_where_to_begin(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "begin here:\n  gpuboost demo" in out and all(
        f"\n    {name}" in out for name in COMMANDS
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0 and "examples:\n" in out and f"  gpuboost {command}" in out
    assert max(map(len, out.splitlines())) <= 150


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0 and capsys.readouterr().out == f"gpuboost {__version__}\n"


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fly"])
    assert stop.value.code == 2 and "'fly'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            ValueError("max_depth must be at least 1; got 0"),
            2,
            "gpuboost: error: max_depth must be at least 1; got 0\n",
        ),
        (
            ImportError("plot_tree needs matplotlib"),
            2,
            "gpuboost: error: plot_tree needs matplotlib\n",
        ),
        (
            PermissionError(13, "Permission denied", "model.gb"),
            1,
            "gpuboost: error: model.gb: Permission denied\n",
        ),
        (MemoryError(), 1, "gpuboost: error: MemoryError\n"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_one_sentence_for_each_error(capsys, monkeypatch, error, code, text):
    def fail(args):
        raise error

    monkeypatch.setattr("gpuboost.cli.warmup.run", fail)
    assert main(["warmup"]) == code
    assert text in capsys.readouterr().err


def test_traceback_on_demand(capsys, monkeypatch):
    monkeypatch.setattr("gpuboost.cli.warmup.run", lambda args: int("x"))
    assert main(["--traceback", "warmup"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_of_ours_is_not_dressed_up(monkeypatch):
    """What is neither input nor the machine's fault keeps its traceback.

    That is what a report needs.
    """
    monkeypatch.setattr("gpuboost.cli.warmup.run", lambda args: {}["x"])
    with pytest.raises(KeyError):
        main(["warmup"])


def test_reader_that_goes_away():
    """``gpuboost ... | head -1`` ends without a complaint."""
    command = f'set -o pipefail; "{sys.executable}" -m gpuboost --help | head -1'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("usage: gpuboost") and done.stderr == ""


def test_ctrl_c_before_the_command_begins(capsys, monkeypatch):
    """Importing takes a second, in which people change their minds."""

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "build_parser", interrupt)
    assert main(["warmup"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_ctrl_c_while_a_module_executes_what_it_has_written():
    """Python would forget the exit code then, and end by a signal."""
    code = """if True:
        import sys
        from gpuboost.cli import main, warmup
        warmup.run = lambda args: exec("raise KeyboardInterrupt")
        sys.argv = ["gpuboost", "warmup"]
        sys.exit(main())
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 130 and "interrupted" in done.stderr


def test_what_takes_long_to_import_is_imported_inside_main():
    """An interrupt before it would be a traceback."""
    code = "import gpuboost, gpuboost.cli, sys; print({'numpy', 'numba'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n"


# --- what reaches the terminal

#: A colour, a command to clear the screen, a reversal of the direction, a line of its own.
EVIL = "\x1b[31m\x1b[2J\u202e\rx\ngpuboost: fine"
STEERING = re.compile(r"[^\n -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027]")


@pytest.fixture
def evil_table(tmp_path, monkeypatch):
    """A table whose header, cells and classes want to steer the terminal."""
    monkeypatch.chdir(tmp_path)
    evil = EVIL.replace("\n", "").replace("\r", "")
    rows = [f"{i},{evil}{i % 3},{'ab'[i % 2]}{evil}" for i in range(60)]
    Path("t.csv").write_text("\n".join([f"n,{evil}c,{evil}y", *rows]), encoding="utf-8")
    return f"{evil}y"


def test_files_cannot_steer_the_terminal(evil_table, capsys):
    """Not by names, cells, classes or parameters, in results, messages and errors."""
    few = ["n_estimators=2", "categorical_features=none"]
    commands = [
        ["train", "t.csv", "--target", evil_table, *few],
        ["train", "t.csv", "--target", f"{EVIL}z"],
        ["train", f"{EVIL}.csv", "--target", "y"],
        ["train", "t.csv", "--target", evil_table, f"max_depth={EVIL}"],
        ["inspect", "model.gb"],
        ["inspect", "model.gb", "--tree", "0"],
        ["inspect", "model.gb", "--json"],
        ["predict", "model.gb", "t.csv", "--proba", "--out", "p.csv"],
        ["--traceback", "predict", "model.gb", "t.csv", "--id", EVIL],
    ]
    for command in commands:
        main(command)
        said = "".join(capsys.readouterr())
        assert said and not STEERING.search(said), (command, STEERING.search(said), said)
        assert not any(line.startswith("gpuboost: fine") for line in said.splitlines())
    with pytest.raises(SystemExit):
        main(["train", "t.csv", "--\x1b[2J"])
    assert not STEERING.search(capsys.readouterr().err)


def test_warnings_take_a_line(capsys, monkeypatch):
    def run(args):
        warnings.warn(EVIL, stacklevel=2)
        return 0

    monkeypatch.setattr("gpuboost.cli.warmup.run", run)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().err == ("warning: \\x1b[31m\\x1b[2J\\u202e x gpuboost: fine\n")


@pytest.mark.parametrize("module", (*COMMANDS, "__init__", "parameters", "data_options"))
def test_everything_is_printed_by_the_functions_that_escape(module):
    tree = ast.parse((ROOT / "gpuboost" / "cli" / f"{module}.py").read_text())
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
    assert not names & {"print", "print_exc", "stderr"}
