"""Forests and single trees on every library that grows them.

Time to fit and predict, memory, held-out accuracy and log loss.

    python -m gpuboost.benchmarks.compare_forest --threads 2 --repeat 3 --out
    benchmarks/results/compare-forest

Measured as in compare.py: every measurement has a process of its own, libraries take turns, and the
best repetition counts. All libraries grow the same number of trees to the same depth and look at
the same number of features in a node. Bags differ by what a library can do: drawn with replacement,
or without replacement with as many different rows as a bag with replacement has."""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks import datasets, driver, report, worker
from gpuboost.benchmarks.compare import choice
from gpuboost.benchmarks.datasets import Data
from gpuboost.benchmarks.peers import OURS, FitTime, Peer
from gpuboost.benchmarks.timing import RESULTS, machine_record, with_ending, write_json
from gpuboost.benchmarks.workloads import LEAST_ROWS

#: compare.py measures GPUs too; forests are grown on the CPU.
ON_THE_CPU = worker.Where("cpu", "host")

#: Part of the rows that a bag of as many draws as rows has.
BAG = 1.0 - np.exp(-1.0)


@dataclass(frozen=True)
class Settings:
    """What is the same for all libraries."""

    trees: int  # 1: a single tree on all rows
    depth: int | None  # None: no limit
    features: int | None  # features of a node; None: all
    bins: int | None  # None: exact cuts
    seed: int = 0


@dataclass(frozen=True)
class Workload:
    """Generated data of two classes, and the trees to grow on it."""

    name: str
    n_train: int
    n_test: int
    n_features: int
    settings: Settings
    peers: tuple[str, ...]

    def scaled(self, scale: float) -> Workload:
        """The same with fewer rows."""
        n_train, n_test = (
            min(n, max(LEAST_ROWS, round(n * scale))) for n in (self.n_train, self.n_test)
        )
        return replace(self, n_train=n_train, n_test=n_test)

    def generate(self) -> Data:
        """Its data."""
        return datasets.binary(self.n_train, self.n_features, self.n_test)

    @property
    def title(self) -> str:
        """One line for people."""
        s = self.settings
        trees = f"{s.trees} trees" if s.trees > 1 else "one tree on all rows"
        depth = "no limit of depth" if s.depth is None else f"depth {s.depth}"
        cuts = "exact cuts" if s.bins is None else f"{s.bins} bins where a library has bins"
        return (
            f"{self.n_train:,} x {self.n_features}, two classes, {trees}, {depth}, "
            f"{s.features or 'all'} features a node, {cuts}"
        )

    @property
    def data_name(self) -> str:
        """Name of its data: workloads on the same data share them."""
        return f"{self.n_train}-{self.n_test}-{self.n_features}"


# --- libraries


class GPUBoostForest(Peer):
    """This library's histogram forest."""

    package = "gpuboost"
    how = "histogram, bags with replacement"

    def estimator(self) -> Any:
        from gpuboost import RandomForestClassifier

        s = self.settings
        return RandomForestClassifier(
            s.trees,
            max_depth=s.depth,
            max_features=s.features,
            max_bins=s.bins,
            n_jobs=self.threads,
            random_state=s.seed,
        )


class SklearnForest(Peer):
    """scikit-learn's random forest."""

    package = "sklearn"
    how = "exact, bags with replacement"

    def estimator(self) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        s = self.settings
        return RandomForestClassifier(
            s.trees,
            max_depth=s.depth,
            max_features=s.features,
            n_jobs=self.threads,
            random_state=s.seed,
        )


class XGBoostForest(Peer):
    """XGBoost's forest: one round of parallel trees.

    A row has a hessian of 1/4, so a child weight of 1/4 is one row.
    """

    package = "xgboost"
    how = "histogram, rows without replacement"

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import xgboost

        s = self.settings
        params = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "num_parallel_tree": s.trees,
            "learning_rate": 1.0,
            "max_depth": s.depth or 0,
            "max_bin": s.bins,
            "subsample": BAG,
            "colsample_bynode": (s.features + 0.01) / x.shape[1],  # it rounds down
            "reg_lambda": 1e-5,
            "min_child_weight": 0.25,
            "base_score": 0.5,
            "nthread": self.threads,
            "seed": s.seed,
            "verbosity": 0,
        }
        start = time.perf_counter()
        data = xgboost.QuantileDMatrix(x, label=y, max_bin=s.bins, nthread=self.threads)
        binned = time.perf_counter()
        self.model = xgboost.train(params, data, num_boost_round=1)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.inplace_predict(x)


