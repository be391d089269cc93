"""Sparse matrices, categories, row sampling and constraints: time, memory and loss beside others.

    python -m gpuboost.benchmarks.real_world                            everything (20 min)
    python -m gpuboost.benchmarks.real_world --cases goss,mvs,monotone    some cases
    python -m gpuboost.benchmarks.real_world --scale 0.02 --repeat 1      does everything run?

Every measurement has a process of its own that loads one library, fits and predicts 2,000 rows
before the clock starts, and then fits once; turns of the libraries are interleaved, and the fit of
fewest seconds counts. Seconds are those from the data in memory to the model. Memory is how far the
resident memory grew during the fit. 100 rounds, learning rate 0.1, trees of depth 6 (LightGBM: 64
leaves), no early stopping; how categories are split is each library's default. ``GPUBOOST_DATA``
names a folder with real sets; without it ``click`` is left out."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gpuboost.benchmarks import datasets
from gpuboost.benchmarks.categories import read_set, texts
from gpuboost.benchmarks.timing import (
    RESULTS,
    machine_record,
    peak_memory,
    reset_peak_memory,
    resident_memory,
    with_ending,
    write_json,
    write_text,
)

ROUNDS, DEPTH, RATE = 100, 6, 0.1
#: Rows that are fitted before the clock starts.
WARM_UP_ROWS = 2000
#: Seconds after which a fit is given up.
TIME_LIMIT = 900

Rows = Any  # a matrix, a sparse matrix or a frame
Set = tuple[Rows, np.ndarray, Rows, np.ndarray]  # X and y to train on, X and y that are held out


# --- data


def _halves(x: Rows, y: np.ndarray, n_train: int) -> Set:
    if hasattr(x, "iloc"):
        return x.iloc[:n_train], y[:n_train], x.iloc[n_train:], y[n_train:]
    return x[:n_train], y[:n_train], x[n_train:], y[n_train:]


def _classes(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    odds = 2.0 * (scores - scores.mean()) / scores.std()
    return (rng.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int32)


def sparse_values(scale: float) -> Set:
    """10,000 columns, 50 of them with a value in each row, as counts of words have them."""
    rng, n_columns, stored = np.random.default_rng(0), 10_000, 50
    n = int(240_000 * scale)
    columns = (n_columns * rng.random((n, stored)) ** 2).astype(np.int32)  # some are frequent
    values = rng.lognormal(size=(n, stored)).astype(np.float32)
    places = np.arange(0, n * stored + 1, stored)
    x = sparse.csr_matrix((values.ravel(), columns.ravel(), places), (n, n_columns))
    x.sum_duplicates()
    effects = rng.normal(size=n_columns) * (rng.random(n_columns) < 0.05)
    return _halves(x, _classes(rng, x @ effects), n * 5 // 6)


def sparse_onehot(scale: float) -> Set:
    """50 columns of 200 categories, one-hot encoded."""
    rng, n_of_each, n_columns = np.random.default_rng(0), 200, 50
    n = int(240_000 * scale)
    codes = rng.integers(0, n_of_each, (n, n_columns))
    columns = codes + n_of_each * np.arange(n_columns)
    places = np.arange(0, n * n_columns + 1, n_columns)
    x = sparse.csr_matrix(
        (np.ones(n * n_columns, np.float32), columns.ravel().astype(np.int32), places),
        (n, n_of_each * n_columns),
    )
    effects = rng.normal(size=n_columns * n_of_each) * (np.arange(n_columns * n_of_each) < 4000)
    return _halves(x, _classes(rng, x @ effects), n * 5 // 6)


def categories(scale: float) -> Set:
    """500,000 rows: ten columns of 5 to 5,000 categories, five of numbers."""
    import pandas as pd

    rng, n = np.random.default_rng(0), int(600_000 * scale)
    columns, scores = {}, np.zeros(n)
    for k, levels in enumerate((5, 10, 20, 40, 60, 100, 200, 500, 1000, 5000)):
        codes = (levels * rng.random(n) ** 2).astype(np.int64)
        scores += rng.normal(size=levels)[codes]
        names = [f"level {level}" for level in range(levels)]
        columns[f"category_{k}"] = pd.Categorical.from_codes(codes, names)
    for k in range(5):
        values = rng.normal(size=n)
        scores += np.sin(values) if k % 2 else values * (columns["category_1"].codes > 3)
        columns[f"number_{k}"] = values.astype(np.float32)
    return _halves(pd.DataFrame(columns), _classes(rng, scores), n * 5 // 6)


def click(scale: float) -> Set | None:
    """A real set of columns with many categories; None without the folder of real sets."""
    folder = os.environ.get("GPUBOOST_DATA")
    if not folder:
        return None
    x, y, _ = read_set(Path(folder), "click_kdd2012_40k", max(2000, int(40_000 * scale)))
    return _halves(x, y, len(y) * 4 // 5)


def dense(scale: float) -> Set:
    """500,000 rows of 28 numbers."""
    data = datasets.binary(int(500_000 * scale), 28, int(100_000 * scale) + 1000)
    return data.x_train, data.y_train, data.x_test, data.y_test


# --- libraries


def _ours(threads: int, **options: Any) -> Callable[[Rows, np.ndarray], Any]:
    import gpuboost

    def fit(x: Rows, y: np.ndarray) -> Any:
        model = gpuboost.GPUBoostClassifier(
            n_estimators=ROUNDS, learning_rate=RATE, max_depth=DEPTH, n_jobs=threads, **options
        )
        return model.fit(x, y)

    return fit


def _xgboost(threads: int, **options: Any) -> Callable[[Rows, np.ndarray], Any]:
    import xgboost

    def fit(x: Rows, y: np.ndarray) -> Any:
        model = xgboost.XGBClassifier(
            n_estimators=ROUNDS, learning_rate=RATE, max_depth=DEPTH, n_jobs=threads,
            tree_method="hist", enable_categorical=True, **options,
        )  # fmt: skip
        return model.fit(x, y)

    return fit


def _lightgbm(threads: int, **options: Any) -> Callable[[Rows, np.ndarray], Any]:
    import lightgbm

    def fit(x: Rows, y: np.ndarray) -> Any:
        model = lightgbm.LGBMClassifier(
            n_estimators=ROUNDS, learning_rate=RATE, max_depth=DEPTH, num_leaves=2**DEPTH,
            n_jobs=threads, verbosity=-1, **options,
        )  # fmt: skip
        return model.fit(x, y)

    return fit


def _catboost(threads: int, **options: Any) -> Callable[[Rows, np.ndarray], Any]:
    import catboost

    def fit(x: Rows, y: np.ndarray) -> Any:
        names = [] if not hasattr(x, "columns") else list(x.select_dtypes("category"))
        model = catboost.CatBoostClassifier(
            iterations=ROUNDS, learning_rate=RATE, depth=DEPTH, thread_count=threads,
            cat_features=names, verbose=0, allow_writing_files=False, **options,
        )  # fmt: skip
        return model.fit(texts(x) if names else x, y)

    return fit


@dataclass(frozen=True)
class Case:
    """A set, and who is timed on it: the first one is compared with the others."""

    title: str
    data: Callable[[float], Set | None]
    who: dict[str, tuple[Callable[..., Any], dict[str, Any]]]


ALL = {
    "gpuboost": (_ours, {}),
    "xgboost": (_xgboost, {}),
    "lightgbm": (_lightgbm, {}),
    "catboost": (_catboost, {}),
}
SPARSE = {name: ALL[name] for name in ("gpuboost", "xgboost", "lightgbm")}
PLAIN = {"gpuboost, all rows": (_ours, {})}
RISING = [1] * 5 + [-1] * 5 + [0] * 18


def _against_plain(name: str, **options: Any) -> dict[str, Any]:
    return {name: (_ours, options)} | PLAIN


CASES = {
    "sparse-values": Case(
        "200,000 x 10,000 CSR, 50 values in a row", sparse_values, SPARSE
    ),
    "sparse-onehot": Case(
        "200,000 x 10,000 CSR, 50 one-hot encoded columns", sparse_onehot, SPARSE
    ),
    "categories": Case(
        "500,000 rows, 10 columns of categories, 5 of numbers", categories, ALL
    ),
    "click": Case("click_kdd2012_40k, frame as it is", click, ALL),
    "uniform": Case(
        "500,000 x 28, 30 % of the rows drawn uniformly",
        dense,
        _against_plain("uniform", subsample=0.3),
    ),
    "goss": Case(
        "500,000 x 28, 30 % of the rows drawn by gradients",
        dense,
        _against_plain("goss", subsample=0.3, sampling_method="goss"),
    ),
    "mvs": Case(
        "500,000 x 28, 30 % of the rows, minimal variance",
        dense,
        _against_plain("mvs", subsample=0.3, sampling_method="mvs"),
    ),
    "monotone": Case(
        "500,000 x 28, 10 monotone columns",
        dense,
        _against_plain("monotone", monotone_constraints=RISING),
    ),
}  # fmt: skip


# --- measuring


def measure(case: str, name: str, threads: int, folder: Path) -> dict[str, float | None]:
    """One fit of one library, in this process."""
    warnings.simplefilter("ignore")
    x, y, x_test, y_test = _load(folder)
    make, options = CASES[case].who[name]
    fit = make(threads, **options)
    few = min(WARM_UP_ROWS, len(y))
    warm = x[:few] if not hasattr(x, "iloc") else x.iloc[:few].reset_index(drop=True)
    fit(warm, y[:few]).predict_proba(warm)
    gc.collect()
    can_reset, before = reset_peak_memory(), resident_memory()
    start = time.perf_counter()
    model = fit(x, y)
    seconds, peak = time.perf_counter() - start, peak_memory()
    as_text = name == "catboost" and hasattr(x_test, "columns")
    p = model.predict_proba(texts(x_test) if as_text else x_test)[:, 1]
    grown = None if peak is None or before is None or not can_reset else (peak - before) / 2**20
    return {
        "seconds": seconds,
        "megabytes": grown,
        "loss": datasets.held_out_loss("binary", y_test, p),
    }


def _save(folder: Path, data: Set) -> None:
    for name, part in zip(("x", "y", "x_test", "y_test"), data, strict=True):
        if sparse.issparse(part):
            sparse.save_npz(folder / f"{name}.npz", part, compressed=False)
        elif hasattr(part, "to_pickle"):
            part.reset_index(drop=True).to_pickle(folder / f"{name}.pickle")
        else:
            np.save(folder / f"{name}.npy", part)


def _load(folder: Path) -> Set:
    def part(name: str) -> Any:
        if (folder / f"{name}.npz").exists():
            return sparse.load_npz(folder / f"{name}.npz")
        if (folder / f"{name}.pickle").exists():
            import pandas as pd

            return pd.read_pickle(folder / f"{name}.pickle")  # written by this script
        return np.load(folder / f"{name}.npy")

    return part("x"), part("y"), part("x_test"), part("y_test")


def run_case(
    case: str, scale: float, repeat: int, threads: int
) -> dict[str, dict[str, float | None]]:
    """The best of some turns of each library."""
    data = CASES[case].data(scale)
    best: dict[str, dict[str, float | None]] = {}
    if data is None:
        return best
    with tempfile.TemporaryDirectory() as folder:
        _save(Path(folder), data)
        del data
        for _ in range(repeat):
            for name in CASES[case].who:
                package = name if name in ALL else "gpuboost"
                if importlib.util.find_spec(package) is None:
                    continue
                result = _in_process(case, name, threads, folder)
                seconds = result and result["seconds"]
                if result and (name not in best or seconds < best[name]["seconds"]):  # type: ignore[operator]
                    best[name] = result
    return best


def _in_process(case: str, name: str, threads: int, folder: str) -> dict[str, float | None] | None:
    command = [sys.executable, "-m", "gpuboost.benchmarks.real_world", "--worker", case, name,
               str(threads), folder]  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        print(f"{case} {name}: not done after {TIME_LIMIT} s", file=sys.stderr)
        return None
    if done.returncode:
        print(f"{case} {name} failed: {done.stderr[-500:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def table(results: dict[str, dict[str, dict[str, float | None]]]) -> str:
    """One line for each measurement, in Markdown; ratios are to the first line of the case."""
    lines = [
        "| case | | seconds | to ours | memory growth, MB | log loss |",
        "|---|---|---|---|---|---|",
    ]
    for case, of_case in results.items():
        first = next(iter(of_case.values()), None)
        for name, one in of_case.items():
            ratio = one["seconds"] / first["seconds"]  # type: ignore[operator, index]
            memory = "" if one["megabytes"] is None else f"{one['megabytes']:.0f}"
            lines.append(
                f"| {CASES[case].title} | {name} | {one['seconds']:.3g} | {ratio:.2f} | {memory} "
                f"| {one['loss']:.5f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table and write it."""
    if sys.argv[1:2] == ["--worker"]:
        case, name, threads, folder = sys.argv[2:]
        print(json.dumps(measure(case, name, int(threads), Path(folder))))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "real-world")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for case in args.cases.split(","):
        results[case] = run_case(case, args.scale, args.repeat, args.threads)
        print(table({case: results[case]}), flush=True)
        record = machine_record() | {"scale": args.scale, "threads": args.threads}
        write_json(with_ending(args.out, ".json"), {"machine": record, "results": results})
        write_text(with_ending(args.out, ".md"), table(results) + "\n")


if __name__ == "__main__":
    main()
