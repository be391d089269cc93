"""Saving and loading of estimators: the whole file, and the parameters.

``state.py`` has what ``fit`` has found.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuboost.atomic_files import atomic_write
from gpuboost.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gpuboost.estimators.base import BaseTrees
from gpuboost.estimators.boosting import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.estimators.state import (
    Given,
    put_adaboost,
    put_boosting,
    put_forest,
    put_tree,
    take_adaboost,
    take_boosting,
    take_forest,
    take_tree,
)
from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.file import (
    Arrays,
    ModelFormatError,
    need,
    read_model,
    record,
    text,
    texts,
    whole,
    write_model,
)
from gpuboost.model.json_values import NotStorable, decode, encode
from gpuboost.tables.schema import TableSchema

MOST_FEATURES = 2**31 - 1
#: Devices that every machine has. The model does not depend on the device, so that another one is
#: saved as "auto".
DEVICES = ("auto", "cpu")
#: Parameters that older files do not have, with what these models were trained with.
LATER: dict[str, dict[str, Any]] = {
    "DecisionTreeClassifier": {"pruning_risk": None},
    "RandomForestClassifier": {"splitter": "hist"},
    "RandomForestRegressor": {"splitter": "hist"},
    "ExtraTreesClassifier": {"splitter": "hist"},
    "ExtraTreesRegressor": {"splitter": "hist"},
}


@dataclass(frozen=True)
class Kind:
    """An estimator and the functions that say and read its state."""

    estimator: type[BaseTrees]
    put: Callable[[Any, dict[str, np.ndarray]], dict[str, Any]]
    take: Callable[[Any, Given], dict[str, Any]]


KINDS = {
    kind.estimator.__name__: kind
    for kind in (
        Kind(GPUBoostClassifier, put_boosting, take_boosting),
        Kind(GPUBoostRegressor, put_boosting, take_boosting),
        Kind(DecisionTreeClassifier, put_tree, take_tree),
        Kind(DecisionTreeRegressor, put_tree, take_tree),
        Kind(RandomForestClassifier, put_forest, take_forest),
        Kind(RandomForestRegressor, put_forest, take_forest),
        Kind(ExtraTreesClassifier, put_forest, take_forest),
        Kind(ExtraTreesRegressor, put_forest, take_forest),
        Kind(AdaBoostClassifier, put_adaboost, take_adaboost),
        Kind(AdaBoostRegressor, put_adaboost, take_adaboost),
    )
}


# --- the whole


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """What the estimators' ``save_model`` does; warnings are for its caller."""
    header, arrays = describe(model)
    for name, what in header["not_stored"].items():
        instead = header["parameters"][name]
        warnings.warn(
            f"{name} is {what}, which a model file cannot hold: it will be {instead!r} after "
            "loading",
            stacklevel=3,
        )
    try:
        restore(header, Arrays(arrays))  # never write what cannot be loaded
    except ModelFormatError as error:
        raise ModelFormatError(f"this {type(model).__name__} cannot be saved: {error}") from error
    with atomic_write(path) as file:
        write_model(file, header, arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that its method ``save_model`` has saved.

    Everything is checked before anything is built: checksum, sizes, indices, trees without cycles,
    finite numbers. No code from the file is run, so that a file from anywhere can be loaded. It
    loads on machines with or without a GPU and predicts the same bits.

    Parameters
    ----------
    path : str or path-like
        Name of the file.

    Returns
    -------
    estimator
        The fitted estimator, of the class that was saved.

    Raises
    ------
    ModelFormatError
        If the file is damaged, no model, or made by a newer version; the message says which.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import gpuboost as gb
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gb.GPUBoostClassifier(n_estimators=5, max_depth=2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_model(Path(folder, "iris.gb"))
    ...     loaded = gb.load_model(Path(folder, "iris.gb"))
    >>> loaded.fingerprint() == model.fingerprint()
    True
    >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            header, arrays = read_model(file)
        model = restore(header, Arrays(arrays))
    except ModelFormatError as error:
        reason = str(error)
        # the file has its say in it
        reason = reason if len(reason) <= 500 else f"{reason[:500]}..."
        raise ModelFormatError(f"{path} cannot be loaded: {reason}") from error
    for name, what in header["not_stored"].items():
        warnings.warn(
            f"{path}: {name} was {what}, which a file cannot hold; it now is "
            f"{getattr(model, name)!r}",
            stacklevel=2,
        )
    return model


def describe(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A fitted estimator as JSON and arrays."""
    kind = KINDS.get(type(model).__name__)
    if kind is None or type(model) is not kind.estimator:
        raise TypeError(
            f"only estimators of gpuboost can be saved ({', '.join(KINDS)}); got "
            f"{type(model).__name__}"
        )
    ensemble_of(model)
    arrays: dict[str, np.ndarray] = {}
    parameters, not_stored = _put_parameters(model, arrays)
    names = getattr(model, "feature_names_in_", None)
    table = getattr(model, "table_", None)
    header = {
        "estimator": type(model).__name__,
        "parameters": parameters,
        "not_stored": not_stored,
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "table": None if table is None else table.to_json(),
        "fitted": kind.put(model, arrays),
    }
    return header, arrays


def restore(header: dict[str, Any], arrays: Arrays) -> Any:
    """The estimator that a header and arrays describe, after every check."""
    names = {
        "estimator",
        "parameters",
        "not_stored",
        "n_features",
        "feature_names",
        "table",
        "fitted",
    }
    record(header, names, "the header")
    kind = KINDS.get(text(header["estimator"], "the name of the estimator"))
    if kind is None:
        raise ModelFormatError(
            f"it holds a {header['estimator'][:100]!r}, which this gpuboost does not know"
        )
    model = _take_parameters(kind.estimator, header["parameters"], header["not_stored"], arrays)
    n_features = whole(header["n_features"], 1, MOST_FEATURES, "the number of features")
    attributes: dict[str, Any] = {"n_features_in_": n_features}
    if header["feature_names"] is not None:
        names_in = texts(header["feature_names"], "the names of the features")
        need(
            len(names_in) == n_features,
            f"there are {len(names_in)} names for {n_features} features",
        )
        attributes["feature_names_in_"] = np.array(names_in, dtype=object)
    if header["table"] is not None:
        attributes["table_"] = _take_table(header["table"], n_features)
    attributes |= kind.take(header["fitted"], Given(model, n_features, arrays))
    attributes["ensemble_"] = replace(
        attributes["ensemble_"], feature_names=header["feature_names"]
    )
    arrays.finish()
    model.__dict__.update(attributes)
    return model


def _take_table(value: Any, n_features: int) -> TableSchema:
    try:
        table = TableSchema.from_json(value)
    except ValueError as error:
        raise ModelFormatError(str(error)) from error
    need(
        len(table.columns) == n_features,
        f"the table has {len(table.columns)} columns for {n_features} features",
    )
    return table


# --- parameters


def _put_parameters(model: Any, arrays: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """Parameters by name, and what those were that are not kept."""
    parameters, not_stored = {}, {}
    defaults = inspect.signature(type(model).__init__).parameters
    for name, value in model.get_params(deep=False).items():
        if name == "device" and value not in DEVICES:
            value = "auto"
        own: dict[str, np.ndarray] = {}
        try:
            parameters[name] = encode(value, f"parameters/{name}", own)
        except NotStorable as error:
            # a forest keeps the seed that a random state gave it: with this seed a warm start goes
            # on as if nothing had happened
            seeded = name == "random_state" and hasattr(model, "origin_")
            instead = model.origin_["random_state"] if seeded else defaults[name].default
            parameters[name], not_stored[name] = instead, str(error)
        else:
            arrays |= own
    return parameters, not_stored


def _take_parameters(
    estimator: type[BaseTrees], values: Any, not_stored: Any, arrays: Arrays
) -> Any:
    """An estimator with these parameters, which must be valid ones."""
    names = set(estimator().get_params(deep=False))
    if isinstance(values, dict):
        values = LATER.get(estimator.__name__, {}) | values
    given = {
        name: decode(value, f"parameters/{name}", arrays)
        for name, value in record(values, names, "the list of parameters").items()
    }
    need(
        isinstance(not_stored, dict) and set(not_stored) <= names,
        "the list of parameters that were not stored names others",
    )
    texts(list(not_stored.values()), "the list of parameters that were not stored")
    device = given["device"]
    need(
        isinstance(device, str) and device in DEVICES,
        f"parameter device is {str(device)[:50]}, not one of {', '.join(DEVICES)}",
    )
    model = estimator(**given)
    try:
        model.check_parameters()
    except (TypeError, ValueError) as error:
        raise ModelFormatError(str(error)) from error
    return model
