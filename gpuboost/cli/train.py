"""``gpuboost train``."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gpuboost.backend import automatic_device, n_threads
from gpuboost.cli.common import JSON_OPTION, CliError, Options, Voice, write_json
from gpuboost.cli.data_options import (
    ABOUT_TABLES,
    TABLE_OPTIONS,
    check_output,
    names,
    naming,
    open_with_options,
    without_name_warnings,
)
from gpuboost.cli.measure import (
    cross_validate,
    fit,
    fold_numbers,
    mean_and_spread,
    metrics_of,
    number_of_folds,
)
from gpuboost.cli.parameters import MODELS, check_parameters, make_model, read_parameters
from gpuboost.data.columns import BOOLEAN, EMPTY, NUMBER, TEXT
from gpuboost.data.times import DATE, DURATION
from gpuboost.estimators.base import name_columns
from gpuboost.model.table_schema import TableSchema
from gpuboost.optional import load
from gpuboost.report import write_report
from gpuboost.report.leakage import suspects
from gpuboost.tables import Part, TrainingData, read_training, read_validation
from gpuboost.tables.errors import check_columns, shortened
from gpuboost.tables.target import TASKS, Target, codes_of, settle_target

SUMMARY = "train a model on a table: writes model.gb"
DESCRIPTION = """\
Trains a model on a table and writes it to a file. The task is found from the target: text, true and
false, two whole numbers, or up to 20 whole numbers with ten rows for each on average are classes;
other numbers are regression. What was found is printed; --task overrides it. Labels keep their text
if some begin with 0: 01 and 1 are two classes. More than 100 texts are taken for classes only with
--task multiclass. A warning names columns that alone nearly tell the target, which may be leakage.

Without --valid a tenth of the rows, drawn at random but always the same ones, is held out to
measure the model on, and the model is trained on the others. --valid-fraction 0 trains on all rows.
With --cv K the scores come from K models instead, each measured on rows that it was not trained on,
with the same share of every class; the model that is written is trained on all rows.
Rows without a target are left out.
"""
EPILOG = f"""\
parameters:
  Those of the estimators of the library by name: n_estimators=500 learning_rate=0.05 max_depth=8
  subsample=0.8 n_jobs=4 device=cuda ... Values are numbers, true, false, none, or text. --params
  reads them from a TOML file; those on the command line win.

{ABOUT_TABLES}
  Boosting takes the numbers of texts as they are; the other models split texts into sets of
  categories.

examples:
  gpuboost train sales.csv --target price
  gpuboost train sales.csv --target price n_estimators=500 --out price.gb --report price.html
  gpuboost train train.parquet --target label --valid valid.parquet early_stopping_rounds=50
  gpuboost train people.csv.gz --target income --drop id,name --weight w --model forest
  gpuboost train sales.csv --target price --cv 5 --text zip
  zcat big.csv.gz | gpuboost train - --target y --json > result.json