class LightGBMForest(Peer):
    """LightGBM's forest, for a limited depth only.

    Without one it needs gigabytes for the histograms of all leaves that could be.
    """

    package = "lightgbm"
    how = "histogram, leaf-wise, rows without replacement"

    def fit(self, x: np.ndarray, y: np.ndarray) -> FitTime:
        import lightgbm

        s = self.settings
        params = {
            "objective": "binary",
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": BAG,
            "feature_fraction_bynode": s.features / x.shape[1],
            "num_leaves": 2**s.depth,
            "max_depth": s.depth,
            "max_bin": s.bins - 1,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "num_threads": self.threads,
            "seed": s.seed,
            "verbosity": -1,
        }
        start = time.perf_counter()
        data = lightgbm.Dataset(x, label=y, params=params).construct()
        binned = time.perf_counter()
        self.model = lightgbm.train(params, data, num_boost_round=s.trees)
        return FitTime(time.perf_counter() - start, binned - start)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.model.predict(x, num_threads=self.threads)


class GPUBoostTree(Peer):
    """This library's exact tree."""

    package = "gpuboost"
    how = "exact"

    def estimator(self) -> Any:
        from gpuboost import DecisionTreeClassifier

        s = self.settings
        return DecisionTreeClassifier(
            splitter="exact", max_depth=s.depth, max_features=s.features, n_jobs=self.threads
        )


class SklearnTree(Peer):
    """scikit-learn's decision tree, which has one thread."""

    package = "sklearn"
    how = "exact"

    def estimator(self) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        s = self.settings
        return DecisionTreeClassifier(
            max_depth=s.depth, max_features=s.features, random_state=s.seed
        )


FORESTS = {
    OURS: GPUBoostForest,
    "sklearn": SklearnForest,
    "xgboost-rf": XGBoostForest,
    "lightgbm-rf": LightGBMForest,
}
SINGLE_TREES = {OURS: GPUBoostTree, "sklearn": SklearnTree}

WORKLOADS = {
    w.name: w
    for w in (
        Workload("forest-depth-12", 200_000, 50_000, 28, Settings(100, 12, 5, 256), tuple(FORESTS)),
        Workload(
            "forest-unlimited",
            200_000,
            50_000,
            28,
            Settings(100, None, 5, 256),
            (OURS, "sklearn", "xgboost-rf"),
        ),
        Workload(
            "tree-exact", 50_000, 50_000, 20, Settings(1, None, None, None), tuple(SINGLE_TREES)
        ),
    )
}


def kind_of(name: str, settings: Settings) -> type[Peer]:
    """The adapter of a library."""
    return (FORESTS if settings.trees > 1 else SINGLE_TREES)[name]


# --- the worker


def make(name: str, settings: Settings, threads: int) -> Peer:
    """A library set up."""
    return kind_of(name, settings)("binary", settings, threads)


def run_worker(job: dict[str, Any]) -> None:
    """Measure one library and write the result where the job says."""
    warnings.simplefilter("ignore")
    settings = Settings(**job["settings"])
    data = worker.load(Path(job["data"]), "binary")
    worker.warm_up(partial(make, job["peer"], threads=job["threads"]), data, settings, ON_THE_CPU)
    peer = make(job["peer"], settings, job["threads"])
    result = worker.measure_fit(peer, data) | worker.measure_predict(peer, data, ON_THE_CPU)
    result["accuracy"] = float(np.mean((peer.predict(data.x_test) > 0.5) == data.y_test))
    write_json(Path(job["result"]), result)


# --- the driver


