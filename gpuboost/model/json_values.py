"""Any value as JSON and arrays, and back, exactly as it was.

Numbers, text, lists, tuples, dicts with any keys, numpy's scalars and arrays. What JSON has no word
for is an object with one key: ``{"tuple": [1, 2]}``, ``{"dict": [[0, 1.5]]}``, ``{"float":
"nan"}``, ``{"array": PATH}``, ``{"scalar": PATH}``, ``{"objects": ["a", "b"]}``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuboost.model.file import ModelFormatError, is_storable, need

#: Lists in lists: no parameter goes deeper than a list of pairs of arrays.
MOST_DEPTH = 16
MOST_BITS = 512
SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class NotStorable(TypeError):
    """A value that a file cannot hold, such as a function; the message names it."""


def encode(value: Any, path: str, arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """A value as JSON; the arrays in it go to ``arrays``, by names that begin with ``path``."""
    kind = type(value)
    if depth > MOST_DEPTH:
        raise NotStorable("lists in lists in lists")
    if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= MOST_BITS):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if kind is dict:  # equal dicts may have their entries in different orders
        pairs = sorted(value.items(), key=_place)
        return {"dict": _encode_all(map(list, pairs), path, arrays, depth)}
    if kind is list:
        return _encode_all(value, path, arrays, depth)
    if kind is tuple:
        return {"tuple": _encode_all(value, path, arrays, depth)}
    if hasattr(value, "to_numpy"):  # an index or a column of a data frame
        value = value.to_numpy()
    if type(value) is np.ndarray and value.dtype == object and value.ndim == 1:
        return {"objects": _encode_all(value, path, arrays, depth)}
    if not isinstance(value, (np.ndarray, np.generic)):
        raise NotStorable(f"a {kind.__name__}")
    if not is_storable(value.dtype):
        raise NotStorable(f"an array of dtype {value.dtype} and shape {value.shape}")
    arrays[path] = np.array(value)
    return {"array" if isinstance(value, np.ndarray) else "scalar": path}


def _encode_all(values: Any, path: str, arrays: dict[str, np.ndarray], depth: int) -> list[Any]:
    return [encode(item, f"{path}/{i}", arrays, depth + 1) for i, item in enumerate(values)]


def _place(pair: tuple[Any, Any]) -> tuple[str, str]:
    """Where an entry of a dict stands among the others."""
    return type(pair[0]).__name__, repr(pair[0])


def decode(value: Any, path: str, arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """A value back from JSON; ``path`` is the one that it was encoded with."""
    need(depth <= MOST_DEPTH, f"{path} has lists in lists in lists")
    if isinstance(value, list):
        return [decode(item, f"{path}/{i}", arrays, depth + 1) for i, item in enumerate(value)]
    if type(value) is int:
        need(value.bit_length() <= MOST_BITS, f"{path} is an integer of {value.bit_length()} bits")
    if not isinstance(value, dict):
        return value
    need(len(value) == 1, f"{path} is an object of {len(value)} keys, which is no value")
    ((kind, content),) = value.items()
    if kind == "float":
        need(
            isinstance(content, str) and content in SPECIAL_FLOATS,
            f"{path} is not a number: {str(content)[:50]}",
        )
        return SPECIAL_FLOATS[content]
    if kind in ("array", "scalar"):
        need(content == path, f"{path} is in an array of another name: {str(content)[:50]}")
        need(path in arrays, f"there is no array {path[:100]!r}")
        array = arrays[path]
        need(
            kind == "array" or (array.ndim == 0 and np.array(array[()]).dtype == array.dtype),
            f"the scalar {path} has the shape {array.shape} and the dtype {array.dtype}",
        )
        return array if kind == "array" else array[()]
    need(
        kind in ("tuple", "objects", "dict") and isinstance(content, list),
        f"{path} is a {kind[:50]!r}, which this gpuboost does not know",
    )
    items = decode(content, path, arrays, depth)
    if kind == "tuple":
        return tuple(items)
    if kind == "dict":
        return _dict(items, path)
    return np.fromiter(items, object, len(items))  # np.array would take lists apart


def _dict(pairs: list[Any], path: str) -> dict[Any, Any]:
    need(
        all(isinstance(pair, list) and len(pair) == 2 for pair in pairs),
        f"{path} has an entry that is not a key and a value",
    )
    try:
        out = dict(pairs)
    except TypeError as error:
        raise ModelFormatError(f"{path} has a key that cannot be one: {error}") from error
    need(len(out) == len(pairs), f"{path} has a key twice")
    places = list(map(_place, out.items()))
    need(places == sorted(places), f"the entries of {path} are not in order")
    return out
