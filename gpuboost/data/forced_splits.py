"""Splits that a user wants at the top of every tree, as a table that growers take."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.config import Number
from gpuboost.data.feature_options import feature_number

KEYS = ("feature", "threshold", "left", "right")
FINITE = Number(-np.inf)


@dataclass
class ForcedSplit:
    """One of them; the children's are places in a list, -1 if there is none."""

    feature: Any  # by name or number
    threshold: float
    depth: int
    left: int = -1
    right: int = -1


def read_forced_splits(given: Any, symmetric: bool) -> list[ForcedSplit]:
    """Forced splits level by level: of nested dicts, of a list of levels, or of a JSON file."""
    if isinstance(given, (str, os.PathLike)):
        given = _read_file(given)
    if given is None or (isinstance(given, Mapping) and not given):
        return []
    if symmetric:
        if not isinstance(given, (list, tuple)):
            raise ValueError(
                "forced_splits must be a list with a dict for each level for "
                f"grow_policy='symmetric', whose levels have one split; got {given!r}"
            )
        out = [_split_of(level, depth, below=False) for depth, level in enumerate(given)]
        for number, split in enumerate(out[:-1]):
            split.left = split.right = number + 1
        return out
    out, todo = [], [(given, 0, -1, "")]
    while todo:
        node, depth, parent, side = todo.pop(0)
        out.append(_split_of(node, depth, below=True))
        if parent >= 0:
            setattr(out[parent], side, len(out) - 1)
        todo += [
            (node[child], depth + 1, len(out) - 1, child)
            for child in ("left", "right")
            if node.get(child)
        ]
    return out


def _read_file(path: Any) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"forced_splits names no file with JSON in it: {os.fspath(path)!r} ({error})"
        ) from error


def _split_of(node: Any, depth: int, below: bool) -> ForcedSplit:
    """A split from a dict."""
    allowed = KEYS if below else KEYS[:2]
    if not isinstance(node, Mapping):
        raise TypeError(
            "forced_splits must be None, the name of a JSON file, or a dict with feature, "
            f"threshold, left and right (symmetric growth: a list of dicts); got {node!r}"
        )
    unknown = [key for key in node if key not in allowed]
    if unknown or "feature" not in node or "threshold" not in node:
        raise ValueError(
            f"forced_splits must have a feature and a threshold in each split, and may have "
            f"{'left and right' if below else 'nothing else with symmetric growth'}; got {node!r}"
        )
    FINITE.check("the threshold of a split of forced_splits", node["threshold"])
    return ForcedSplit(node["feature"], float(node["threshold"]), depth)


def check_forced_splits(given: Any, symmetric: bool, max_depth: int, max_leaves: int) -> None:
    """Raise unless these could be forced splits of trees with such limits."""
    splits = read_forced_splits(given, symmetric)
    depth = 1 + max((split.depth for split in splits), default=-1)
    if depth > max_depth:
        raise ValueError(f"forced_splits has {depth} levels, more than max_depth={max_depth}")
    if not symmetric and len(splits) >= max_leaves:
        raise ValueError(
            f"forced_splits has {len(splits)} splits, which make more leaves than "
            f"max_leaves={max_leaves}"
        )


def number_features(
    splits: list[ForcedSplit], names: Sequence[str] | None, n_features: int
) -> list[ForcedSplit]:
    """The splits with the numbers of their features."""
    for split in splits:
        split.feature = feature_number("forced_splits", split.feature, names, n_features)
    return splits


def check_paths(splits: list[ForcedSplit], groups: list[set[int]]) -> None:
    """Raise if the features of a path are in no group of interactions."""
    paths = [{split.feature} for split in splits]
    for number, split in enumerate(splits):
        for child in {split.left, split.right} - {-1}:
            paths[child] = paths[child] | paths[number]
    for path in paths:
        if not any(path <= group for group in groups):
            raise ValueError(
                f"forced_splits has the features {sorted(path)} on one path, which no group of "
                "interaction_constraints holds"
            )


def forced_table(splits: list[ForcedSplit], cuts: Sequence[np.ndarray]) -> np.ndarray:
    """(n, 4) int32: feature, last bin of the left side, and the places of the children's splits.

    A threshold becomes the nearest cut of the feature, of two equally near ones the lower.
    """
    table = np.empty((len(splits), 4), np.int32)
    for row, split in zip(table, splits, strict=True):
        of_feature = np.asarray(cuts[split.feature], np.float64)
        if len(of_feature) == 0:
            raise ValueError(
                f"forced_splits splits feature {split.feature}, which has a single value"
            )
        nearest = np.abs(of_feature - split.threshold).argmin()
        row[:] = split.feature, 1 + nearest, split.left, split.right
    return table
