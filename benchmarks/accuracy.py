"""Held-out loss on real sets at equal settings.

Leaf-wise against LightGBM, depth-wise against XGBoost.

    GPUBOOST_DATA=/path/to/sets python -m gpuboost.benchmarks.accuracy --splits 5 --out
    benchmarks/results/accuracy

Every set is split at random several times; all models see the same splits, so they are compared
split by split."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpuboost.benchmarks import report, workloads
from gpuboost.benchmarks.datasets import METRICS, RealSet, held_out_loss, real_sets, split_rows
from gpuboost.benchmarks.peers import OURS, Settings
from gpuboost.benchmarks.timing import RESULTS, machine_record, with_ending, write_json

LEAFWISE = Settings(trees=100, order="leafwise", leaves=31)
DEPTHWISE = Settings(trees=100, order="depthwise", depth=6)

#: Models by name: the library and how it grows.
MODELS: dict[str, tuple[str, Settings]] = {
    "gpuboost leaf-wise": (OURS, LEAFWISE),
    "lightgbm": ("lightgbm", LEAFWISE),
    "gpuboost depth-wise": (OURS, DEPTHWISE),
    "xgboost": ("xgboost", DEPTHWISE),
}
#: Each order against the library that grows the same way.
DUELS = {"lightgbm": "gpuboost leaf-wise", "xgboost": "gpuboost depth-wise"}

#: A set is flagged when our loss is higher by more than this part, beyond TWO_ERRORS standard
#: errors.
TOLERANCE = 0.01
TWO_ERRORS = 2.0


@dataclass(frozen=True)
class Ratio:
    """Mean of the ratios of two losses over the splits, and its standard error (splits share rows.

    It is a rough one).
    """

    mean: float
    error: float

    @classmethod
    def of(cls, ours: list[float], theirs: list[float]) -> Ratio:
        """Ours over theirs, split by split; equal losses are a ratio of 1 also where both are 0."""
        tiny = 1e-300
        ratios = (np.array(ours) + tiny) / (np.array(theirs) + tiny)
        return cls(float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios))))

    @property
    def is_worse(self) -> bool:
        """Worse by more than the tolerance, and not by chance."""
        return self.mean - TWO_ERRORS * self.error > 1.0 + TOLERANCE


def losses_of_split(data: RealSet, seed: int, threads: int) -> dict[str, float]:
    """Held-out loss of every model on one split."""
    train, test = split_rows(data.task, data.y, seed)
    x_train, x_test = np.ascontiguousarray(data.x[train]), np.ascontiguousarray(data.x[test])
    losses = {}
    for name, (library, settings) in MODELS.items():
        peer = workloads.make(library, data.task, settings, threads)
        peer.fit(x_train, data.y[train])
        losses[name] = held_out_loss(data.task, data.y[test], peer.predict(x_test))
    return losses


def judge(losses: dict[str, list[float]]) -> dict[str, Any]:
    """What the losses of all splits of a set say."""
    mean = {name: float(np.mean(values)) for name, values in losses.items()}
    better_peer = min(DUELS, key=lambda name: mean[name])
    our_better = min(DUELS.values(), key=lambda name: mean[name])
    against_peer = {peer: Ratio.of(losses[ours], losses[peer]) for peer, ours in DUELS.items()}
    against_best = {ours: Ratio.of(losses[ours], losses[better_peer]) for ours in DUELS.values()}
    return {
        "mean": mean,
        "ratio_to_peer": {peer: vars(r) for peer, r in against_peer.items()},
        "better_peer": better_peer,
        "our_better": our_better,
        "ratio_to_better_peer": {ours: vars(r) for ours, r in against_best.items()},
        "worse": against_best[our_better].is_worse,
    }


def measure(data: RealSet, splits: int, threads: int) -> dict[str, Any]:
    """All splits of one set."""
    losses: dict[str, list[float]] = {name: [] for name in MODELS}
    for seed in range(splits):
        for name, value in losses_of_split(data, seed, threads).items():
            losses[name].append(value)
    sizes = {"rows": len(data.y), "features": data.x.shape[1]}
    return {
        "set": data.name,
        "task": data.task,
        "metric": METRICS[data.task],
        **sizes,
        **judge(losses),
        "losses": losses,
    }


def summarise(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means over the sets, and the sets where we are worse."""
    means = {peer: [r["ratio_to_peer"][peer]["mean"] for r in results] for peer in DUELS}
    return {
        "geometric_mean": {
            peer: float(np.exp(np.mean(np.log(values)))) for peer, values in means.items()
        },
        "worse_sets": [r["set"] for r in results if r["worse"]],
    }


