"""``gpuboost demo``."""

from __future__ import annotations

import argparse
import csv
import io
import time
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gpuboost.atomic_files import atomic_write
from gpuboost.backend import n_threads
from gpuboost.benchmarks.datasets import METRICS, Data, held_out_loss, split_rows
from gpuboost.benchmarks.peers import OURS, PEERS, Settings, available
from gpuboost.benchmarks.workloads import make
from gpuboost.cli.common import JSON_OPTION, Options, say, show, show_block, write_json
from gpuboost.cli.data_options import without_name_warnings
from gpuboost.estimators.base import name_columns
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.objectives import scores
from gpuboost.progress import Progress, compilation

SUMMARY = (
    "train on data that scikit-learn ships, beside the libraries that are installed; "
    "write a model and a report"
)
DESCRIPTION = """\
Trains a model on a real data set that scikit-learn ships, and on the same rows, with the same
settings, every other boosting library that is installed. Writes the model and a report page; opens
nothing. The first run compiles the kernels, which takes about 20 seconds.
"""
EPILOG = """\
examples:
  gpuboost demo                         two classes: 569 tumours
  gpuboost demo --data digits           ten classes: 1,797 handwritten digits
  gpuboost demo --data diabetes         a number: how the disease of 442 patients went on
  gpuboost demo --csv cancer.csv        the data, too: gpuboost train cancer.csv --target target
  gpuboost demo --out results --json    files into the folder results, figures to standard output
"""

#: Sets by name: task, and how scikit-learn loads it.
DATA = {
    "breast-cancer": ("binary", "load_breast_cancer"),
    "digits": ("multiclass", "load_digits"),
    "wine": ("multiclass", "load_wine"),
    "diabetes": ("regression", "load_diabetes"),
}
#: What every library does: rounds, growth, leaves. The trees are small, as the sets are.
SETTINGS = Settings(trees=100, order="leafwise", leaves=8)
#: Fits of each library, of which the fastest counts, and seconds after which no further one is
#: begun.
REPEAT, COMPARE_SECONDS = 3, 15.0
SECOND_METRIC = {"binary": "accuracy", "multiclass": "accuracy", "regression": "R2"}
OPTIONS: Options = {
    "--data": {
        "choices": DATA,
        "default": "breast-cancer",
        "help": "data set (default: breast-cancer)",
    },
    "--out": {
        "type": Path,
        "default": Path(),
        "metavar": "FOLDER",
        "help": "where to write model and report (default: here)",
    },
    "--csv": {
        "type": Path,
        "metavar": "FILE",
        "help": "write the data there as a table, with its target in the column target",
    },
    **JSON_OPTION,
}


