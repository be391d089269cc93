"""The bagging loop: each tree is grown on rows drawn with replacement (Breiman 1996).

Also warm starts, which add trees to fitted ones, and predictions for the rows outside the bags.
"""

from __future__ import annotations

import hashlib
import numbers
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from gpuboost.backend import Backend, HostBackend
from gpuboost.config import RANGES, Number, check_flag, is_count, is_share
from gpuboost.model.ensemble import Ensemble
from gpuboost.model.pruning import prune
from gpuboost.model.tree import Tree
from gpuboost.progress import Progress
from gpuboost.training.trees import TREES, GrowingTree, TreeGrower, TreeParams

#: What the key of a bag is for: the first counter of ``Backend.mix_key``.
BAGS = 5

#: Most draws for a tree.
MOST_DRAWS = 2**31 - 1


@dataclass(frozen=True)
class BaggingParams:
    """Parameters of the loop; the estimators' docstrings say what each one does."""

    n_estimators: int = 100
    bootstrap: bool = True
    max_samples: int | float | None = None
    class_weight: Any = None
    verbose: int = 0
    ccp_alpha: float = 0.0

    def __post_init__(self) -> None:
        """Check every value but the weights of classes, which depend on the classes."""
        for name in ("n_estimators", "verbose"):
            RANGES[name].check(name, getattr(self, name))
        check_flag("bootstrap", self.bootstrap)
        check_max_samples(self.max_samples, self.bootstrap)
        Number(0).check("ccp_alpha", self.ccp_alpha)


def grow_forest(
    kept: list[Tree], grower: TreeGrower, weights: TreeWeights, params: BaggingParams, seed: int
) -> list[Tree]:
    """Bagging: draw a bag of rows for each tree that is not there yet, and grow the tree on it.

    What a tree is made from depends on its number alone: no tree depends on how many were kept.
    """
    backend, n_new = grower.backend.host, int(params.n_estimators) - len(kept)

    def tree(i: int) -> GrowingTree:
        number = len(kept) + i
        return GrowingTree(weights.of_tree(number, backend), backend.mix_key(seed, TREES, number))

    with Progress(n_new, "training", "trees", int(params.verbose)) as progress:
        grown = grower.grow_all(n_new, tree, progress.advance)
    if params.ccp_alpha > 0:
        grown = [prune(one, params.ccp_alpha) for one in grown]
    return kept + grown


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

    def counts(self, i: int, backend: HostBackend) -> np.ndarray:
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
    wanted = max_samples if isinstance(max_samples, numbers.Integral) else max_samples * n_rows
    if wanted > MOST_DRAWS:
        raise ValueError(
            f"max_samples must give at most {MOST_DRAWS} draws for a tree; got {max_samples!r} for "
            f"{n_rows} rows"
        )
    return max(1, int(wanted))


def check_max_samples(value: Any, bootstrap: bool) -> None:
    """None, a number of draws, or a share of the rows; only with bags."""
    if value is None:
        return
    if not bootstrap:
        raise ValueError(
            "max_samples must be None with bootstrap=False, which gives every row to every "
            f"tree; got {value!r}"
        )
    if not is_count(value) and not is_share(value, most=sys.float_info.max):
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

    @classmethod
    def of(
        cls, weight: np.ndarray, codes: np.ndarray, params: BaggingParams, seed: int
    ) -> TreeWeights:
        """Weights in the trees of a forest; ``codes`` are the classes of the rows, if any."""
        bags = Bags.of(weight, params.max_samples, seed) if params.bootstrap else None
        return cls(weight, bags, codes if params.class_weight == "balanced_subsample" else None)

    def of_tree(self, i: int, backend: HostBackend) -> np.ndarray:
        """Weights of the rows in the i-th tree; 0: not in the bag."""
        counts = (self.weight > 0) if self.bags is None else self.bags.counts(i, backend)
        weight = self.weight * counts
        return weight if self.balanced is None else weight * balance(self.balanced, counts)


def balance(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """A factor for each row that gives all classes of a bag the same total.

    Several outputs multiply theirs.
    """
    factor = np.ones(len(codes))
    for codes_of_output in codes.T:
        drawn = np.bincount(codes_of_output, weights=counts)
        there = drawn > 0
        of_class = np.zeros(len(drawn))
        of_class[there] = drawn.sum() / (there.sum() * drawn[there])
        factor *= of_class[codes_of_output]
    return factor


def out_of_bag(
    x: Any, ensemble: Ensemble, bags: Bags, backend: Backend, most_stages: int = 1
) -> Iterator[tuple[int, np.ndarray]]:
    """Means of what the trees whose bags do not have a row say about it, (n_rows, n_channels).

    Stages: how many trees there are, and the means over these; the last one has all trees. NaN, and
    a warning in the end, if all bags have a row.
    """
    n_trees = len(ensemble.trees)
    ends = np.unique(np.linspace(0, n_trees, most_stages + 1).astype(int)[1:])
    ends = ends[ends > 0].tolist()

    def bag(i: int) -> np.ndarray:
        return bags.counts(i, backend.host) > 0

    stages = ensemble.staged_unseen_raw(x, bag, ends, backend)
    for end, (sums, n_unseen) in zip(ends, stages, strict=True):
        never = n_unseen == 0
        if end == n_trees and never.any():
            warnings.warn(
                f"{int(never.sum())} of {len(x)} training rows are in the bags of all {n_trees} "
                "trees and have no out-of-bag prediction (NaN): raise n_estimators or lower "
                "max_samples",
                stacklevel=5,
            )
        out: np.ndarray = backend.to_host(sums).T / np.where(never, 1, n_unseen)[:, None]
        out[never] = np.nan
        yield end, out


# --- warm start


def trees_to_keep(trees: list[Tree], n_estimators: int) -> list[Tree]:
    """The fitted trees, which a warm start adds to until there are so many."""
    if n_estimators < len(trees):
        raise ValueError(
            f"n_estimators must be at least {len(trees)} with warm_start=True, as so many "
            f"trees are fitted; got {n_estimators}"
        )
    if n_estimators == len(trees):
        warnings.warn(
            f"warm_start=True and n_estimators={len(trees)}: all trees are fitted already, "
            "none is added",
            stacklevel=4,
        )
    return trees


def origin_of_trees(
    tree_params: TreeParams,
    params: BaggingParams,
    seed: int,
    **data: tuple[np.ndarray | str, ...],
) -> dict[str, Any]:
    """Everything that the trees follow from, by the names that users know.

    Of data there is only a digest.
    """
    return asdict(tree_params) | {
        "bootstrap": bool(params.bootstrap),
        "max_samples": params.max_samples,
        "class_weight": params.class_weight,
        "ccp_alpha": params.ccp_alpha,
        "random_state": seed,
        **{name: digest(*parts) for name, parts in data.items()},
    }


def check_same_origin(fitted: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise unless trees that are to be added belong to the fitted ones.

    The forest is then the one that a single fit gives.
    """
    for name, value in now.items():
        if value != fitted[name]:
            is_data = name in ("X", "y", "sample_weight")
            change = "" if is_data else f": {fitted[name]!r}, now {value!r}"
            raise ValueError(
                f"warm_start=True adds trees to the fitted ones, but {name} is not what they "
                f"were fitted with{change}; set warm_start=False to start anew"
            )


def digest(*parts: np.ndarray | str) -> str:
    """A short name for some data: the same data, the same name."""
    out = hashlib.blake2b(digest_size=16)
    for part in parts:
        out.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return out.hexdigest()
