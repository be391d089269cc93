"""What is minimised: an objective says all that training and prediction need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuboost.objectives.links import Link
from gpuboost.objectives.metrics import ROW_METRICS, RowMetric


@dataclass(frozen=True)
class Objective:
    """What is minimised.

    Attributes
    ----------
    name : str
        Its name, under which ``OBJECTIVES`` lists it.
    grad_hess : callable
        ``grad_hess(y, raw, *parameters) -> (gradient, hessian)`` of one row, compiled by every
        device for itself, once for all values of the parameters. If ``joint``, ``grad_hess(y, raw,
        begin, end, g, h, *parameters)`` fills all outputs of a range of rows.
    link : Link
        How raw scores become predictions.
    metric : str
        Name of the default metric.
    base : callable
        ``base(y, weight, n_classes, backend, *parameters)`` gives the best constants, (n_outputs,).
    parameters : mapping of str to float
        Numbers that the functions take after their other arguments, in this order.
    joint : bool
        Whether ``grad_hess`` fills ranges of rows.
    constant_hessian : bool
        Whether the hessian is 1.
    own_metrics : tuple of RowMetric
        Metrics that only this objective has.
    """

    name: str
    grad_hess: Callable[..., Any]
    link: Link
    metric: str
    base: Callable[..., np.ndarray]
    parameters: Mapping[str, float] = field(default_factory=dict)
    joint: bool = False
    constant_hessian: bool = False
    own_metrics: tuple[RowMetric, ...] = ()

    def __hash__(self) -> int:
        """Equal objectives have equal hashes."""
        return hash((self.name, self.values))

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the parameters, in their order."""
        return tuple(float(value) for value in self.parameters.values())

    def with_parameters(self, **parameters: float) -> Objective:
        """The same objective with other values of some parameters."""
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            raise ValueError(f"objective {self.name!r} has no parameter {', '.join(unknown)}")
        return replace(self, parameters={**self.parameters, **parameters})

    def n_outputs(self, n_classes: int) -> int:
        """How many raw scores a row has."""
        return n_classes if self.link.name == "softmax" else 1

    def base_score(
        self, y: np.ndarray, weight: np.ndarray, n_classes: int, backend: Any
    ) -> np.ndarray:
        """The best constants."""
        return self.base(y, weight, n_classes, backend, *self.values)

    @property
    def metrics(self) -> dict[str, RowMetric]:
        """Metrics of its predictions by name."""
        shared = [metric for metric in ROW_METRICS if metric.reads == self.link.name]
        return {metric.name: metric for metric in (*shared, *self.own_metrics)}
