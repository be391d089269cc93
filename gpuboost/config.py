"""Parameters with their defaults and ranges: the only place a default value appears."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.dtypes import DEPTHWISE, LEAFWISE, SYMMETRIC

SAMPLING_METHODS = ("uniform", "goss", "mvs")
GROW_POLICIES = {"depthwise": DEPTHWISE, "leafwise": LEAFWISE, "symmetric": SYMMETRIC}
#: Symmetric trees if a model may become as large as its data wants, or depth-wise ones.
AUTO = "auto"

#: Iterations times learning rate from which symmetric trees have time enough: at 300 iterations of
#: 0.1 they are still behind.
ENOUGH_STEPS = 50.0

#: How several outputs, or classes, share trees.
VECTOR_LEAF = "vector_leaf"
MULTI_STRATEGIES = ("one_tree_per_output", VECTOR_LEAF)

#: How training rows are held out: a random choice, or those behind all others.
VALIDATION_SPLITS = ("random", "last")

#: How rounds follow each other: each behind all others, or some earlier ones left out.
DART = "dart"
BOOSTING = ("gbtree", DART)
NORMALIZE_TYPES = ("tree", "forest")

#: Depth, leaves and rows that stand for "no limit": larger numbers count as these.
NO_DEPTH_LIMIT = 1 << 20
NO_LEAF_LIMIT = 1 << 30
NO_ROW_LIMIT = (1 << 31) - 1

#: Most rounds or trees.
MOST_ROUNDS = (1 << 31) - 1

#: Symmetric trees have 2**depth leaves.
MAX_SYMMETRIC_DEPTH = 16


@dataclass(frozen=True)
class Number:
    """The range of a numeric parameter."""

    low: float
    high: float = math.inf
    integer: bool = False
    low_open: bool = False
    none: bool = False
    boolean: bool = False  # True and False count as 1 and 0
    high_open: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise an error that says what is allowed."""
        if value is None and self.none:
            return
        kind = numbers.Integral if self.integer else numbers.Real
        if (isinstance(value, bool) and not self.boolean) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {self}; got {value!r} of type {type(value).__name__}")
        number: Any = value
        too_low = number <= self.low if self.low_open else number < self.low
        too_high = number >= self.high if self.high_open else number > self.high
        if too_low or too_high or not (self.integer or is_finite(value)):
            raise ValueError(f"{name} must be {self}; got {value!r}")

    def __str__(self) -> str:
        """What is allowed, in words."""
        what = "an integer" if self.integer else "a number"
        low = f" above {self.low:g}" if self.low_open else f" at least {self.low:g}"
        low = "" if math.isinf(self.low) else low
        below = "below" if self.high_open else "at most"
        high = "" if math.isinf(self.high) else f" and {below} {self.high:.12g}"
        return f"{what}{low}{high}{' or None' if self.none else ''}"


#: Any finite number.
ANY_NUMBER = Number(-math.inf)


def is_finite(value: Any) -> bool:
    """Whether a number is finite as a float."""
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer or a fraction beyond all floats
        return False


