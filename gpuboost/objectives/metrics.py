"""Evaluation metrics: a value per row from the raw score, averaged in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuboost.objectives.links import OF_ALL_SCORES
from gpuboost.objectives.metric_functions import MetricFunction
from gpuboost.objectives.scores import share_of_pairs
from gpuboost.scalar.formulas import exp, log, sigmoid, softplus


@dataclass(frozen=True)
class Score:
    """A metric's value that is there already.

    A device may hand out others, whose value comes later.
    """

    number: float

    def ready(self) -> bool:
        """Whether ``value`` returns at once."""
        return True

    def value(self) -> float:
        """The value."""
        return self.number


@dataclass(frozen=True)
class MeanScore:
    """The mean of a metric over several outputs."""

    parts: tuple[Any, ...]

    def ready(self) -> bool:
        """Whether ``value`` returns at once."""
        return all(part.ready() for part in self.parts)

    def value(self) -> float:
        """The value."""
        return sum(float(part.value()) for part in self.parts) / len(self.parts)


@dataclass(frozen=True)
class Metric:
    """A named metric.

    ``of_output`` maps a backend's arrays (y, raw, weight, further arrays) and the backend to a
    score, which is NaN where the metric is not defined: ``needs`` says what it needs. With
    ``sees_all`` it is given all outputs, else one of them.
    """

    name: str
    of_output: Callable[..., Any]
    higher_is_better: bool = False
    needs: str = ""
    sees_all: bool = False

    def score(self, y: Any, raw: Any, weight: Any, arrays: Any, backend: Any) -> Any:
        """The score; of several outputs, which y has a row for each of, the mean."""
        if self.sees_all or y.ndim == 1:
            return self.of_output(y, raw, weight, arrays, backend)
        parts = (
            self.of_output(y[k], raw[k : k + 1], weight, arrays, backend) for k in range(len(raw))
        )
        return MeanScore(tuple(parts))


@dataclass(frozen=True)
class RowMetric:
    """A metric that is the weighted mean of a scalar function of each row.

    Attributes
    ----------
    name : str
        Its name.
    row_value : callable
        ``row_value(y, score, *values, *parameters)``, where the score is the raw score times the
        scale of the link; of "softmax" ``row_value(y, raw, row, *values, *parameters)`` with all
        raw scores.
    reads : str
        Name of the link that raw scores are read through.
    root : bool
        Whether the metric is the root of the mean.
    n_arrays : int
        How many further arrays there are, whose values ``row_value`` takes. The objective says so
        of its own metrics.
    parameters : tuple of float
        Last arguments of ``row_value``. The objective gives them to its own metrics.
    unit : float
        Targets and scores were divided by it.
    unit_power : int
        Which power of the unit is a factor on the mean.
    """

    name: str
    row_value: Callable[..., float]
    reads: str
    root: bool = False
    n_arrays: int = 0
    parameters: tuple[float, ...] = ()
    unit: float = 1.0
    unit_power: int = 1

    @property
    def per_row(self) -> bool:
        """Whether ``row_value`` looks at all raw scores of a row."""
        return self.reads in OF_ALL_SCORES

    def score(self, total: float, total_weight: float) -> Score:
        """The metric from the sums over all rows."""
        mean = float(total) / float(total_weight)
        if self.root:
            return Score(self.unit * math.sqrt(mean))
        for _ in range(self.unit_power):
            mean *= self.unit
        return Score(mean)


@dataclass(frozen=True)
class AreaMetric:
    """The area under the ROC curve."""

    name: str = "auc"

    def score(self, area: float, pairs: float) -> Score:
        """The metric from the pairs in order and all pairs."""
        return Score(share_of_pairs(area, pairs))


def squared_row(y: float, raw: float) -> float:
    """Squared error."""
    return (raw - y) * (raw - y)


def absolute_row(y: float, raw: float) -> float:
    """Absolute error."""
    return abs(raw - y)


def relative_row(y: float, raw: float) -> float:
    """Absolute error as a part of the target, as scikit-learn has it for targets next to 0."""
    size = abs(y)
    return abs(raw - y) / (size if size > 2.220446049250313e-16 else 2.220446049250313e-16)


def squared_log_row(y: float, raw: float) -> float:
    """Squared error of the logarithms of 1 + target and 1 + prediction; of -1 and below none."""
    if raw <= -1.0 or y <= -1.0:
        return math.nan
    difference = log(1.0 + raw) - log(1.0 + y)
    return difference * difference


def squared_exp_row(y: float, raw: float) -> float:
    """Squared error of e**raw."""
    return squared_row(y, exp(raw))


def absolute_exp_row(y: float, raw: float) -> float:
    """Absolute error of e**raw."""
    return absolute_row(y, exp(raw))


def relative_exp_row(y: float, raw: float) -> float:
    """Relative error of e**raw."""
    return relative_row(y, exp(raw))


def squared_log_exp_row(y: float, raw: float) -> float:
    """Squared error of logarithms, of 1 + e**raw."""
    difference = softplus(raw) - log(1.0 + y)
    return difference * difference


def poisson_row(y: float, raw: float) -> float:
    """Poisson deviance of e**raw."""
    own = y * (log(y) - raw) if y > 0.0 else 0.0
    return 2.0 * (own - y + exp(raw))


def gamma_row(y: float, raw: float) -> float:
    """Gamma deviance of e**raw."""
    return 2.0 * (raw - log(y) + y * exp(-raw) - 1.0)


def log_loss_row(y: float, raw: float) -> float:
    """Binary log loss; scores are log odds."""
    return softplus(raw) - y * raw


def exponential_row(y: float, raw: float) -> float:
    """Exponential loss of two classes; scores are log odds."""
    return exp((0.5 - y) * raw)


def error_row(y: float, raw: float) -> float:
    """1 if the more probable of two classes is wrong."""
    return 0.0 if (raw > 0.0) == (y > 0.5) else 1.0


def multi_log_loss_row(y: float, raw: Any, row: int) -> float:
    """Multinomial log loss."""
    top = raw[0, row]
    for k in range(1, raw.shape[0]):
        top = raw[k, row] if raw[k, row] > top else top
    total = 0.0
    for k in range(raw.shape[0]):
        total += exp(raw[k, row] - top)
    value: float = log(total) + top - raw[int(y), row]
    return value


def log_loss_of_shares_row(y: float, raw: Any, row: int) -> float:
    """Log loss of probabilities in proportion to those of each class against all others."""
    total = 0.0
    for k in range(raw.shape[0]):
        total += sigmoid(raw[k, row])
    value: float = log(total) + softplus(-raw[int(y), row])
    return value


def squared_probability_row(y: float, raw: float) -> float:
    """Squared error of a probability."""
    return squared_row(y, sigmoid(raw))


def pinball_of_all_row(y: float, raw: Any, row: int, *levels: float) -> float:
    """Mean pinball loss of the scores in ascending order, for these levels."""
    total = 0.0
    for k in range(raw.shape[0]):
        score, place = raw[k, row], 0
        for other in range(raw.shape[0]):
            lower = raw[other, row] < score or (raw[other, row] == score and other < k)
            place += 1 if lower else 0
        level = levels[place]
        total += level * (y - score) if score < y else (1.0 - level) * (score - y)
    return total / raw.shape[0]


def normal_row(y: float, raw: Any, row: int) -> float:
    """Negative log likelihood of a normal distribution from its mean and log scale."""
    z = (y - raw[0, row]) * exp(-raw[1, row])
    value: float = 0.9189385332046727 + raw[1, row] + 0.5 * z * z
    return value


def log_normal_row(y: float, raw: Any, row: int) -> float:
    """Negative log likelihood of a log-normal distribution."""
    return normal_row(log(y), raw, row) + log(y)


def squared_mean_row(y: float, raw: Any, row: int) -> float:
    """Squared error of the mean of a normal distribution."""
    return squared_row(y, raw[0, row])


def squared_log_normal_mean_row(y: float, raw: Any, row: int) -> float:
    """Squared error of the mean of a log-normal distribution."""
    scale = exp(raw[1, row])
    return squared_row(y, exp(raw[0, row] + 0.5 * scale * scale))


def multi_error_row(y: float, raw: Any, row: int) -> float:
    """1 if the most probable class is wrong."""
    best = 0
    for k in range(1, raw.shape[0]):
        if raw[k, row] > raw[best, row]:
            best = k
    return 0.0 if best == y else 1.0


#: By the link that raw scores are read through.
ROW_METRICS = (
    RowMetric("rmse", squared_row, "identity", root=True),
    RowMetric("mae", absolute_row, "identity"),
    RowMetric("mape", relative_row, "identity", unit_power=0),
    RowMetric("rmsle", squared_log_row, "identity", root=True),
    RowMetric("rmse", squared_exp_row, "log", root=True),
    RowMetric("mae", absolute_exp_row, "log"),
    RowMetric("mape", relative_exp_row, "log"),
    RowMetric("rmsle", squared_log_exp_row, "log", root=True),
    RowMetric("logloss", log_loss_row, "logistic"),
    RowMetric("exponential", exponential_row, "logistic"),
    RowMetric("error", error_row, "logistic"),
    RowMetric("mlogloss", multi_log_loss_row, "softmax"),
    RowMetric("merror", multi_error_row, "softmax"),
    RowMetric("mlogloss", log_loss_of_shares_row, "one_vs_rest"),
    RowMetric("merror", multi_error_row, "one_vs_rest"),
    RowMetric("logloss", log_loss_row, "probability"),
    RowMetric("rmse", squared_probability_row, "probability", root=True),
    RowMetric("nll", normal_row, "normal"),
    RowMetric("rmse", squared_mean_row, "normal", root=True),
    RowMetric("nll", log_normal_row, "log_normal"),
    RowMetric("rmse", squared_log_normal_mean_row, "log_normal", root=True),
)


#: What other libraries call our metrics.
OTHER_NAMES = {
    "l1": "mae",
    "mean_absolute_error": "mae",
    "regression_l1": "mae",
    "l2_root": "rmse",
    "root_mean_squared_error": "rmse",
    "mean_absolute_percentage_error": "mape",
    "msle": "rmsle",
    "pinball": "quantile",
    "mphe": "pseudo_huber",
    "poisson": "poisson_deviance",
    "poisson-nloglik": "poisson_deviance",
    "gamma": "gamma_deviance",
    "gamma-deviance": "gamma_deviance",
    "tweedie": "tweedie_deviance",
    "binary_logloss": "logloss",
    "log_loss": "logloss",
    "cross_entropy": "logloss",
    "binary_error": "error",
    "multi_logloss": "mlogloss",
    "multi_error": "merror",
    "roc_auc": "auc",
}


def resolve_metrics(
    eval_metric: Any, objective: Any, classes: list[np.ndarray] | None = None, exponent: int = 0
) -> list[Metric]:
    """Metrics named by ``eval_metric`` (a name, a function, a scorer, a list of them, or None).

    They are ready to be called on raw scores of the objective, and no two have the same name.
    Functions see the classes of the outputs, and everything sees targets and scores times two to
    the exponent.
    """
    chosen = eval_metric if isinstance(eval_metric, (list, tuple)) else [eval_metric]
    if not chosen:
        raise ValueError("eval_metric must be a name, a function or a list of some; got no metric")
    metrics: list[Metric] = []
    for metric in (_resolve(one, objective, classes, exponent) for one in chosen):
        taken, name, number = {known.name for known in metrics}, metric.name, 1
        while name in taken:
            number += 1
            name = f"{metric.name}_{number}"
        metrics.append(replace(metric, name=name))
    return metrics


def _resolve(one: Any, objective: Any, classes: list[np.ndarray] | None, exponent: int) -> Metric:
    if callable(one):
        function = MetricFunction(one, objective.link, classes, exponent)
        higher = function.greater_is_better
        return Metric(function.name, _on_host(function), higher, sees_all=True)
    name = objective.metric if one is None else one
    rows, link = objective.metrics, objective.link
    with_auc = link.name == "logistic" or (classes is not None and len(classes[0]) == 1)
    known = [*rows, *(["auc"] if with_auc else [])]
    if not isinstance(name, str) or name not in known:
        ours = OTHER_NAMES.get(name) if isinstance(name, str) else None
        hint = f", which is called {ours!r} here" if ours in known else ""
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, known))} or a callable for the "
            f"objective {objective.name!r}; got {name!r}{hint}"
        )
    if name == "auc":
        area = AreaMetric()
        return Metric(
            "auc",
            lambda y, raw, weight, arrays, backend: backend.area_under_curve(area, y, raw, weight),
            higher_is_better=True,
            needs="rows of both classes",
        )
    if name == "rmsle" and exponent:
        raise ValueError("eval_metric 'rmsle' is for targets between 2**-200 and 2**200")
    row_metric = replace(rows[name], unit=math.ldexp(1.0, exponent))
    return Metric(
        name,
        lambda y, raw, weight, arrays, backend: backend.mean_of_rows(
            row_metric, link.scale, y, raw, weight, arrays
        ),
    )


def _on_host(function: Callable[..., float]) -> Callable[..., Score]:
    """A metric computed on the host, from copies of the arrays."""

    def score(y: Any, raw: Any, weight: Any, arrays: Any, backend: Any) -> Score:
        return Score(function(backend, *(backend.to_host(array) for array in (y, raw, weight))))

    return score
