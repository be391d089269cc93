"""The container of a saved model: a JSON header and arrays in one file, with sizes and a checksum.

``docs/format.md`` describes it.

Reading checks whatever can be checked without knowing what the header and the arrays mean, and
allocates no more than the file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterable
from typing import Any, BinaryIO, NamedTuple

import numpy as np

#: The first byte is no text and the line ends are of two kinds: a transfer that takes the file for
#: text is noticed.
MAGIC = b"\x89gpuboost\r\n\x1a"
VERSION = 2

#: Magic, version, length of the header, length of the arrays, SHA-256 of all other bytes of the
#: file.
PREAMBLE = struct.Struct("<12sIQQ32s")
DIGEST_SIZE = 32

#: Most bytes of a header; arrays are not in it.
MOST_HEADER = 1 << 28
#: Bytes of arrays beyond which nothing is read unless the header says what the bytes are. Smaller
#: files are read first, so that a damaged one is told by its checksum.
MOST_UNEXPLAINED = 1 << 26

#: Arrays begin at multiples of this: a reader may map them, whatever vectors it uses.
ALIGNMENT = 64

#: Bools, integers, floats, bytes, text, times and durations.
_DTYPE = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|\|S[1-9]\d{0,5}|<U[1-9]\d{0,5}|<[Mm]8\[(ns|us|ms|s|m|h|D|W|M|Y)\]"
)
MOST_DIMENSIONS = 8


class ModelFormatError(ValueError):
    """A file is not a model that this library can load: the message says why.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import gpuboost as gb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.gb")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         gb.load_model(path)
    ...     except gb.ModelFormatError as error:
    ...         print(str(error).replace(folder, "FOLDER"))
    FOLDER/model.gb cannot be loaded: it has 11 bytes, a model has at least 64
    """


def need(condition: Any, reason: str) -> None:
    """Raise with this reason unless a condition holds."""
    if not condition:
        raise ModelFormatError(reason)


def canonical_json(value: Any) -> bytes:
    """The one way to write a value: UTF-8, keys sorted, no spaces, no NaN."""
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
        ).encode()
    except ValueError as error:  # half of a surrogate pair is no text, either
        raise ModelFormatError(f"the header cannot be JSON: {error}") from error


def is_storable(dtype: np.dtype) -> bool:
    """Whether a file can hold arrays of this dtype."""
    return _DTYPE.fullmatch(dtype.newbyteorder("<").str) is not None


# --- writing


def write_model(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a header and named arrays; the same ones always give the same bytes."""
    entries: list[dict[str, Any]] = []
    parts: list[Any] = []
    end = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))
        _check_content(array.reshape(-1), name)
        padding = -end % ALIGNMENT
        entries.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": list(arrays[name].shape),
                "offset": end + padding,
            }
        )
        parts += [bytes(padding), array.reshape(-1).view(np.uint8).data if array.size else b""]
        end += padding + array.nbytes
    text = canonical_json({**header, "arrays": entries})
    need(len(text) <= MOST_HEADER, f"its header has {len(text)} bytes, more than a file can hold")
    parts = [text, bytes(-(PREAMBLE.size + len(text)) % ALIGNMENT), *parts]
    start = PREAMBLE.pack(MAGIC, VERSION, len(text), end, b"")[:-DIGEST_SIZE]
    file.write(start + _digest([start, *parts]))
    for part in parts:
        file.write(part)


