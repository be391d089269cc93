"""What users see of long work."""

import logging
import sys
import threading
from itertools import count

import pytest

from gpuboost import progress as module
from gpuboost.progress import Compilation, Progress, note


def lines(capsys):
    return [line.split("  (")[0] for line in capsys.readouterr().err.splitlines()]


def test_quiet_by_default_of_the_estimators(capsys):
    with Progress(100, "training", "rounds", verbose=0) as progress:
        progress.advance(100)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def slow(monkeypatch):
    """Every look at the clock takes a second."""
    monkeypatch.setattr("gpuboost.progress.time.perf_counter", count().__next__)


@pytest.mark.parametrize(
    ("total", "verbose", "at"),
    [(100, 1, range(10, 101, 10)), (7, 1, range(1, 8)), (10, 4, (4, 8, 10)), (3, 5, (3,))],
)
def test_lines_where_there_is_no_terminal(capsys, slow, total, verbose, at):
    with Progress(total, "training", "rounds", verbose) as progress:
        for i in range(total):
            progress.advance(note=f"loss {i}")
    assert lines(capsys) == [f"training: {n}/{total} rounds  loss {n - 1}" for n in at]


def test_quick_work_says_one_line(capsys):
    with Progress(100, "training", "rounds") as progress:
        for _ in range(100):
            progress.advance()
    assert lines(capsys) == ["training: 100/100 rounds"]


def test_time_left_is_said_until_the_end(capsys, slow):
    with Progress(2, "training", "rounds") as progress:
        progress.advance()
        progress.advance()
    first, last = capsys.readouterr().err.splitlines()
    assert "s left)" in first and "left" not in last


def test_work_that_ends_early_says_how_far_it_came(capsys, slow):
    with pytest.raises(KeyboardInterrupt), Progress(100, "training", "rounds") as progress:
        progress.advance(13)
        progress.advance(1)
        raise KeyboardInterrupt
    assert lines(capsys) == ["training: 13/100 rounds", "training: 14/100 rounds"]


def test_nobody_knows_how_much_there_is(capsys):
    with Progress(None, "reading", "rows") as progress:
        progress.advance(5000)
    assert lines(capsys) == ["reading: 5,000 rows"]


def test_steps_from_several_threads_add_up(capsys):
    progress = Progress(4000, "training", "trees", verbose=4000)
    threads = [
        threading.Thread(target=lambda: [progress.advance() for _ in range(1000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lines(capsys) == ["training: 4,000/4,000 trees"]


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(3, "training", "rounds") as progress:
        for _ in range(3):
            progress.advance(note="log_loss 0.1")
    out = capsys.readouterr().err
    assert "training: 100%" in out and "3/3" in out and "log_loss 0.1" in out


@pytest.fixture
def compilation(monkeypatch):
    fresh = Compilation()
    monkeypatch.setattr(module, "compilation", fresh)
    return fresh


@pytest.mark.parametrize(
    ("compiles", "said"),
    [(False, "(4.0 s, about 12.0 s left)"), (True, "(1004.0 s, about 3012.0 s left)")],
)
def test_compilation_is_counted_only_where_it_is_the_work(
    capsys, monkeypatch, compilation, compiles, said
):
    """The first of four steps took four seconds, and a thousand of compilation."""
    now = [0.0]
    monkeypatch.setattr("gpuboost.progress.time.perf_counter", lambda: now[0])
    with Progress(4, "training", "trees", compiles=compiles) as progress:
        now[0] = 1004.0
        compilation.took(1000.0)
        progress.advance()
    assert f"1/4 trees  {said}" in capsys.readouterr().err


@pytest.mark.parametrize(("compiles", "elapsed"), [(False, "00:0"), (True, "16:4")])
def test_the_time_of_a_bar(capsys, monkeypatch, compilation, compiles, elapsed):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(2, "training", "trees", compiles=compiles) as progress:
        progress._bar.start_t -= 1000.0
        progress._bar.last_print_t -= 1000.0
        compilation.took(1000.0)
        progress.advance()
    assert f"[{elapsed}" in capsys.readouterr().err.split("\r")[-1]


def test_a_line_above_a_bar_on_a_terminal_and_in_the_log_elsewhere(capsys, monkeypatch, caplog):
    with caplog.at_level(logging.INFO, "gpuboost"):
        note("compiling")
    assert caplog.messages == ["compiling"] and capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(3, "training", "rounds"):
        note("compiling")
    assert "\rcompiling\n" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "tqdm")
    note("compiling")
    assert capsys.readouterr().err == "compiling\n"


def test_compilation_is_told_once(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fresh = Compilation()
    fresh.begins(9)
    fresh.begins(5)
    assert capsys.readouterr().err.count("compiling kernels for the first time: about 9 s") == 1
