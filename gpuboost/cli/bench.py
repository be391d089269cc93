"""``gpuboost bench``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuboost.benchmarks.driver import Comparison, Plan, jobs_of, missing, problem_of, summarise
from gpuboost.benchmarks.findings import failures, text_table, where_we_lose
from gpuboost.benchmarks.page import check_packages, check_record, write_page
from gpuboost.benchmarks.peers import OURS, PEERS
from gpuboost.benchmarks.report import compare_markdown, point_names
from gpuboost.benchmarks.sweeps import FACTORS, ORDERS, thread_counts
from gpuboost.benchmarks.sweeps import plan as plan_sweeps
from gpuboost.benchmarks.timing import cores, with_ending
from gpuboost.benchmarks.worker import Where
from gpuboost.benchmarks.workloads import WORKLOADS
from gpuboost.cli.common import (
    INTERRUPTED,
    JSON_OPTION,
    CliError,
    Options,
    say,
    show_block,
    warn,
    write_json,
)
from gpuboost.progress import Progress

SUMMARY = (
    "compare with the other libraries that are installed: time, memory, held-out loss, "
    "and how they grow"
)
DESCRIPTION = """\
Measures the same work with gpuboost and with every other library that is installed: time to fit and
to predict, memory and held-out loss. Each measurement has a process of its own; libraries take
turns, and the best repetition counts. Let the machine do nothing else meanwhile.
"""
EPILOG = f"""\
examples:
  gpuboost bench                                 a trial on few rows: two minutes on two cores
  gpuboost bench --full --report                 everything, for a page: 40 minutes on two cores
  gpuboost bench --sweeps rows,depth --report    only how cost grows with rows and with depth
  gpuboost bench --workloads higgs-depth --scale 1 --repeat 3 --threads 1,2
  gpuboost bench --workloads forest-depth-12,forest-unlimited,tree-exact --scale 1 --timeout 1800
  gpuboost bench --full --report --resume        go on where a run was interrupted
  gpuboost bench --report-from gpuboost-bench.json --report page.html    draw the page anew

names:
  workloads  {", ".join(WORKLOADS)}
  sweeps     {", ".join(FACTORS)}
  peers      {", ".join(PEERS)}

