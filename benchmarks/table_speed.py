"""From a CSV file to a model.

``gpuboost train`` against ``pandas.read_csv`` and LightGBM, each in a fresh process.

    python -m gpuboost.benchmarks.table_speed                      1,000,000 x 30, best of 3, side by side
    python -m gpuboost.benchmarks.table_speed --rows 50000         does everything run?
    python -m gpuboost.benchmarks.table_speed --large              a CSV of 1 GB: peak memory of train and predict, and time

Both train on all rows with equal settings: leaf-wise growth, as many trees, leaves and bins, all
cores. The time is that of the whole process, imports and the written model included; the losses are
measured afterwards on rows that neither has seen. gpuboost's kernels are compiled before anything
is timed."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks.timing import machine_record, write_json

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"trees": 100, "leaves": 31, "bins": 255, "learning_rate": 0.1, "reg_lambda": 1.0}
N_TEST = 100_000
#: Rows written at once when a table is made.
BLOCK = 100_000

LIGHTGBM = """\
import json, sys, time
start = time.perf_counter()
import lightgbm, pandas
path, out, s = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
begin = time.perf_counter()
frame = pandas.read_csv(path)
y = frame.pop("y")
read = time.perf_counter()
params = {"objective": "binary", "num_leaves": s["leaves"], "max_bin": s["bins"], "learning_rate": s["learning_rate"],
          "reg_lambda": s["reg_lambda"], "min_child_weight": 1.0, "min_child_samples": 1, "verbosity": -1}
model = lightgbm.train(params, lightgbm.Dataset(frame, label=y), num_boost_round=s["trees"])
fitted = time.perf_counter()
model.save_model(out)
print(json.dumps({"seconds": {"read": read - begin, "fit": fitted - read}}))
"""


def make_block(rng: np.random.Generator, n: int, n_columns: int) -> dict[str, np.ndarray]:
    """Numbers of four to six digits as tables have them.

    Normal, skewed and whole ones, some missing.
    """
    columns: dict[str, np.ndarray] = {}
    for j in range(n_columns):
        kind = j % 5
        if kind < 3:
            values = np.round(rng.normal(size=n) * (1.0, 20.0, 300.0)[kind], (5, 4, 2)[kind])
        elif kind == 3:
            values = np.round(rng.lognormal(3.0, 1.0, n), 3)
        else:
            values = rng.poisson(2000.0, n).astype(np.float64)
        if j % 10 == 9:
            values[rng.random(n) < 0.05] = np.nan
        columns[f"f{j}"] = values
    score = (
        columns["f0"]
        + columns["f1"] / 20 * columns["f2"] / 300
        + np.log(columns["f3"])
        - 3
        + np.abs(columns["f5"])
    )
    columns["y"] = (score + rng.logistic(size=n) > 0.8).astype(np.int64)
    return columns


def write_table(path: Path, n_rows: int, n_columns: int, seed: int) -> None:
    """Write a CSV block by block."""
    import pyarrow as pa
    from pyarrow import csv

    rng, writer = np.random.default_rng(seed), None
    with open(path, "wb") as file:
        for begin in range(0, n_rows, BLOCK):
            table = pa.table(
                {
                    name: pa.array(v, from_pandas=True)
                    for name, v in make_block(rng, min(BLOCK, n_rows - begin), n_columns).items()
                }
            )
            writer = writer or csv.CSVWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


def run(command: list[str]) -> dict[str, Any]:
    """Seconds and peak memory of a process, and the JSON object it prints."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "wall": seconds,
        "cpu": cpu,
        "peak_mb": usage.ru_maxrss / 1024,
        **(json.loads(out) if out.strip() else {}),
    }


def train_command(data: Path, out: Path) -> list[str]:
    """gpuboost on the command line."""
    s = SETTINGS
    settings = [
        f"n_estimators={s['trees']}",
        f"max_leaves={s['leaves']}",
        f"max_bins={s['bins'] + 1}",
        f"learning_rate={s['learning_rate']}",
    ]
    settings += [
        f"reg_lambda={s['reg_lambda']}",
        "grow_policy=leafwise",
        "min_child_weight=1",
        "min_samples_leaf=1",
    ]
    options = ["--target", "y", "--valid-fraction", "0", "--out", str(out), "--quiet", "--json"]
    return [sys.executable, "-m", "gpuboost", "train", str(data), *options, *settings]


