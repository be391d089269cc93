"""``gpuboost predict``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

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
from gpuboost.data.columns import fill
from gpuboost.data.features import ERROR, MISSING
from gpuboost.estimators.saving import load_model
from gpuboost.model.ensemble import ensemble_of, on_numbers
from gpuboost.progress import Progress
from gpuboost.tables import ModelColumns, Table, TableError
from gpuboost.tables.errors import check_columns, shortened
from gpuboost.tables.writing import open_writer, writable_format

SUMMARY = "predict the rows of a table with a trained model"
DESCRIPTION = """\
Predicts the rows of a table, batch by batch: the memory it takes does not depend on the number of
rows. Columns are found by the names that the model was trained with; others, and the target if it
is there, are ignored. A model without names takes all columns in their order. The result has one
row for each row of the table, in the same order, and appears under its name when it is complete.
"""
EPILOG = f"""\
{ABOUT_TABLES}
results:
  CSV, TSV, Parquet or Arrow (Feather), by the ending of --out; - is standard output, as CSV.
  prediction: the value, or the class. --proba adds probability_CLASS for each class, --raw the
  scores that they come from.
  Cells are written as they are. A spreadsheet runs text cells of CSV and TSV that begin with
  = + - @, a tab or an end of line: if classes or --id columns have some, a note says so, and
  --escape-formulas puts ' before them. Numbers stay numbers.

examples:
  gpuboost predict model.gb new.csv --out predictions.csv
  gpuboost predict model.gb new.parquet --out predictions.parquet --proba --id customer,day
  zcat new.csv.gz | gpuboost predict model.gb - --out -
"""
#: Bytes of rows that are predicted at once.
BLOCK_BYTES = 1 << 24
OPTIONS: Options = {
    "model": {"metavar": "MODEL", "help": "a model that was saved by train or save_model"},
    "data": {"metavar": "DATA", "help": "the table to predict; - for standard input"},
    "--out": {
        "metavar": "FILE",
        "default": "-",
        "help": "where to write the predictions (default: standard output)",
    },
    "--proba": {"action": "store_true", "help": "write the probability of each class, too"},
    "--raw": {"action": "store_true", "help": "write raw scores, too"},
    "--id": {
        "metavar": "COLUMNS",
        "help": "columns of the table to keep in the result, with commas between them",
    },
    "--drop": {"metavar": "COLUMNS", "help": "columns to leave out, for models that know no names"},
    "--escape-formulas": {
        "action": "store_true",
        "help": "put ' before text cells that spreadsheets would run as formulas",
    },
    **TABLE_OPTIONS,
    "--quiet": {"action": "store_true", "help": "print errors only"},
    **JSON_OPTION,
}


def run(args: argparse.Namespace) -> int:
    """Read, predict and write in turns."""
    voice = Voice(args.quiet)
    if args.json and args.out == "-":
        raise CliError(
            "--json and the predictions cannot both go to standard output: use --out FILE"
        )
    writable_format(args.out, args.escape_formulas)
    check_output(args.out, args.data, args.model)
    model = load_model(args.model)
    methods = _methods(on_numbers(model, places=True), args)
    begin = time.perf_counter()
    with open_with_options(args.data, args, keep=False) as table:
        columns = _columns(model, table, names(args.drop), voice)
        kept = names(args.id)
        check_columns(table.source.label, kept, table.names)
        n_rows = 0
        progress = Progress(table.total, "predicting", table.unit, int(not args.quiet), scaled=True)
        with progress, naming(args.out), open_writer(args.out, args.escape_formulas) as writer:
            for x, kept_columns in _blocks(table, columns, kept, progress):
                writer.write(kept_columns | _predictions(model, x, methods, kept))
                n_rows += x.shape[0]
    notes = columns.unknown_texts()
    if writer.n_formulas and not args.escape_formulas:
        notes.append(
            f"{writer.n_formulas:,} text cells begin with = + - @, a tab or an end of line, which "
            "spreadsheets run as formulas; --escape-formulas puts ' before them"
        )
    for text in notes:
        voice.note(text)
    seconds = time.perf_counter() - begin
    voice.tell(
        f"{n_rows:,} rows predicted in {seconds:.2f} s"
        + ("" if args.out == "-" else f": {args.out}")
    )
    if args.json:
        write_json(
            {
                "model": args.model,
                "data": args.data,
                "rows": n_rows,
                "out": args.out,
                "notes": notes,
                "seconds": round(seconds, 3),
            }
        )
    return 0


def _methods(model: Any, args: argparse.Namespace) -> dict[str, Any]:
    """What to ask the model, by the name of the result's columns."""
    methods = {"prediction": model.predict}
    for option, method, name in (
        ("proba", "predict_proba", "probability"),
        ("raw", "decision_function", "raw"),
    ):
        if getattr(args, option):
            if not hasattr(model, method):
                raise CliError(f"--{option}: a {type(model).__name__} has no {method}")
            methods[name] = getattr(model, method)
    return methods


