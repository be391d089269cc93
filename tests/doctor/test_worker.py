"""Checks in other processes: what happens to those that hang, die, or break the device."""

import io
import json
import sys
import time

import pytest

from gpuboost.doctor import worker
from gpuboost.doctor.checks import FAILED, NOT_RUN, PASSED, Check, Sizes
from gpuboost.doctor.worker import Item, run_items

SIZES = Sizes(small=200, large=400, rates=400)
#: A worker whose items do what their names say.
ACTOR = """
import json, os, sys, time
def say(**line): print(json.dumps(line), flush=True)
if "start" in sys.argv[1:-1]: sys.exit("cannot start")
for part, name in json.loads(sys.argv[-1])["items"]:
    say(begin=[part, name])
    if name == "hangs": time.sleep(60)
    if name == "dies": print("illegal address", file=sys.stderr, flush=True); os._exit(7)
    state = "failed" if name == "breaks" else "passed"
    say(check=dict(part=part, name=name, state=state, detail="", seconds=0.1, figures={}))
    say(end=[part, name])
    if name == "breaks": sys.exit()
"""


def run(names, *, seconds=60.0, item_seconds=60.0, words=()):
    items = [Item("operations", name) for name in names]
    command = [sys.executable, "-c", ACTOR, *words]
    return list(
        run_items(
            items, SIZES, time.monotonic() + seconds, command=command, item_seconds=item_seconds
        )
    )


def test_one_that_dies_and_one_that_breaks_the_device_do_not_end_the_others():
    checks = run(["a", "dies", "b", "breaks", "c"])
    assert [(c.name, c.state) for c in checks] == [
        ("a", PASSED), ("dies", FAILED), ("b", PASSED), ("breaks", FAILED), ("c", PASSED),
    ]  # fmt: skip
    assert checks[1].detail == "the process ended with exit code 7: illegal address"


def test_one_that_hangs_is_ended():
    checks = run(["hangs", "a"], item_seconds=0.5)
    assert [(c.name, c.state) for c in checks] == [("hangs", FAILED), ("a", PASSED)]
    assert checks[0].detail.startswith("no result after")


def test_what_does_not_fit_into_the_time_is_left_out():
    checks = run(["a", "hangs", "b"], seconds=0.8)
    assert [c.state for c in checks[1:]] == [NOT_RUN, NOT_RUN]
    assert checks[2].detail == "the time was up"
    assert [c.state for c in run(["a"], seconds=-1.0)] == [NOT_RUN]


def test_a_process_that_cannot_begin_fails_all_items_at_once():
    checks = run(["a", "b"], words=["start"])
    assert [c.state for c in checks] == [FAILED, FAILED]
    assert checks[0].detail.endswith("cannot start")


def said(items, monkeypatch):
    """Lines of the process, run in this one on the emulated device."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    out = io.StringIO()
    worker.main({"items": items, "sizes": vars(SIZES), "more": {}}, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_error_is_a_failed_check_and_the_next_item_follows(monkeypatch):
    lines = said([("trainings", "no such"), ("operations", "metric rmse (identity)")], monkeypatch)
    checks = [Check(**line["check"]) for line in lines if "check" in line]
    assert [c.state for c in checks] == [FAILED, PASSED]
    assert checks[0].detail == "KeyError: 'no such'"
    assert [line.get("begin", line.get("end")) for line in lines if "check" not in line] == [
        ["trainings", "no such"], ["trainings", "no such"],
        ["operations", "metric rmse (identity)"], ["operations", "metric rmse (identity)"],
    ]  # fmt: skip


def test_after_an_error_that_the_device_does_not_survive_the_process_ends(monkeypatch):
    monkeypatch.setattr(worker, "device_answers", lambda: False)
    lines = said([("trainings", "no such"), ("operations", "metric rmse (identity)")], monkeypatch)
    assert lines[-1] == {"end": ["trainings", "no such"]}


@pytest.mark.parametrize("broken", [False, True])
def test_whether_the_device_answers(monkeypatch, broken):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    if broken:
        from gpuboost.kernels.emulation import cupy_stand_in

        def fail(number):
            raise RuntimeError("cudaErrorIllegalAddress")

        monkeypatch.setattr(cupy_stand_in.cuda, "Device", fail)
    assert worker.device_answers() == (not broken)
