"""``gpuboost doctor``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from gpuboost.benchmarks.page import check_packages
from gpuboost.cli.common import INTERRUPTED, JSON_OPTION, CliError, Options, say, show, write_json
from gpuboost.doctor.checks import FAILED, PARTS, PASSED, count_states, left_out_by_reason
from gpuboost.doctor.installation import check_all
from gpuboost.progress import Progress
from gpuboost.terminal import GREEN, RED, YELLOW

SUMMARY = "check this installation: packages, devices, and whether CPU and GPU train the same model"
DESCRIPTION = """\
Checks this installation. Trains a small model on the CPU; where there is a CUDA device, trains it
there too, compares the fingerprints, and measures the kernels. Every finding that is wrong says
what to do about it. With --full it checks everything that a GPU does, within about ten minutes, and
writes a file and a page to send to somebody.
"""
EPILOG = """\
examples:
  gpuboost doctor
  gpuboost doctor --full                     everything, on a GPU; gpuboost-doctor.json and .html
  gpuboost doctor --full --minutes 3 --out results/a100
  GPUBOOST_EMULATE_CUDA=1 gpuboost doctor    the CUDA code without a GPU (needs g++; slow)

exit codes:
  0 all is well, also without a GPU   1 something is wrong
  130 interrupted; what is known is written
"""
COLOURS = {"ok": GREEN, "!!": RED, "--": YELLOW}
NAME, MINUTES = "gpuboost-doctor", 10.0


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be minutes, above 0; got {text!r}")
    return value


OPTIONS: Options = {
    "--full": {
        "action": "store_true",
        "help": "check everything that a GPU does, and write a file and a page",
    },
    "--out": {
        "type": Path,
        "metavar": "NAME",
        "help": f"with --full: write NAME.json and NAME.html (default {NAME})",
    },
    "--minutes": {
        "type": _minutes,
        "metavar": "N",
        "help": f"with --full: what does not fit into N minutes is left out (default {MINUTES:g})",
    },
    **JSON_OPTION,
}


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if something is wrong."""
    if not args.full:
        for name in ("out", "minutes"):
            if getattr(args, name) is not None:
                raise CliError(f"--{name} goes with --full")
        return _check_installation(args)
    problem = import_module("gpuboost.kernels.cuda.device").missing(0)
    if problem is None:
        return _check_everything(args)
    code = _check_installation(args)
    say(f"gpuboost doctor: --full needs a CUDA device, so no file was written: {problem}")
    return code


def _check_installation(args: argparse.Namespace) -> int:
    findings = []
    for finding in check_all():
        findings.append(finding)
        if not args.json:
            _tell(finding.good, finding.name, finding.detail)
    good = all(finding.good for finding in findings)
    if args.json:
        write_json({"good": good, "findings": [asdict(finding) for finding in findings]})
    return int(not good)


def _check_everything(args: argparse.Namespace) -> int:
    check_packages()
    from gpuboost.doctor.full import FullRun, Order

    order = Order(args.out or Path(NAME), 60 * (args.minutes or MINUTES))
    full, interrupted, done = FullRun(order), False, 0
    try:
        with Progress(len(order.items), "checking", "checks") as progress:
            for check in full.run():
                before, done = done, full.n_done
                progress.advance(done - before, note=f"{check.part}: {check.name} {check.state}")
    except KeyboardInterrupt:
        interrupted = True
    full.finish()
    if args.json:
        write_json(full.record)
    else:
        _tell_of(full.record["checks"])
    say(f"written: {full.results}, {full.page}")
    if interrupted:
        say("gpuboost doctor: interrupted; what was known until then is written")
        return INTERRUPTED
    return int(not full.good)


def _tell_of(checks: list[dict[str, Any]]) -> None:
    """A line for each part, each check that failed, and each reason why some were not run."""
    for part in PARTS:
        counts = count_states(checks, part)
        counted = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
        mark = "!!" if counts[FAILED] else "ok" if counts[PASSED] else "--"
        show(f" {part}: {counted or 'nothing was run'}", f"[{mark}]", COLOURS[mark])
    for check in checks:
        if check["state"] == FAILED:
            _tell(False, f"{check['part']}, {check['name']}", check["detail"])
    for reason, names in left_out_by_reason(checks).items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        show(f"[--] not run: {names[0]}{more}: {reason}")


def _tell(good: bool, name: str, detail: str) -> None:
    mark = "ok" if good else "!!"
    first, *others = detail.split("\n")
    show(f" {name}: {first}", f"[{mark}]", COLOURS[mark])
    for line in others:
        show(line)