def check_flag(name: str, value: Any) -> None:
    """Raise unless a value is True or False, of Python or of numpy."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise unless a value is one of the allowed ones."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def is_count(value: Any, least: int = 1) -> bool:
    """Whether a value is an integer of at least this."""
    return (
        isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least
    )


def is_share(value: Any, most: float = 1.0) -> bool:
    """Whether a value is a number, but no integer, above 0 and at most this."""
    if isinstance(value, numbers.Integral) or not isinstance(value, numbers.Real):
        return False
    number: Any = value
    return bool(0 < number <= most)


#: Parameters of losses, each of which some losses have.
LOSS_PARAMETERS = {
    "alpha": Number(0, 1, low_open=True, high_open=True),
    "delta": Number(0, low_open=True),
    "power": Number(1, 2, low_open=True, high_open=True),
    "gamma": Number(0, 100),
}

RANGES = {
    "n_estimators": Number(1, MOST_ROUNDS, integer=True),
    "learning_rate": Number(0, low_open=True),
    "max_depth": Number(1, integer=True, none=True),
    "max_leaves": Number(2, integer=True, none=True),
    "leaves_per_step": Number(1, integer=True),
    "max_bins": Number(2, 256, integer=True),
    "min_child_weight": Number(0),
    "min_samples_leaf": Number(1, integer=True),
    "min_split_gain": Number(0),
    "reg_lambda": Number(0),
    "reg_alpha": Number(0),
    "max_delta_step": Number(0),
    "cat_smooth": Number(0),
    "max_cat_to_onehot": Number(1, integer=True),
    "max_cat_threshold": Number(1, integer=True),
    "min_data_per_category": Number(1, integer=True),
    "subsample": Number(0, 1, low_open=True),
    "top_rate": Number(0, 1, low_open=True, none=True),
    "colsample_bytree": Number(0, 1, low_open=True),
    "colsample_bylevel": Number(0, 1, low_open=True),
    "colsample_bynode": Number(0, 1, low_open=True),
    "early_stopping_rounds": Number(1, integer=True, none=True),
    "min_delta": Number(0),
    "validation_fraction": Number(0, 0.9, low_open=True, none=True),
    "max_time": Number(0, low_open=True, none=True),
    "rate_drop": Number(0, 1, low_open=True),
    "skip_drop": Number(0, 1),
    "verbose": Number(0, integer=True, boolean=True),
}


@dataclass(frozen=True)
class BoostParams:
    """Parameters of gradient boosting; the estimators' docstrings say what each one does."""

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int | None = None
    max_leaves: int | None = None
    leaves_per_step: int = 1
    grow_policy: str = AUTO
    max_bins: int = 256
    min_child_weight: float = 1.0
    min_samples_leaf: int = 1
    min_split_gain: float = 0.0
    reg_lambda: float = 1.0
    reg_alpha: float = 0.0
    max_delta_step: float = 0.0
    cat_smooth: float = 10.0
    max_cat_to_onehot: int = 4
    max_cat_threshold: int = 32
    min_data_per_category: int = 10
    subsample: float = 1.0
    sampling_method: str = "uniform"
    top_rate: float | None = None
    colsample_bytree: float = 1.0
    colsample_bylevel: float = 1.0
    colsample_bynode: float = 1.0
    multi_strategy: str = "one_tree_per_output"
    early_stopping_rounds: int | None = None
    min_delta: float = 0.0
    stopping_metric: str | None = None
    stopping_set: str | None = None
    validation_fraction: float | None = None
    validation_split: str = "random"
    refit: bool = False
    max_time: float | None = None
    prune: bool = False
    boosting: str = "gbtree"
    rate_drop: float = 0.1
    skip_drop: float = 0.5
    normalize_type: str = "tree"
    verbose: int = 0

    def __post_init__(self) -> None:
        """Check every value; fractions and numbers of numpy become Python's."""
        for name, allowed in RANGES.items():
            value = getattr(self, name)
            allowed.check(name, value)
            if value is not None:
                object.__setattr__(self, name, int(value) if allowed.integer else float(value))
        check_choice("grow_policy", self.grow_policy, (AUTO, *GROW_POLICIES))
        self._check_sampling()
        self._check_stopping()
        self._check_trees()
        check_choice("multi_strategy", self.multi_strategy, MULTI_STRATEGIES)
        if self.leaves_per_step != 1 and self.order != LEAFWISE:
            raise ValueError(
                f"leaves_per_step must be 1 with grow_policy={self.grow_policy!r}, and may be more "
                f"with 'leafwise' only; got {self.leaves_per_step!r}"
            )
        if self.order == SYMMETRIC:
            if self.max_leaves is not None:
                raise ValueError(
                    "max_leaves must be None with grow_policy='symmetric', whose trees have "
                    f"2**max_depth leaves; got {self.max_leaves!r}"
                )
            if self.depth_limit > MAX_SYMMETRIC_DEPTH:
                raise ValueError(
                    f"max_depth must be at most {MAX_SYMMETRIC_DEPTH} with "
                    f"grow_policy='symmetric'; got {self.max_depth!r}"
                )

    def _check_sampling(self) -> None:
        """Raise if something is said of a sample that is not drawn."""
        check_choice("sampling_method", self.sampling_method, SAMPLING_METHODS)
        if self.sampling_method != "uniform" and self.subsample >= 1:
            raise ValueError(
                f"sampling_method={self.sampling_method!r} needs a subsample below 1, the share of "
                f"the rows to be drawn; got subsample={self.subsample!r}"
            )
        if self.top_rate is not None and self.sampling_method != "goss":
            raise ValueError(
                f"top_rate must be None with sampling_method={self.sampling_method!r}, and may be "
                f"given with 'goss' only; got {self.top_rate!r}"
            )
        if self.top_rate is not None and self.top_rate > self.subsample:
            raise ValueError(
                f"top_rate must be at most subsample={self.subsample!r}, of which it is a part; "
                f"got {self.top_rate!r}"
            )

    def _check_stopping(self) -> None:
        """Raise if something is said of early stopping or of rows held out that are not there."""
        check_choice("validation_split", self.validation_split, VALIDATION_SPLITS)
        check_flag("refit", self.refit)
        for name in ("stopping_metric", "stopping_set"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} must be a name or None; got {value!r}")
        needed = {
            "early_stopping_rounds": ("min_delta", "stopping_metric", "stopping_set", "refit"),
            "validation_fraction": ("validation_split", "refit"),
        }
        for condition, names in needed.items():
            for name in names:
                default = type(self).__dataclass_fields__[name].default
                if getattr(self, condition) is None and getattr(self, name) != default:
                    raise ValueError(
                        f"{name} needs {condition}, without which it changes nothing; got "
                        f"{name}={getattr(self, name)!r} with {condition}=None"
                    )

    def _check_trees(self) -> None:
        """Raise if something is said of dropped or pruned trees that are not there."""
        check_choice("boosting", self.boosting, BOOSTING)
        check_choice("normalize_type", self.normalize_type, NORMALIZE_TYPES)
        check_flag("prune", self.prune)
        if self.boosting != DART:
            for name in ("rate_drop", "skip_drop", "normalize_type"):
                if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                    raise ValueError(
                        f"{name} needs boosting='dart', without which it changes nothing; got "
                        f"{name}={getattr(self, name)!r} with boosting={self.boosting!r}"
                    )
        elif self.early_stopping_rounds is not None:
            raise ValueError(
                "early_stopping_rounds must be None with boosting='dart', where the trees of the "
                f"best round change later; got {self.early_stopping_rounds!r}"
            )
        if self.prune and self.min_split_gain == 0:
            raise ValueError("prune needs a min_split_gain above 0 to prune by; got prune=True")
        if self.prune and self.order == SYMMETRIC:
            raise ValueError(
                "prune must be False with grow_policy='symmetric', whose trees keep one split for "
                "all nodes of a level; got prune=True"
            )

    @property
    def order(self) -> int:
        """Growth order as the kernels know it."""
        if self.grow_policy == AUTO:
            return SYMMETRIC if self._symmetric_by_default else DEPTHWISE
        return GROW_POLICIES[self.grow_policy]

    @property
    def _symmetric_by_default(self) -> bool:
        """Whether data says when to stop, after long enough, and symmetric trees can be had."""
        return (
            self.early_stopping_rounds is not None
            and self.n_estimators * self.learning_rate >= ENOUGH_STEPS
            and self.max_leaves is None
            and self.leaves_per_step == 1
            and (self.max_depth is None or self.max_depth <= MAX_SYMMETRIC_DEPTH)
        )

    @property
    def samples_columns(self) -> bool:
        """Whether trees, levels or nodes draw features."""
        return min(self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode) < 1

    @property
    def depth_limit(self) -> int:
        """Depth limit with the policy's default: 6, or none for leaf-wise growth."""
        if self.max_depth is not None:
            return min(int(self.max_depth), NO_DEPTH_LIMIT)
        return NO_DEPTH_LIMIT if self.order == LEAFWISE else 6

    @property
    def leaf_limit(self) -> int:
        """Leaf limit with the policy's default: 31 for leaf-wise growth, or none."""
        if self.max_leaves is not None:
            return min(int(self.max_leaves), NO_LEAF_LIMIT)
        return 31 if self.order == LEAFWISE else NO_LEAF_LIMIT