"""
#: Share of the rows that is held out unless something else was asked for, and the rows from which
#: on there are enough for that.
HELD_OUT, ENOUGH_ROWS = 0.1, 200
#: Training rows that metrics are computed on, from the first one.
SCORED_ROWS = 100_000
#: What columns are read as, one of them and several.
KINDS = {
    "number": ("number", "numbers"),
    "bool": ("true or false", "true or false"),
    "date": ("date, in seconds since 1970", "dates, in seconds since 1970"),
    "clock": ("time, in seconds", "times, in seconds"),
    "text": ("text", "texts"),
    "empty": ("without a value", "without a value"),
}
#: The same as columns of frames say it.
HOLDS = {"bool": BOOLEAN, "date": DATE, "clock": DURATION, "text": TEXT, "empty": EMPTY}
OPTIONS: Options = {
    "data": {"metavar": "DATA", "help": "the table to train on; - for standard input"},
    "parameters": {"metavar": "key=value", "nargs": "*", "help": "parameters of the model"},
    "--target": {"metavar": "COLUMN", "help": "the column to predict (y for NPZ and LibSVM)"},
    "--task": {
        "choices": TASKS,
        "default": "auto",
        "help": "what to predict: classes or numbers (default: by the target)",
    },
    "--model": {
        "choices": tuple(MODELS),
        "default": "boost",
        "help": "kind of model (default: boost)",
    },
    "--valid": {
        "metavar": "FILE",
        "help": "a table to measure the model on, and for early stopping",
    },
    "--valid-fraction": {
        "metavar": "F",
        "type": float,
        "help": "share of the rows to hold out for that (default: 0.1)",
    },
    "--cv": {
        "metavar": "K",
        "type": number_of_folds,
        "help": "measure by K-fold cross-validation; the model is then trained on all rows",
    },
    "--params": {"metavar": "FILE", "help": "a TOML file of parameters"},
    "--drop": {"metavar": "COLUMNS", "help": "columns to leave out, with commas between them"},
    "--text": {
        "metavar": "COLUMNS",
        "help": "columns to read as text even if they hold numbers or dates",
    },
    "--weight": {"metavar": "COLUMN", "help": "the column of weights"},
    **TABLE_OPTIONS,
    "--out": {
        "metavar": "FILE",
        "default": "model.gb",
        "help": "where to write the model (default: model.gb)",
    },
    "--report": {"metavar": "FILE", "help": "where to write a page about the model, as HTML"},
    "--quiet": {"action": "store_true", "help": "print errors only"},
    **JSON_OPTION,
}


def run(args: argparse.Namespace) -> int:
    """Read, train, measure, write."""
    voice = Voice(args.quiet)
    fraction = _held_out_share(args)
    parameters = read_parameters(args.params, args.parameters)
    check_parameters(
        args.model, args.task, parameters, has_valid=args.valid is not None or fraction > 0
    )
    for path in (args.out, args.report):
        if path is not None:
            check_output(path, args.data, args.valid, args.params)
    if args.report is not None:
        for module in ("jinja2", "matplotlib"):  # if one is missing, not after the long work
            load(module, "--report")
    begin = time.perf_counter()
    data, target, schema = _read(args, fraction, parameters, voice)
    valid, y_valid = _validation(args, data, target, schema, voice)
    if valid is None and parameters.get("early_stopping_rounds") is not None:
        raise CliError(
            f"early_stopping_rounds needs rows to watch; {data.train.n_rows} rows are too few "
            "to hold some out: use --valid"
        )
    read = time.perf_counter()
    leaking = _leaking(data, target, schema.target, voice)
    cv = _cross_validation(args, parameters, data, target, (valid, y_valid), voice)
    begun = time.perf_counter()
    model = _prepared(args, parameters, data, target, int(not args.quiet))
    device = (
        automatic_device(data.train.x.size)
        if model.device == "auto" and args.model == "boost"
        else model.device
    )
    device = "cpu" if device == "auto" else device
    voice.tell(f"model: {type(model).__name__} on {device}, {n_threads(model.n_jobs)} threads")
    fit(model, data.train, target.train, valid, y_valid)
    fitted = time.perf_counter()
    weight = None if data.train.weight is None else data.train.weight[:SCORED_ROWS]
    metrics = {
        "train": metrics_of(model, data.train.x[:SCORED_ROWS], target.train[:SCORED_ROWS], weight)
    }
    if valid is not None and y_valid is not None:
        metrics["valid"] = metrics_of(model, valid.x, y_valid, valid.weight)
    _give_names(model, schema, target, data, parameters)
    with naming(args.out):
        model.save_model(args.out)
    timings = {"read": read - begin, "fit": fitted - begun}
    record = _record(args, data, target, schema, valid, model, device, metrics, timings)
    record |= {"leakage": leaking, "cv": cv}
    _tell_result(record, voice)
    if args.report is not None:
        _write_report(args, model, data, target, valid, y_valid, timings)
        voice.tell(f"wrote {args.report}")
    if args.json:
        write_json(record)
    return 0


def _held_out_share(args: argparse.Namespace) -> float:
    fraction = args.valid_fraction
    if args.valid is not None:
        if fraction:
            raise CliError(
                "--valid and --valid-fraction exclude each other: rows are held out only if no "
                "table is given for that"
            )
        return 0.0
    if fraction is None:
        return HELD_OUT if args.cv is None else 0.0
    if not 0.0 <= fraction < 1.0:
        raise CliError(f"--valid-fraction must be at least 0 and less than 1; got {fraction:g}")
    return float(fraction)


def _read(
    args: argparse.Namespace, fraction: float, parameters: dict[str, Any], voice: Voice
) -> tuple[TrainingData, Target, TableSchema]:
    """The table, and what its target asks for."""
    with open_with_options(args.data, args) as table:
        name = args.target or table.default_target
        if name is None:
            raise CliError(
                "--target is missing: which column is to be predicted? The columns are "
                f"{shortened(table.names)}"
            )
        wanted = {
            "weight": args.weight,
            "drop": names(args.drop),
            "text": names(args.text),
            "task": args.task,
            "seed": _seed(parameters),
            "sparse": args.model == "boost" and not _names_categories(parameters),
        }
        data = read_training(table, name, fraction=fraction, verbose=int(not args.quiet), **wanted)
        if (
            fraction
            and args.valid_fraction is None
            and data.valid is not None
            and data.train.n_rows + data.valid.n_rows < ENOUGH_ROWS
        ):
            voice.tell(
                f"fewer than {ENOUGH_ROWS} rows: none is held out, the model is trained on all"
            )
            data = read_training(table, name, fraction=0.0, **wanted)
    target = settle_target(data, name, args.task)
    schema = TableSchema(name, target.task, data.columns, data.formats)
    n = data.train.n_rows + (0 if data.valid is None else data.valid.n_rows)
    voice.tell(f"{table.source.label}: {n:,} rows, {len(data.columns):,} features, target {name!r}")
    voice.tell(f"columns: {_columns_by_kind(data)}")
    if data.n_without_target:
        voice.note(f"{data.n_without_target:,} rows without a value of {name!r} were left out")
    for text in data.notes:
        voice.note(text)
    override = " (--task changes it)" if args.task == "auto" else ""
    classes = "" if target.classes is None else f", {len(target.classes)} classes"
    voice.tell(f"task: {target.task}{classes}: {target.reason}{override}")
    if data.valid is not None:
        voice.tell(
            f"held out: {data.valid.n_rows:,} rows, to measure the model on (--valid-fraction "
            "0 trains on all)"
        )
    if target.n_unknown:
        voice.note(
            f"{target.n_unknown:,} held-out rows have a class that no other row has, and "
            "were left out"
        )
    return data, target, schema


def _validation(
    args: argparse.Namespace,
    data: TrainingData,
    target: Target,
    schema: TableSchema,
    voice: Voice,
) -> tuple[Part | None, np.ndarray | None]:
    """Rows to measure the model on: those of the table for that, or those that were held out."""
    if args.valid is None:
        held = data.valid is not None and data.valid.n_rows > 0
        return (data.valid, target.valid) if held else (None, None)
    with open_with_options(args.valid, args) as table:
        part, notes = read_validation(
            table,
            schema,
            data.text,
            data.target_values,
            args.weight,
            int(not args.quiet),
            issparse(data.train.x),
        )
    voice.tell(f"{args.valid}: {part.n_rows:,} rows, to measure the model on")
    for text in notes:
        voice.note(f"{args.valid}: {text}")
    return part, codes_of(part.y, target, data, args.valid)


def _columns_by_kind(data: TrainingData) -> str:
    """What the features were read as: numbers by their count, others by their names, too."""
    by_kind: dict[str, list[str]] = {}
    for name in data.columns:
        by_kind.setdefault(data.kinds[name], []).append(name)
    parts = []
    for kind, (one, several) in KINDS.items():
        columns = by_kind.get(kind, [])
        named = f" ({shortened(columns)})" if kind != "number" else ""
        if columns:
            parts.append(f"{len(columns):,} {one if len(columns) == 1 else several}{named}")
    return ", ".join(parts)


def _leaking(data: TrainingData, target: Target, name: str, voice: Voice) -> dict[str, str]:
    """Features that alone nearly tell the target, and how much they do."""
    suspected = suspects(data.train.x, target.train, target.classes is not None)
    leaking = {data.columns[suspect.feature]: suspect.extent for suspect in suspected}
    if leaking:
        first, *others = leaking
        more = f", and so do {shortened(others)}" if others else ""
        voice.warn(
            f"column {first!r} alone nearly tells {name!r}: {leaking[first]}{more}. What is not "
            "known when the model is used is leakage: train again with "
            f"--drop {shlex.quote(','.join(leaking))}"
        )
    return leaking


def _cross_validation(
    args: argparse.Namespace,
    parameters: dict[str, Any],
    data: TrainingData,
    target: Target,
    watched: tuple[Part | None, np.ndarray | None],
    voice: Voice,
) -> dict[str, Any] | None:
    """Metrics of K folds, if they were asked for."""
    if args.cv is None:
        return None
    folds = fold_numbers(target.train, args.cv, _seed(parameters), target.classes is not None)
    if (folds < 0).any():
        voice.note(
            f"{np.count_nonzero(folds < 0):,} rows are the only ones of their class: "
            "they are in no fold, only trained on"
        )

    def make() -> Any:
        return _prepared(args, parameters, data, target, verbose=0)

    begin = time.perf_counter()
    verbose = int(not args.quiet)
    metrics = cross_validate(make, data.train, target.train, folds, watched, verbose)
    voice.tell(f"cross-validation, {args.cv} folds, mean ± standard deviation:")
    record = {}
    for name, values in metrics.items():
        mean, spread = mean_and_spread(values)
        record[name] = {"mean": mean, "std": spread, "folds": values}
        by_fold = ", ".join(f"{value:.4g}" for value in values)
        voice.tell(f"  {name} {mean:.6g} ± {spread:.2g}  ({by_fold})")
    voice.tell(f"now a model is trained on all {len(folds):,} rows")
    return {"folds": args.cv, "metrics": record, "seconds": time.perf_counter() - begin}


def _names_categories(parameters: dict[str, Any]) -> bool:
    """Whether some columns are to be categories, which columns of a sparse matrix cannot be."""
    return parameters.get("categorical_features", "auto") not in ("auto", None)


def _seed(parameters: dict[str, Any]) -> int:
    """The seed of draws that are not the model's."""
    seed = parameters.get("random_state")
    return seed if isinstance(seed, int) else 0