def held_out_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Log loss."""
    return float(-np.log(np.clip(np.where(y == 1, p, 1 - p), 1e-15, 1)).mean())


def compare(folder: Path, n_rows: int, n_columns: int, repeats: int) -> dict[str, Any]:
    """Both libraries in turns."""
    import lightgbm
    import pandas as pd

    import gpuboost as gb

    data, small, ours, theirs = (
        folder / "train.csv",
        folder / "small.csv",
        folder / "model.gb",
        folder / "model.txt",
    )
    write_table(data, n_rows, n_columns, seed=0)
    write_table(small, 20_000, n_columns, seed=1)
    commands = {
        "gpuboost train": train_command(data, ours),
        "pandas + LightGBM": [
            sys.executable,
            "-c",
            LIGHTGBM,
            str(data),
            str(theirs),
            json.dumps(SETTINGS),
        ],
    }
    run(train_command(small, ours))  # compiles what is not in the cache
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            runs[name].append(run(command))
    test = pd.DataFrame(make_block(np.random.default_rng(2), N_TEST, n_columns))
    y = test.pop("y").to_numpy()
    losses = {
        "gpuboost train": held_out_loss(gb.load_model(ours).predict_proba(test)[:, 1], y),
        "pandas + LightGBM": held_out_loss(
            lightgbm.Booster(model_file=str(theirs)).predict(test), y
        ),
    }
    results = []
    for name, own in runs.items():
        best = min(own, key=lambda one: one["wall"])
        results.append(
            {
                "name": name,
                "wall": best["wall"],
                "read": best["seconds"]["read"],
                "fit": best["seconds"]["fit"],
                "cpu": best["cpu"],
            }
            | {
                "peak_mb": max(one["peak_mb"] for one in own),
                "held_out_log_loss": losses[name],
                "walls": [one["wall"] for one in own],
            }
        )
    return {
        "rows": n_rows,
        "columns": n_columns,
        "csv_mb": data.stat().st_size / 2**20,
        "settings": SETTINGS,
        "results": results,
    }


def large(folder: Path, n_columns: int, megabytes: int) -> dict[str, Any]:
    """A large file: how much memory it takes."""
    data, small, model, out = (
        folder / "large.csv",
        folder / "small.csv",
        folder / "model.gb",
        folder / "predictions.csv",
    )
    write_table(small, 20_000, n_columns, seed=1)
    n_rows = int(20_000 * megabytes * 2**20 / small.stat().st_size)
    write_table(data, n_rows, n_columns, seed=0)
    predict = [sys.executable, "-m", "gpuboost", "predict", str(model)]
    results = []
    run(train_command(small, model))
    run([*predict, str(small), "--out", str(out), "--quiet"])
    for name, command in (
        ("train", [*train_command(data, model), "n_estimators=20"]),
        ("predict", [*predict, str(data), "--out", str(out), "--quiet", "--json", "--proba"]),
    ):
        one = run(command)
        results.append(
            {
                "name": name,
                "wall": one["wall"],
                "cpu": one["cpu"],
                "peak_mb": one["peak_mb"],
                "seconds": one["seconds"],
            }
        )
    matrix = 8 * n_rows * n_columns / 2**20
    return {
        "rows": n_rows,
        "columns": n_columns,
        "csv_mb": data.stat().st_size / 2**20,
        "matrix_mb": matrix,
        "results": results,
    }


def show(record: dict[str, Any]) -> None:
    """A small table."""
    more = f", {record['matrix_mb']:,.0f} MB as float64" if "matrix_mb" in record else ""
    print(f"{record['rows']:,} x {record['columns']}, CSV of {record['csv_mb']:,.0f} MB{more}")
    names = [
        name
        for name in ("wall", "read", "fit", "cpu", "peak_mb", "held_out_log_loss")
        if name in record["results"][0]
    ]
    heads = {
        "wall": "whole, s",
        "read": "read, s",
        "fit": "fit, s",
        "cpu": "cpu, s",
        "peak_mb": "peak, MB",
        "held_out_log_loss": "log loss",
    }
    print(f"{'':<20}" + "".join(f"{heads[name]:>11}" for name in names))
    for own in record["results"]:
        digits = {"peak_mb": 0, "held_out_log_loss": 5}
        print(
            f"{own['name']:<20}"
            + "".join(f"{own[name]:>11.{digits.get(name, 2)}f}" for name in names)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="memory on a large file instead")
    parser.add_argument("--megabytes", type=int, default=1024, help="size of that file")
    parser.add_argument(
        "--folder", type=Path, help="where to put the tables (default: a temporary folder)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="a JSON file for the result, such as benchmarks/results/table-speed.json",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        record = (
            large(Path(folder), args.columns, args.megabytes)
            if args.large
            else compare(Path(folder), args.rows, args.columns, args.repeat)
        )
    show(record)
    if args.out is not None:
        write_json(args.out, {"machine": machine_record(), **record})


if __name__ == "__main__":
    main()
