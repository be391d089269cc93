"""The sections of a report, as the template wants them: texts, tables and pictures."""

from __future__ import annotations

import importlib.metadata
import inspect
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.explain import importance
from gpuboost.explain.importance import Table
from gpuboost.export.text import export_text
from gpuboost.plots.style import shortened
from gpuboost.report import figures, judge, summary
from gpuboost.report.figures import Picture
from gpuboost.report.subject import Answer, Output, Rows, Subject, printable
from gpuboost.report.words import number, percent, seconds

#: Columns that a table shows at once, classes that a matrix does, and outputs that get figures of
#: their own.
MAX_COLUMNS, MAX_CLASSES, MAX_OUTPUTS = 30, 30, 4
#: Levels of the first tree that are drawn, and that are written.
DRAWN_LEVELS, WRITTEN_LEVELS = 3, 6
#: Features whose importances are listed.
MOST_IMPORTANCES = 500
#: Longest text of a cell.
LONGEST = 48

TASKS = {"binary": "classification, 2 classes", "regression": "regression"}
MEASURES = {"mdi": "decrease of impurity", "mdi_oob": "MDI, out of bag", "ufi": "UFI, out of bag"}
PACKAGES = {
    "gpuboost": "gpuboost-trees",
    "numpy": "numpy",
    "numba": "numba",
    "scikit-learn": "scikit-learn",
    "matplotlib": "matplotlib",
}


@dataclass(frozen=True)
class Judged:
    """Rows and what the model says of them."""

    rows: Rows
    answers: list[Answer]
    measures: list[dict[str, float]]  # of each output

    @classmethod
    def of(cls, subject: Subject, rows: Rows) -> Judged:
        """Ask the model."""
        answers = subject.answers(rows.x)
        found = [
            judge.measures(*one[:2], rows.weight, one[2])
            for one in zip(subject.outputs, rows.y, answers, strict=True)
        ]
        return cls(rows, answers, found)


# --- the head


def task(subject: Subject) -> str:
    """What the model does, in words."""
    first = subject.outputs[0]
    said = TASKS.get(
        first.task,
        f"classification, {len(first.labels)} {'class' if len(first.labels) == 1 else 'classes'}",
    )
    if len(subject.outputs) == 1:
        return said
    return f"{said.split(',')[0]}, {len(subject.outputs)} outputs"


