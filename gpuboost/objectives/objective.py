"""What is minimised: an objective says all that training and prediction need to know of it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gpuboost.config import ANY_NUMBER, Number
from gpuboost.dtypes import ROW
from gpuboost.exchange import LeafQuantile
from gpuboost.objectives.constants import CONSTANT_STEPS, exact_mean
from gpuboost.objectives.links import Link
from gpuboost.objectives.metrics import ROW_METRICS, RowMetric


@dataclass(frozen=True)
class Objective:
    """What is minimised.

    Its functions take what is theirs, then the further arrays (or their values of a row), then the
    parameters.

    Attributes
    ----------
    name : str
        Its name, under which ``OBJECTIVES`` lists it.
    grad_hess : callable
        ``grad_hess(y, raw, *values, *parameters) -> (gradient, hessian)`` of one row, compiled by
        every device for itself, once for all values of the parameters. If ``joint``,
        ``grad_hess(y, raw, begin, end, g, h, *arrays, *parameters)`` fills all outputs of a range
        of rows. With ``groups``, ``grad_hess(y, raw, rows, g, h, *arrays, *parameters)`` fills all
        outputs of the rows of one group, which are in ascending order. Gradients must be finite,
        hessians finite and not below zero.
    link : Link
        How raw scores become predictions.
    metric : str
        Name of the default metric.
    base : callable
        ``base(y, weight, n_classes, backend, *arrays, *parameters)`` gives the best constants,
        (n_outputs,).
    refine_base : bool
        Whether ``base`` only says where to start: Newton steps lead to the best constant, which is
        between the lowest and the highest target.
    parameters : mapping of str to float
        Numbers that the functions take after their other arguments, in this order.
    joint : bool
        Whether ``grad_hess`` fills ranges of rows.
    constant_hessian : bool
        Whether the hessian is 1.
    degree : int or None
        A factor c on targets, scores and the parameters ``in_targets`` is a factor c**degree on the
        gradients, and none on the hessians: targets of any size can then be trained on, divided by
        a power of two. None: there is no such rule.
    in_targets : tuple of str
        Names of the parameters that are measured in the unit of the targets.
    own_metrics : tuple of RowMetric
        Metrics that only this objective has; their functions take the further arrays' values and
        the parameters too.
    leaf_level : str, float or None
        The value of a leaf is this quantile of the residuals of its rows, in place of the Newton
        step, which inner nodes have in any case: a number, or the name of a parameter. Several
        parameters that begin with this name are the levels of as many outputs.
    leaf_limit : str or None
        Name of a parameter: to the quantile, the mean of what the residuals are away from it is
        added, where no residual counts as farther away than this.
    adapts : tuple of str or None
        Names of two parameters. In each round the first one is set to a quantile of the absolute
        residuals of all rows, whose level is the second one.
    targets : Number
        The range of the targets.
    n_scores : int or None
        How many raw scores a row has; None: one, or one for each class.
    row_arrays : tuple of str
        Names of further arrays with a number for each row, such as bounds of censoring. They must
        be there in training and with every eval set.
    groups : str or None
        Name of a further array with a number for each training row; rows of the same number are one
        group. None: a row's gradient depends on this row alone. Rows of weight 0 are in no group.
    """

    name: str
    grad_hess: Callable[..., Any]
    link: Link
    metric: str
    base: Callable[..., np.ndarray]
    parameters: Mapping[str, float] = field(default_factory=dict)
    joint: bool = False
    constant_hessian: bool = False
    refine_base: bool = False
    degree: int | None = None
    in_targets: tuple[str, ...] = ()
    own_metrics: tuple[RowMetric, ...] = ()
    leaf_level: str | float | None = None
    leaf_limit: str | None = None
    adapts: tuple[str, str] | None = None
    targets: Number = ANY_NUMBER
    n_scores: int | None = None
    row_arrays: tuple[str, ...] = ()
    groups: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for name, value in self.parameters.items():
            if not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise ValueError(
                    f"parameter {name} of objective {self.name!r} must be a finite number; got "
                    f"{value!r}"
                )
        if self.joint and self.groups is not None:
            raise ValueError(
                f"objective {self.name!r} must have either joint=True or groups, not both; got "
                f"groups={self.groups!r}"
            )
        if self.groups in self.row_arrays:
            raise ValueError(
                f"groups of objective {self.name!r} must not be among its row_arrays; got "
                f"{self.groups!r}"
            )

    def __hash__(self) -> int:
        """Equal objectives have equal hashes."""
        return hash((self.name, self.values))

    @cached_property
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
        if self.n_scores is not None:
            return self.n_scores
        return n_classes if self.link.name in ("softmax", "one_vs_rest") else 1

    def base_score(
        self,
        y: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        backend: Any,
        row_arrays: Mapping[str, Any] | None = None,
    ) -> np.ndarray:
        """The best constants; ``y`` is (n_rows,), or (n_outputs, n_rows) for several outputs."""
        arrays = self.stack_arrays(row_arrays, y.shape[-1])
        scores = []
        for of_output in np.atleast_2d(y):
            base = self.base(of_output, weight, n_classes, backend, *arrays, *self.values)
            if self.refine_base:
                base = np.array([self._refined(float(base[0]), of_output, weight, backend)])
            scores.append(base)
        return np.concatenate(scores)

    def _refined(self, score: float, y: np.ndarray, weight: np.ndarray, backend: Any) -> float:
        """The best constant, by Newton steps between bounds that draw closer."""
        counted = y[weight > 0] if weight.size else y
        low, high = float(counted.min()), float(counted.max())
        g, h, sums = np.empty((1, len(y))), np.empty((1, len(y))), np.empty((1, 2))
        for _ in range(CONSTANT_STEPS):
            raw = np.full((1, len(y)), score)
            backend.gradients(self, y, raw, weight, np.empty((0, len(y))), None, g, h, sums)
            slope = exact_mean(g[0], weight, backend)
            if slope == 0.0:
                break
            low, high = (low, score) if slope > 0 else (score, high)
            curvature = exact_mean(h[0], weight, backend)
            step = score - slope / curvature if curvature > 0 else np.inf
            step = step if low < step < high else 0.5 * low + 0.5 * high
            if abs(step - score) <= 1e-14 * abs(score):
                break
            score = step
        return score

    @property
    def leaf_quantiles(self) -> list[LeafQuantile] | None:
        """How the values of leaves follow from residuals: once, or for each output.

        None: they are Newton steps.
        """
        if self.leaf_level is None:
            return None
        limit = 0.0 if self.leaf_limit is None else float(self.parameters[self.leaf_limit])
        if not isinstance(self.leaf_level, str):
            return [LeafQuantile(self.leaf_level, limit)]
        level = self.leaf_level
        levels = [value for name, value in self.parameters.items() if name.startswith(level)]
        return [LeafQuantile(float(value), limit) for value in levels]

    @property
    def own_parameters(self) -> tuple[str, ...]:
        """Parameters that a user may choose."""
        adapted = () if self.adapts is None else self.adapts[:1]
        return tuple(name for name in self.parameters if name not in adapted)

    def adapted(self, quantile_of_residuals: Callable[[float], float]) -> Objective:
        """The objective of a round, from a quantile of its absolute residuals."""
        if self.adapts is None:
            return self
        name, level = self.adapts
        return self.with_parameters(**{name: quantile_of_residuals(self.parameters[level])})

    def check_targets(self, name: str, y: np.ndarray) -> None:
        """Raise unless the targets, (n_rows,) or (n_outputs, n_rows), are in their range."""
        low, high = self.targets.low, self.targets.high
        bad = (y <= low) if self.targets.low_open else (y < low)
        bad |= y > high
        if bad.any():
            place = tuple(int(k) for k in np.argwhere(bad)[0])
            column = f" in column {place[0]}" if len(place) > 1 else ""
            what = str(self.targets).removeprefix("a number ")
            raise ValueError(
                f"{name} must be {what} for objective={self.name!r}; got {float(y[place])!r} at "
                f"row {place[-1]}{column}"
            )

    @property
    def metrics(self) -> dict[str, RowMetric]:
        """Metrics of its predictions by name."""
        shared = [metric for metric in ROW_METRICS if metric.reads == self.link.name]
        of_objective = [
            replace(metric, n_arrays=len(self.row_arrays), parameters=self.values)
            for metric in self.own_metrics
        ]
        return {metric.name: metric for metric in (*shared, *of_objective)}

    def stack_arrays(
        self, row_arrays: Mapping[str, Any] | None, n_rows: int, whose: str = "the training rows"
    ) -> np.ndarray:
        """The further arrays as one matrix, (n_arrays, n_rows)."""
        arrays = row_arrays or {}
        known = [*self.row_arrays, *([] if self.groups is None else [self.groups])]
        unknown = sorted(set(arrays) - set(known))
        if unknown:
            raise ValueError(
                f"objective {self.name!r} takes no further arrays"
                f"{' than ' if known else ''}{', '.join(known)} for {whose}; got "
                f"{', '.join(unknown)}"
            )
        checked = [self._checked(arrays, name, n_rows, whose) for name in self.row_arrays]
        return np.array(checked).reshape(len(checked), n_rows)

    def group_rows(
        self, row_arrays: Mapping[str, Any] | None, usable: np.ndarray, n_rows: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The usable rows, one group after another, and where the groups begin.

        None if the objective has no groups.
        """
        if self.groups is None:
            return None
        group = self._checked(row_arrays or {}, self.groups, n_rows, "the training rows")[usable]
        order = np.argsort(group, kind="stable")
        changes = np.flatnonzero(np.diff(group[order])) + 1
        begin = np.concatenate([[0], changes, [len(order)]]).astype(np.int64)
        return usable[order].astype(ROW), begin

    def _checked(self, arrays: Mapping[str, Any], name: str, n_rows: int, whose: str) -> np.ndarray:
        if name not in arrays:
            raise ValueError(
                f"objective {self.name!r} needs the array {name!r} with a number for each of "
                f"{whose}; it was not given"
            )
        array = np.asarray(arrays[name], np.float64)
        if array.shape != (n_rows,):
            raise ValueError(
                f"the array {name!r} must have a number for each of {whose}, shape ({n_rows},); "
                f"got shape {array.shape}"
            )
        if np.isnan(array).any():
            row = int(np.isnan(array).argmax())
            raise ValueError(f"the array {name!r} must not have NaN; row {row} of {whose} has")
        return array
