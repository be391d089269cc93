"""Objects in a model file: classes declare what is stored, one writer and one reader do the rest.

The declaration is the annotations of the class. A dataclass is a JSON object of its fields, those
that begin with an underscore or have ``stored=False`` in their metadata aside; an estimator stores
the attributes that it annotates. Texts and integers may say what is allowed, as in
``Annotated[int, range(1, 10)]``. Arrays say their dtype and what they have entries for, as in
``Annotated[np.ndarray, np.float64, "trees", Number(0)]``: what has the same word has the same
length. A list of dataclasses that have nothing but arrays is stored as one array for each field,
with the lengths as further arrays: ``n_nodes``.

A field that has its default value is not written, and a field that is not there gets its default
value. All other fields are written down as required, which means that a reader must know them,
unless they are declared with ``field(metadata=OPTIONAL)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from gpuboost.model.file import ModelFormatError, need
from gpuboost.model.json_values import NotStorable, decode, encode

#: Of a field that a reader may ignore if it does not know it.
OPTIONAL = {"required": False}
#: Of an attribute that not every fitted estimator has: ``Annotated[float, SOMETIMES]``.
SOMETIMES = "sometimes"


def annotated(cls: Any) -> dict[str, Any]:
    """What a class annotates, and what its bases do, by name; without class variables."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


@cache
def _declared(cls: Any) -> list[tuple[str, Any, Any, bool]]:
    """Name, type, default and whether it is required, of each field."""
    return [
        (
            field.name,
            annotated(cls)[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
            field.metadata.get("required", True),
        )
        for field in fields(cls)
        if not field.name.startswith("_") and field.metadata.get("stored", True)
    ]


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) and isinstance(default, np.ndarray):
        return value.size == default.size == 0
    return type(value) is type(default) and bool(value == default)


