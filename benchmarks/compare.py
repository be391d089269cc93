"""The same work on every library: time to fit and predict, latency, memory and held-out loss.

    python -m gpuboost.benchmarks.compare --workloads higgs-leaves,small-1k --threads 1,2 --repeat 3
    --out benchmarks/results/compare python -m gpuboost.benchmarks.compare --device cuda --input
    device

Writes tables and a plot; ``gpuboost bench`` measures the same, and more, for a page. README.md says
what is equal and how it is measured."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from gpuboost.benchmarks import report
from gpuboost.benchmarks.driver import Comparison, Plan, jobs_of, problem_of
from gpuboost.benchmarks.peers import OURS, PEERS
from gpuboost.benchmarks.timing import RESULTS, with_ending
from gpuboost.benchmarks.worker import Where
from gpuboost.benchmarks.workloads import WORKLOADS


def run(args: argparse.Namespace) -> None:
    """Measure everything; results are written after each measurement.

    An interrupted run is not lost.
    """
    where = Where(args.device, args.input)
    if args.device == "cuda" and (problem := PEERS[OURS].cuda_problem()):
        sys.exit(f"--device cuda cannot be measured here: {problem}")
    left_out = {p: problem for p in args.peers if (problem := problem_of(p, where))}
    for peer, problem in left_out.items():
        print(f"{peer} is left out: {problem}", flush=True)
    workloads = [WORKLOADS[name].scaled(args.scale) for name in args.workloads]
    jobs = jobs_of(workloads, args.threads, [peer for peer in args.peers if peer not in left_out])
    command = shlex.join(["python", "-m", "gpuboost.benchmarks.compare", *sys.argv[1:]])
    comparison = Comparison(
        Plan(jobs, args.repeat, args.scale, where, args.timeout, command, left_out),
        with_ending(args.out, ".json"),
    )
    for step in comparison.run():
        print(step.line(args.repeat, len(jobs)), flush=True)
    with_ending(args.out, ".md").write_text(report.compare_markdown(comparison.record))
    report.plot_ratios(comparison.record, with_ending(args.out, ".png"))
    print(f"written: {args.out}.json, .md, .png", flush=True)


def choice(allowed: list[str]) -> Any:
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


def parse_args() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuboost.benchmarks.compare", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--workloads",
        type=choice(list(WORKLOADS)),
        default=list(WORKLOADS),
        help=", ".join(WORKLOADS),
    )
    parser.add_argument(
        "--peers",
        type=choice(list(PEERS)),
        default=list(PEERS),
        help=f"{', '.join(PEERS)}; ratios need {OURS}",
    )
    parser.add_argument(
        "--threads",
        type=lambda text: [int(t) for t in text.split(",")],
        default=[1],
        help="for example 1,2",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to train")
    parser.add_argument(
        "--input",
        choices=("host", "device"),
        default="host",
        help="with --device cuda: where the arrays are",
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="repetitions, of which the best counts (default 3)"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="fraction of the rows, to try things out"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=1800.0,
        help="seconds after which a measurement is given up",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="results: this name + .json, .md, .png (default benchmarks/results/compare...)",
    )
    args = parser.parse_args()
    if args.input == "device" and args.device == "cpu":
        parser.error("--input device needs --device cuda")
    if args.out is None:
        args.out = RESULTS / ("compare" if args.device == "cpu" else f"compare-cuda-{args.input}")
    return args


if __name__ == "__main__":
    run(parse_args())