@dataclass(frozen=True)
class DemoSet:
    """A set of scikit-learn, a quarter of it held out."""

    name: str
    task: str

    @cached_property
    def source(self) -> Any:
        """The set as scikit-learn gives it."""
        return getattr(import_module("sklearn.datasets"), DATA[self.name][1])()

    @cached_property
    def names(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in self.source.feature_names]

    @cached_property
    def parts(self) -> Data:
        """Training and held-out rows."""
        x, y = self.source.data.astype(np.float32), self.source.target
        train, test = split_rows(self.task, y, seed=0, test_share=0.25)
        y = y.astype(np.float64 if self.task == "regression" else np.int32)
        return Data(self.task, x[train], y[train], x[test], y[test])

    def write_csv(self, path: Path) -> None:
        """The whole set as a table; classes by their names."""
        y = (
            self.source.target
            if self.task == "regression"
            else np.asarray(self.source.target_names)[self.source.target]
        )
        with atomic_write(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            writer = csv.writer(text)
            writer.writerow([*self.names, "target"])
            writer.writerows(
                [*row, value]
                for row, value in zip(self.source.data.tolist(), y.tolist(), strict=True)
            )
            text.detach()

    def judge(self, prediction: np.ndarray) -> tuple[float, float]:
        """Held-out loss, and a figure that people know."""
        y = self.parts.y_test
        loss = held_out_loss(self.task, y, prediction)
        if self.task == "regression":
            return loss, scores.r2(y, prediction)
        labels = prediction > 0.5 if self.task == "binary" else prediction.argmax(axis=1)
        return loss, scores.accuracy(y, labels)


def run(args: argparse.Namespace) -> int:
    """Train, compare, write."""
    data = DemoSet(args.data, DATA[args.data][0])
    args.out.mkdir(parents=True, exist_ok=True)
    if args.csv is not None:
        data.write_csv(args.csv)
    n_train, n_test = len(data.parts.y_train), len(data.parts.y_test)
    say(
        f"data: {args.data}, {n_train} rows to train on, {n_test} held out, {len(data.names)} "
        "features"
    )
    compile_seconds = _compile(data)
    model, seconds = _train(data)
    rows = _compare(data)
    model_path = args.out / f"gpuboost-{args.data}.gb"
    model.save_model(model_path)
    report_path = _report(model, data, args.out / f"gpuboost-{args.data}.html", model_path, seconds)
    record = {
        "data": args.data,
        "task": data.task,
        "rows": n_train,
        "held_out_rows": n_test,
        "compile_seconds": round(compile_seconds, 2),
        "metric": METRICS[data.task],
        "libraries": rows,
        "fingerprint": model.fingerprint(),
        "model": str(model_path),
        "report": None if report_path is None else str(report_path),
    }
    if args.json:
        write_json(record)
    else:
        _print(record, data)
    return 0


def _compile(data: DemoSet) -> float:
    """A first training on a few rows: it compiles, or loads what an earlier run has compiled."""
    before = compilation.seconds
    peer = make(
        OURS,
        data.task,
        Settings(trees=1, order=SETTINGS.order, leaves=SETTINGS.leaves),
        n_threads(None),
    )
    peer.fit(data.parts.x_train, data.parts.y_train)
    peer.predict(data.parts.x_test)
    seconds = compilation.seconds - before
    if seconds > 0.0:
        say(f"the kernels are compiled: {seconds:.1f} s, only once")
    return seconds


def _train(data: DemoSet) -> tuple[Any, float]:
    """The model that is written, trained with one thread and with all of them."""
    parts = data.parts
    kind = GPUBoostRegressor if data.task == "regression" else GPUBoostClassifier
    options: dict[str, Any] = {
        "n_estimators": SETTINGS.trees,
        "grow_policy": SETTINGS.order,
        "max_leaves": SETTINGS.leaves,
    }
    start = time.perf_counter()
    model = kind(**options, verbose=1).fit(
        parts.x_train,
        parts.y_train,
        eval_set=[(parts.x_train, parts.y_train), (parts.x_test, parts.y_test)],
    )
    seconds = time.perf_counter() - start
    model.set_params(verbose=0)
    one_thread = kind(**options, n_jobs=1).fit(parts.x_train, parts.y_train)
    if one_thread.fingerprint() != model.fingerprint():
        raise RuntimeError(
            "one thread and several trained different models: please report this, with what "
            "gpuboost doctor says"
        )
    name_columns(model, data.names, None, {}, {})
    return model, seconds


def _compare(data: DemoSet) -> list[dict[str, Any]]:
    """Time and held-out figures of every library that is installed, in turns.

    Each library has one thread, as the sets are small.
    """
    parts = data.parts
    names = [name for name in PEERS if available(name) and SETTINGS.order in PEERS[name].growth]
    best: dict[str, dict[str, Any]] = {}
    end = time.perf_counter() + COMPARE_SECONDS
    # scikit-learn has no other way to limit its threads
    with (
        Progress(REPEAT * len(names), "comparing", "fits", verbose=1) as progress,
        threadpool_limits(1, user_api="openmp"),
    ):
        for name in names * REPEAT:
            if name in best and time.perf_counter() > end:
                break
            peer = make(name, data.task, SETTINGS, threads=1)
            seconds = peer.fit(parts.x_train, parts.y_train).total
            loss, second = data.judge(np.asarray(peer.predict(parts.x_test), np.float64))
            row = {
                "library": name,
                "seconds": seconds,
                "loss": loss,
                SECOND_METRIC[data.task]: second,
            }
            best[name] = min(row, best.get(name, row), key=lambda r: r["seconds"])
            progress.advance(note=name)
    return list(best.values())


def _report(model: Any, data: DemoSet, path: Path, model_path: Path, seconds: float) -> Path | None:
    """The report page, if its packages are installed."""
    parts = data.parts
    try:
        with without_name_warnings():
            model.report(
                path,
                parts.x_test,
                parts.y_test,
                title=f"gpuboost demo: {data.name}",
                train=(parts.x_train, parts.y_train),
                timings={"fit": seconds},
                model_path=model_path,
            )
    except ImportError as error:
        say(f"no report page: {error}")
        return None
    return path


def _print(record: dict[str, Any], data: DemoSet) -> None:
    """The figures for people."""
    second, rows = SECOND_METRIC[data.task], record["libraries"]
    ours = rows[0]["seconds"]
    show()
    show(f"{'library':<20}{record['metric']:>12}{second:>12}{'fit':>12}{'over ours':>12}")
    for row in rows:
        scores = f"{row['loss']:>12.4f}{row[second]:>12.3f}"
        times = f"{1e3 * row['seconds']:>9.1f} ms{row['seconds'] / ours:>11.1f}x"
        show(f"{row['library']:<20}{scores}{times}")
    show_block(
        "\nSame settings and one thread for all, their fastest fit; figures on rows that no "
        "library has seen.\n"
        f"Trained with 1 thread and with {n_threads(None)}: the same model, bit for bit, "
        f"{record['fingerprint'][:16]}...\n\n"
        f"model   {record['model']}"
    )
    if record["report"]:
        show(f"report  {record['report']}")
    show()
    show(f"next: gpuboost inspect {record['model']}, or gpuboost train YOUR.csv --target COLUMN")
