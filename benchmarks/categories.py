"""Held-out loss on frames with categories, as they are, at every library's defaults.

    GPUBOOST_DATA=/path/to/sets python -m gpuboost.benchmarks.categories --splits 5 --threads 2

Every library gets the same frame, category columns and gaps included, up to 2,000 rounds, and stops
when 50 rounds have brought nothing on a fifth of the training rows. All other parameters are the
library's own defaults; ours are also run as CatBoost's
(``gpuboost-symmetric``). ``--noise 5000`` adds a column of so many levels at random to every set.
Losses that the file of ``--out`` has already are not computed again."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks.report import machine_line
from gpuboost.benchmarks.timing import RESULTS, machine_record, write_json

SETS = (
    "amazon", "adult", "bank_marketing", "telco_churn", "click_kdd2012_40k", "weather_aus", "fars",
    "kc_house_sales",
)  # fmt: skip
OURS, SYMMETRIC = "gpuboost", "gpuboost-symmetric"
#: What CatBoost does by default.
AS_CATBOOST = {"grow_policy": "symmetric", "learning_rate": 0.05, "reg_lambda": 3.0}
PEERS = ("lightgbm", "xgboost", "catboost")
ROUNDS, PATIENCE = 2000, 50

#: Rows of a set that are used, drawn with a fixed seed.
MOST_ROWS = 15_000


def read_set(folder: Path, name: str, most_rows: int) -> tuple[Any, np.ndarray, bool]:
    """The columns as a frame, the target, and whether it is a class (then a code)."""
    import pandas as pd

    info = json.loads((folder / "catalog.json").read_text())[name]
    frame = pd.read_parquet(folder / info["file"])
    others = [column for column in (info["split"], info["group"], info["exposure"]) if column]
    x = frame.drop(columns=[*others, *info["not_features"], info["target"]])
    is_class = info["task"] in ("binary", "multiclass")
    target = frame[info["target"]]
    y = pd.factorize(target, sort=True)[0] if is_class else target.to_numpy(float)
    if len(x) > most_rows:
        rows = np.random.default_rng(0).choice(len(x), most_rows, replace=False)
        x, y = x.iloc[rows], y[rows]
    if is_class:  # classes too rare to be in every part go
        kept = np.bincount(y)[y] >= 10
        x, y = x[kept], np.unique(y[kept], return_inverse=True)[1]
    return x.reset_index(drop=True), y, is_class


def with_noise(x: Any, levels: int) -> Any:
    """The same with a column of levels drawn at random."""
    import pandas as pd

    drawn = np.random.default_rng(1).integers(0, levels, len(x))
    return x.assign(noise=pd.Categorical([f"level {level}" for level in drawn]))


def texts(x: Any) -> Any:
    """The same with text instead of categories, gaps included, which CatBoost asks for."""
    columns = x.select_dtypes("category")
    filled = {c: x[c].astype(object).where(x[c].notna(), "nan").astype(str) for c in columns}
    return x.assign(**filled)


def fit_lightgbm(fit: Any, watch: Any, is_class: bool, seed: int, threads: int) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    model = kind(n_estimators=ROUNDS, verbose=-1, n_jobs=threads, random_state=seed)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    return model.fit(*fit, eval_set=[watch], callbacks=[stop])


def fit_xgboost(fit: Any, watch: Any, is_class: bool, seed: int, threads: int) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if is_class else xgboost.XGBRegressor
    model = kind(
        n_estimators=ROUNDS,
        enable_categorical=True,
        early_stopping_rounds=PATIENCE,
        n_jobs=threads,
        random_state=seed,
    )
    return model.fit(*fit, eval_set=[watch], verbose=False)


def fit_catboost(fit: Any, watch: Any, is_class: bool, seed: int, threads: int) -> Any:
    import catboost

    kind = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
    model = kind(
        iterations=ROUNDS,
        cat_features=list(fit[0].select_dtypes("category")),
        early_stopping_rounds=PATIENCE,
        thread_count=threads,
        random_seed=seed,
        verbose=0,
        allow_writing_files=False,
    )
    return model.fit(texts(fit[0]), fit[1], eval_set=(texts(watch[0]), watch[1]))


def fit_ours(fit: Any, watch: Any, is_class: bool, seed: int, threads: int, **options: Any) -> Any:
    import gpuboost

    kind = gpuboost.GPUBoostClassifier if is_class else gpuboost.GPUBoostRegressor
    model = kind(
        n_estimators=ROUNDS,
        early_stopping_rounds=PATIENCE,
        n_jobs=threads,
        random_state=seed,
        **options,
    )
    return model.fit(*fit, eval_set=[watch])


FITS: dict[str, Callable[..., Any]] = {
    OURS: fit_ours,
    SYMMETRIC: partial(fit_ours, **AS_CATBOOST),
    "lightgbm": fit_lightgbm,
    "xgboost": fit_xgboost,
    "catboost": fit_catboost,
}


def loss_of_split(
    library: str, data: tuple[Any, np.ndarray, bool], seed: int, threads: int, **options: Any
) -> float:
    """Held-out log loss or root mean squared error of a library on one split."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split

    x, y, is_class = data

    def parts(rows: np.ndarray, share: float) -> Any:
        return train_test_split(
            rows, test_size=share, random_state=seed, stratify=y[rows] if is_class else None
        )

    train, test = parts(np.arange(len(y)), 0.3)
    fit, watch = parts(train, 0.2)
    model = FITS[library](
        (x.iloc[fit], y[fit]), (x.iloc[watch], y[watch]), is_class, seed, threads, **options
    )
    rows = texts(x.iloc[test]) if library == "catboost" else x.iloc[test]
    if is_class:
        return float(log_loss(y[test], model.predict_proba(rows), labels=np.unique(y)))
    return float(np.sqrt(np.mean((model.predict(rows) - y[test]) ** 2)))


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def table(results: dict[str, dict[str, list[float]]], ours: str) -> str:
    """Mean losses, and ours relative to each of the others, in Markdown."""
    lines = [
        f"| set | {ours} | {' | '.join(PEERS)} | to the best |",
        "|---|" + "---|" * (len(PEERS) + 2),
    ]
    ratios: dict[str, list[float]] = {peer: [] for peer in PEERS}
    for name, of_set in results.items():
        means = {library: float(np.mean(losses)) for library, losses in of_set.items()}
        others = {peer: means[peer] for peer in PEERS if peer in means}
        if ours not in means or not others:
            continue
        for peer, loss in others.items():
            ratios[peer].append(means[ours] / loss)
        cells = [f"{others[p]:.6g} ({means[ours] / others[p]:.4f})" for p in PEERS if p in others]
        worst = means[ours] / min(others.values())
        lines.append(f"| {name} | {means[ours]:.6g} | {' | '.join(cells)} | {worst:.4f} |")
    means_of_ratios = [f"{geometric_mean(ratios[p]):.4f}" if ratios[p] else "" for p in PEERS]
    lines.append(f"| geometric mean of the ratios | | {' | '.join(means_of_ratios)} | |")
    return "\n".join(lines)


