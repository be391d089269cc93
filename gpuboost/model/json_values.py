"""Values of parameters as JSON and arrays.

Numbers, text, lists, dicts with any keys, numpy's scalars and arrays, exactly as they are.

What JSON has no word for is an object with one key: ``{"tuple": [1, 2]}``, ``{"dict": [[0,
1.5]]}``, ``{"float": "nan"}``, ``{"numpy": ["int64", 3]}``, ``{"array": NAME}``, ``{"objects":
["a", "b"]}``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuboost.model.file import Arrays, ModelFormatError, canonical_json, is_storable, need

#: Lists in lists: no parameter goes deeper than a list of pairs of arrays.
MOST_DEPTH = 16
MOST_BITS = 512
SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NUMPY_SCALARS: dict[str, Any] = {
    t.__name__: t
    for t in (
        np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
        np.float16, np.float32, np.float64, np.str_,
    )
}  # fmt: skip
#: numpy calls its truth value "bool" or "bool_", as its version likes.
NUMPY_SCALARS = {
    ("bool" if t is np.bool_ else "str" if t is np.str_ else name): t
    for name, t in NUMPY_SCALARS.items()
}
SCALAR_NAMES = {t: name for name, t in NUMPY_SCALARS.items()}


class NotStorable(TypeError):
    """A value that a file cannot hold, such as a function; the message names it."""


def encode(value: Any, name: str, arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """A value as JSON; arrays in it are added to ``arrays`` under names that begin with.

    ``name``.
    """
    kind = type(value)
    if depth > MOST_DEPTH:
        raise NotStorable("lists in lists in lists")
    if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= MOST_BITS):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if kind in SCALAR_NAMES:
        return {"numpy": [SCALAR_NAMES[kind], encode(value.item(), name, arrays)]}
    if kind in (list, tuple):
        items = [encode(item, f"{name}/{i}", arrays, depth + 1) for i, item in enumerate(value)]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        found: dict[str, np.ndarray] = {}
        pairs = [
            [encode(k, name, found, depth + 1), encode(v, name, found, depth + 1)]
            for k, v in value.items()
        ]
        if found:
            raise NotStorable("a dict with arrays")
        return {
            "dict": sorted(pairs, key=canonical_json)
        }  # equal dicts may have their entries in different orders
    if kind is not np.ndarray and hasattr(
        value, "to_numpy"
    ):  # an index or a column of a data frame
        value = value.to_numpy()
    if type(value) is np.ndarray:
        return _encode_array(value, name, arrays, depth)
    raise NotStorable(f"a {kind.__name__}")


def _encode_array(value: np.ndarray, name: str, arrays: dict[str, np.ndarray], depth: int) -> Any:
    if value.dtype == object and value.ndim == 1:
        return {
            "objects": [
                encode(item, f"{name}/{i}", arrays, depth + 1) for i, item in enumerate(value)
            ]
        }
    if not is_storable(value.dtype):
        raise NotStorable(f"an array of dtype {value.dtype} and shape {value.shape}")
    arrays[name] = value.copy()
    return {"array": name}


def decode(value: Any, name: str, arrays: Arrays, depth: int = 0) -> Any:
    """A value back from JSON; ``name`` is the one that it was encoded with."""
    need(depth <= MOST_DEPTH, f"{name} has lists in lists in lists")
    if isinstance(value, list):
        return [decode(item, f"{name}/{i}", arrays, depth + 1) for i, item in enumerate(value)]
    if type(value) is int:
        need(value.bit_length() <= MOST_BITS, f"{name} is an integer of {value.bit_length()} bits")
    if not isinstance(value, dict):
        return value
    need(len(value) == 1, f"{name} is an object of {len(value)} keys, which is no value")
    ((kind, content),) = value.items()
    if kind == "float":
        need(
            isinstance(content, str) and content in SPECIAL_FLOATS,
            f"{name} is not a number: {str(content)[:50]}",
        )
        return SPECIAL_FLOATS[content]
    if kind == "array":
        need(content == name, f"{name} is in an array of another name: {str(content)[:50]}")
        return arrays.take_any(name)
    need(isinstance(content, list), f"{name} is no value")
    if kind == "numpy":
        return _numpy_scalar(content, name)
    if kind == "dict":
        return _dict(content, name, depth)
    need(
        kind in ("tuple", "objects"),
        f"{name} is a {kind[:50]!r}, which this gpuboost does not know",
    )
    items = [decode(item, f"{name}/{i}", arrays, depth + 1) for i, item in enumerate(content)]
    if kind == "tuple":
        return tuple(items)
    out = np.empty(len(items), object)
    for i, item in enumerate(items):  # an assignment of all at once would take lists apart
        out[i] = item
    return out


def _numpy_scalar(content: list[Any], what: str) -> Any:
    """One of numpy's numbers, which must be able to hold the value as it is."""
    known = len(content) == 2 and isinstance(content[0], str) and content[0] in NUMPY_SCALARS
    need(known, f"{what} has no type that this gpuboost knows")
    kind, plain = NUMPY_SCALARS[content[0]], decode(content[1], what, Arrays({}), MOST_DEPTH)
    wanted = {"b": bool, "i": int, "u": int, "f": float, "U": str}[np.dtype(kind).kind]
    need(type(plain) is wanted, f"{what} is not a number that {content[0]} can hold")
    try:
        with np.errstate(over="ignore"):
            scalar = kind(plain)
    except OverflowError as error:
        raise ModelFormatError(
            f"{what} is not a number that {content[0]} can hold: {error}"
        ) from error
    same = scalar.item() == plain or plain != plain
    need(same, f"{what} is not a number that {content[0]} can hold")
    return scalar


def _dict(content: list[Any], what: str, depth: int) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    last = b""
    for pair in content:
        need(
            isinstance(pair, list) and len(pair) == 2,
            f"{what} has an entry that is not a key and a value",
        )
        place = canonical_json(pair)
        need(place > last, f"the entries of {what} are not in order")
        last = place
        key = decode(pair[0], what, Arrays({}), depth + 1)
        try:
            new = key not in out
        except TypeError as error:
            raise ModelFormatError(f"{what} has a key that cannot be one: {error}") from error
        need(new, f"{what} has a key twice")
        out[key] = decode(pair[1], what, Arrays({}), depth + 1)
    return out


def ascending(values: np.ndarray, what: str) -> np.ndarray:
    """Distinct values in order, as classes and categories are.

    Those of an object array must be texts, or numbers.
    """
    need(values.ndim == 1, f"{what} must be a list")
    if values.dtype == object:
        are_texts = all(isinstance(v, str) for v in values)
        need(
            are_texts
            or all(isinstance(v, (bool, int, float, np.number, np.bool_)) for v in values),
            f"{what} must be texts or numbers",
        )
    need(
        bool((values[:1] == values[:1]).all()) and bool((values[1:] > values[:-1]).all()),
        f"{what} must be ascending and distinct",
    )
    return values
