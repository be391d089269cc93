"""The same work on every library: time to fit and predict, latency, memory and held-out loss.

    python -m benchmarks.compare --workloads higgs-leaves,small-1k --threads 1,2 --repeat 3 --out benchmarks/results/compare
    python -m benchmarks.compare --device cuda --input device

Every measurement has a process of its own, which this script starts as a worker; see README.md for what is equal and how it is measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # also when run as a script

from benchmarks import datasets, peers, report
from benchmarks.datasets import Data
from benchmarks.peers import OURS, PEERS, Peer, Settings
from benchmarks.timing import (
    ROOT,
    best_of,
    busy_seconds,
    machine_record,
    peak_memory,
    reset_peak_memory,
    resident_memory,
    with_ending,
    write_json,
)

#: Values (rows x features) of the warm-up data: enough for every kernel and thread pool that the real data will meet, still a blink.
WARM_UP_VALUES = 1 << 20
WARM_UP_TREES = 3
#: Calls and seconds at most for one predict time, and for one latency.
PREDICT_CALLS, PREDICT_SECONDS = 5, 5.0
LATENCY_CALLS, LATENCY_SECONDS = 500, 2.0
#: Rows on which the estimator for the latency is trained: its trees are as large as those of the whole data.
LATENCY_ROWS = 20_000
#: A library whose first fit took this many times the best one's is not measured again.
FAR_BEHIND = 4.0
#: Fewest rows that --scale leaves.
LEAST_ROWS = 500


@dataclass(frozen=True)
class Workload:
    """A set of generated data and the trees to grow on it."""

    name: str
    task: str
    n_train: int
    n_test: int
    n_features: int
    settings: Settings
    n_classes: int = 2
    latency: bool = False  # whether to time single rows too

    def scaled(self, scale: float) -> Workload:
        """The same with fewer rows."""
        n_train, n_test = (min(n, max(LEAST_ROWS, round(n * scale))) for n in (self.n_train, self.n_test))
        return replace(self, n_train=n_train, n_test=n_test)

    def generate(self) -> Data:
        """Its data."""
        if self.task == "multiclass":
            return datasets.multiclass(self.n_train, self.n_features, self.n_classes, self.n_test)
        return {"binary": datasets.binary, "regression": datasets.regression}[self.task](self.n_train, self.n_features, self.n_test)

    @property
    def title(self) -> str:
        """One line for people."""
        s = self.settings
        size = f"{s.leaves} leaves" if s.leaves else f"depth {s.depth}"
        what = f"{self.n_classes} classes" if self.task == "multiclass" else self.task
        return (
            f"{self.n_train:,} x {self.n_features} {what}, {s.trees} {'rounds' if self.task == 'multiclass' else 'trees'}, {size} {s.order}"
        )


WORKLOADS = {
    w.name: w
    for w in (
        Workload("higgs-leaves", "binary", 500_000, 200_000, 28, Settings(100, "leafwise", leaves=64), latency=True),
        Workload("higgs-depth", "binary", 500_000, 200_000, 28, Settings(100, "depthwise", depth=6), latency=True),
        Workload("higgs-symmetric", "binary", 500_000, 200_000, 28, Settings(100, "symmetric", depth=6), latency=True),
        Workload("wide", "regression", 100_000, 20_000, 500, Settings(50, "depthwise", depth=6)),
        Workload("classes", "multiclass", 200_000, 50_000, 50, Settings(30, "depthwise", depth=6), n_classes=7),
        Workload("small-10k", "binary", 10_000, 10_000, 20, Settings(100, "leafwise", leaves=31), latency=True),
        Workload("small-1k", "binary", 1_000, 10_000, 10, Settings(100, "leafwise", leaves=31), latency=True),
    )
}


# --- the worker: one library, one workload, one number of threads


def run_worker(job: dict[str, Any]) -> None:
    """Measure and write the result where the job says."""
    warnings.simplefilter("ignore")
    settings = Settings(**job["settings"])
    data = load(Path(job["data"]), job["task"])
    where = Where(job["device"], job["input"])
    make = partial(peers.make, job["peer"], data.task, threads=job["threads"], device=where.device)
    warm_up(make, data, settings, where)
    data = replace(data, x_train=where.put(data.x_train), x_test=where.put(data.x_test))
    peer = make(settings)
    result = measure_fit(peer, data)
    result |= measure_predict(peer, data, where)
    if job["latency"]:
        result["latency"] = measure_latency(peer, data)
    write_json(Path(job["result"]), result)


@dataclass(frozen=True)
class Where:
    """The device that trains, and where its input is."""

    device: str
    input: str

    def put(self, x: np.ndarray) -> Any:
        """Rows where the library shall find them."""
        return _cupy().asarray(x) if self.input == "device" else x

    def wait(self) -> None:
        """Until the device has done what it was asked to."""
        if self.device == "cuda":
            _cupy().cuda.Device(0).synchronize()

    def take(self, prediction: Any) -> np.ndarray:
        """Predictions on the host."""
        return _cupy().asnumpy(prediction) if self.input == "device" else prediction


def _cupy() -> Any:
    from gpuboost.kernels.cuda import _device

    return _device.cupy()


def warm_up(make: Callable[[Any], Peer], data: Data, settings: Any, where: Where) -> None:
    """Fit and predict little data of the same kind: imports, compilation and thread pools come before the clock starts."""
    n = min(len(data.x_train), max(2000, WARM_UP_VALUES // data.x_train.shape[1] + 1))
    rows = np.arange(n)
    if data.task == "multiclass":  # every class must be there
        rows = np.union1d(rows, np.unique(data.y_train, return_index=True)[1])
    peer = make(replace(settings, trees=min(settings.trees, WARM_UP_TREES)))
    x = where.put(np.ascontiguousarray(data.x_train[rows]))
    peer.fit(x, data.y_train[rows])
    peer.predict(x)


def measure_fit(peer: Peer, data: Data) -> dict[str, Any]:
    """Seconds of one fit, and how far the resident memory grew above what the loaded data and library already took."""
    gc.collect()
    can_reset = reset_peak_memory()
    before, cpu, busy = resident_memory(), time.process_time(), busy_seconds()
    seconds = peer.fit(data.x_train, data.y_train)
    cpu = time.process_time() - cpu
    busy_after, peak = busy_seconds(), peak_memory()
    return {
        "fit": seconds.total,
        "binning": seconds.binning,
        "training": None if seconds.binning is None else seconds.total - seconds.binning,
        "cores_used": cpu / seconds.total,  # above the number of threads: the library does not keep to it
        "cores_taken": None if busy is None or busy_after is None else max(0.0, busy_after - busy - cpu) / seconds.total,  # by others
        "rss_growth": peak - before if can_reset and peak is not None and before is not None else None,
    }


def measure_predict(peer: Peer, data: Data, where: Where) -> dict[str, Any]:
    """Seconds to predict the held-out part, and its loss."""

    def predict() -> Any:
        prediction = peer.predict(data.x_test)
        where.wait()
        return prediction

    loss = datasets.held_out_loss(data.task, data.y_test, where.take(predict()))
    return {"predict": best_of(predict, PREDICT_CALLS, budget=PREDICT_SECONDS), "loss": loss}


def measure_latency(peer: Peer, data: Data) -> float:
    """Median seconds to predict a single row with the library's scikit-learn estimator."""
    call = peer.single(peer.estimator().fit(data.x_train[:LATENCY_ROWS], data.y_train[:LATENCY_ROWS]))
    rows = [data.x_test[i : i + 1].copy() for i in range(64)]  # different rows: no library can learn one path by heart
    for row in rows[:20]:
        call(row)
    seconds: list[float] = []
    end = time.perf_counter() + LATENCY_SECONDS
    while len(seconds) < LATENCY_CALLS and time.perf_counter() < end:
        row = rows[len(seconds) % len(rows)]
        start = time.perf_counter()
        call(row)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# --- data on disk, so that all workers read the same bytes

