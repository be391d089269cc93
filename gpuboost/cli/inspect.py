"""``gpuboost inspect``."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from inspect import signature
from typing import Any

import numpy as np

from gpuboost.cli.common import JSON_OPTION, CliError, Options, show, show_block, write_json
from gpuboost.data.formatted_values import described
from gpuboost.estimators.saving import load_model
from gpuboost.export.text import export_text
from gpuboost.model.ensemble import IMPORTANCE_TYPES, ensemble_of
from gpuboost.terminal import BOLD, visible

SUMMARY = "show what a model file holds: parameters, size, importances, trees"
DESCRIPTION = """\
Shows what a model file holds: the kind of model, the parameters that differ from their defaults,
its size, classes and features, its fingerprint, and which features its splits gained most from. The
file is checked as a whole before anything is shown; no code in it is run.
"""
EPILOG = """\
examples:
  gpuboost inspect model.gb
  gpuboost inspect model.gb --importance split --top 50
  gpuboost inspect model.gb --tree 0
  gpuboost inspect model.gb --json | jq .fingerprint
"""
#: Columns that are listed.
MOST_COLUMNS = 30
#: Characters of the longest bar, and of a feature's name.
BAR, NAME = 40, 32
OPTIONS: Options = {
    "model": {"metavar": "MODEL", "help": "a model that was saved by train or save_model"},
    "--importance": {
        "choices": IMPORTANCE_TYPES,
        "default": "gain",
        "help": "what to add up over the splits of a feature (default: gain)",
    },
    "--top": {
        "metavar": "N",
        "type": int,
        "default": 20,
        "help": "features to show, the most important ones (default: 20)",
    },
    "--tree": {
        "metavar": "N",
        "type": int,
        "help": "print tree number N, from 0, and nothing else",
    },
    **JSON_OPTION,
}


def run(args: argparse.Namespace) -> int:
    """Print what there is to know."""
    if args.top < 0:
        raise CliError(f"--top must be at least 0; got {args.top}")
    model = load_model(args.model)
    if args.tree is not None:
        text = export_text(model, tree=args.tree)
        if args.json:
            write_json({"tree": args.tree, "text": text})
        else:
            show_block(text)
        return 0
    record = describe(model, args.importance) | {
        "file": args.model,
        "bytes": os.path.getsize(args.model),
    }
    if args.json:
        write_json(record)
    else:
        _print(record, args.importance, args.top)
    return 0


def describe(model: Any, kind: str) -> dict[str, Any]:
    """Facts about a fitted model, as JSON can hold them."""
    ensemble = ensemble_of(model)
    trees = ensemble.trees
    schema = getattr(model, "table_", None)
    parameters = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    defaults = {
        name: _plain(entry.default)
        for name, entry in signature(type(model).__init__).parameters.items()
        if name != "self"
    }
    record: dict[str, Any] = {
        "model": type(model).__name__,
        "fingerprint": model.fingerprint(),
        "trees": len(trees),
        "leaves": int(sum(tree.n_leaves for tree in trees)),
        "depth": int(max(tree.depth.max() for tree in trees)),
        "features": int(model.n_features_in_),
        "feature_names": ensemble.feature_names,
        "outputs": ensemble.n_outputs,
        "classes": _plain(model.classes_) if hasattr(model, "classes_") else None,
        "table": None if schema is None else asdict(schema),
        "columns": [asdict(row) for row in model.features_],
        "categories": {
            ensemble.names()[f]: _plain(values)
            for f, values in ensemble.features.categories.items()
        },
        "parameters": parameters,
        "changed": {name: value for name, value in parameters.items() if value != defaults[name]},
    }
    if hasattr(model, "best_iteration_"):
        record |= {"best_round": model.best_iteration_ + 1, "best_score": model.best_score_}
    values = ensemble.importance_shares(kind)
    record["importance"] = {
        "kind": kind,
        "shares": dict(zip(ensemble.names(), values.tolist(), strict=True)),
    }
    return record


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _print(record: dict[str, Any], kind: str, top: int) -> None:
    """For people."""
    rows = {
        "model": f"{record['model']}, {record['bytes']:,} bytes",
        "trees": (
            f"{record['trees']:,} with {record['leaves']:,} leaves, at most "
            f"{record['depth']} splits deep"
        ),
        "features": f"{record['features']:,}",
    }
    if record["table"] is not None:
        text = ", ".join(record["categories"])
        rows["features"] += f", text: {_cut(text, 80)}" if text else ""
        if formats := record["table"]["formats"]:
            rows["formats"] = _cut(
                ", ".join(f"{n} {described(f)}" for n, f in formats.items()), 100
            )
        rows["target"] = f"{record['table']['target']} ({record['table']['task']})"
    if record["classes"] is not None:
        rows["classes"] = _cut(", ".join(map(str, record["classes"])), 100)
    if "best_round" in record:
        rows["best round"] = (
            f"{record['best_round']} (score {record['best_score']:.6g}); predictions use the "
            "rounds up to it"
        )
    rows["parameters"] = (
        ", ".join(f"{name}={value}" for name, value in record["changed"].items())
        or "all at their defaults"
    )
    rows["fingerprint"] = record["fingerprint"]
    for name, value in rows.items():
        show(value, f"{name + ':':<13}", BOLD)
    others = [row for row in record["columns"] if row["kind"] != "number"]
    if others:
        show()
        show("columns that are no plain numbers:")
        for row in others[:MOST_COLUMNS]:
            levels = "" if row["levels"] is None else f", {row['levels']:,} levels"
            show(f"  {_cut(row['name'], NAME)}: {row['kind']}{levels}; {_cut(row['taken'], 60)}")
        if len(others) > MOST_COLUMNS:
            show(f"  ... and {len(others) - MOST_COLUMNS:,} more")
    shares = sorted(record["importance"]["shares"].items(), key=lambda item: -item[1])
    if top and shares:
        show()
        show(
            f"share of the {kind} of all splits"
            + (f", the first {top} of {len(shares)} features" if len(shares) > top else "")
            + ":"
        )
    _print_bars(shares[:top])


def _print_bars(shares: list[tuple[str, float]]) -> None:
    """Importances as bars."""
    largest = shares[0][1] or 1.0 if shares else 1.0
    lines = [(_cut(name, NAME), share) for name, share in shares]
    width = max((len(name) for name, _ in lines), default=0)
    for name, share in lines:
        show(f"  {name:<{width}} {share:7.4f} {'#' * round(BAR * share / largest)}".rstrip())


def _cut(text: str, width: int) -> str:
    text = visible(text)
    return text if len(text) <= width else text[: width - 3] + "..."
