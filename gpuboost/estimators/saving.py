"""Saving and loading of estimators.

A file holds the parameters, and the fitted attributes that the classes annotate.
"""

from __future__ import annotations

import os
import stat
import warnings
from typing import Any, get_args

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
from gpuboost.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from gpuboost.model.ensemble import ensemble_of
from gpuboost.model.file import ModelFormatError, need, read_model, write_model
from gpuboost.model.json_values import NotStorable
from gpuboost.model.stored import SOMETIMES, Reader, Writer, annotated

#: Devices that every machine has. The model does not depend on the device, so that another one is
#: saved as "auto".
DEVICES = ("auto", "cpu")
#: Parameters that a file cannot hold, and what they were.
NOT_STORED = dict[str, str]
ESTIMATORS: dict[str, type[BaseTrees]] = {
    estimator.__name__: estimator
    for estimator in (
        GPUBoostClassifier, GPUBoostRegressor, DecisionTreeClassifier, DecisionTreeRegressor,
        RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor,
        AdaBoostClassifier, AdaBoostRegressor,
    )
}  # fmt: skip


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """What the estimators' ``save_model`` does; warnings are for its caller."""
    header, arrays = describe(model)
    for name, what in header["not_stored"]:
        instead = header["parameters"][name]
        warnings.warn(
            f"{name} is {what}, which a model file cannot hold: it will be {instead!r} after "
            "loading",
            stacklevel=3,
        )
    try:
        restore(header, arrays)  # never write what cannot be loaded
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
        mode = os.stat(path).st_mode
        # a pipe would be waited for, a device be read without end; a folder is an OSError
        need(stat.S_ISREG(mode) or stat.S_ISDIR(mode), "it is no regular file")
        with open(path, "rb") as file:
            header, arrays = read_model(file)
        model = restore(header, arrays)
    except ModelFormatError as error:
        reason = str(error)
        # the file has its say in it
        reason = reason if len(reason) <= 500 else f"{reason[:500]}..."
        raise ModelFormatError(f"{path} cannot be loaded: {reason}") from error
    parameters = model.get_params(deep=False)
    for name, what in header.get("not_stored", []):
        if name in parameters:
            warnings.warn(
                f"{path}: {name} was {what}, which a file cannot hold; it now is "
                f"{parameters[name]!r}",
                stacklevel=2,
            )
    return model


def describe(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A fitted estimator as JSON and arrays."""
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        raise TypeError(
            f"only estimators of gpuboost can be saved ({', '.join(ESTIMATORS)}); got "
            f"{type(model).__name__}"
        )
    ensemble_of(model)
    writer = Writer()
    parameters, not_stored = _put_parameters(model, writer)
    header = {
        name: writer.put(hint, getattr(model, name), name)
        for name, hint in annotated(type(model)).items()
        if hasattr(model, name)
    }
    header |= {"estimator": type(model).__name__, "parameters": parameters}
    header["not_stored"] = writer.put(NOT_STORED, not_stored, "not_stored")
    return header | {"required": sorted(["ensemble_", *writer.required])}, writer.arrays


def restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that a header and arrays describe, after every check."""
    reader = Reader(arrays, header.get("required"))
    name = reader.take(str, header.get("estimator"), "estimator")
    need(name in ESTIMATORS, f"it holds a {name[:100]!r}, which this gpuboost does not know")
    kind: Any = ESTIMATORS[name]
    reader.take(NOT_STORED, header.get("not_stored", []), "not_stored")
    attributes: dict[str, Any] = {}
    for name, hint in annotated(kind).items():
        if name in header:
            attributes[name] = reader.take(hint, header[name], name)
        else:
            need(SOMETIMES in get_args(hint) or hasattr(kind, name), f"the header lacks {name!r}")
    model = _take_parameters(kind, header, reader)
    reader.finish()
    vars(model).update(attributes)
    ensemble = ensemble_of(model)
    model.n_features_in_ = ensemble.n_features
    if ensemble.feature_names is not None:
        model.feature_names_in_ = np.array(ensemble.feature_names, dtype=object)
    model._check_fitted()
    return model


def _put_parameters(model: Any, writer: Writer) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters by name, and what those were that are not kept."""
    parameters, not_stored = {}, {}
    defaults = type(model)().get_params(deep=False)
    for name, value in model.get_params(deep=False).items():
        if name == "device" and value not in DEVICES:
            value = "auto"
        try:
            parameters[name] = writer.value(value, f"parameters/{name}")
        except NotStorable as error:
            # a forest keeps the seed that a random state gave it: with this seed a warm start goes
            # on as if nothing had happened
            seeded = name == "random_state" and hasattr(model, "origin_")
            parameters[name] = model.origin_["random_state"] if seeded else defaults[name]
            not_stored[name] = str(error)
    return parameters, not_stored


def _take_parameters(kind: type[BaseTrees], header: dict[str, Any], reader: Reader) -> Any:
    """An estimator with the parameters that it knows; others keep their defaults."""
    stored: dict[str, Any] = header.get("parameters", {})
    need(isinstance(stored, dict), "the parameters are not a JSON object")
    reader.known.add("parameters")
    names = set(kind().get_params(deep=False)) & set(stored)
    model = kind(**{name: reader.take(Any, stored[name], f"parameters/{name}") for name in names})
    need(
        isinstance(model.device, str) and model.device in DEVICES,
        f"parameter device is {str(model.device)[:50]}, not one of {', '.join(DEVICES)}",
    )
    try:
        model.check_parameters()
    except (TypeError, ValueError) as error:
        raise ModelFormatError(str(error)) from error
    return model