PARTS = ("x_train", "y_train", "x_test", "y_test")


def save(folder: Path, data: Data) -> None:
    """Write the parts of a set."""
    folder.mkdir()
    for part in PARTS:
        np.save(folder / f"{part}.npy", getattr(data, part))


def load(folder: Path, task: str) -> Data:
    """Read them back, into memory: a mapped file would be read from disk within somebody's fit."""
    return Data(task, *(np.load(folder / f"{part}.npy") for part in PARTS))


# --- the driver


@dataclass(frozen=True)
class Job:
    """One line of the result."""

    workload: Workload
    peer: str
    threads: int

    @property
    def key(self) -> str:
        """Its place among the results."""
        return f"{self.workload.name}/{self.threads}/{self.peer}"


def start_worker(job: Job, folder: Path, timeout: float, where: Where) -> dict[str, Any]:
    """Run one measurement."""
    w = job.workload
    order = {
        "peer": job.peer,
        "task": w.task,
        "threads": job.threads,
        "settings": asdict(w.settings),
        "device": where.device,
        "input": where.input,
        "latency": w.latency and where.device == "cpu",  # no library takes a single row to a GPU
        "data": str(folder / data_name(w)),
    }
    return run_process("benchmarks.compare", order, folder, timeout)


def run_process(module: str, order: dict[str, Any], folder: Path, timeout: float) -> dict[str, Any]:
    """Run a module's worker in a fresh process; what it writes to ``order["result"]`` is the result."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    env = os.environ | {name: str(order["threads"]) for name in pools}
    command = [sys.executable, "-m", module, "--worker", json.dumps(order | {"result": str(result)})]
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"no result after {timeout:.0f} s"}
    if done.returncode != 0 or not result.exists():
        return {"error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    return json.loads(result.read_text())


def data_name(w: Workload) -> str:
    """Workloads on the same data share it."""
    return f"{w.task}-{w.n_train}-{w.n_test}-{w.n_features}-{w.n_classes}"


def list_jobs(args: argparse.Namespace) -> list[Job]:
    """What to measure; libraries that are not installed or cannot do it here are left out, and a line says so."""
    problems = {p: problem for p in args.peers if (problem := problem_of(p, args))}
    for peer, problem in problems.items():
        print(f"{peer} is left out: {problem}", flush=True)
    return [
        Job(WORKLOADS[name].scaled(args.scale), peer, threads)
        for name in args.workloads
        for threads in args.threads
        for peer in args.peers
        if peer not in problems and WORKLOADS[name].settings.order in PEERS[peer].growth
    ]


def problem_of(peer: str, args: argparse.Namespace) -> str | None:
    """Why a library cannot be measured here, or None."""
    if not peers.available(peer):
        return "it is not installed"
    if args.device == "cpu":
        return None
    if emulated() and peer != OURS:
        return "the CUDA device is emulated, which only gpuboost knows"
    if args.input == "device" and not PEERS[peer].takes_device_input:
        return "it takes no arrays that are on a GPU"
    return PEERS[peer].cuda_problem()


def emulated() -> bool:
    """Whether the CUDA device is the emulated one."""
    from gpuboost.kernels.cuda import _device

    return _device.emulated()


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The best of all repetitions: of the fit as a whole (its binning and training are parts of the same run), of the other values each."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return {}
    best = dict(min(good, key=lambda run: run["fit"]))
    for name in ("predict", "latency", "rss_growth"):
        values = [run[name] for run in good if run.get(name) is not None]
        best[name] = min(values) if values else None
    return best


def far_behind(job: Job, runs: dict[str, list[dict[str, Any]]], jobs: list[Job]) -> bool:
    """Whether a library took so much longer than the best that repeating it would tell nothing about who is fastest."""
    same = [j for j in jobs if (j.workload.name, j.threads) == (job.workload.name, job.threads)]
    fits = [run["fit"] for j in same for run in runs[j.key] if "error" not in run]
    own = [run["fit"] for run in runs[job.key] if "error" not in run]
    return bool(fits) and (not own or min(own) > FAR_BEHIND * min(fits))


def progress_line(run: dict[str, Any]) -> str:
    """A measurement in a few words."""
    if "error" in run:
        return f"FAILED: {run['error']}"
    binning = "" if run["binning"] is None else f" (binning {run['binning']:.3f})"
    latency = f", one row {run['latency'] * 1e6:.0f} µs" if run.get("latency") else ""
    return f"fit {run['fit']:.3f} s{binning}, predict {run['predict']:.3f} s{latency}, loss {run['loss']:.5f}"


def collect(jobs: list[Job], runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Results as they are written."""
    return [
        {
            "workload": job.workload.name,
            "title": job.workload.title,
            "metric": datasets.METRICS[job.workload.task],
            "n_test": job.workload.n_test,
            "threads": job.threads,
            "peer": job.peer,
            "growth": PEERS[job.peer].growth[job.workload.settings.order],
            "settings": asdict(job.workload.settings),
            "best": summarise(runs[job.key]),
            "runs": runs[job.key],
        }
        for job in jobs
        if runs[job.key]
    ]


