"""Parameters that say something of single features, by name or number, as arrays by feature."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gpuboost.config import is_finite

#: Most bits of a table of interaction groups (features times groups): 16 MiB.
MOST_GROUP_BITS = 1 << 27
#: Interaction constraints that have a name.
SHORT_FORMS = ("pairwise", "no_interactions")
#: Weights are at least this part of the largest one, so that times by them are finite.
LEAST_WEIGHT = 2.0**-500


def check_monotone(constraints: Any) -> None:
    """Raise unless these could be monotone constraints of some features."""
    for value in _values("monotone_constraints", constraints, "directions", "direction"):
        if not (_is_number(value) and value in (-1, 0, 1)):
            raise ValueError(
                "monotone_constraints must have -1 (falls), 0 (free) or 1 (rises) for a feature; "
                f"got {value!r}"
            )


def monotone_directions(
    constraints: Any, names: Sequence[str] | None, n_features: int
) -> np.ndarray:
    """1, -1 or 0 for each feature: what is predicted rises or falls along it, or does either."""
    check_monotone(constraints)
    return by_feature("monotone_constraints", constraints, names, n_features, 0).astype(np.int32)


def check_numbers_of_features(parameter: str, given: Any, one: str, several: str) -> None:
    """Raise unless these could be numbers of some features, at least 0: weights, say."""
    for value in _values(parameter, given, several, one):
        if not (_is_number(value) and is_finite(value) and value >= 0):
            raise ValueError(
                f"{parameter} must have a finite number of at least 0 for a feature; got {value!r}"
            )


def feature_weights(given: Any, names: Sequence[str] | None, n_features: int) -> np.ndarray:
    """Weights of all features, the largest of which is 1; features that are not named have 1."""
    check_numbers_of_features("feature_weights", given, "weight", "weights")
    weights = by_feature("feature_weights", given, names, n_features, 1)
    if not weights.any():
        raise ValueError("feature_weights must be above 0 for one feature at least; all are 0")
    is_drawn = weights > 0
    weights /= weights.max()
    return np.where(is_drawn, np.maximum(weights, LEAST_WEIGHT), 0.0)


def feature_costs(given: Any, names: Sequence[str] | None, n_features: int) -> np.ndarray:
    """What the first split on each feature costs."""
    check_numbers_of_features("feature_penalties", given, "penalty", "penalties")
    return by_feature("feature_penalties", given, names, n_features, 0)


def check_interactions(constraints: Any) -> None:
    """Raise unless these could be groups of features that interact."""
    if constraints is None or (isinstance(constraints, str) and constraints in SHORT_FORMS):
        return
    if not _is_list(constraints):
        raise _wrong_interactions(constraints)
    for group in constraints:
        if not _is_list(group, sets=True):
            raise _wrong_interactions(constraints)
        if len(group) == 0:
            raise ValueError("interaction_constraints has an empty group of features")


def _wrong_interactions(constraints: Any) -> TypeError:
    return TypeError(
        "interaction_constraints must be None, 'pairwise', 'no_interactions' or a list of groups, "
        f"each a list of names or numbers of features; got {constraints!r}"
    )


def interaction_groups(
    constraints: Any, names: Sequence[str] | None, n_features: int
) -> list[set[int]]:
    """The groups of features that may follow one another on a path, by numbers.

    Features that are in no group are another one.
    """
    check_interactions(constraints)
    if isinstance(constraints, str):
        features = range(n_features)
        size = 2 if constraints == "pairwise" and n_features > 1 else 1
        return [set(group) for group in _few_enough(combinations(features, size), n_features)]
    parameter = "interaction_constraints"
    groups = [
        {feature_number(parameter, feature, names, n_features) for feature in group}
        for group in _few_enough(constraints, n_features)
    ]
    rest = set(range(n_features)).difference(*groups)
    return [*groups, rest] if rest else groups


def _few_enough(groups: Iterable[Any], n_features: int) -> Iterator[Any]:
    """The groups, as long as a table of them is not too large."""
    for number, group in enumerate(groups):
        if number * n_features > MOST_GROUP_BITS:
            raise ValueError(
                f"interaction_constraints must have at most {MOST_GROUP_BITS // n_features} groups "
                f"for {n_features} features ('pairwise' has a group for each two of them)"
            )
        yield group


def groups_as_bits(groups: list[set[int]], n_features: int) -> np.ndarray:
    """The groups that each feature is in, as bits: (n_features, n_words) uint64."""
    bits = np.zeros((n_features, -(-len(groups) // 64)), np.uint64)
    for number, group in enumerate(groups):
        bits[list(group), number // 64] |= np.uint64(1 << number % 64)
    return bits


def _values(parameter: str, given: Any, several: str, one: str) -> Iterable[Any]:
    """The values of a parameter that has one for each feature: a dict or a list."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return given.values()
    if not _is_list(given):
        raise TypeError(
            f"{parameter} must be None, a dict of features and {several}, or a list or array with "
            f"a {one} for each feature; got {given!r}"
        )
    return tuple(given)


def _is_list(values: Any, sets: bool = False) -> bool:
    """Whether this has values one after another: a list, a tuple, an array, a range."""
    if sets and isinstance(values, (set, frozenset)):
        return True
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        return False
    scalar = isinstance(values, np.ndarray) and values.ndim == 0
    return isinstance(values, Iterable) and hasattr(values, "__len__") and not scalar


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


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
