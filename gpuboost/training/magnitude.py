"""Targets of any size: they are divided by a power of two, which is exact, before they are squared.

Squares of sums of gradients decide on splits, and float64 holds no squares of numbers beyond about
1e150. Targets within 2**-200 and 2**200 are left as they are. Others become numbers around 1; the
parameters that are measured against them follow, and trees are multiplied by the power again. A fit
with a homogeneous objective does the same at any scale, so that a target that is multiplied by a
power of two multiplies the predictions by it, bit for bit. Whether gradients are in
the unit of the targets is the objective's degree: those of squared errors are, those of absolute
errors are not.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from gpuboost.config import BoostParams
from gpuboost.exchange import SplitRules
from gpuboost.model.ensemble import Ensemble
from gpuboost.objectives.objective import Objective

#: Targets of which the largest has an exponent in this range need no other unit.
LARGEST_EXPONENT = 200


@dataclass(frozen=True)
class Magnitude:
    """Targets are two to this exponent times what is trained on."""

    exponent: int = 0
    degree: int = 1  # of the gradients

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, objective: Objective) -> Magnitude:
        """From the largest target of a row that has a weight, of all outputs together."""
        if objective.degree is None:
            return cls()
        counted = y[..., weight > 0] if weight.size else y
        largest = float(np.abs(counted).max(initial=0.0))
        if y.ndim == 2:
            _check_sizes(np.abs(counted).max(axis=1, initial=0.0))
        exponent = math.frexp(largest)[1] - 1
        far = largest > 0 and abs(exponent) > LARGEST_EXPONENT
        return cls(exponent if far else 0, objective.degree)

    def divide(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Targets to train on; rows without weight may have any."""
        if not self.exponent:
            return y
        counted = np.where(weight > 0, y, 0.0) if weight.size else y
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(counted, -self.exponent)

    def objective(self, objective: Objective) -> Objective:
        """The objective for such targets: parameters that are measured in them follow."""
        if not self.exponent or not objective.in_targets:
            return objective
        values = {name: objective.parameters[name] for name in objective.in_targets}
        return objective.with_parameters(
            **{name: _shifted(value, -self.exponent) for name, value in values.items()}
        )

    def params(self, params: BoostParams) -> BoostParams:
        """Parameters for such targets.

        Gains are in the square of the gradients, penalties in them, and steps in the targets.
        """
        if not self.exponent:
            return params
        return replace(
            params,
            min_split_gain=_shifted(params.min_split_gain, -2 * self.degree * self.exponent),
            reg_alpha=_shifted(params.reg_alpha, -self.degree * self.exponent),
            max_delta_step=_shifted(params.max_delta_step, -self.exponent),
        )

    def rules(self, rules: SplitRules) -> SplitRules:
        """Rules for such targets: what a feature costs is subtracted from gains."""
        if not self.exponent or rules.costs is None:
            return rules
        exponent = -2 * self.degree * self.exponent
        shifted = [_shifted(cost, exponent) for cost in rules.costs]
        return replace(rules, costs=np.array(shifted))

    def multiply(self, ensemble: Ensemble) -> Ensemble:
        """The model in the unit of the targets; its gains, which may be too large, stay."""
        if not self.exponent:
            return ensemble
        with np.errstate(over="ignore", under="ignore"):
            trees = [
                replace(tree, value=np.ldexp(tree.value, self.exponent)) for tree in ensemble.trees
            ]
            base_score = np.ldexp(ensemble.base_score, self.exponent)
        return replace(ensemble.with_trees(trees), base_score=base_score)


def _check_sizes(largest: np.ndarray) -> None:
    """Raise if outputs are of so different sizes that no one unit does for all."""
    exponent = np.frexp(largest)[1]
    too_small = (largest > 0) & (exponent.max() - exponent > 2 * LARGEST_EXPONENT)
    if too_small.any():
        small, large = int(too_small.argmax()), int(largest.argmax())
        raise ValueError(
            f"columns of y are of too different sizes: the largest absolute value of column "
            f"{small} is {float(largest[small])!r}, that of column {large} "
            f"{float(largest[large])!r}; multiply columns by constants"
        )


def _shifted(value: float, exponent: int) -> float:
    """A parameter times a power of two; one above 0 stays above, and finite."""
    with np.errstate(over="ignore", under="ignore"):
        shifted = float(np.ldexp(float(value), exponent))
    return min(max(shifted, sys.float_info.min), sys.float_info.max) if value > 0 else shifted


def check_scores(ensemble: Ensemble, learning_rate: float) -> None:
    """Raise if raw scores could be beyond what float64 holds, or are no numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = sum(float(np.abs(tree.value).max()) for tree in ensemble.trees)
        largest += float(np.abs(ensemble.base_score).max())
    if not math.isfinite(largest):
        raise ValueError(
            "the model's predictions are too large for float64: try a lower learning_rate than "
            f"{learning_rate!r}, or smaller targets y"
        )