def _prepared(
    args: argparse.Namespace,
    parameters: dict[str, Any],
    data: TrainingData,
    target: Target,
    verbose: int,
) -> Any:
    """The estimator, which knows the text columns and whether to show progress."""
    model = make_model(args.model, target.task, parameters, target.classes)
    known = model.get_params(deep=False)
    if "verbose" in known and "verbose" not in parameters:
        model.verbose = verbose
    if "categorical_features" in known:
        nominal = parameters.get("categorical_features", "auto")
        nominal = list(data.text) or None if nominal == "auto" else nominal
        if isinstance(nominal, list):  # the matrix has no names
            check_columns(
                "categorical_features",
                [name for name in nominal if isinstance(name, str)],
                data.columns,
            )
            nominal = [
                data.columns.index(name) if isinstance(name, str) else name for name in nominal
            ]
        model.categorical_features = nominal
    return model


def _give_names(
    model: Any,
    schema: TableSchema,
    target: Target,
    data: TrainingData,
    parameters: dict[str, Any],
) -> None:
    """Give a model that was trained on numbers the names of its features and classes.

    The progress bar was this command's choice, so ``verbose`` is again what parameters say.
    """
    if hasattr(model, "verbose"):
        model.verbose = parameters.get("verbose", 0)
    model.table_ = schema
    if "categorical_features" in model.get_params(deep=False):
        model.categorical_features = parameters.get("categorical_features", "auto")
    holds = {name: HOLDS.get(kind, NUMBER) for name, kind in data.kinds.items()}
    name_columns(model, schema.columns, target.classes, data.text, holds)
    if target.classes is not None:
        weights = getattr(model, "class_weight", None)
        if isinstance(weights, dict):
            model.class_weight = {
                target.classes[code].item(): weight for code, weight in weights.items()
            }


