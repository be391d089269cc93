"""Metrics that are functions of the user, or scikit-learn scorers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from gpuboost.objectives.links import Link


@dataclass(frozen=True)
class MetricFunction:
    """A function of the user, as ``eval_metric`` takes it.

    Attributes
    ----------
    function : callable
        ``function(y, prediction)``, or a scikit-learn scorer.
    link : Link
        How raw scores become predictions.
    classes : list of ndarray or None
        The classes of each output, in the order of their codes; None: y holds numbers.
    exponent : int
        Predictions and targets are to be multiplied by two to this power.
    """

    function: Callable[..., Any]
    link: Link
    classes: list[np.ndarray] | None
    exponent: int

    @property
    def is_scorer(self) -> bool:
        """Whether it is a scorer of scikit-learn, ``scorer(estimator, X, y)``."""
        return hasattr(self.function, "set_score_request")

    @property
    def name(self) -> str:
        """The name of the function; with "neg_" in front if the scorer changes the sign."""
        if self.is_scorer:  # which has no public way to ask it what it was made of
            sign = "neg_" if getattr(self.function, "_sign", 1) < 0 else ""
            return sign + _name_of(getattr(self.function, "_score_func", self.function))
        return _name_of(self.function)

    @property
    def greater_is_better(self) -> bool:
        """What the function's attribute of this name says; of a scorer always.

        Functions of scikit-learn have no such attribute, but a name that tells: those that end in
        "_score" are to be maximised.
        """
        function = getattr(self.function, "func", self.function)  # of functools.partial
        of_sklearn = str(getattr(function, "__module__", "")).startswith("sklearn.metrics")
        default = of_sklearn and self.name.endswith("_score")
        default = getattr(function, "greater_is_better", default)
        says = True if self.is_scorer else getattr(self.function, "greater_is_better", default)
        if not isinstance(says, (bool, np.bool_)):
            raise ValueError(
                f"the attribute greater_is_better of eval_metric {self.name!r} must be True or "
                f"False; got {says!r}"
            )
        return bool(says)

    def __call__(self, backend: Any, y: np.ndarray, raw: np.ndarray, weight: np.ndarray) -> float:
        """The metric, from copies on the host.

        Several outputs are columns, as users write them.
        """
        several = y.ndim == 2
        y, prediction = y.T, backend.apply_link(raw, self.link)
        if self.exponent:
            y, prediction = np.ldexp(y, self.exponent), np.ldexp(prediction, self.exponent)
        weighted = {"sample_weight": weight} if weight.size and self._takes_weights() else {}
        if not self.is_scorer:
            if self.link.name == "logistic" and not several:
                prediction = prediction[:, 1]
            return self._number(self.function(y, prediction, **weighted))
        rows = np.empty((len(y), 0))
        if self.classes is None:
            return self._number(self.function(_Predicted(prediction), rows, y, **weighted))
        decision = raw.T * self.link.scale if self.link.name == "logistic" else raw.T
        if several:
            label = np.stack([c[of] for c, of in zip(self.classes, _codes(y).T, strict=True)], 1)
            predicted = _PredictedLabels(prediction, decision, self.classes)
        else:
            label = self.classes[0][_codes(y)]
            decision = decision[:, 0] if self.link.name == "logistic" else decision
            predicted = _PredictedClasses(prediction, decision, self.classes[0])
        return self._number(self.function(predicted, rows, label, **weighted))

    def _takes_weights(self) -> bool:
        function = getattr(self.function, "_score_func", self.function)
        try:
            return "sample_weight" in inspect.signature(function).parameters
        except (TypeError, ValueError):  # of a built-in function nothing is known
            return False

    def _number(self, value: Any) -> float:
        if isinstance(value, tuple):
            raise TypeError(
                f"eval_metric {self.name!r} must return a number; got the tuple {value!r}. Return "
                "the value alone; if more is better, set greater_is_better = True on the function "
                "or wrap it with sklearn.metrics.make_scorer"
            )
        try:
            if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
                raise TypeError
            return float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"eval_metric {self.name!r} must return a number; got {value!r:.200} of type "
                f"{type(value).__name__}"
            ) from error


def _codes(y: np.ndarray) -> np.ndarray:
    return y.astype(np.intp)


def _name_of(function: Any) -> str:
    """The name of a function, or of what functools.partial was given."""
    function = getattr(function, "func", function)
    return str(getattr(function, "__name__", type(function).__name__))


class _Predicted(RegressorMixin, BaseEstimator):
    """What a scorer sees of a regressor: the predictions that are there."""

    def __init__(self, prediction: Any = None) -> None:
        self.prediction = prediction

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> _Predicted:
        """Nothing: the predictions are there."""
        return self

    def predict(self, X: Any) -> Any:
        """Predictions."""
        return self.prediction


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """What a scorer sees of a classifier."""

    def __init__(self, probability: Any = None, decision: Any = None, classes: Any = None) -> None:
        self.probability, self.decision, self.classes = probability, decision, classes

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> _PredictedClasses:
        """Nothing: the predictions are there."""
        return self

    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        return self.classes[self.probability.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Their probabilities."""
        return self.probability

    def decision_function(self, X: Any) -> Any:
        """Log odds, or a score for each class."""
        return self.decision


class _PredictedLabels(_PredictedClasses):
    """What a scorer sees of a classifier of several labels."""

    def predict(self, X: Any) -> Any:
        """1 for the labels that a row rather has than not."""
        columns = (self.decision.T > 0).astype(np.intp)
        return np.stack([c[of] for c, of in zip(self.classes, columns, strict=True)], axis=1)
