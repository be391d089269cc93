"""The project's own tests for GPUs, as far as the checkout's tests are there."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gpuboost.benchmarks.timing import CHECKOUT, ROOT
from gpuboost.doctor.checks import FAILED, PASSED, Check, left_out

PART, NAME = "tests", "pytest -m gpu"
#: Where the tests are that have the mark.
TESTS = "tests/cuda"
#: What the tests import besides the library.
NEEDED = ("pytest", "pandas")
#: Seconds that pytest gets to write down what it knows.
GRACE = 30.0
#: Failed tests that are listed one by one, and most characters of what one of them says.
LISTED, LONGEST = 30, 1500
NOTHING = "no test was run"


def reason_not_to(emulated: bool) -> str | None:
    """Why the tests cannot be run here, or None."""
    if not CHECKOUT or not (ROOT / TESTS).is_dir():
        return "this is an installed package: the tests are in the checkout it was built from"
    if emulated:
        return "they need a GPU; the same tests run on the emulated device as a part of pytest"
    absent = [name for name in NEEDED if find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def run_tests(deadline: float, folder: Path = ROOT, mark: str = "gpu") -> Iterator[Check]:
    """Run the tests of a folder with a mark until the deadline (of ``time.monotonic``)."""
    with tempfile.TemporaryDirectory(prefix="gpuboost-doctor-") as temporary:
        report = Path(temporary, "tests.xml")
        command = [
            sys.executable, "-m", "pytest", "-q", "-m", mark, "-p", "no:cacheprovider",
            f"--junitxml={report}", TESTS,
        ]  # fmt: skip
        start = time.monotonic()
        done, output = _run(command, folder, deadline)
        seconds = time.monotonic() - start
        if done and not report.exists():
            last = (output.strip().splitlines() or ["no output"])[-1]
            text = f"pytest ended without a report: {last}"
            yield Check(PART, NAME, FAILED, text, seconds)
            return
        cases = list(tree.parse(report).getroot().iter("testcase")) if report.exists() else []
        if done:
            yield from _results(cases, seconds)
            return
        if cases[:-1]:  # the last one was running
            yield from _results(cases[:-1], seconds)
        yield left_out(PART, "the tests that come after these", "the time was up")


def _run(command: list[str], folder: Path, deadline: float) -> tuple[bool, str]:
    """Whether the command came to its end, and what it said; interrupted when the time is up."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        return True, process.communicate(timeout=max(0.0, deadline - time.monotonic()))[0]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # pytest then writes its report
        try:
            return False, process.communicate(timeout=GRACE)[0]
        except subprocess.TimeoutExpired:
            return False, ""
    finally:
        process.kill()
        process.wait()


def _results(cases: list[tree.Element], seconds: float) -> Iterator[Check]:
    """Counts of the cases of a JUnit file, and each of the first tests that failed."""
    n_passed, failed, n_skipped = 0, [], 0
    for case in cases:
        problem = case.find("failure") if case.find("error") is None else case.find("error")
        if problem is not None:
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            text = problem.get("message") or problem.text or ""
            failed.append(Check(PART, name, FAILED, text[:LONGEST]))
        elif case.find("skipped") is not None:
            n_skipped += 1
        else:
            n_passed += 1
    state = PASSED if n_passed and not failed else FAILED
    detail = f"{n_passed} passed, {len(failed)} failed, {n_skipped} skipped"
    if not cases:
        detail = NOTHING
    figures = {"passed": n_passed, "failed": len(failed), "skipped": n_skipped}
    yield Check(PART, NAME, state, detail, seconds, figures)
    yield from failed[:LISTED]