# --- columns


def _columns(model: Any, table: Table, drop: list[str], voice: Voice) -> ModelColumns:
    """Which columns of the table are the model's features."""
    where, schema = table.source.label, getattr(model, "table_", None)
    check_columns(where, drop, table.names)
    wanted = schema.columns if schema is not None else getattr(model, "feature_names_in_", None)
    if wanted is None:
        chosen = [name for name in table.names if name not in drop]
        if len(chosen) != model.n_features_in_:
            raise TableError(
                f"{where}: the model has {model.n_features_in_} features without names, the "
                f"table has {len(chosen)} columns: "
                f"{shortened(chosen)}; leave out others with --drop"
            )
    else:
        chosen = [str(name) for name in wanted]
        missing = table.missing(chosen)
        if missing:
            raise TableError(
                f"{where}: columns that the model needs are missing: {shortened(missing)}; "
                f"there are {shortened(table.names)}"
            )
        target = None if schema is None else schema.target
        extra = [name for name in table.names if name not in {*chosen, target}]
        if extra:
            voice.note(f"ignored columns: {shortened(extra)}")
    features = ensemble_of(model).features
    unknown = getattr(model, "unknown_category", MISSING)
    formats = {} if schema is None else schema.formats
    return ModelColumns(
        chosen,
        {chosen[f]: values for f, values in features.categories.items()},
        {name: form for name, form in formats.items() if name in chosen},
        where,
        unknown == ERROR,
        {chosen[f]: features.features[f].number_of_new(unknown) for f in features.categories},
    )


def _blocks(
    table: Table, columns: ModelColumns, kept: list[str], progress: Progress
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Rows to predict, many at a time, and the columns to keep of them.

    A block is overwritten by the next. Rows of a sparse table are CSR matrices.
    """
    n_features = len(columns.columns)
    size = max(256, BLOCK_BYTES // (8 * n_features))
    block = np.empty((size, n_features), table.dtype(columns.columns))
    # what is only kept is read as it stands: numbers of customers keep all of their digits
    only_kept = [name for name in kept if name not in columns.columns]
    wanted, as_text = [*columns.columns, *only_kept], columns.text | set(only_kept)
    filled, parts = 0, []
    for batch in table.batches(wanted, as_text, progress.advance):
        stored = columns.stored(batch)
        if stored is not None:
            yield stored, {name: batch.columns[name] for name in kept}
            continue
        features, done = columns.features(batch), 0
        while done < batch.n_rows:
            n = min(batch.n_rows - done, size - filled)
            fill(block[filled : filled + n], [column[done : done + n] for column in features])
            parts.append({name: batch.columns[name][done : done + n] for name in kept})
            filled, done = filled + n, done + n
            if filled == size:
                yield block, _joined(parts, kept)
                filled, parts = 0, []
    if filled:
        yield block[:filled], _joined(parts, kept)


def _joined(parts: list[dict[str, Any]], kept: list[str]) -> dict[str, Any]:
    if not kept:
        return {}
    if isinstance(parts[0][kept[0]], np.ndarray):
        return {name: np.concatenate([part[name] for part in parts]) for name in kept}
    import pyarrow as pa

    return {
        name: pa.chunked_array([part[name] for part in parts]).combine_chunks() for name in kept
    }


# --- results


def _predictions(
    model: Any, x: np.ndarray, methods: dict[str, Any], kept: list[str]
) -> dict[str, np.ndarray]:
    """Columns of the result."""
    out: dict[str, np.ndarray] = {}
    with without_name_warnings():
        for name, method in methods.items():
            out |= _named(name, method(x), getattr(model, "classes_", None))
    for name in kept:
        if name in out:
            raise CliError(f"--id {name}: the result has a column of this name already")
    return out


def _named(name: str, values: Any, classes: Any) -> dict[str, np.ndarray]:
    """One column, or one for each class or output."""
    if isinstance(values, list):  # one matrix of probabilities for each output
        parts = [
            _named(f"{name}_{o}", part, labels)
            for o, (part, labels) in enumerate(zip(values, classes, strict=True))
        ]
        return {key: column for part in parts for key, column in part.items()}
    if values.ndim == 1:
        return {name: _plain(values)}
    labels = (
        classes
        if name != "prediction" and classes is not None and not isinstance(classes, list)
        else range(values.shape[1])
    )
    return {
        f"{name}_{label}": _plain(np.ascontiguousarray(values[:, k]))
        for k, label in enumerate(labels)
    }


def _plain(values: np.ndarray) -> np.ndarray:
    return values.astype(object) if values.dtype.kind == "U" else values