def _digest(parts: Iterable[Any]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


# --- reading


def read_model(file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what ``write_model`` wrote: the header, and the arrays by name."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(PREAMBLE.size)
    need(
        len(start) == PREAMBLE.size,
        f"it has {len(start)} bytes, a model has at least {PREAMBLE.size}",
    )
    magic, version, header_size, arrays_size, digest = PREAMBLE.unpack(start)
    need(magic == MAGIC, "it does not begin as a gpuboost model does")
    need(
        version == VERSION,
        f"its format version is {version}, this gpuboost reads version {VERSION}"
        + (": update gpuboost" if version > VERSION else ""),
    )
    header_end = PREAMBLE.size + header_size
    begin = header_end + -header_end % ALIGNMENT
    need(
        begin + arrays_size == size,
        f"it should have {begin + arrays_size} bytes, but has {size}: it is cut off or damaged",
    )
    need(header_size <= MOST_HEADER, f"its header has {header_size} bytes, more than a model has")
    text, gap = file.read(header_size), file.read(begin - header_end)
    header: dict[str, Any] = {}
    places: list[_Place] = []
    problem: ModelFormatError | None = None
    try:
        header = _parse(text)
        places = _places_of(header.pop("arrays", None), arrays_size)
    except ModelFormatError as error:
        if arrays_size > MOST_UNEXPLAINED:
            raise
        problem = error  # told after the checksum, which says whether the file is damaged
    # one buffer, of which the arrays are views: they must be writable, kernels take no others
    data = memoryview(bytearray(arrays_size))
    need(
        len(text) + len(gap) + file.readinto(data) == size - PREAMBLE.size,  # type: ignore[attr-defined]
        "it changed while it was read",
    )
    actual = _digest([start[:-DIGEST_SIZE], text, gap, data])
    need(actual == digest, "its checksum is wrong: it is damaged")
    need(not any(gap), "the bytes between header and arrays are not zero")
    if problem is not None:
        raise problem
    return header, _cut_arrays(places, data)


def _parse(text: bytes) -> dict[str, Any]:
    """The header; canonical JSON has no keys twice, no NaN, no numbers beyond a float."""
    try:
        header: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"its header is not JSON: {error}") from error
    need(isinstance(header, dict), "its header is not a JSON object")
    need(canonical_json(header) == text, "its header is not canonical JSON")
    return header


class _Place(NamedTuple):
    """Where an array is, and what."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def _places_of(entries: Any, n_bytes: int) -> list[_Place]:
    """The arrays that the header lists, which must take all the bytes that there are."""
    need(isinstance(entries, list), "its header has no list of arrays")
    places: list[_Place] = []
    end, last = 0, ""
    for entry in entries:
        need(isinstance(entry, dict), "an entry of the list of arrays is not a JSON object")
        name, dtype, shape, offset = map(entry.get, ("name", "dtype", "shape", "offset"))
        need(
            isinstance(name, str) and name > last, "the names of the arrays are not ascending texts"
        )
        need(
            isinstance(dtype, str) and _DTYPE.fullmatch(dtype),
            f"array {name!r} has the dtype {dtype!r}, which is not allowed",
        )
        need(
            isinstance(shape, list)
            and len(shape) <= MOST_DIMENSIONS
            and all(type(n) is int and 0 <= n <= n_bytes for n in shape),
            f"array {name!r} has the shape {str(shape)[:50]}, which is not possible",
        )
        begin = end + -end % ALIGNMENT
        end = begin + math.prod(shape) * np.dtype(dtype).itemsize
        need(
            type(offset) is int and offset == begin,
            f"array {name!r} must begin at offset {begin}, but has offset {offset!r}",
        )
        need(end <= n_bytes, f"array {name!r} reaches beyond the end of the file")
        places.append(_Place(name, np.dtype(dtype), tuple(shape), begin, end))
        last = name
    need(end == n_bytes, f"the arrays end at {end}, but the file has {n_bytes} bytes of them")
    return places


def _cut_arrays(places: list[_Place], data: memoryview) -> dict[str, np.ndarray]:
    """Views of the arrays; between them there is nothing: equal models are equal files."""
    before = 0
    arrays = {}
    for name, dtype, shape, begin, end in places:
        need(not any(data[before:begin]), f"the bytes before array {name!r} are not zero")
        arrays[name] = _array(data, dtype, shape, begin, name)
        before = end
    return arrays


def _array(
    data: memoryview, dtype: np.dtype, shape: tuple[int, ...], begin: int, name: str
) -> np.ndarray:
    """One array, in the byte order of this machine."""
    if 0 in shape:
        return np.empty(shape, dtype.newbyteorder("="))
    array = np.frombuffer(data, dtype, math.prod(shape), begin)
    _check_content(array, name)
    return array.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _check_content(array: np.ndarray, name: str) -> None:
    """Raise if a flat array holds bytes that no value of its dtype has."""
    if array.dtype.kind == "b":
        need(
            (array.view(np.uint8) <= 1).all(),
            f"array {name!r} holds truth values other than 0 and 1",
        )
    if array.dtype.kind == "U" and array.size:
        points = array.view("<u4")
        need(
            ((points < 0xD800) | ((points > 0xDFFF) & (points <= 0x10FFFF))).all(),
            f"array {name!r} holds text that is not Unicode",
        )
