"""What a target column asks for: classes or numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.tables.columns import is_number
from gpuboost.tables.errors import TableError
from gpuboost.tables.matrix import TrainingData

#: Texts are classes if there are at most this many of them; more than 20 also need 10 rows for
#: each on average. Boosting trains a tree for each class in every round.
MOST_TEXTS = 100
TASKS = ("auto", "binary", "multiclass", "regression")
#: Whole numbers are classes if there are at most this many of them ...
MOST_CLASSES = 20
#: ... and on average this many rows for each; two whole numbers always are.
ROWS_PER_CLASS = 10


@dataclass(frozen=True)
class Target:
    """The target as a model takes it."""

    task: str
    reason: str  # why it is this task
    classes: Any  # ndarray of labels, ascending; None for numbers
    train: np.ndarray  # places in ``classes``, or numbers
    valid: np.ndarray | None
    n_unknown: int = 0  # held-out rows of a class that no training row has; they were left out


def settle_target(data: TrainingData, name: str, task: str = "auto") -> Target:
    """Find the task, and the target's values for it.

    Rows are left out of ``data.valid`` if training cannot know their class.

    Parameters
    ----------
    data : TrainingData
        The table.
    name : str
        Name of the target, for messages.
    task : {"auto", "binary", "multiclass", "regression"}, default="auto"
        What was asked for. "auto": classes if the target is text or true and false, or if its
        values are two whole numbers, or at most 20 of them with 10 rows for each on average; else
        regression. More than 100 texts, or more than 20 with fewer than 10 rows for each, are an
        error that says what to do.

    Returns
    -------
    Target
        Task and values.
    """
    y = data.train.y
    if task == "regression" and data.target_kind == "text":
        raise TableError(
            f"the target {name!r} holds text, such as {_a_text(data)!r}: regression needs numbers"
        )
    if task == "auto":
        _check_texts(data, name)
    task, reason = _infer(data, y) if task == "auto" else (task, "as asked for")
    if task == "regression":
        return Target(task, reason, None, y, None if data.valid is None else data.valid.y)
    labels = np.unique(y)
    classes = _labels(data, labels)
    if len(labels) < 2:
        raise TableError(
            f"the target {name!r} has only one value, {classes[0]}: there is nothing to learn"
        )
    if task == "binary" and len(labels) > 2:
        raise TableError(f"--task binary needs two classes; the target {name!r} has {len(labels)}")
    n_unknown = 0
    if data.valid is not None:
        known = np.isin(data.valid.y, labels)
        n_unknown = int(np.count_nonzero(~known))
        if n_unknown:
            part = data.valid
            part.x, part.y, part.weight = (
                part.x[known],
                part.y[known],
                None if part.weight is None else part.weight[known],
            )
    valid = None if data.valid is None else np.searchsorted(labels, data.valid.y)
    return Target(
        "binary" if len(labels) == 2 else "multiclass",
        reason,
        classes,
        np.searchsorted(labels, y),
        valid,
        n_unknown,
    )


def _a_text(data: TrainingData) -> str:
    """A value of a text target; one that is no number, if there is one."""
    texts = [text for text in data.target_values if not is_number(text)]
    return (texts or data.target_values)[0]


def _check_texts(data: TrainingData, name: str) -> None:
    """Raise if the target has so many texts that they are hardly meant as classes."""
    n, n_rows = len(data.target_values), len(data.train.y)
    if n > MOST_TEXTS or (n > MOST_CLASSES and n_rows < ROWS_PER_CLASS * n):
        texts = data.target_values
        raise TableError(
            f"the target {name!r} holds {n:,} different texts in {n_rows:,} rows, such as "
            f"{_a_text(data)!r} and {texts[-1]!r}. If they are classes, say --task multiclass; if "
            "they are numbers, make all of them numbers; or choose another --target"
        )
    unit = _common_unit(data.target_values) if n > MOST_CLASSES else None
    if unit is not None:
        raise TableError(
            f"the target {name!r} holds {n:,} numbers with the unit {unit!r}, such as "
            f"{_a_text(data)!r}, which is not known: write them without it; if they are classes, "
            "say --task multiclass"
        )


def _common_unit(texts: Sequence[str]) -> str | None:
    """What all texts have behind a number, if it is the same."""
    found = [re.fullmatch(r"[-+]?[0-9][0-9.,]*\s*([^\d\s]+)", text.strip()) for text in texts]
    units = {match[1] for match in found if match}
    return units.pop() if all(found) and len(units) == 1 else None


def _infer(data: TrainingData, y: np.ndarray) -> tuple[str, str]:
    if data.target_kind == "text":
        zeros = all(map(is_number, data.target_values))
        return "classes", f"its values are text{', as some begin with 0' if zeros else ''}"
    if data.target_kind == "bool":
        return "classes", "its values are true and false"
    some = np.unique(y[:1000])
    if (some == np.floor(some)).all() and len(some) <= MOST_CLASSES and (y == np.floor(y)).all():
        n = len(np.unique(y))
        if n == 2 or (n <= MOST_CLASSES and len(y) >= ROWS_PER_CLASS * n):
            return "classes", f"its values are {n} whole numbers"
        return "regression", f"its values are {n:,} whole numbers in {len(y):,} rows"
    return "regression", f"its values are {'dates' if data.target_kind == 'date' else 'numbers'}"


def _labels(data: TrainingData, labels: np.ndarray) -> np.ndarray:
    """The classes as their owner wrote them."""
    if data.target_kind == "text":
        return np.array([data.target_values[int(i)] for i in labels])
    if data.target_kind == "bool":
        return labels.astype(bool)
    return (
        labels.astype(np.int64)
        if (labels == np.floor(labels)).all() and np.abs(labels).max() < 2**53
        else labels
    )


def codes_of(y: np.ndarray, target: Target, data: TrainingData, where: str) -> np.ndarray:
    """Another table's target for the same model."""
    if target.classes is None:
        return y
    known: Any = np.unique(data.train.y)
    codes = np.searchsorted(known, y).clip(max=len(known) - 1)
    if (known[codes] != y).any():
        value = y[known[codes] != y][0]
        label = data.target_values[int(value)] if data.target_values else f"{value:g}"
        raise TableError(
            f"{where}: the target has a class that the training data does not have: {label}"
        )
    return codes