def _record(
    args: argparse.Namespace,
    data: TrainingData,
    target: Target,
    schema: TableSchema,
    valid: Part | None,
    model: Any,
    device: str,
    metrics: dict[str, dict[str, float]],
    timings: dict[str, float],
) -> dict[str, Any]:
    """All facts about a training."""
    record = {
        "data": args.data,
        "rows": data.train.n_rows,
        "valid_rows": 0 if valid is None else valid.n_rows,
        "rows_without_target": data.n_without_target,
        "features": len(schema.columns),
        "text_columns": list(data.text),
        "kinds": data.kinds,
        "formats": data.formats,
        "notes": data.notes,
        "target": schema.target,
        "task": schema.task,
        "task_reason": target.reason,
        "classes": None if target.classes is None else target.classes.tolist(),
        "model": type(model).__name__,
        "device": device,
        "threads": n_threads(model.n_jobs),
        "metrics": metrics,
        "seconds": {name: round(seconds, 3) for name, seconds in timings.items()},
        "out": args.out,
        "bytes": os.path.getsize(args.out),
        "report": args.report,
        "fingerprint": model.fingerprint(),
    }
    if hasattr(model, "best_iteration_"):
        record |= {"best_round": model.best_iteration_ + 1, "rounds": model.n_estimators_}
    return record