Writes PREFIX.json (all runs; after every measurement) and PREFIX.md (tables), and with --report a
page.
Other libraries are not installed with gpuboost; in a checkout: pip install ".[bench]"
"""


@dataclass(frozen=True)
class Preset:
    """What is measured unless options say otherwise."""

    workloads: tuple[str, ...]
    sweeps: tuple[str, ...]
    scale: float
    repeat: int
    timeout: float


QUICK = Preset(
    ("higgs-depth", "higgs-leaves", "higgs-symmetric", "small-1k", "forest-depth-12"),
    (),
    scale=0.1,
    repeat=1,
    timeout=120.0,
)
FULL = Preset(tuple(WORKLOADS), FACTORS, scale=1.0, repeat=2, timeout=180.0)
#: Processes that want a core, on average over a minute, from which the machine counts as busy.
BUSY = 0.7


def _choice(allowed: list[str]) -> Any:
    """A parser of names that are separated by commas."""

    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        unknown = sorted(set(names) - set(allowed))
        if unknown:
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(unknown)}; there are {', '.join(allowed)}"
            )
        if not names:
            raise argparse.ArgumentTypeError(f"no name is given; there are {', '.join(allowed)}")
        return list(dict.fromkeys(names))

    return parse


def _number(
    kind: Callable[[str], Any], allowed: str, good: Callable[[Any], bool]
) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not good(value):
            raise argparse.ArgumentTypeError(f"must be {allowed}; got {text!r}")
        return value

    return parse


_whole_number = _number(int, "a whole number, at least 1", lambda n: n >= 1)
_whole_numbers = _number(
    lambda t: [int(n) for n in t.split(",")],
    "whole numbers, at least 1, with commas",
    lambda ns: min(ns) >= 1,
)
_fraction = _number(float, "above 0 and at most 1", lambda part: 0 < part <= 1)
_seconds = _number(float, "seconds, above 0", lambda s: 0 < s < float("inf"))


#: Options of which a command line has one at most.
EXCLUSIVE: Options = {
    "--quick": {
        "action": "store_true",
        "default": None,
        "help": "a trial: few workloads, a tenth of the rows, once (the default)",
    },
    "--full": {
        "action": "store_true",
        "default": None,
        "help": "all workloads and sweeps, best of 2",
    },
}
#: Options that a command line does not have are None, and presets fill them in.
OPTIONS: Options = {
    "--workloads": {
        "type": _choice(list(WORKLOADS)),
        "metavar": "NAMES",
        "help": "only these (and those of --sweeps)",
    },
    "--sweeps": {
        "type": _choice(list(FACTORS)),
        "metavar": "NAMES",
        "help": "factors to vary, only these (and --workloads)",
    },
    "--growth": {"choices": ORDERS, "help": f"trees of the sweeps (default {ORDERS[0]})"},
    "--peers": {
        "type": _choice(list(PEERS)),
        "metavar": "NAMES",
        "help": "libraries (default: all that are installed)",
    },
    "--threads": {
        "type": _whole_numbers,
        "metavar": "N[,N]",
        "help": "for example 1,2 (default: all cores)",
    },
    "--device": {"choices": ("cpu", "cuda"), "help": "where to train (default cpu)"},
    "--input": {
        "choices": ("host", "device"),
        "help": "with --device cuda: where the arrays are (default host)",
    },
    "--repeat": {
        "type": _whole_number,
        "metavar": "N",
        "help": "repetitions, of which the best counts",
    },
    "--scale": {
        "type": _fraction,
        "metavar": "PART",
        "help": "part of the rows, above 0 and at most 1",
    },
    "--timeout": {
        "type": _seconds,
        "metavar": "SECONDS",
        "help": "when to give up a single measurement",
    },
    "--out": {
        "type": Path,
        "metavar": "PREFIX",
        "help": "results: this name + .json, .md (default gpuboost-bench)",
    },
    "--resume": {
        "action": "store_true",
        "default": None,
        "help": "keep what PREFIX.json has already, and measure the rest",
    },
    "--report": {
        "nargs": "?",
        "const": "",
        "metavar": "FILE",
        "help": "write a page (default PREFIX.html)",
    },
    "--report-from": {
        "type": Path,
        "metavar": "FILE",
        "help": "measure nothing: make the page from the JSON of an earlier run",
    },
    **JSON_OPTION,
}
#: Options that say what to measure: they do not go with --report-from.
MEASURING = tuple(
    name.removeprefix("--")
    for name in (*EXCLUSIVE, *OPTIONS)
    if name not in ("--report", "--report-from", *JSON_OPTION)
)


def run(args: argparse.Namespace) -> int:
    """Measure, or draw again; returns the exit code."""
    if args.report is not None or args.report_from is not None:
        check_packages()
    if args.report_from is not None:
        return _draw_again(args)
    plan = _plan(args)
    out = args.out or Path("gpuboost-bench")
    out.parent.mkdir(parents=True, exist_ok=True)
    results = with_ending(out, ".json")
    if args.resume and not results.exists():
        raise CliError(f"--resume: there is no {results} to go on from")
    comparison = Comparison(plan, results, _read(results) if args.resume else None)
    _warn_if_busy()
    interrupted = False
    try:
        _measure(comparison)
    except KeyboardInterrupt:
        interrupted = True
    if not comparison.record["results"]:
        say("gpuboost bench: interrupted before anything was measured; nothing was written")
        return INTERRUPTED
    written = _write(comparison.record, out, args.report)
    _tell(comparison.record, written, args.json)
    if interrupted:
        say(
            "gpuboost bench: interrupted; what was measured until then is written. --resume "
            "goes on from there."
        )
        return INTERRUPTED
    return 0


# --- what to measure


def _plan(args: argparse.Namespace) -> Plan:
    """The jobs that options and presets ask for."""
    preset = FULL if args.full else QUICK
    chosen = args.workloads is not None or args.sweeps is not None
    workloads = (args.workloads or ()) if chosen else preset.workloads
    sweeps = (args.sweeps or ()) if chosen else preset.sweeps
    where = Where(args.device or "cpu", args.input or "host")
    if where.input == "device" and where.device == "cpu":
        raise CliError("--input device needs --device cuda")
    if args.growth is not None and not sweeps:
        raise CliError(
            "--growth is about sweeps, and none is to be measured: name them with --sweeps, or "
            "use --full"
        )
    if where.device == "cuda" and (problem := PEERS[OURS].cuda_problem()):
        raise CliError(f"--device cuda cannot be measured here: {problem}")
    if where.device == "cuda":
        on_cpu = [name for name in workloads if not WORKLOADS[name].boosted]
        if chosen and on_cpu:
            raise CliError(f"{', '.join(on_cpu)}: forests and trees are compared on the CPU only")
        workloads = [name for name in workloads if name not in on_cpu]
    peers, left_out = _peers(args.peers or list(PEERS), where)
    scale = args.scale if args.scale is not None else preset.scale
    threads = args.threads or [cores()]
    jobs = jobs_of([WORKLOADS[name].scaled(scale) for name in workloads], threads, peers)
    swept = threads if len(threads) > 1 else thread_counts(threads[0])
    more, points = plan_sweeps(sweeps, peers, swept, scale, args.growth or ORDERS[0])
    timeout = args.timeout or preset.timeout
    return Plan(
        [*jobs, *more],
        args.repeat or preset.repeat,
        scale,
        where,
        timeout,
        _command(args),
        left_out,
        points,
    )


def _peers(names: list[str], where: Where) -> tuple[list[str], dict[str, str]]:
    """Libraries that can be measured, ours first, and why others cannot; a line says so."""
    wanted = [OURS, *(name for name in names if name != OURS)]
    left_out = {name: why for name in wanted if (why := problem_of(name, where))}
    absent = missing(wanted)
    if absent:
        say(
            f"not installed, so left out: {', '.join(absent)}; to compare with them, in a "
            'checkout: pip install ".[bench]"'
        )
    for name in left_out:
        if name not in absent:
            say(f"{name} is left out: {left_out[name]}")
    return [name for name in wanted if name not in left_out], left_out


def _command(args: argparse.Namespace) -> str:
    """The command line that asks for this."""
    words = ["gpuboost", "bench"]
    for name in (*MEASURING, "report"):
        value = getattr(args, name)
        if value is True or value == "":
            words.append(f"--{name}")
        elif value is not None:
            words += [
                f"--{name}",
                ",".join(map(str, value)) if isinstance(value, list) else str(value),
            ]
    return shlex.join(words)


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CliError(f"{path} is not JSON: {error}") from error
    check_record(record, str(path))
    return dict(record)


# --- measuring and telling


def _warn_if_busy() -> None:
    """Warn if other work goes on.

    Libraries that spin at barriers then look far slower than they are.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > BUSY:
        say(
            f"this machine is busy (load {load:.1f}): times will be too long, and for some "
            "libraries far too long"
        )


