"""Ctrl-C at moments by chance, in fits of every family and in the command line.

    PYTHONPATH=. python tests/interrupts.py            # 20 times each
    PYTHONPATH=. python tests/interrupts.py 3 AdaBoost  # what has this in its name, 3 times

Prints how many ended as they should and the longest wait. ``tests/test_concurrency.py`` interrupts
each family a few times."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

import gpuboost as gb

#: Seconds after which an interrupted fit must have ended.
PATIENCE = 2.0
#: Seconds that Python may take until the first line of a command is run.
START = 0.5
MANY = 1_000_000


def data(n=20_000, d=6):
    """(X, classes, numbers): a fit of many trees on them takes minutes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    signal_ = x[:, 0] * x[:, 1]
    return x, (signal_ > 0).astype(int), signal_ + rng.normal(size=n)


def families():
    """{name: an estimator whose fit does not end in time}."""
    boosting = {"n_estimators": MANY, "n_jobs": 2}
    long_tree = {"criterion": "absolute_error", "ccp_alpha": "cv", "cv": 10, "n_jobs": 2}
    return {
        "boosting, classes": gb.GPUBoostClassifier(**boosting),
        "boosting, numbers": gb.GPUBoostRegressor(**boosting, grow_policy="leafwise"),
        "decision tree, classes": gb.DecisionTreeClassifier(ccp_alpha="cv", cv=500, n_jobs=2),
        "decision tree, numbers": gb.DecisionTreeRegressor(**long_tree),
        "random forest, classes": gb.RandomForestClassifier(**boosting),
        "random forest, numbers": gb.RandomForestRegressor(**boosting, oob_score=True),
        "extra trees, classes": gb.ExtraTreesClassifier(**boosting),
        "extra trees, numbers": gb.ExtraTreesRegressor(**boosting),
        "AdaBoost, classes": gb.AdaBoostClassifier(**boosting),
        # with larger steps it ends by itself, when a tree is no better than chance
        "AdaBoost, numbers": gb.AdaBoostRegressor(**boosting, learning_rate=1e-4),
        "boosting, categories": gb.GPUBoostClassifier(**boosting, categorical_features=[0, 1]),
        "boosting, sparse": gb.GPUBoostRegressor(**boosting),
        "boosting, GOSS": gb.GPUBoostRegressor(**boosting, subsample=0.3, sampling_method="goss"),
        "boosting, eval set": gb.GPUBoostClassifier(**boosting),
        "random forest, categories": gb.RandomForestRegressor(
            **boosting, categorical_features=[0, 1]
        ),
        "extra trees, sparse": gb.ExtraTreesClassifier(**boosting),
    }


def prepared(name, x):
    """X as a family is to get it."""
    if name.endswith("sparse"):
        return csr_matrix(np.where(x > 1.0, x, 0.0))
    return np.round(4 * x) if name.endswith("categories") else x


def interrupted_fit(name, model, delay):
    """What ends a fit that is interrupted after some seconds, and how long that takes."""
    x, classes, numbers = data()
    x, y = prepared(name, x), classes if "Classifier" in type(model).__name__ else numbers
    options = {"eval_set": (x, y)} if name.endswith("eval set") else {}
    sent = []

    def interrupt():
        time.sleep(delay)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        model.fit(x, y, **options)
        end = "was finished"
    except BaseException as error:
        end = type(error).__name__ if isinstance(error, KeyboardInterrupt) else repr(error)
    seconds = time.perf_counter() - sent[0] if sent else 0.0
    try:
        thread.join()
    except KeyboardInterrupt:
        end += " before the interrupt"
    return end, seconds


def interrupted_command(folder, delay):
    """How ``gpuboost train`` ends that is interrupted after some seconds, and after how long."""
    from command_process import start

    x, classes, _ = data(5000)
    table = Path(folder) / "table.csv"
    if not table.exists():
        columns = ",".join(f"x{i}" for i in range(x.shape[1]))
        np.savetxt(
            table, np.column_stack([x, classes]), delimiter=",", header=f"{columns},y", comments=""
        )
    model = ("forest", "boost")[int(1000 * delay) % 2]
    process = start(
        "train", table, "--target", "y", "--model", model, f"n_estimators={MANY}",
        "--out", Path(folder) / "model.gbm", stdout=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(delay)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    end = f"exit code {process.returncode}" + (" with a traceback" * (b"Traceback" in said))
    return end, time.perf_counter() - begin


def main(times, chosen):
    """Interrupt everything so many times; returns how many ended in another way, or late."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started it may ignore it
    warnings.simplefilter("ignore")
    chance, failed = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder:
        cases = {
            name: (partial(interrupted_fit, name, model), "KeyboardInterrupt")
            for name, model in families().items()
        }
        cases["command line"] = (lambda delay: interrupted_command(folder, delay), "exit code 130")
        for name, (run, wanted) in cases.items():
            if chosen not in name:
                continue
            run(1.0)  # what has to be compiled is compiled
            earliest = START if name == "command line" else 0.0
            ends = [run(earliest + chance.uniform(0.01, 1.0)) for _ in range(times)]
            good = sum(end == wanted and seconds < PATIENCE for end, seconds in ends)
            longest = max(seconds for _, seconds in ends)
            others = sorted({end for end, _ in ends if end != wanted})
            print(f"{name}: {good} of {times}, at most {longest:.2f} s", *others, flush=True)
            failed += times - good
    return failed


if __name__ == "__main__":
    asked = sys.argv[1:]
    sys.exit(main(int(asked[0]) if asked else 20, asked[1] if len(asked) > 1 else "") > 0)
