"""Parameters that say something of single features, by name or number, as arrays by feature."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def check_monotone(constraints: Any) -> None:
    """Raise unless these could be monotone constraints of some features."""
    values = constraints.values() if isinstance(constraints, Mapping) else constraints
    if constraints is None:
        return
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or _is_scalar(values):
        raise TypeError(
            "monotone_constraints must be None, a dict of features and directions, or a list or "
            f"array with a direction for each feature; got {constraints!r}"
        )
    for value in values:
        if not _is_direction(value):
            raise ValueError(
                "monotone_constraints must have -1 (falls), 0 (free) or 1 (rises) for a feature; "
                f"got {value!r}"
            )


def _is_scalar(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 0


def _is_direction(value: Any) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, (bool, np.bool_))
        and value in (-1, 0, 1)
    )


def monotone_directions(
    constraints: Any, names: Sequence[str] | None, n_features: int
) -> np.ndarray:
    """1, -1 or 0 for each feature: what is predicted rises or falls along it, or does either."""
    check_monotone(constraints)
    return by_feature("monotone_constraints", constraints, names, n_features, 0).astype(np.int32)


def by_feature(
    parameter: str, given: Any, names: Sequence[str] | None, n_features: int, default: float
) -> np.ndarray:
    """Numbers of all features, from a dict or a list; those that are not named get the default."""
    out = np.full(n_features, float(default))
    if given is None:
        return out
    if isinstance(given, Mapping):
        for feature, value in given.items():
            out[feature_number(parameter, feature, names, n_features)] = value
        return out
    values = list(given)
    if len(values) != n_features:
        raise ValueError(
            f"{parameter} must have an entry for each of the {n_features} features of X; got "
            f"{len(values)}"
        )
    out[:] = values
    return out


def feature_number(
    parameter: str, chosen: Any, names: Sequence[str] | None, n_features: int
) -> int:
    """The place of a feature that a parameter gives by name or number."""
    if isinstance(chosen, str):
        if names is None:
            raise ValueError(
                f"{parameter} names the feature {chosen!r}, but the columns of X have no names"
            )
        if chosen not in names:
            raise ValueError(f"{parameter} names a feature that X does not have: {chosen!r}")
        return list(names).index(chosen)
    whole = isinstance(chosen, numbers.Integral) and not isinstance(chosen, (bool, np.bool_))
    if not whole or not 0 <= int(chosen) < n_features:
        raise ValueError(
            f"{parameter} must give features by name or by number, 0 to {n_features - 1}; got "
            f"{chosen!r}"
        )
    return int(chosen)