def _tell_result(record: dict[str, Any], voice: Voice) -> None:
    if "best_round" in record:
        voice.tell(f"best round: {record['best_round']} of {record['rounds']}")
    first = f"first {SCORED_ROWS:,} " if record["rows"] > SCORED_ROWS else ""
    rows = {"train": f"the {first}training rows", "valid": "rows not trained on"}
    for part, metrics in reversed(record["metrics"].items()):
        values = "  ".join(f"{name} {value:.6g}" for name, value in metrics.items())
        voice.tell(f"{values}  on {rows[part]}")
    voice.tell(
        f"read in {record['seconds']['read']:.2f} s, trained in {record['seconds']['fit']:.2f} s"
    )
    voice.tell(
        f"wrote {record['out']}: {record['bytes']:,} bytes, fingerprint "
        f"{record['fingerprint'][:16]}..."
    )


def _write_report(
    args: argparse.Namespace,
    model: Any,
    data: TrainingData,
    target: Target,
    valid: Part | None,
    y_valid: np.ndarray | None,
    timings: dict[str, float],
) -> None:
    """The page, from the rows that the model was not trained on if there are any."""

    def labels(y: np.ndarray) -> np.ndarray:
        return y if target.classes is None else target.classes[y]

    train = (
        data.train.x,
        labels(target.train),
        *([data.train.weight] if data.train.weight is not None else []),
    )
    rows, y, weight = train[0], train[1], data.train.weight
    if valid is not None and y_valid is not None:
        rows, y, weight = valid.x, labels(y_valid), valid.weight
    title = f"{model.table_.target} from {os.path.basename(args.data)}"
    with without_name_warnings():
        write_report(
            model,
            args.report,
            rows,
            y,
            weight,
            title=title,
            train=train,
            timings=timings,
            model_path=args.out,
            encoded=True,
        )