def cards(
    subject: Subject, judged: Judged | None, timings: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the figures to see first."""
    out = []
    if judged is not None:
        several = len(subject.outputs) > 1
        for name in list(judged.measures[0])[:3]:
            values = [own[name] for own in judged.measures if name in own]
            out.append(
                (
                    name,
                    number(float(np.mean(values))),
                    f"mean of {len(values)} outputs" if several else "",
                )
            )
    trees, rounds = subject.trees, subject.n_rounds
    leaves = sum(tree.n_leaves for tree in trees)
    if rounds is not None:
        trained = subject.model.n_estimators_
        out.append(
            (
                "rounds",
                number(rounds),
                f"of {trained:,} trained" if trained > rounds else f"{len(trees):,} trees",
            )
        )
    else:
        out.append(("trees", number(len(trees)), ""))
    out.append(
        (
            "leaves",
            number(leaves),
            f"{leaves / len(trees):,.1f} for each tree" if len(trees) > 1 else "",
        )
    )
    out.append(("features", number(len(subject.names)), ""))
    if judged is not None:
        out.append(("rows", number(len(judged.rows)), "weighted" if judged.rows.weighted else ""))
    if "fit" in timings:
        out.append(("fit", seconds(timings["fit"]), ""))
    return out


# --- data


def data(subject: Subject, rows: Rows, importances: np.ndarray) -> dict[str, Any]:
    """Features and targets of the rows."""
    columns, n_seen = summary.columns(subject, rows.x)
    many = len(columns) > MAX_COLUMNS
    if many:
        columns = [columns[f] for f in np.argsort(-importances, kind="stable")]
    cells = [_cells(column, importances[column.number]) for column in columns]
    return {
        "n_rows": f"{len(rows):,}",
        "n_columns": f"{len(columns):,}",
        "sampled": f"{n_seen:,}" if n_seen < len(rows) else "",
        "first": cells[:MAX_COLUMNS],
        "others": cells[MAX_COLUMNS:],
        "n_empty": sum(column.kind == "empty" for column in columns),
        "n_constant": sum(column.kind == "constant" for column in columns),
        "targets": [
            _target(output, y)
            for output, y in zip(subject.outputs[:MAX_OUTPUTS], rows.y, strict=False)
        ],
    }


def _cells(column: summary.Column, share: float) -> dict[str, Any]:
    if column.top:
        values = [", ".join(f"{shortened(text, 16)} {percent(own)}" for text, own in column.top)]
    elif column.places is not None:
        values = [number(place) for place in column.places]
    else:
        values = ["–"] * 3
    return {
        "name": column.name,
        "short": shortened(column.name, LONGEST),
        "kind": column.kind,
        "missing": percent(column.missing),
        "some_missing": column.missing > 0,
        "distinct": f"{column.n_distinct:,}",
        "values": values,
        "spark": summary.spark(column.bars),
        "importance": percent(share),
    }


def _target(output: Output, y: np.ndarray) -> dict[str, Any]:
    if output.classes is None:
        picture = figures.histogram(
            f"target {output.name}",
            y,
            shortened(output.name, 40),
            f"Distribution of the target {output.name}",
        )
        return {"name": output.name, "picture": picture, "classes": [], "n_more": 0}
    counts = np.bincount(y, minlength=len(output.classes))
    shown = (
        np.argsort(-counts, kind="stable")[:MAX_CLASSES]
        if len(counts) > MAX_CLASSES
        else np.arange(len(counts))
    )
    bars = [
        (
            output.labels[c],
            f"{counts[c]:,}",
            percent(counts[c] / len(y)),
            float(100 * counts[c] / counts.max()),
        )
        for c in shown
    ]
    return {
        "name": output.name,
        "picture": None,
        "classes": bars,
        "n_more": len(counts) - len(shown),
    }


# --- learning


def curves(subject: Subject, rows: Rows | None) -> list[Picture]:
    """Metrics by rounds: of the eval sets, or else of the rows that were given."""
    if getattr(subject.model, "evals_result_", None):
        return figures.curves(
            subject.model,
            "On the eval sets that the model was fitted with. A ring marks the best round of a "
            "curve.",
        )
    found = judge.rounds_on_rows(subject, rows) if rows is not None else None
    if found is None:
        return []
    metric, values, n_rows = found
    said = (
        f"On {n_rows:,} of these rows, as the model was fitted without an eval set. "
        "Rows that the number of rounds was chosen by no longer tell how well the model does "
        "on new ones."
    )
    return figures.curves({"these rows": {metric: values}}, said)


def metrics(subject: Subject, sets: dict[str, Judged]) -> dict[str, Any]:
    """The metrics of every set and output.

    Beside what the mean or the class shares of the last set (the training rows) would get.
    """
    main, last = next(iter(sets.values())), list(sets.values())[-1]
    lines = []
    for o, output in enumerate(subject.outputs):
        plain = judge.baseline(output, last.rows.y[o], last.rows.weight, len(main.rows))
        compared = judge.measures(output, main.rows.y[o], main.rows.weight, plain)
        for name, value in compared.items():
            better = "higher" if name in judge.HIGHER_IS_BETTER else "lower"
            lines.append(
                (
                    output.name,
                    name,
                    [number(own.measures[o][name]) for own in sets.values()],
                    number(value),
                    better,
                )
            )
    return {
        "sets": list(sets),
        "lines": lines,
        "several": len(subject.outputs) > 1,
        "undefined": any("–" in line[2] for line in lines),
    }


def by_output(subject: Subject, judged: Judged) -> list[dict[str, Any]]:
    """Figures of each of the first outputs."""
    out = []
    for output, y, answer, found in zip(
        subject.outputs[:MAX_OUTPUTS], judged.rows.y, judged.answers, judged.measures, strict=False
    ):
        section: dict[str, Any] = {"name": output.name, "pictures": [], "confusion": None}
        weight = judged.rows.weight
        if output.classes is None:
            left = y - answer.prediction
            section["pictures"] = [
                figures.predicted_and_true(output.name, y, answer.prediction),
                figures.residuals(output.name, y, answer.prediction),
                figures.histogram(
                    f"residuals of {output.name}",
                    left,
                    "true minus predicted",
                    f"Residuals of {output.name}",
                    zero=True,
                ),
            ]
        else:
            section["confusion"] = _confusion(output, judge.confusion(output, y, weight, answer))
            if output.task == "binary" and answer.shares is not None:
                section["pictures"] = _two_classes(
                    output, y, weight, answer.shares[:, 1], found["AUC"]
                )
        out.append(section)
    return out


def _two_classes(
    output: Output, y: np.ndarray, weight: np.ndarray, p: np.ndarray, area: float
) -> list[Picture]:
    label = output.labels[1]
    pictures = [figures.calibration(judge.calibration(y, weight, p), label)]
    if not np.isnan(area):  # with one class there is no curve
        pictures.append(figures.roc(*judge.roc(y, weight, p), area, label))
    return pictures


def _confusion(output: Output, table: np.ndarray) -> dict[str, Any]:
    precision, recall = judge.precision_and_recall(table)
    there = table.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / there[:, None]
    labels = output.labels
    small = len(labels) <= MAX_CLASSES
    order = (
        np.arange(len(labels))
        if small
        else np.argsort(np.nan_to_num(recall, nan=2.0), kind="stable")
    )
    wrong = np.where(np.eye(len(labels), dtype=bool), 0.0, table)
    worst = [i for i in np.argsort(-wrong, axis=None, kind="stable")[:20] if wrong.flat[i] > 0]
    pairs = [
        (a, b, number(table[a, b]), percent(shares[a, b]))
        for a, b in (divmod(int(i), len(labels)) for i in worst)
    ]
    matrix = (
        [
            [_share(*cell) for cell in zip(*row, strict=True)]
            for row in zip(shares, table, strict=True)
        ]
        if small
        else None
    )
    return {
        "labels": [(shortened(label, 14), label) for label in labels],
        "matrix": matrix,
        "pairs": [(labels[a], labels[b], *rest) for a, b, *rest in pairs],
        "classes": [
            (labels[c], number(there[c]), percent(precision[c]), percent(recall[c])) for c in order
        ],
    }


def _share(share: float, weight: float) -> tuple[str, float, str]:
    """Text, strength of the colour, and the count of a cell."""
    text = (
        ""
        if share == 0
        else "–"
        if np.isnan(share)
        else f"{100 * share:.0f}"
        if share >= 0.005
        else "<1"
    )
    return text, round(float(np.nan_to_num(share)), 3), number(weight)


# --- importances


def importances(
    subject: Subject, rows: Rows | None, train: tuple[Any, Any] | None, main: np.ndarray
) -> dict[str, Any]:
    """The model's own importances beside those that rows tell which it was not grown on."""
    order = np.argsort(-main, kind="stable")
    gain = "gain" if subject.n_rounds is not None else MEASURES["mdi"]
    found, n_rows = (
        [importance.Importance(gain, subject.names, main, np.full(len(main), np.nan))],
        0,
    )
    if rows is not None:
        permuted, n_rows = judge.permutation(subject, rows, order[: judge.MAX_COLUMNS])
        found.append(permuted)
    if train is not None and subject.has_bags:
        for method in (importance.mdi_oob, importance.ufi):
            one = method(subject.model, *train)
            found.append(
                importance.Importance(MEASURES[one.method], subject.names, one.values, one.errors)
            )
    values, errors = (
        np.stack([one.values for one in found]),
        np.stack([one.errors for one in found]),
    )
    table = Table([one.method for one in found], subject.names, values, errors)
    lines = [_importance_line(table, f) for f in order[:MOST_IMPORTANCES]]
    classes = subject.outputs[0].classes is not None
    return {
        "picture": figures.importances(table, judge.MAX_COLUMNS if len(found) < 3 else 15),
        "methods": table.methods,
        "first": lines[: judge.MAX_COLUMNS],
        "others": lines[judge.MAX_COLUMNS :],
        "n_left_out": len(order) - len(lines),
        "n_rows": f"{n_rows:,}" if n_rows else "",
        "n_permuted": min(judge.MAX_COLUMNS, len(order)),
        "own": gain,
        "out_of_bag": len(found) > 2,
        "score": "log loss" if classes else "squared error, as a part of the variance,",
        "bags_unused": subject.has_bags and train is None,
    }


def _importance_line(table: Table, f: int) -> tuple[str, str, list[str]]:
    """Short and full name of a feature, and what each measure says of it.

    The first a share, the others with two standard errors.
    """
    others = [
        _with_error(*one) for one in zip(table.values[1:, f], table.errors[1:, f], strict=True)
    ]
    return (
        shortened(table.names[f], LONGEST),
        table.names[f],
        [percent(float(table.values[0, f])), *others],
    )


def _with_error(value: float, error: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.3g}" if np.isnan(error) else f"{value:.3g} ± {2 * error:.1g}"


# --- the model


def tree(subject: Subject) -> dict[str, Any]:
    """The first tree, drawn and written."""
    text = export_text(subject.model, feature_names=subject.names, max_depth=WRITTEN_LEVELS)
    lines = [
        printable(line) if len(line) <= 240 else printable(line[:239]) + "…"
        for line in text.splitlines()
    ]
    output = subject.outputs[0]
    log_odds = output.classes is not None and subject.n_rounds is not None
    return {
        "picture": figures.first_tree(subject.model, subject.names, DRAWN_LEVELS),
        "levels": DRAWN_LEVELS,
        "written": WRITTEN_LEVELS,
        "text": "\n".join(lines),
        "n_trees": f"{len(subject.trees):,}",
        "log_odds": log_odds,
        "first_class": output.labels[0] if log_odds and output.task == "multiclass" else "",
    }


def parameters(model: Any) -> list[tuple[str, str, str, bool]]:
    """(name, value, default, whether they differ), those that differ first."""
    defaults = {
        name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()
    }
    lines = []
    for name, value in model.get_params(deep=False).items():
        own, default = repr(value), repr(defaults[name])
        lines.append((name, shortened(printable(own), LONGEST), default, own != default))
    return sorted(lines, key=lambda line: not line[3])


def versions() -> list[tuple[str, str]]:
    """What the page was made with."""
    from gpuboost import __version__

    own = [("gpuboost", __version__), ("Python", platform.python_version())]
    return own + [
        (name, importlib.metadata.version(package))
        for name, package in PACKAGES.items()
        if name != "gpuboost"
    ]
