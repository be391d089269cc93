"""The forms in which users give eval sets, made into one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning


def eval_pairs(eval_set: Any, eval_X: Any = None, eval_y: Any = None) -> list[tuple[Any, Any]]:
    """Pairs (X, y) from what ``fit`` gets: a pair, a list or a tuple of them, or X and y apart."""
    if eval_X is not None or eval_y is not None:
        return _from_parts(eval_set, eval_X, eval_y)
    if eval_set is None:
        return []
    is_tuple = isinstance(eval_set, tuple)
    if is_tuple and not all(isinstance(part, tuple) for part in eval_set):
        eval_set = [eval_set]
    elif not isinstance(eval_set, (tuple, list)):
        raise _not_pairs()
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in eval_set):
        raise _not_pairs()
    return [(x, y) for x, y in eval_set]


def _from_parts(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Pairs from X and y of one set, or from tuples with those of several."""
    if eval_set is not None:
        raise ValueError("eval_set and eval_X with eval_y say the same: give one of them")
    if eval_X is None or eval_y is None:
        lacks = "eval_X" if eval_X is None else "eval_y"
        raise ValueError(f"eval_X and eval_y belong together; {lacks} is missing")
    if isinstance(eval_X, tuple) != isinstance(eval_y, tuple):
        raise ValueError(
            "eval_X and eval_y must be arrays of one eval set, or tuples of those of several; got "
            f"{type(eval_X).__name__} and {type(eval_y).__name__}"
        )
    if not isinstance(eval_X, tuple):
        return [(eval_X, eval_y)]
    if len(eval_X) != len(eval_y):
        raise ValueError(
            "eval_X and eval_y must have as many entries as each other; got "
            f"{len(eval_X)} and {len(eval_y)}"
        )
    return list(zip(eval_X, eval_y, strict=True))


def _not_pairs() -> ValueError:
    return ValueError("eval_set must be a pair (X, y) or a list of such pairs")


def one_column(name: str, y: Any) -> Any:
    """Targets without the second dimension of a column vector, and a warning if there was one."""
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] != 1:
        return y
    warnings.warn(
        f"{name} is a column vector; a 1d array was expected. It is taken as y.ravel()",
        DataConversionWarning,
        stacklevel=4,
    )
    return values.ravel()
