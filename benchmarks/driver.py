"""Starts the workers one after another, and puts together what they measure."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks import datasets, peers
from gpuboost.benchmarks.peers import OURS, PEERS
from gpuboost.benchmarks.timing import CHECKOUT, ROOT, machine_record, write_json
from gpuboost.benchmarks.worker import Where, save
from gpuboost.benchmarks.workloads import Workload, adapter

#: A library whose first fit took this many times the best one's is not measured again.
FAR_BEHIND = 4.0
#: Environment variables that limit the threads of the pools that libraries use.
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

Run = dict[str, Any]
Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One line of the result."""

    workload: Workload
    peer: str
    threads: int
    # key of a smaller job of this library: if that took too long, this one is not tried
    after: str | None = None

    @property
    def key(self) -> str:
        """Its place among the results."""
        return f"{self.workload.name}/{self.threads}/{self.peer}"


@dataclass(frozen=True)
class Step:
    """A job that was measured, or passed over."""

    job: Job
    run: Run | None  # None: it was not necessary


# --- what can be measured here


def missing(names: Iterable[str]) -> list[str]:
    """Those of the libraries that are not installed."""
    return [name for name in names if not peers.available(name)]


def problem_of(peer: str, where: Where) -> str | None:
    """Why a library cannot be measured here, or None."""
    if not peers.available(peer):
        return "it is not installed"
    if where.device == "cpu":
        return None
    if emulated() and peer != OURS:
        return "the CUDA device is emulated, which only gpuboost knows"
    if where.input == "device" and not PEERS[peer].takes_device_input:
        return "it takes no arrays that are on a GPU"
    return PEERS[peer].cuda_problem()


def emulated() -> bool:
    """Whether the CUDA device is the emulated one."""
    from gpuboost.kernels.cuda.device import emulated

    return emulated()


def jobs_of(
    workloads: Iterable[Workload], threads: Iterable[int], names: Iterable[str]
) -> list[Job]:
    """Jobs of the libraries that can grow the trees of each workload."""
    names, threads = list(names), list(threads)
    return [
        Job(w, peer, t)
        for w in workloads
        for t in threads
        for peer in names
        if adapter(peer, w.settings.order) is not None
    ]


# --- measuring


#: Characters of what a library said when it failed.
LONGEST_ERROR = 300


def import_path() -> dict[str, str]:
    """The environment in which a worker imports the code that started it.

    In a checkout that is the checkout's, whatever else is installed."""
    if not CHECKOUT:
        return {}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def run_process(module: str, order: dict[str, Any], folder: Path, timeout: float) -> Run:
    """Run a module as a worker in a fresh process.

    What it writes to ``order["result"]`` is the result.
    """
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    env = os.environ | {name: str(order["threads"]) for name in POOLS} | import_path()
    command = [
        sys.executable,
        "-m",
        module,
        "--worker",
        json.dumps(order | {"result": str(result)}),
    ]
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no result after {timeout:.0f} s", "timeout": True}
    if done.returncode != 0 or not result.exists():
        return {"error": why_it_failed(done.returncode, done.stderr)}
    return json.loads(result.read_text())