def _plain(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """A type without its parameters, these, and whether it may be None."""
    if SOMETIMES in get_args(hint):
        hint = get_args(hint)[0]
    optional = get_origin(hint) in (Union, UnionType)
    if optional:
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return get_origin(hint) or hint, get_args(hint), optional or hint is Any


class Writer:
    """Turns objects into JSON, and collects their arrays and the paths that readers must know."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.required: list[str] = []

    def value(self, value: Any, path: str) -> Any:
        """Any value as JSON; raises NotStorable, and collects nothing, if a file cannot hold it."""
        arrays: dict[str, np.ndarray] = {}
        encoded = encode(value, path, arrays)
        self.arrays |= arrays
        return encoded

    def put(self, hint: Any, value: Any, path: str) -> Any:
        """A value of a declared type as JSON; what is declared as Any may get lost."""
        kind, parts, _ = _plain(hint)
        if value is None:
            return None
        if is_dataclass(kind):
            return self._fields(kind, lambda name: getattr(value, name), path)
        if kind is list and _has_only_arrays(parts[0]):
            return self._stack(parts[0], value, path)
        if kind is list and parts[0] is float:
            return self.value(np.array(value, np.float64), path)
        if kind is list:
            return [self.put(parts[0], item, f"{path}/{i}") for i, item in enumerate(value)]
        if kind is dict:
            return [
                [self.put(part, one, f"{path}/{i}") for part, one in zip(parts, pair, strict=True)]
                for i, pair in enumerate(value.items())
            ]
        try:
            return self.value(kind(value) if kind in (bool, int, float, str) else value, path)
        except NotStorable as error:
            if kind is Any:
                return None
            raise TypeError(
                f"{path}: {error}, which a model file cannot hold; use numbers or text instead"
            ) from error

    def _fields(self, cls: Any, get: Callable[[str], Any], path: str) -> dict[str, Any]:
        out = {}
        for name, hint, default, required in _declared(cls):
            value, place = get(name), f"{path}/{name}"
            if not _is_default(value, default):
                out[name] = self.put(hint, value, place)
                self.required += [place] if required else []
        return out

    def _stack(self, cls: Any, items: list[Any], path: str) -> dict[str, Any]:
        out = self._fields(
            cls, lambda name: np.concatenate([getattr(item, name) for item in items]), path
        )
        words = _words(cls)
        for word, name in {words[name]: name for name in out}.items():
            lengths = np.array([len(getattr(item, name)) for item in items], np.int64)
            out[f"n_{word}"] = self.value(lengths, f"{path}/n_{word}")
            self.required.append(f"{path}/n_{word}")
        return out


def _has_only_arrays(cls: Any) -> bool:
    return is_dataclass(cls) and all(
        get_args(hint)[:1] == (np.ndarray,)
        for _, hint, *_ in _declared(cls)  # type: ignore[arg-type]
    )


def _words(cls: Any) -> dict[str, str]:
    """What each array of a class has entries for, by name."""
    return {name: get_args(hint)[2] for name, hint, *_ in _declared(cls)}


class Reader:
    """Turns JSON and arrays into objects, as far as declarations know them."""

    def __init__(self, arrays: dict[str, np.ndarray], required: Any) -> None:
        self._arrays = arrays
        self._lengths: dict[str, int] = {}  # of arrays, by what they have entries for
        self.known = {""}  # paths that are declared
        self._required: list[str] = self.take(list[str], required, "required")

    def take(self, hint: Any, value: Any, path: str) -> Any:
        """A value of a declared type."""
        self.known.add(path)
        kind, parts, may_be_none = _plain(hint)
        if value is None and may_be_none:
            return None
        if is_dataclass(kind):
            return _build(kind, dict(self._fields(kind, value, path)), path)
        if kind is list and _has_only_arrays(parts[0]):
            return self._unstack(parts[0], value, path)
        if kind is list and parts[0] is float:
            return self._array(value, np.float64, path, path).tolist()
        if kind in (list, dict):
            need(isinstance(value, list), f"{path} is not a list")
        if kind is list:
            return [self.take(parts[0], item, f"{path}/{i}") for i, item in enumerate(value)]
        if kind is dict:
            return self._dict(parts, value, path)
        if kind is Annotated and parts[0] is np.ndarray:
            return self._array(value, parts[1], path, *parts[2:])
        decoded = decode(value, path, self._arrays)
        kind, *allowed = parts if kind is Annotated else (kind,)
        need(
            kind is Any or (type(decoded) is kind and all(decoded in values for values in allowed)),
            f"{path} is {str(value)[:50]!r}, not {' '.join(map(str, (kind.__name__, *allowed)))}",
        )
        return decoded

    def _array(self, value: Any, dtype: Any, path: str, *words: Any) -> np.ndarray:
        array = decode(value, path, self._arrays)
        need(isinstance(array, np.ndarray), f"{path} is not an array")
        names = [word for word in words if isinstance(word, str)]
        need(
            array.dtype == np.dtype(dtype) and array.ndim == len(names),
            f"array {path!r} has the dtype {array.dtype} and the shape {array.shape}, not "
            f"{np.dtype(dtype)} and ({', '.join(names)})",
        )
        for name, n in zip(names, array.shape, strict=True):
            need(
                self._lengths.setdefault(name, n) == n,
                f"array {path!r} has {n} {name}, not {self._lengths[name]}",
            )
        for allowed in words[len(names) :]:
            good = np.isfinite(array) & (array >= allowed.low) & (array <= allowed.high)
            if not good.all():
                raise ModelFormatError(f"{path} has {array[~good][:1]}, which is not {allowed}")
        return np.asarray(array)

    def _dict(self, parts: Any, value: list[Any], path: str) -> dict[Any, Any]:
        need(
            all(isinstance(pair, list) and len(pair) == 2 for pair in value),
            f"{path} has an entry that is not a key and a value",
        )
        out = {
            self.take(parts[0], key, f"{path}/{i}"): self.take(parts[1], entry, f"{path}/{i}")
            for i, (key, entry) in enumerate(value)
        }
        need(len(out) == len(value), f"{path} has a key twice")
        return out

    def _fields(self, cls: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
        need(isinstance(value, dict), f"{path} is not a JSON object")
        for name, hint, default, _ in _declared(cls):
            place = f"{path}/{name}"
            if name in value:
                yield name, self.take(hint, value[name], place)
            else:
                may_lack = default is not MISSING and place not in self._required
                need(may_lack, f"{path} lacks {name!r}")

    def _unstack(self, cls: Any, value: Any, path: str) -> list[Any]:
        columns, words = dict(self._fields(cls, value, path)), _words(cls)
        begins = {}
        for word in {words[name] for name in columns}:
            place = f"{path}/n_{word}"
            lengths = self._array(value.get(f"n_{word}"), np.int64, place, path.rpartition("/")[2])
            begins[word] = _begins(lengths, self._lengths[word], place)
            self.known.add(place)
        parts = [
            [column[first:end] for first, end in pairwise(begins[words[name]])]
            for name, column in columns.items()
        ]
        return [
            _build(cls, dict(zip(columns, part, strict=True)), path)
            for part in zip(*parts, strict=True)
        ]

    def finish(self) -> None:
        """Raise if something is required that no declaration knows.

        What belongs to something unknown is ignored with it.
        """
        for path in self._required:
            need(
                path in self.known or path.rpartition("/")[0] not in self.known,
                f"it needs {path[:100]!r}, which this gpuboost does not know: update gpuboost",
            )


def _build(cls: Any, values: dict[str, Any], path: str) -> Any:
    try:
        return cls(**values)
    except ValueError as error:
        raise ModelFormatError(f"{path}: {error}") from error


def _begins(lengths: np.ndarray, total: int, path: str) -> list[int]:
    """Where parts of these lengths begin, and the end; they must add up to the total."""
    begins = [0, *np.cumsum(lengths).tolist()]
    need(  # a sum that overflows goes down somewhere
        begins[-1] == total and begins == sorted(begins) and (lengths <= total).all(),
        f"the lengths in {path} do not add up to {total}",
    )
    return begins