def page(results: dict[str, dict[str, list[float]]], most_rows: int) -> str:
    """Both tables and what they are, in Markdown."""
    n_splits = max(len(losses) for of_set in results.values() for losses in of_set.values())
    return "\n\n".join(
        [
            "# Categories",
            machine_line(machine_record()),
            f"Held-out log loss (RMSE of numbers), mean of {n_splits} random splits (70 % are for "
            "training, a fifth of which decides when to stop), on frames with categories, as they "
            f"are, at most {most_rows:,} rows of each. In brackets ours over theirs, below 1 we "
            "are better.",
            f"At every library's defaults with early stopping ({ROUNDS:,} iterations, {PATIENCE} "
            "to wait):",
            table(results, OURS),
            "With CatBoost's learning rate of 0.05 and `reg_lambda=3`:",
            table(results, SYMMETRIC),
        ]
    )


def main() -> None:
    """Fill in the file of results, and write and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--libraries", default=",".join(FITS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--noise", type=int, default=0, help="levels of a column of noise")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "categories.json")
    args = parser.parse_args()
    folder = os.environ.get("GPUBOOST_DATA")
    if not folder:
        sys.exit("set GPUBOOST_DATA to the folder with catalog.json")
    results = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.sets.split(","):
        data = read_set(Path(folder), name, args.rows)
        if args.noise:
            data = with_noise(data[0], args.noise), *data[1:]
        for library in args.libraries.split(","):
            losses = results.setdefault(name, {}).setdefault(library, [])
            while len(losses) < args.splits:
                losses.append(loss_of_split(library, data, len(losses), args.threads))
                write_json(args.out, results)
            print(f"{name} {library}: {np.mean(losses):.6g}", file=sys.stderr, flush=True)
    text = page(results, args.rows)
    args.out.with_suffix(".md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