def measure(job: driver.Job, folder: Path, timeout: float) -> dict[str, Any]:
    """One measurement in a fresh process."""
    order = {
        "peer": job.peer,
        "threads": job.threads,
        "settings": asdict(job.workload.settings),
        "data": str(folder / job.workload.data_name),
    }
    return driver.run_process("gpuboost.benchmarks.compare_forest", order, folder, timeout)


def collect(jobs: list[driver.Job], runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Results as they are written."""
    return [
        {
            "workload": job.workload.name,
            "title": job.workload.title,
            "n_test": job.workload.n_test,
            "threads": job.threads,
            "peer": job.peer,
            "growth": kind_of(job.peer, job.workload.settings).how,
            "settings": asdict(job.workload.settings),
            "best": driver.summarise(runs[job.key]),
            "runs": runs[job.key],
        }
        for job in jobs
        if runs[job.key]
    ]


def run_driver(args: argparse.Namespace) -> None:
    """Measure everything, and write results after each repetition."""
    jobs = [
        driver.Job(w.scaled(args.scale), peer, threads)
        for w in (WORKLOADS[name] for name in args.workloads)
        for threads in args.threads
        for peer in w.peers
        if importlib.util.find_spec(kind_of(peer, w.settings).package) is not None
    ]
    record: dict[str, Any] = {
        "machine": machine_record(),
        "repeat": args.repeat,
        "scale": args.scale,
    }
    runs: dict[str, list[dict[str, Any]]] = {job.key: [] for job in jobs}
    with tempfile.TemporaryDirectory(prefix="gpuboost-benchmark-") as temporary:
        folder = Path(temporary)
        for w in {job.workload.data_name: job.workload for job in jobs}.values():
            worker.save(folder / w.data_name, w.generate())
        for step in driver.measure_all(
            jobs, runs, args.repeat, lambda job: measure(job, folder, args.timeout)
        ):
            print(step.line(args.repeat, len(jobs)), flush=True)
            record["results"] = collect(jobs, runs)
            write_json(with_ending(args.out, ".json"), record)
    with_ending(args.out, ".md").write_text(markdown(record))
    print(f"written: {args.out}.json, .md", flush=True)


# --- the report


def markdown(record: dict[str, Any]) -> str:
    """A table for each workload and number of threads."""
    parts = ["# Forests and trees", *report.compare_introduction(record)]
    for (name, threads), rows in report.groups(record).items():
        parts += [
            f"## {name}, {threads} thread{'s' if threads > 1 else ''}",
            rows[0]["title"] + ".",
            table(rows),
            report.fastest_line(rows),
        ]
        parts.append(report.disturbed_line(rows, record["machine"]["cores"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each library."""
    header = [
        "library",
        "how",
        "fit s",
        "ratio",
        f"predict {rows[0]['n_test']:,} rows, ms",
        "ratio",
        "memory growth, MB",
    ]
    header += ["held-out accuracy", "held-out log loss"]
    lines = []
    for row in rows:
        best = row["best"]
        start = [f"**{row['peer']}**" if row["peer"] == OURS else row["peer"], row["growth"]]
        if not best:
            lines.append([*start, "failed", *["-"] * (len(header) - 3)])
            continue
        fit, predict = (report.times(report.ratio(row, rows, name)) for name in ("fit", "predict"))
        memory = report.number(best["rss_growth"], ".0f", 1e-6)
        times = [f"{best['fit']:.3f}", fit, report.number(best["predict"], ".1f", 1e3), predict]
        lines.append([*start, *times, memory, f"{best['accuracy']:.4f}", f"{best['loss']:.4f}"])
    return report.markdown_table(header, lines, text_columns=2)


def parse_args() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuboost.benchmarks.compare_forest", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--workloads",
        type=choice(list(WORKLOADS)),
        default=list(WORKLOADS),
        help=", ".join(WORKLOADS),
    )
    parser.add_argument(
        "--threads",
        type=lambda text: [int(t) for t in text.split(",")],
        default=[2],
        help="for example 1,2",
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
        "--out", type=Path, default=RESULTS / "compare-forest", help="this name + .json, .md"
    )
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_args()
    if arguments.worker:
        run_worker(arguments.worker)
    else:
        run_driver(arguments)
