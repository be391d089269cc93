"""One measurement in a process of its own: one library, one workload, one number of threads.

    python -m gpuboost.benchmarks.worker --worker ORDER

The driver starts it; ORDER is JSON and says what to measure and where to write the result.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks import datasets, workloads
from gpuboost.benchmarks.datasets import Data
from gpuboost.benchmarks.peers import Peer, Settings
from gpuboost.benchmarks.timing import (
    best_of,
    busy_seconds,
    peak_memory,
    reset_peak_memory,
    resident_memory,
    write_json,
)
from gpuboost.objectives.scores import accuracy

#: Values (rows x features) of the warm-up data: enough for every kernel and thread pool that the
#: real data will meet, still a blink.
WARM_UP_VALUES = 1 << 20
WARM_UP_TREES = 3
#: Calls and seconds at most for one predict time, and for one latency.
PREDICT_CALLS, PREDICT_SECONDS = 5, 5.0
LATENCY_CALLS, LATENCY_SECONDS = 500, 2.0
#: Rows on which the estimator for the latency is trained: its trees are as large as those of the
#: whole data.
LATENCY_ROWS = 20_000


def run_worker(job: dict[str, Any]) -> None:
    """Measure and write the result where the job says."""
    warnings.simplefilter("ignore")
    settings = Settings(**job["settings"])
    data = load(Path(job["data"]), job["task"])
    where = Where(job["device"], job["input"])
    make = partial(
        workloads.make, job["peer"], data.task, threads=job["threads"], device=where.device
    )
    warm_up(make, data, settings, where)
    data = replace(data, x_train=where.put(data.x_train), x_test=where.put(data.x_test))
    peer = make(settings)
    result = measure_fit(peer, data)
    result |= measure_predict(peer, data, where, Path(job["losses"]))
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
    from gpuboost.kernels.cuda.device import cupy

    return cupy()


def warm_up(make: Callable[[Any], Peer], data: Data, settings: Any, where: Where) -> None:
    """Fit and predict little data of the same kind.

    Imports, compilation and thread pools come before the clock starts.
    """
    n = min(len(data.x_train), max(2000, WARM_UP_VALUES // data.x_train.shape[1] + 1))
    rows = np.arange(n)
    if data.task == "multiclass":  # every class must be there
        rows = np.union1d(rows, np.unique(data.y_train, return_index=True)[1])
    peer = make(replace(settings, trees=min(settings.trees, WARM_UP_TREES)))
    x = where.put(np.ascontiguousarray(data.x_train[rows]))
    peer.fit(x, data.y_train[rows])
    peer.predict(x)


def measure_fit(peer: Peer, data: Data) -> dict[str, Any]:
    """Seconds of one fit, and how far the resident memory grew above what the loaded data and.

    Library already took.
    """
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
        # above the number of threads: the library does not keep to it
        "cores_used": cpu / seconds.total,
        "cores_taken": None
        if busy is None or busy_after is None
        else max(0.0, busy_after - busy - cpu) / seconds.total,  # by others
        "rss_growth": peak - before
        if can_reset and peak is not None and before is not None
        else None,
    }


def measure_predict(peer: Peer, data: Data, where: Where, losses_file: Path) -> dict[str, Any]:
    """Seconds to predict the held-out part, and its loss.

    Those of the single rows go to a file, to compare libraries row by row.
    """

    def predict() -> Any:
        prediction = peer.predict(data.x_test)
        where.wait()
        return prediction

    prediction = where.take(predict())
    losses = datasets.row_losses(data.task, data.y_test, prediction)
    np.save(losses_file, losses)
    scores = {
        "predict": best_of(predict, PREDICT_CALLS, budget=PREDICT_SECONDS),
        "loss": datasets.mean_loss(data.task, losses),
    }
    if data.task != "regression":
        labels = prediction > 0.5 if data.task == "binary" else prediction.argmax(axis=1)
        scores["accuracy"] = accuracy(data.y_test, labels)
    return scores


def measure_latency(peer: Peer, data: Data) -> float:
    """Median seconds to predict a single row with the library's scikit-learn estimator."""
    call = peer.single(
        peer.estimator().fit(data.x_train[:LATENCY_ROWS], data.y_train[:LATENCY_ROWS])
    )
    # different rows: no library can learn one path by heart
    rows = [data.x_test[i : i + 1].copy() for i in range(64)]
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


if __name__ == "__main__":
    run_worker(json.loads(sys.argv[2]))
