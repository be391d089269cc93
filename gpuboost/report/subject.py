"""What a report is about.

A fitted model, and rows to judge it on, in the forms that the other modules work with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import on_host
from gpuboost.data.checks import check_numbers, check_weight, class_codes
from gpuboost.data.sparse import dense_matrix
from gpuboost.model.ensemble import Ensemble, ensemble_of, on_numbers
from gpuboost.model.tree import Tree


def printable(text: Any) -> str:
    """A text on one line, without characters that no page can show."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in str(text))


@dataclass(frozen=True)
class Output:
    """One target of the model."""

    name: str
    classes: np.ndarray | None  # None: numbers

    @property
    def labels(self) -> list[str]:
        """The classes as text."""
        return [] if self.classes is None else [printable(value) for value in self.classes]

    @property
    def task(self) -> str:
        """One of "regression", "binary" and "multiclass"."""
        if self.classes is None:
            return "regression"
        return "binary" if len(self.classes) == 2 else "multiclass"


@dataclass(frozen=True)
class Answer:
    """What is predicted of one output: class codes and probabilities, or numbers."""

    prediction: np.ndarray  # (n_rows,) int64 codes or float64
    shares: np.ndarray | None  # (n_rows, n_classes) float64; None: numbers


@dataclass(frozen=True)
class Rows:
    """Checked rows to judge a model on."""

    x: np.ndarray  # (n_rows, n_features), category numbers in nominal columns
    y: list[np.ndarray]  # of each output: (n_rows,) class codes or float64
    weight: np.ndarray  # (n_rows,) float64
    weighted: bool

    def __len__(self) -> int:
        """How many."""
        return len(self.x)

    def sample(self, n: int) -> Rows:
        """At most ``n`` of the rows, always the same ones, in their order."""
        if len(self) <= n:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(len(self), n, replace=False))
        return Rows(self.x[chosen], [y[chosen] for y in self.y], self.weight[chosen], self.weighted)


@dataclass(frozen=True)
class Subject:
    """A fitted model, and how its input and output are called."""

    model: Any
    plain: Any  # the model as it answers checked matrices
    outputs: list[Output]
    names: list[str]
    values: dict[int, list[str]]  # of columns that stand for texts: what their numbers mean
    encoded: bool  # whether rows have numbers in these columns

    @classmethod
    def of(cls, model: Any, y: Any = None, encoded: bool = False) -> Subject:
        """Look at a fitted model; ``y`` may know the names of the targets."""
        ensemble = ensemble_of(model)
        table = getattr(model, "table_", None)
        names = map(printable, table.columns if table is not None else ensemble.names())
        categories = ensemble.features.number_names
        values = {f: list(map(printable, known)) for f, known in categories.items()}
        return cls(
            model, on_numbers(model), _outputs(model, y, table), list(names), values, encoded
        )

    def rows(self, X: Any, y: Any, sample_weight: Any, name: str) -> Rows:
        """Check rows to judge the model on; ``name`` is what errors call them."""
        x = dense_matrix(on_host((self.plain if self.encoded else self.model).check_rows(X)))
        weight = check_weight(on_host(sample_weight), len(x), f"sample_weight of {name}")
        table = np.asarray(on_host(y))
        table = table.reshape(len(table), -1) if table.ndim else table
        n_outputs = len(self.outputs)
        if table.shape != (len(x), n_outputs):
            columns = "" if n_outputs == 1 else f" and a column for each of the {n_outputs} outputs"
            raise ValueError(
                f"y of {name} must have one entry for each of the {len(x)} rows of X{columns}; "
                f"got shape {np.shape(y)}"
            )
        checked = [
            check_numbers(f"y of {name}", column, len(x))
            if output.classes is None
            else class_codes(f"y of {name}", column, output.classes)
            for output, column in zip(self.outputs, table.T, strict=True)
        ]
        return Rows(x, checked, weight if weight.size else np.ones(len(x)), bool(weight.size))

    def answers(self, x: np.ndarray) -> list[Answer]:
        """What the model predicts of checked rows."""
        predicted = np.asarray(self.plain.predict(x)).reshape(len(x), -1).T
        if self.outputs[0].classes is None:
            return [Answer(column.astype(np.float64), None) for column in predicted]
        shares = self.plain.predict_proba(x)
        if isinstance(shares, list):
            by_output = shares
        elif len(self.outputs) == 1:
            by_output = [shares]
        else:  # of each label, that a row has it
            by_output = [np.stack([1.0 - share, share], axis=1) for share in shares.T]
        return [
            Answer(class_codes("the prediction", column, output.classes), of_output)  # type: ignore[arg-type]
            for output, column, of_output in zip(self.outputs, predicted, by_output, strict=True)
        ]

    @property
    def ensemble(self) -> Ensemble:
        """What the model was fitted to."""
        return ensemble_of(self.model)

    @property
    def trees(self) -> list[Tree]:
        """All trees."""
        return self.ensemble.trees

    @property
    def n_rounds(self) -> int | None:
        """Boosting rounds that predictions use; None for models without rounds."""
        return self.ensemble.used_rounds if self.ensemble.adds_up else None

    @property
    def has_bags(self) -> bool:
        """Whether it is a forest that knows which rows each tree was grown on."""
        return getattr(self.model, "bags_", None) is not None


def _outputs(model: Any, y: Any, table: Any) -> list[Output]:
    ensemble = ensemble_of(model)
    n_outputs = ensemble.n_outputs
    if table is not None:
        names = [table.target]
    elif hasattr(y, "columns") and len(y.columns) == n_outputs:
        names = list(y.columns)
    elif n_outputs == 1:
        names = ["y" if getattr(y, "name", None) is None else y.name]
    else:
        names = [f"output {o}" for o in range(n_outputs)]
    classes: list[Any] = [None] * n_outputs if ensemble.classes is None else ensemble.classes
    return [Output(printable(name), known) for name, known in zip(names, classes, strict=True)]