def measure_all(
    jobs: list[Any], runs: dict[str, list[dict[str, Any]]], repeat: int, measure: Callable[[Any], dict[str, Any]]
) -> Iterator[None]:
    """Measure everything into ``runs``; comes back after each repetition.

    Repetitions outside, libraries inside: a slow quarter of an hour of the machine hits all of them.
    """
    for repetition in range(repeat):
        for number, job in enumerate(jobs, 1):
            if repetition > 0 and far_behind(job, runs, jobs):
                continue
            run = measure(job)
            runs[job.key].append(run)
            where = f"[{repetition + 1}/{repeat}, {number}/{len(jobs)}] {job.workload.name}, threads {job.threads}, {job.peer}"
            print(f"{where}: {progress_line(run)}", flush=True)
        yield


def run_driver(args: argparse.Namespace) -> None:
    """Measure everything, repetition by repetition, and write results after each: an interrupted run is not lost."""
    if args.device == "cuda" and (problem := PEERS[OURS].cuda_problem()):
        sys.exit(f"--device cuda cannot be measured here: {problem}")
    jobs = list_jobs(args)
    where = Where(args.device, args.input)
    record: dict[str, Any] = {"machine": machine_record(), "repeat": args.repeat, "scale": args.scale}
    record |= {"device": args.device, "input": args.input, "emulated": args.device == "cuda" and emulated()}
    runs: dict[str, list[dict[str, Any]]] = {job.key: [] for job in jobs}
    with tempfile.TemporaryDirectory(prefix="gpuboost-benchmark-") as temporary:
        folder = Path(temporary)
        for w in {data_name(job.workload): job.workload for job in jobs}.values():
            print(f"generating {data_name(w)}", flush=True)
            save(folder / data_name(w), w.generate())
        for _ in measure_all(jobs, runs, args.repeat, lambda job: start_worker(job, folder, args.timeout, where)):
            record["results"] = collect(jobs, runs)
            write_json(with_ending(args.out, ".json"), record)
    with_ending(args.out, ".md").write_text(report.compare_markdown(record))
    report.plot_ratios(record, with_ending(args.out, ".png"))
    print(f"written: {args.out}.json, .md, .png", flush=True)


def choice(allowed: list[str]) -> Any:
    """A parser of names that are separated by commas."""

    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        unknown = sorted(set(names) - set(allowed))
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(allowed)}")
        return names

    return parse


def parse_args() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=choice(list(WORKLOADS)), default=list(WORKLOADS), help=", ".join(WORKLOADS))
    parser.add_argument("--peers", type=choice(list(PEERS)), default=list(PEERS), help=f"{', '.join(PEERS)}; ratios need {OURS}")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1], help="for example 1,2")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to train")
    parser.add_argument("--input", choices=("host", "device"), default="host", help="with --device cuda: where the arrays are")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, of which the best counts (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the rows, to try things out")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds after which a measurement is given up")
    parser.add_argument("--out", type=Path, help="results: this name + .json, .md, .png (default benchmarks/results/compare...)")
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.input == "device" and args.device == "cpu":
        parser.error("--input device needs --device cuda")
    if args.out is None:
        args.out = ROOT / "benchmarks" / "results" / ("compare" if args.device == "cpu" else f"compare-cuda-{args.input}")
    return args


if __name__ == "__main__":
    arguments = parse_args()
    if arguments.worker:
        run_worker(arguments.worker)
    else:
        run_driver(arguments)
