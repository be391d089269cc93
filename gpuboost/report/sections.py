"""The sections of a report, as the template wants them: texts, tables and pictures."""

from __future__ import annotations

import importlib.metadata
import inspect
import platform
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from gpuboost.explain.importance import Importance, Table, mdi_oob, ufi
from gpuboost.export.text import export_text
from gpuboost.plots.style import shortened
from gpuboost.report import figures, judge, summary
from gpuboost.report.figures import Picture
from gpuboost.report.leakage import suspects
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

MEASURES = {"mdi": "decrease of impurity", "mdi_oob": "MDI, out of bag", "ufi": "UFI, out of bag"}
PACKAGES = ("numpy", "numba", "scikit-learn", "matplotlib")


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
        measures = [
            judge.measures(output, y, rows.weight, answer)
            for output, y, answer in zip(subject.outputs, rows.y, answers, strict=True)
        ]
        return cls(rows, answers, measures)


# --- the head


def task(subject: Subject) -> str:
    """What the model does, in words."""
    first = subject.outputs[0]
    kind = "regression" if first.classes is None else "classification"
    if len(subject.outputs) > 1:
        return f"{kind}, {len(subject.outputs)} outputs"
    n = len(first.labels)
    return kind if first.classes is None else f"{kind}, {n} {'class' if n == 1 else 'classes'}"


