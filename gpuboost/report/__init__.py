"""A page about a fitted model: one HTML file that needs nothing else."""

from __future__ import annotations

import errno
import numbers
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpuboost.atomic_files import atomic_write
from gpuboost.optional import load


def page_style() -> str:
    """The style sheet of all pages."""
    return _text_of("page.css")


def _text_of(name: str) -> str:
    return files("gpuboost.report").joinpath(name).read_text("utf-8")


def write_report(
    model: Any,
    path: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    title: str | None,
    train: Any,
    timings: Mapping[str, float] | None,
    model_path: Any,
    encoded: bool = False,
) -> None:
    """What the estimators' method ``report`` does: check the arguments, write the page.

    If ``encoded``, X and the training rows are what the estimator's ``check_rows`` returns.
    """
    target = _check_path(path)
    if (X is None) != (y is None):
        passed, lacking = ("X", "y") if y is None else ("y", "X")
        raise ValueError(f"{passed} was given without {lacking}: a report needs both, or neither")
    if X is None and sample_weight is not None:
        raise ValueError("sample_weight was given without X and y")
    timings = _check_timings(timings)
    if train is not None:
        if not isinstance(train, (tuple, list)) or len(train) not in (2, 3):
            raise ValueError("train must be (X, y) or (X, y, sample_weight)")
        train = (*train, None)[:3]
    jinja2 = load("jinja2", "a report")
    from gpuboost.explain.importance import mdi
    from gpuboost.report import sections
    from gpuboost.report.subject import Subject, printable
    from gpuboost.report.words import seconds

    subject = Subject.of(model, y if train is None or X is not None else train[1], encoded)
    sets = {}
    if X is not None:
        sets["these rows"] = sections.Judged.of(subject, subject.rows(X, y, sample_weight, "X"))
    if train is not None:
        training_rows = subject.rows(train[0], train[1], train[2], "train")
        sets["training rows"] = sections.Judged.of(subject, training_rows)
    main = next(iter(sets.values()), None)
    rows = main.rows if main is not None else None
    shares = mdi(model).values
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page: str = environment.from_string(_text_of("page.html")).render(
        style=page_style(),
        title=printable(type(model).__name__ if title is None else title),
        estimator=type(model).__name__,
        task=sections.task(subject),
        targets=[output.name for output in subject.outputs],
        cards=sections.cards(subject, main, timings),
        only_train=X is None and train is not None,
        with_train=train is not None,
        weighted=rows is not None and rows.weighted,
        leakage=sections.leakage(subject, list(sets.values())[-1].rows) if sets else [],
        data=sections.data(subject, rows, shares) if rows is not None else None,
        taken=sections.taken(subject),
        curves=sections.curves(subject, rows),
        metrics=sections.metrics(subject, sets) if sets else None,
        outputs=sections.by_output(subject, main) if main is not None else [],
        n_outputs=len(subject.outputs),
        importances=sections.importances(
            subject, rows, train[:2] if train is not None else None, shares
        ),
        tree=sections.tree(subject),
        parameters=sections.parameters(model),
        timings=[(printable(name), seconds(value)) for name, value in timings.items()],
        versions=sections.versions(),
        device=str(getattr(model, "device", "cpu")),
        fingerprint=model.fingerprint(),
        model_path=printable("model.gb" if model_path is None else os.fspath(model_path)),
    )
    with atomic_write(target) as file:
        file.write(page.encode("utf-8"))


def _check_path(path: Any) -> Path:
    """Where to write; raises before any work is done if that cannot be."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "path must be a file to write, but it is a folder", str(target)
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "path must be in a folder that exists", str(target))
    return target


def _check_timings(timings: Any) -> dict[str, float]:
    if timings is None:
        return {}
    if not isinstance(timings, Mapping):
        raise TypeError(
            f"timings must be a mapping of names to seconds; got {type(timings).__name__}"
        )
    for name, value in timings.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, numbers.Real)
            or not 0 <= float(value) < float("inf")
        ):
            raise ValueError(f"timings must be seconds, at least 0; got {value!r} for {name!r}")
    return {str(name): float(value) for name, value in timings.items()}