def _measure(comparison: Comparison) -> None:
    plan = comparison.plan
    with Progress(len(plan.jobs) * plan.repeat, "measuring", "jobs") as progress:
        for step in comparison.run():
            job = step.job
            point = point_names(comparison.record)[job.workload.name, job.threads]
            progress.advance(note=f"{job.peer}, {point}{_seconds_of(step.run)}")


def _seconds_of(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    return f": failed: {run['error']}" if "error" in run else f": fit {run['fit']:.2f} s"


def _write(record: dict[str, Any], out: Path, report: str | None) -> list[Path]:
    """The tables, and the page if asked; the JSON is there already."""
    written = [with_ending(out, ".json"), with_ending(out, ".md")]
    written[1].write_text(compare_markdown(record), encoding="utf-8")
    if report is not None:
        written.append(Path(report) if report else with_ending(out, ".html"))
        write_page(record, written[2])
    return written


def _draw_again(args: argparse.Namespace) -> int:
    """The page of an earlier run."""
    others = [f"--{name}" for name in MEASURING if getattr(args, name) is not None]
    if others:
        raise CliError(
            f"--report-from measures nothing, so it does not go with {', '.join(others)}"
        )
    record = _read(args.report_from)
    for row in record["results"]:
        row["best"] = summarise(row["runs"])
    page = Path(args.report) if args.report else args.report_from.with_suffix(".html")
    write_page(record, page)
    _tell(record, [page], args.json)
    return 0


def _tell(record: dict[str, Any], written: list[Path], as_json: bool) -> None:
    """The results in short, or all of them for a script."""
    if as_json:
        write_json(record)
    else:
        show_block(
            f"The closest other library at each point: its time and memory over {OURS}'s "
            f"(above 1, {OURS} needs less),\n"
            f"and by how much its held-out loss is above {OURS}'s.\n\n"
            f"{text_table(record)}\n\n"
            f"A library is ahead of {OURS} in {len(where_we_lose(record))} measured values."
        )
    for point, peer, why in failures(record):
        warn(f"{peer} gave no result at {point}: {why}")
    say(f"written: {', '.join(map(str, written))}")