def why_it_failed(code: int, stderr: str) -> str:
    """What a worker that gave no result died of, in a line.

    The last exception of a traceback, which may be followed by lines of its own and by warnings; or
    the signal that ended the process.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if code < 0:
        name = signal.Signals(-code).name
        memory = ", which the system sends when memory is short" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{memory}"
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    last = (raised or lines or ["it said nothing"])[-1]
    return f"{last[:LONGEST_ERROR]} (exit code {code})"


def measure_all(
    jobs: list[Job], runs: dict[str, list[Run]], repeat: int, measure: Callable[[Job], Run]
) -> Iterator[Step]:
    """Measure everything into ``runs``; comes back after each job.

    Runs that are there already are not made again.

    Repetitions outside, libraries inside: a slow quarter of an hour of the machine hits all of
    them."""
    for repetition in range(repeat):
        for job in jobs:
            if len(runs[job.key]) > repetition or (repetition > 0 and far_behind(job, runs, jobs)):
                yield Step(job, None)
                continue
            run = too_long_before(job, runs) or measure(job)
            runs[job.key].append(run)
            yield Step(job, run)


def too_long_before(job: Job, runs: dict[str, list[Run]]) -> Run | None:
    """An error for a job whose smaller brother did not end in time."""
    if job.after is not None and any(run.get("timeout") for run in runs[job.after]):
        return {"error": "not tried: less work took too long already", "timeout": True}
    return None


def far_behind(job: Job, runs: dict[str, list[Run]], jobs: list[Job]) -> bool:
    """Whether a library took so much longer than the best that repeating it would tell nothing.

    About who is fastest.
    """
    same = [j for j in jobs if (j.workload.name, j.threads) == (job.workload.name, job.threads)]
    fits = [run["fit"] for j in same for run in runs[j.key] if "error" not in run]
    fits_of_job = [run["fit"] for run in runs[job.key] if "error" not in run]
    return not fits_of_job or min(fits_of_job) > FAR_BEHIND * min(fits)


#: Bytes below which memory growth says nothing: the allocator still has as much from the warm-up.
#: Less counts as this much.
LEAST_MEMORY = 4_000_000


def summarise(runs: list[Run]) -> Run:
    """The best of all repetitions.

    Of the fit as a whole (its binning and training are parts of the same run), of the other values
    each.
    """
    good = [run for run in runs if "error" not in run]
    if not good:
        return {}
    best = dict(min(good, key=lambda run: run["fit"]))
    for name in ("predict", "latency", "rss_growth"):
        values = [run[name] for run in good if run.get(name) is not None]
        best[name] = min(values) if values else None
    if best["rss_growth"] is not None:
        best["rss_growth"] = max(best["rss_growth"], LEAST_MEMORY)
    return best


# --- a whole comparison


@dataclass(frozen=True)
class Plan:
    """What to measure and how."""

    jobs: list[Job]
    repeat: int
    scale: float
    where: Where
    timeout: float
    command: str
    left_out: dict[str, str] = field(default_factory=dict)  # libraries, and why
    sweeps: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # see sweeps.py


class Comparison:
    """Measurements of a plan. ``record`` is what is known so far.

    A file has it after every step.
    """

    def __init__(self, plan: Plan, path: Path, previous: Record | None = None) -> None:
        self.plan, self.path = plan, path
        self.runs: dict[str, list[Run]] = {job.key: [] for job in plan.jobs}
        self.gaps: dict[str, dict[str, float]] = {}
        emulation = plan.where.device == "cuda" and emulated()
        self.record: Record = {
            "machine": machine_record(),
            "commands": [plan.command],
            "repeat": plan.repeat,
            "scale": plan.scale,
        }
        self.record |= {
            "device": plan.where.device,
            "input": plan.where.input,
            "emulated": emulation,
            "timeout": plan.timeout,
        }
        self.record |= {
            "left_out": plan.left_out,
            "sweeps": plan.sweeps,
            "seconds": 0.0,
            "complete": False,
            "results": [],
        }
        if previous is not None:
            self._take_over(previous)

    def _take_over(self, previous: Record) -> None:
        """Go on where an earlier run of the same code on the same machine was interrupted."""
        for name in ("device", "input", "scale", "timeout"):
            if previous.get(name) != self.record[name]:
                raise ValueError(
                    f"{self.path} cannot be resumed: its {name} was {previous.get(name)!r}, "
                    f"now it is {self.record[name]!r}"
                )
        then, now = previous["machine"], self.record["machine"]
        if changed := [name for name in now if name != "date" and then.get(name) != now[name]]:
            raise ValueError(
                f"{self.path} cannot be resumed: {', '.join(changed)} changed since it was measured"
            )
        titles = {job.key: job.workload.title for job in self.plan.jobs}
        for row in previous["results"]:
            key = f"{row['workload']}/{row['threads']}/{row['peer']}"
            if titles.get(key) == row["title"]:
                self.runs[key] = row["runs"]
                if row.get("loss_gap"):
                    self.gaps[key] = row["loss_gap"]
        self.record["commands"] = [*previous["commands"], self.plan.command]
        self.record["machine"]["date"] = then["date"]
        self.record["seconds"] = previous["seconds"]
        self.record["results"] = self._results()

    def run(self) -> Iterator[Step]:
        """Measure; comes back after each job, when the record has it."""
        before, start = self.record["seconds"], time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="gpuboost-benchmark-") as temporary:
            folder = Path(temporary)
            for step in measure_all(
                self.plan.jobs, self.runs, self.plan.repeat, lambda job: self._measure(job, folder)
            ):
                if step.run is not None:
                    self._note_gaps(step.job, folder)
                    self.record["seconds"] = before + time.perf_counter() - start
                    self.record["results"] = self._results()
                    write_json(self.path, self.record)
                yield step
        self.record["complete"] = True
        write_json(self.path, self.record)

    def _measure(self, job: Job, folder: Path) -> Run:
        w, where = job.workload, self.plan.where
        if not (folder / w.data_name).exists():
            save(folder / w.data_name, w.generate())
        order = {
            "peer": job.peer,
            "task": w.task,
            "threads": job.threads,
            "settings": asdict(w.settings),
            "device": where.device,
            "input": where.input,
            # no library takes a single row to a GPU
            "latency": w.latency and where.device == "cpu",
            "data": str(folder / w.data_name),
            "losses": str(_losses_file(job, folder)),
        }
        return run_process("gpuboost.benchmarks.worker", order, folder, self.plan.timeout)

    def _note_gaps(self, job: Job, folder: Path) -> None:
        """How much larger a library's held-out loss is than ours, row by row.

        With the standard error of that mean.
        """
        same = [
            j
            for j in self.plan.jobs
            if (j.workload.name, j.threads) == (job.workload.name, job.threads)
        ]
        files = {j: path for j in same if (path := _losses_file(j, folder)).exists()}
        ours = next((np.load(path) for j, path in files.items() if j.peer == OURS), None)
        for j, path in files.items():
            if ours is not None and j.peer != OURS:
                gap = np.load(path) - ours
                self.gaps[j.key] = {
                    "mean": float(gap.mean()),
                    "error": float(gap.std(ddof=1) / np.sqrt(len(gap))),
                }

    def _results(self) -> list[dict[str, Any]]:
        """Results as they are written."""
        return [
            {
                "workload": job.workload.name,
                "title": job.workload.title,
                "metric": datasets.METRICS[job.workload.task],
                "n_test": job.workload.n_test,
                "threads": job.threads,
                "peer": job.peer,
                "growth": _growth(job),
                "settings": asdict(job.workload.settings),
                "best": summarise(self.runs[job.key]),
                "loss_gap": self.gaps.get(job.key),
                "runs": self.runs[job.key],
            }
            for job in self.plan.jobs
            if self.runs[job.key]
        ]


def _growth(job: Job) -> str:
    """What the library does for this order of growth."""
    kind, order = adapter(job.peer, job.workload.settings.order), job.workload.settings.order
    return kind.growth[order] if kind is not None else order


def _losses_file(job: Job, folder: Path) -> Path:
    return folder / f"losses-{job.workload.name}-{job.threads}-{job.peer}.npy"
