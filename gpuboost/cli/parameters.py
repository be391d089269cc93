"""Parameters of estimators on the command line: ``key=value`` and TOML files."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.cli.common import CliError
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import resolve_metrics
from gpuboost.optional import load
from gpuboost.tables.errors import did_you_mean

#: By name on the command line: for classes, for numbers.
MODELS: dict[str, tuple[Any, Any]] = {
    "boost": (GPUBoostClassifier, GPUBoostRegressor),
    "forest": (RandomForestClassifier, RandomForestRegressor),
    "extra-trees": (ExtraTreesClassifier, ExtraTreesRegressor),
    "tree": (DecisionTreeClassifier, DecisionTreeRegressor),
    "adaboost": (AdaBoostClassifier, AdaBoostRegressor),
}
WORDS = {"none": None, "None": None, "null": None, "True": True, "False": False}


def read_parameters(path: str | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Parameters of a TOML file, if there is one, and of ``key=value`` arguments, which win."""
    parameters: dict[str, Any] = {}
    if path is not None:
        toml = _toml()
        with open(path, "rb") as file:
            try:
                parameters = toml.load(file)
            except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
                raise CliError(f"{path}: not a valid TOML file: {error}") from error
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise CliError(f"{assignment!r} is no parameter: write name=value, such as max_depth=4")
        parameters[name.strip()] = _value(value.strip())
    return {
        name: WORDS.get(value, value) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def _value(text: str) -> Any:
    """A TOML value, or text as it is."""
    toml = _toml()
    try:
        return toml.loads(f"value = {text}")["value"]
    except toml.TOMLDecodeError:
        return text


def _toml() -> Any:
    try:
        return importlib.import_module("tomllib")
    except ImportError:  # Python 3.10
        return load("tomli", "reading parameters")


def candidates(model: str, task: str) -> list[Any]:
    """Estimators that a task may need."""
    classifier, regressor = MODELS[model]
    return {"auto": [classifier, regressor], "regression": [regressor]}.get(task, [classifier])


def check_parameters(model: str, task: str, parameters: dict[str, Any], has_valid: bool) -> None:
    """Raise if no estimator for the task takes these parameters; nothing is trained."""
    estimators = candidates(model, task)
    known = sorted(
        {name for estimator in estimators for name in estimator().get_params(deep=False)}
    )
    for name in parameters:
        if name not in known:
            raise CliError(
                f"--model {model} has no parameter {name!r}{did_you_mean(name, known)}; it has "
                f"{', '.join(known)}"
            )
    if parameters.get("date_features") is not None:
        raise CliError(
            "date_features is for frames in Python, as commands read columns as numbers; add "
            "columns with the parts to the table"
        )
    problems = [
        problem
        for estimator in estimators
        if (problem := _problem(estimator, parameters)) is not None
    ]
    if len(problems) == len(estimators):
        raise problems[0]
    if parameters.get("early_stopping_rounds") is not None and not has_valid:
        raise CliError(
            "early_stopping_rounds needs rows to watch: give a table with --valid, or a share "
            "with --valid-fraction"
        )


def _problem(estimator: Any, parameters: dict[str, Any]) -> Exception | None:
    """What an estimator has against parameters."""
    other = [name for name in parameters if name not in estimator().get_params(deep=False)]
    if other:
        return CliError(f"{estimator.__name__} has no parameter {other[0]!r}")
    model = estimator(**parameters)
    try:
        model.check_parameters()
        if "eval_metric" in parameters:
            _check_metric(model)
    except (ValueError, TypeError) as error:
        return error
    return None


def _check_metric(model: Any) -> None:
    """Raise if a metric's name is known for no number of classes."""
    several = ["multi_log_loss"] if isinstance(model, GPUBoostClassifier) else []
    names = [model.objective, *several]
    problems = []
    for name in names:
        try:
            resolve_metrics(model.eval_metric, OBJECTIVES[name])
        except ValueError as error:
            problems.append(error)
    if len(problems) == len(names) and model.eval_metric is not None:
        raise problems[0]


def make_model(model: str, task: str, parameters: dict[str, Any], classes: Any) -> Any:
    """The estimator for a task that is settled.

    It is trained on the numbers of the classes, so class weights become weights of these numbers.
    """
    (estimator,) = candidates(model, task)
    problem = _problem(estimator, parameters)
    if problem is not None:
        raise problem
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        by_number = _by_number(weights, [str(label) for label in classes])
        parameters = parameters | {"class_weight": by_number}
    return estimator(**parameters)


def _by_number(weights: dict[str, Any], labels: list[str]) -> dict[int, Any]:
    for label in weights:
        if label not in labels:
            raise CliError(
                f"class_weight names {label!r}, which is no class; the classes are "
                f"{', '.join(labels[:20])}"
            )
    return {labels.index(label): weight for label, weight in weights.items()}
