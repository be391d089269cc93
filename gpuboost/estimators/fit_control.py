"""What ``fit`` of gradient boosting is told about the course of training, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuboost.backend import on_host
from gpuboost.config import is_count
from gpuboost.data.checks import refuse_mask
from gpuboost.model.ensemble import Ensemble, ensemble_of
from gpuboost.training.evaluation import Results
from gpuboost.training.validation import HeldOut

#: Name of the rows that ``validation_fraction`` holds out, and of those out of the bag.
VALIDATION, OUT_OF_BAG = "validation", "out_of_bag"


@dataclass(frozen=True)
class FitControl:
    """The course of one training."""

    eval_names: list[str] | None = None  # None: validation_0, ...
    held_out: HeldOut | None = None  # training rows that become the only eval set
    margin: np.ndarray | None = None  # (n_outputs, n_rows): scores that training begins with
    eval_margins: list[np.ndarray] = field(default_factory=list)
    model: Ensemble | None = None  # whose rounds come first
    results: Results | None = None  # and their curves, to go on with

    def with_margins(self, train: np.ndarray | None, valid: np.ndarray | None) -> FitControl:
        """The same with the margins of rows to train on and of one eval set."""
        return replace(self, margin=train, eval_margins=[] if valid is None else [valid])


def check_eval_names(eval_names: Any, n_sets: int) -> list[str]:
    """Names of the eval sets."""
    if eval_names is None:
        return [f"validation_{i}" for i in range(n_sets)]
    if not isinstance(eval_names, (list, tuple)) or len(eval_names) != n_sets:
        raise ValueError(
            f"eval_names must be a list with a name for each of the {n_sets} eval sets; got "
            f"{eval_names!r}"
        )
    names = list(eval_names)
    for name in names:
        if not isinstance(name, str) or not name or name == OUT_OF_BAG or names.count(name) > 1:
            raise ValueError(
                f"eval_names must be distinct texts that are not empty and not {OUT_OF_BAG!r}; got "
                f"{name!r}"
            )
    return names


def check_margin(name: str, margin: Any, n_rows: int, n_outputs: int) -> np.ndarray | None:
    """Scores to begin with, (n_outputs, n_rows)."""
    if margin is None:
        return None
    refuse_mask(name, margin)
    try:
        values = np.asarray(on_host(margin), np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers ({error})") from error
    shape = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
    if values.shape not in (shape, (n_rows, n_outputs)):
        raise ValueError(
            f"{name} must have a score for each row, shape {shape}; got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values.reshape(n_rows, -1)).all(axis=1))[0])
        raise ValueError(f"{name} must be finite; row {row} has {values[row]}")
    return np.ascontiguousarray(values.reshape(n_rows, n_outputs).T)


def check_eval_margins(
    eval_base_margin: Any,
    with_margin: bool,
    n_rows: list[int],
    n_outputs: int,
) -> list[np.ndarray]:
    """Those of the eval sets, which have some if the training rows have."""
    margins = [] if eval_base_margin is None else list(eval_base_margin)
    if not with_margin:
        if margins:
            raise ValueError("eval_base_margin was given without a base_margin")
        return []
    if len(margins) != len(n_rows) or any(margin is None for margin in margins):
        raise ValueError(
            f"eval_base_margin must have scores for each of the {len(n_rows)} eval sets, as "
            f"base_margin was given; got {len(margins)}"
        )
    checked = (
        check_margin(f"eval_base_margin[{i}]", margin, n, n_outputs)
        for i, (margin, n) in enumerate(zip(margins, n_rows, strict=True))
    )
    return [margin for margin in checked if margin is not None]


def check_iteration_range(iteration_range: Any, n_rounds: int) -> tuple[int, int]:
    """The first round and the end; raises unless the model has these rounds."""
    pair = isinstance(iteration_range, (tuple, list)) and len(iteration_range) == 2
    if not pair or not all(is_count(n, least=0) for n in iteration_range):
        raise ValueError(
            "iteration_range must be two integers, the first iteration and the end; got "
            f"{iteration_range!r}"
        )
    first, end = map(int, iteration_range)
    if not first < end <= n_rounds:
        raise ValueError(
            f"iteration_range must be within the {n_rounds} iterations of the model, and not "
            f"empty; got {iteration_range!r}"
        )
    return first, end


def read_init_model(init_model: Any) -> Ensemble:
    """The model of a fitted estimator, or of a file."""
    if isinstance(init_model, (str, os.PathLike)):
        from gpuboost.estimators.saving import load_model  # which knows the estimators

        init_model = load_model(init_model)
    ensemble = init_model if isinstance(init_model, Ensemble) else None
    if ensemble is None and hasattr(init_model, "ensemble_"):
        ensemble = ensemble_of(init_model)
    if ensemble is None or not ensemble.adds_up:
        raise TypeError(
            "init_model must be a fitted estimator of gradient boosting, its ensemble_ or the name "
            f"of a model file; got {type(init_model).__name__}"
        )
    return ensemble


def check_continued(
    who: str, ensemble: Ensemble, link: Any, classes: Any, n_outputs: int, n_values: int
) -> None:
    """Raise unless the trees of this training can follow those of a model."""
    theirs = ensemble.link, ensemble.n_channels, ensemble.trees[0].n_channels
    if theirs != (link, n_outputs, n_values):
        raise ValueError(
            f"{who} must have the objective, outputs and multi_strategy of this training: it has "
            f"the link {theirs[0].name!r}, {theirs[1]} scores and {theirs[2]} in a leaf; here they "
            f"are {link.name!r}, {n_outputs} and {n_values}"
        )
    same = (ensemble.classes is None) == (classes is None) and all(
        np.array_equal(a, b) for a, b in zip(ensemble.classes or [], classes or [], strict=False)
    )
    if not same:
        raise ValueError(f"{who} was trained on other classes than those of y")
