"""Bags of rows for the trees of a forest.

And what the trees say about the rows outside their bags.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.model.ensemble import Ensemble

#: What the key of a bag is for: the first counter of ``Backend.mix_key``.
BAGS = 5


@dataclass(frozen=True)
class Bags:
    """How often each training row is drawn for each tree. Nothing is stored.

    A bag is drawn again whenever it is asked for.
    """

    n_rows: Annotated[int, range(1, 2**31)]
    #: Rows with weight, among which is drawn; None: all of them.
    usable: Annotated[np.ndarray, np.int32, "usable"] | None
    n_draws: Annotated[int, range(1, 2**31)]
    seed: Annotated[int, range(2**32)]

    def __post_init__(self) -> None:
        """Refuse rows that are not there."""
        if self.usable is not None:
            limits = np.concatenate([[-1], self.usable, [self.n_rows]])
            if not len(self.usable) or not (limits[1:] > limits[:-1]).all():
                raise ValueError(
                    f"usable must hold ascending numbers of the {self.n_rows} rows; got "
                    f"{self.usable}"
                )

    @classmethod
    def of(cls, weight: np.ndarray, max_samples: int | float | None, seed: int) -> Bags:
        """Bags of rows with weight.

        ``max_samples`` is a number of draws, or a share of these rows.
        """
        usable = np.flatnonzero(weight > 0).astype(np.int32)
        n = len(usable)
        return cls(len(weight), None if n == len(weight) else usable, draws(max_samples, n), seed)

    def counts(self, i: int, backend: Backend) -> np.ndarray:
        """How often each row is drawn for the i-th tree, (n_rows,) int32."""
        key = backend.mix_key(self.seed, BAGS, i)
        if self.usable is None:
            return backend.draw_bag(self.n_rows, self.n_draws, key)
        out = np.zeros(self.n_rows, np.int32)
        out[self.usable] = backend.draw_bag(len(self.usable), self.n_draws, key)
        return out


def draws(max_samples: int | float | None, n_rows: int) -> int:
    """Draws for each bag from so many rows."""
    if max_samples is None:
        return n_rows
    return (
        int(max_samples)
        if isinstance(max_samples, numbers.Integral)
        else max(1, int(max_samples * n_rows))
    )


def check_max_samples(value: Any, bootstrap: bool) -> None:
    """None, a number of draws, or a share of the rows; only with bags."""
    if value is None:
        return
    if not bootstrap:
        raise ValueError(
            "max_samples must be None with bootstrap=False, which gives every row to every "
            f"tree; got {value!r}"
        )
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1
    share = (
        isinstance(value, numbers.Real)
        and not isinstance(value, numbers.Integral)
        and 0 < float(value) < math.inf
    )
    if not whole and not share:
        raise ValueError(
            f"max_samples must be None, an integer of at least 1 or a number above 0; got {value!r}"
        )


@dataclass(frozen=True)
class TreeWeights:
    """The weight that a row has in a tree.

    How often it was drawn, times its own, times that of its class in the bag.
    """

    weight: np.ndarray  # (n_rows,) float64: of the rows themselves
    bags: Bags | None  # None: each tree gets every row once
    balanced: np.ndarray | None  # (n_rows, n_outputs): class codes, if every bag is to be balanced

    def of_tree(self, i: int, backend: Backend) -> np.ndarray:
        """Weights of the rows in the i-th tree; 0: not in the bag."""
        if self.bags is None:
            counts = (self.weight > 0).astype(np.int32)
        else:
            counts = self.bags.counts(i, backend)
        weight = self.weight * counts
        return weight if self.balanced is None else weight * balance(self.balanced, counts)


def balance(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """A factor for each row that gives all classes of a bag the same total.

    Several outputs multiply theirs.
    """
    factor = np.ones(len(codes))
    for own in codes.T:
        drawn = np.bincount(own, weights=counts)
        there = drawn > 0
        of_class = np.zeros(len(drawn))
        of_class[there] = drawn.sum() / (there.sum() * drawn[there])
        factor *= of_class[own]
    return factor


def votes(value: np.ndarray, first_channel: np.ndarray) -> np.ndarray:
    """1 for the class of highest share of each output, the first among equals."""
    out = np.zeros_like(value)
    for begin, end in zip(first_channel[:-1], first_channel[1:], strict=True):
        out[np.arange(len(value)), begin + value[:, begin:end].argmax(axis=1)] = 1.0
    return out


def out_of_bag(x: np.ndarray, ensemble: Ensemble, bags: Bags, backend: Backend) -> np.ndarray:
    """Mean of what the trees whose bags do not have a row say about it, (n_rows, n_channels).

    NaN if all bags have it.
    """
    total, n_trees = np.zeros((len(x), ensemble.n_channels)), np.zeros(len(x), np.int64)
    for i, tree, leaves in ensemble.leaves_by_tree(x, backend):
        value = votes(tree.value, ensemble.first_channel) if ensemble.vote else tree.value
        outside = np.flatnonzero(bags.counts(i, backend) == 0)
        total[outside] += value[leaves[outside]]
        n_trees[outside] += 1
    never = n_trees == 0
    out: np.ndarray = total / np.where(never, 1, n_trees)[:, None]
    out[never] = np.nan
    return out
