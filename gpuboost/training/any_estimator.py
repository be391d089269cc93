"""What AdaBoost boosts besides trees: any estimator with the API of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from gpuboost.backend import HostBackend
from gpuboost.data.checks import class_codes
from gpuboost.training.adaboost import TREES


def check_estimator(estimator: Any, classes: bool) -> None:
    """Raise unless an estimator can be boosted: a classifier by its weights, or a regressor."""
    wanted = "classifier" if classes else "regressor"
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be None or a {wanted} of scikit-learn's API; got {estimator!r}"
        )
    if not (is_classifier if classes else is_regressor)(estimator):
        raise ValueError(f"estimator must be a {wanted}; got {estimator!r}")
    if classes and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            "estimator must take sample_weight in fit, as AdaBoost trains it on weighted rows; "
            f"{type(estimator).__name__} does not"
        )


class EstimatorLearner:
    """Copies of an estimator.

    Those of classes are fitted with weights, those of numbers on as many copies of the rows as were
    drawn. Rows that have no weight are not shown to them.
    """

    def __init__(
        self,
        estimator: Any,
        x: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        classes: np.ndarray | None,
        seed: int,
        backend: HostBackend,
    ) -> None:
        self.estimator, self.seed, self.backend = estimator, seed, backend
        self.x, self.labels, self.classes = x, labels, classes
        self.rows = np.flatnonzero(weight > 0)
        self.n_channels = 1 if classes is None else len(classes)

    def key(self, a: int, r: int) -> np.uint32:
        """A key for one purpose in a round."""
        return self.backend.mix_key(self.seed, a, r)

    def learn(self, weight: np.ndarray, r: int) -> Any:
        """A fitted copy, with a seed of its own wherever there is one to set."""
        member = clone(self.estimator)
        seed = int(self.key(TREES, r) >> np.uint32(1))
        names = (name.split("__")[-1] for name in member.get_params())
        parameters = zip(member.get_params(), names, strict=True)
        member.set_params(**{name: seed for name, last in parameters if last == "random_state"})
        if self.classes is not None:
            rows = self.rows
            return member.fit(self.x[rows], self.labels[rows], sample_weight=weight[rows])
        rows = np.repeat(np.arange(len(weight)), weight.astype(np.int64))
        return member.fit(self.x[rows], self.labels[rows])

    def says(self, member: Any) -> np.ndarray:
        """What a copy says of the training rows, (n_rows, n_channels)."""
        return said_by(member, self.x, self.classes)


def said_by(member: Any, x: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """What a fitted estimator says of rows: 1 for the class of a row, or a number."""
    predicted = np.asarray(member.predict(x))
    if classes is not None:
        return np.eye(len(classes))[class_codes("what estimator predicts", predicted, classes)]
    values = predicted.astype(np.float64).reshape(len(x), 1)
    if not np.isfinite(values).all():
        raise ValueError(f"estimator={member!r} predicts NaN or infinity")
    return values


def votes_of(
    members: list[Any], weights: np.ndarray, x: np.ndarray, classes: np.ndarray | None
) -> list[np.ndarray]:
    """Weighted votes (n_classes, n_rows) or medians (1, n_rows) of the first 1, 2, ... members."""
    answers = [said_by(member, x, classes).T for member in members]
    if classes is not None:
        return list(
            np.cumsum([w * votes for w, votes in zip(weights, answers, strict=True)], axis=0)
        )
    table = np.concatenate(answers)
    return [_medians(table[: n + 1], weights[: n + 1]) for n in range(len(members))]


def _medians(answers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The least value at which half of the weight is reached, of each column."""
    order = np.argsort(answers, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0)
    place = (reached >= 0.5 * reached[-1]).argmax(axis=0)
    columns = np.arange(answers.shape[1])
    return answers[order[place, columns], columns][None]