def cards(
    subject: Subject, judged: Judged | None, timings: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the figures to see first."""
    trees, rounds = subject.trees, subject.n_rounds
    leaves = sum(tree.n_leaves for tree in trees)
    by_tree = f"{leaves / len(trees):,.1f} for each tree" if len(trees) > 1 else ""
    out = [("trees", number(len(trees)), "")]
    if rounds is not None:
        trained = subject.model.n_estimators_
        remark = f"of {trained:,} trained" if trained > rounds else f"{len(trees):,} trees"
        out = [("rounds", number(rounds), remark)]
    out += [("leaves", number(leaves), by_tree), ("features", number(len(subject.names)), "")]
    if judged is not None:
        rows = ("rows", number(len(judged.rows)), "weighted" if judged.rows.weighted else "")
        measures = [_mean_card(name, judged.measures) for name in list(judged.measures[0])[:3]]
        out = [*measures, *out, rows]
    return [*out, ("fit", seconds(timings["fit"]), "")] if "fit" in timings else out


def _mean_card(name: str, measures: list[dict[str, float]]) -> tuple[str, str, str]:
    """The card of a metric: its mean over the outputs that have it."""
    values = [of_output[name] for of_output in measures if name in of_output]
    remark = f"mean of {len(values)} outputs" if len(measures) > 1 else ""
    return name, number(float(np.mean(values))), remark


def leakage(subject: Subject, rows: Rows) -> list[tuple[str, str, str]]:
    """(feature, output, extent) of features that alone nearly tell a target."""
    return [
        (subject.names[suspect.feature], output.name, suspect.extent)
        for output, y in zip(subject.outputs[:MAX_OUTPUTS], rows.y, strict=False)
        for suspect in suspects(rows.x, y, output.classes is not None)
    ]


# --- data


def data(subject: Subject, rows: Rows, importances: np.ndarray) -> dict[str, Any]:
    """Features and targets of the rows."""
    columns, n_seen = summary.columns(subject, rows)
    if len(columns) > MAX_COLUMNS:
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


def taken(subject: Subject) -> list[list[str]]:
    """How columns are taken that are no plain numbers."""
    table = subject.model.features_
    rows = [astuple(row) for row in table if row.kind != "number"]
    return [[printable("" if cell is None else cell) for cell in row] for row in rows]


def _cells(column: summary.Column, share: float) -> dict[str, Any]:
    if column.top:
        values = [", ".join(f"{shortened(text, 16)} {percent(part)}" for text, part in column.top)]
    elif column.places is not None:
        values = column.words()
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
    most_first = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
    shown = most_first if len(counts) > MAX_CLASSES else np.arange(len(counts))
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
    """Metrics by rounds: of the eval sets, or else of the rows to judge the model on."""
    if getattr(subject.model, "evals_result_", None):
        return figures.curves(
            subject.model,
            "On the eval sets that the model was fitted with. A ring marks the best round of a "
            "curve.",
        )
    by_rounds = judge.rounds_on_rows(subject, rows) if rows is not None else None
    if by_rounds is None:
        return []
    metric, values, n_rows = by_rounds
    return figures.curves(
        {"these rows": {metric: values}},
        f"On {n_rows:,} of these rows, as the model was fitted without an eval set. "
        "Rows that the number of rounds was chosen by no longer tell how well the model does "
        "on new ones.",
    )


def metrics(subject: Subject, sets: dict[str, Judged]) -> dict[str, Any]:
    """The metrics of every set and output, beside those of a baseline.

    The baseline is the mean or the class shares of the last set, which is the training rows if
    there are any.
    """
    main, last = next(iter(sets.values())), list(sets.values())[-1]
    lines = []
    for o, output in enumerate(subject.outputs):
        plain = judge.baseline(output, last.rows.y[o], last.rows.weight, len(main.rows))
        compared = judge.measures(output, main.rows.y[o], main.rows.weight, plain)
        lines += [
            (
                output.name,
                name,
                [number(judged.measures[o][name]) for judged in sets.values()],
                number(value),
                "higher" if name in judge.HIGHER_IS_BETTER else "lower",
            )
            for name, value in compared.items()
        ]
    return {
        "sets": list(sets),
        "lines": lines,
        "several": len(subject.outputs) > 1,
        "undefined": any("–" in line[2] for line in lines),
    }


def by_output(subject: Subject, judged: Judged) -> list[dict[str, Any]]:
    """Figures of each of the first outputs."""
    out = []
    for output, y, answer, measures in zip(
        subject.outputs[:MAX_OUTPUTS], judged.rows.y, judged.answers, judged.measures, strict=False
    ):
        pictures, confusion, weight = [], None, judged.rows.weight
        if output.classes is None:
            pictures = [
                figures.predicted_and_true(output.name, y, answer.prediction),
                figures.residuals(output.name, y, answer.prediction),
                figures.histogram(
                    f"residuals of {output.name}",
                    y - answer.prediction,
                    "true minus predicted",
                    f"Residuals of {output.name}",
                    zero=True,
                ),
            ]
        else:
            confusion = _confusion(output, judge.confusion(output, y, weight, answer))
        if output.task == "binary" and answer.shares is not None:
            label, p, area = output.labels[1], answer.shares[:, 1], measures["AUC"]
            pictures = [figures.calibration(judge.calibration(y, weight, p), label)]
            if not np.isnan(area):  # with one class there is no curve
                pictures.append(figures.roc(*judge.roc(y, weight, p), area, label))
        out.append({"name": output.name, "pictures": pictures, "confusion": confusion})
    return out


def _confusion(output: Output, table: np.ndarray) -> dict[str, Any]:
    precision, recall = judge.precision_and_recall(table)
    there = table.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / there[:, None]
    labels = output.labels
    order, matrix = np.argsort(np.nan_to_num(recall, nan=2.0), kind="stable"), None
    if len(labels) <= MAX_CLASSES:
        order = np.arange(len(labels))
        matrix = [
            [_share(*cell) for cell in zip(*row, strict=True)]
            for row in zip(shares, table, strict=True)
        ]
    wrong = np.where(np.eye(len(labels), dtype=bool), 0.0, table)
    worst = [i for i in np.argsort(-wrong, axis=None, kind="stable")[:20] if wrong.flat[i] > 0]
    return {
        "labels": [(shortened(label, 14), label) for label in labels],
        "matrix": matrix,
        "pairs": [
            (labels[a], labels[b], number(table[a, b]), percent(shares[a, b]))
            for a, b in (divmod(int(i), len(labels)) for i in worst)
        ],
        "classes": [
            (labels[c], number(there[c]), percent(precision[c]), percent(recall[c])) for c in order
        ],
    }


def _share(share: float, weight: float) -> tuple[str, float, str]:
    """Text, strength of the colour, and the count of a cell."""
    text = f"{100 * share:.0f}" if share >= 0.005 else "<1"
    if share == 0 or np.isnan(share):
        text = "" if share == 0 else "–"
    return text, round(float(np.nan_to_num(share)), 3), number(weight)


# --- importances


def importances(
    subject: Subject, rows: Rows | None, train: tuple[Any, Any] | None, main: np.ndarray
) -> dict[str, Any]:
    """The model's own importances beside those that rows tell which it was not grown on."""
    order = np.argsort(-main, kind="stable")
    gain = "gain" if subject.n_rounds is not None else MEASURES["mdi"]
    measures, n_rows = [Importance(gain, subject.names, main, np.full(len(main), np.nan))], 0
    if rows is not None:
        permuted, n_rows = judge.permutation(subject, rows, order[: judge.MAX_COLUMNS])
        measures.append(permuted)
    if train is not None and subject.has_bags:
        out_of_bag = [method(subject.model, *train) for method in (mdi_oob, ufi)]
        measures += [replace(one, method=MEASURES[one.method]) for one in out_of_bag]
    table = Table.of(measures)
    lines = [_importance_line(table, f) for f in order[:MOST_IMPORTANCES]]
    return {
        "picture": figures.importances(table, judge.MAX_COLUMNS if len(measures) < 3 else 15),
        "methods": table.methods,
        "first": lines[: judge.MAX_COLUMNS],
        "others": lines[judge.MAX_COLUMNS :],
        "n_left_out": len(order) - len(lines),
        "n_rows": f"{n_rows:,}" if n_rows else "",
        "n_permuted": min(judge.MAX_COLUMNS, len(order)),
        "main": gain,
        "out_of_bag": len(measures) > 2,
        "score": "log loss"
        if subject.outputs[0].classes is not None
        else "squared error, as a part of the variance,",
        "bags_unused": subject.has_bags and train is None,
    }


def _importance_line(table: Table, f: int) -> tuple[str, str, list[str]]:
    """Short and full name of a feature, and what each measure says of it.

    The first measure is a share, the others have two standard errors.
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
    adds_scores = subject.outputs[0].classes is not None and subject.n_rounds is not None
    return {
        "picture": figures.first_tree(subject.model, subject.names, DRAWN_LEVELS),
        "levels": DRAWN_LEVELS,
        "written": WRITTEN_LEVELS,
        "text": "\n".join(lines),
        "n_trees": f"{len(subject.trees):,}",
        "scores": _scores_of_first_tree(subject) if adds_scores else "",
    }


def _scores_of_first_tree(subject: Subject) -> str:
    """What the values of the first tree are added to."""
    output, several = subject.outputs[0], len(subject.outputs) > 1
    if subject.trees[0].n_channels > 1:
        return f"scores of the {'labels' if several else 'classes'}, one after another"
    if several:
        return f"log odds of {output.name}"
    if output.task == "multiclass":
        return f"score of class {output.labels[0]}"
    return "score (log odds of the second class)"


def parameters(model: Any) -> list[tuple[str, str, str, bool]]:
    """(name, value, default, whether they differ), those that differ first."""
    defaults = {
        name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()
    }
    texts = [(name, repr(x), repr(defaults[name])) for name, x in model.get_params(False).items()]
    lines = [
        (name, shortened(printable(value), LONGEST), default, value != default)
        for name, value, default in texts
    ]
    return sorted(lines, key=lambda line: not line[3])


def versions() -> list[tuple[str, str]]:
    """What the page was made with."""
    from gpuboost import __version__

    packages = [(name, importlib.metadata.version(name)) for name in PACKAGES]
    return [("gpuboost", __version__), ("Python", platform.python_version()), *packages]
