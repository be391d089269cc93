"""Pruning of a grown tree from the bottom: splits that gained too little are taken back."""

from __future__ import annotations

import numpy as np

from gpuboost.config import BoostParams
from gpuboost.exchange import BoostedTree
from gpuboost.objectives.objective import Objective


def check_pruning(params: BoostParams, objective: Objective) -> None:
    """Raise if inner nodes would become leaves whose values are not known."""
    if params.prune and objective.leaf_quantiles is not None:
        raise ValueError(
            f"prune must be False with objective {objective.name!r}, which computes the values of "
            "leaves from their rows; got prune=True"
        )


def pruned(tree: BoostedTree, least_gain: float) -> BoostedTree:
    """The tree without the splits above leaves whose gain is not above this, again and again.

    A split with a low gain stays if one below it has a higher one.
    """
    nodes = tree.nodes
    left, right, gain = nodes["left"].copy(), nodes["right"], nodes["split"]["gain"]
    for i in reversed(range(len(left))):  # children stand behind their parents
        inner = left[i] >= 0
        if inner and left[left[i]] < 0 and left[right[i]] < 0 and gain[i] <= least_gain:
            left[i] = -1
    kept = np.zeros(len(left), bool)
    kept[0] = True
    for node in np.flatnonzero(left >= 0).tolist():
        if kept[node]:
            kept[left[node]] = kept[right[node]] = True
    number = (np.cumsum(kept) - 1).astype(np.int32)
    is_inner = kept & (left >= 0)
    few = nodes[kept].copy()
    few["left"] = np.where(is_inner, number[left], -1)[kept]
    few["right"] = np.where(is_inner, number[right], -1)[kept]
    return BoostedTree(few, tree.values[kept], tree.cover[kept], tree.counts[kept])