# --- output


def _ratio_text(r: dict[str, float]) -> str:
    return f"{r['mean']:.4f} ± {r['error']:.4f}"


def markdown(record: dict[str, Any]) -> str:
    """One line for each set."""
    summary = record["summary"]
    header = [
        "set",
        "metric",
        "rows",
        *MODELS,
        "leaf-wise / LightGBM",
        "depth-wise / XGBoost",
        "our better / better peer",
    ]
    rows = []
    for r in record["results"]:
        best = r["ratio_to_better_peer"][r["our_better"]]
        name = f"**{r['set']}**" if r["worse"] else r["set"]
        values = [f"{r['mean'][model]:.5g}" for model in MODELS]
        duels = [_ratio_text(r["ratio_to_peer"][peer]) for peer in DUELS]
        rows.append([name, r["metric"], f"{r['rows']:,}", *values, *duels, _ratio_text(best)])
    means = summary["geometric_mean"]
    worse = ", ".join(summary["worse_sets"]) or "none"
    parts = [
        "# Accuracy",
        report.machine_line(record["machine"]),
        f"Held-out loss, mean of {record['splits']} random splits (80 % training). Ratios are "
        "ours over theirs, below 1 we are better; "
        "after ± the standard error of their mean over the splits.",
        f"Geometric mean over {len(rows)} sets: leaf-wise over LightGBM {means['lightgbm']:.4f}, "
        f"depth-wise over XGBoost {means['xgboost']:.4f}.",
        "Sets (in bold) where our better order is worse than the better peer by more than 1 % "
        f"beyond two standard errors: {worse}.",
        report.markdown_table(header, rows, text_columns=2),
    ]
    return "\n\n".join(parts) + "\n"


def progress_line(r: dict[str, Any]) -> str:
    """A set in a few words."""
    duels = ", ".join(f"to {peer} {_ratio_text(r['ratio_to_peer'][peer])}" for peer in DUELS)
    return (
        f"{r['set']} ({r['task']}, {r['rows']:,} x {r['features']}): "
        f"{duels}{', WORSE' if r['worse'] else ''}"
    )


def parse_args() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuboost.benchmarks.accuracy", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--sets",
        type=lambda text: text.split(","),
        help="names, separated by commas (default: all)",
    )
    parser.add_argument("--splits", type=int, default=5, help="at least 2 (default 5)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "accuracy", help="results: this name + .json, .md"
    )
    return parser.parse_args()


def main() -> None:
    """Go through the sets; results are written after each."""
    args = parse_args()
    folder = os.environ.get("GPUBOOST_DATA")
    if args.splits < 2:
        sys.exit("--splits must be at least 2: the standard error comes from them")
    if not folder:
        sys.exit("set GPUBOOST_DATA to the folder with catalog.json")
    warnings.simplefilter("ignore")
    record: dict[str, Any] = {"machine": machine_record(), "splits": args.splits, "results": []}
    for number, data in enumerate(real_sets(folder, args.sets), 1):
        record["results"].append(measure(data, args.splits, args.threads))
        record["summary"] = summarise(record["results"])
        print(f"[{number}] {progress_line(record['results'][-1])}", flush=True)
        write_json(with_ending(args.out, ".json"), record)
        with_ending(args.out, ".md").write_text(markdown(record))
    if not record["results"]:
        sys.exit("no set to run: only binary, multiclass, regression and count sets are")
    print(
        f"geometric means: {record['summary']['geometric_mean']}; worse: "
        f"{record['summary']['worse_sets']}"
    )


if __name__ == "__main__":
    main()
