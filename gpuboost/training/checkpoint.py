"""Rounds that are written to a file now and then, so that a training that is killed can go on.

What a training consists of follows from its data, its parameters and its trees: these and the
curves are all that a checkpoint holds. It is written under another name first, and has a checksum:
half of one is never loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from gpuboost.atomic_files import atomic_write
from gpuboost.backend import device_of, on_host
from gpuboost.config import is_count
from gpuboost.model.file import ModelFormatError, need, read_model, write_model
from gpuboost.model.stored import Reader, Writer
from gpuboost.model.tree import Tree
from gpuboost.training.callbacks import Callback


@dataclass(frozen=True)
class SavedRounds:
    """The first rounds of a training; the annotations say what a file holds."""

    signature: str  # of the data and the parameters
    n_rounds: int
    trees: list[Tree]
    results: dict[str, dict[str, list[float]]]


class Checkpoint(Callback):
    """Writes the rounds to a file, from which the same ``fit`` goes on if it is run again.

    A training that was interrupted or killed gives the model of one that was not, bit for bit.
    The file is replaced at once or not at all. It stays behind when training has ended; running
    ``fit`` again then returns the model without training. With other data or other parameters
    ``fit`` raises an error; ``n_estimators`` and ``max_time`` may be others.

    Parameters
    ----------
    path : str or path-like
        Name of the file.
    every : int, default=10
        Number of rounds between two writes; the last round is always written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_diabetes
    >>> import gpuboost as gb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> whole = gb.GPUBoostRegressor(n_estimators=20).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save = gb.Checkpoint(Path(folder, "run.gb"), every=5)
    ...     begun = gb.GPUBoostRegressor(n_estimators=12, callbacks=[save]).fit(X, y)
    ...     ended = gb.GPUBoostRegressor(n_estimators=20, callbacks=[save]).fit(X, y)
    >>> ended.fingerprint() == whole.fingerprint()
    True
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10) -> None:
        if not is_count(every):
            raise ValueError(f"every must be an integer at least 1; got {every!r}")
        self.path, self.every = os.fspath(path), int(every)

    def write(self, saved: SavedRounds) -> None:
        """Replace the file."""
        writer = Writer()
        header = {"checkpoint": writer.put(SavedRounds, saved, "checkpoint")}
        header["required"] = sorted(["checkpoint", *writer.required])
        with atomic_write(self.path) as file:
            write_model(file, header, writer.arrays)

    def read(self, signature: str) -> SavedRounds | None:
        """The rounds in the file; None if there is no file."""
        try:
            with open(self.path, "rb") as file:
                header, arrays = read_model(file)
        except FileNotFoundError:
            return None
        except ModelFormatError as error:
            raise ModelFormatError(f"{self.path} is no checkpoint: {error}") from error
        try:
            need("checkpoint" in header, "it holds something else")
            reader = Reader(arrays, header.get("required"))
            saved: SavedRounds = reader.take(SavedRounds, header["checkpoint"], "checkpoint")
            reader.finish()
        except ModelFormatError as error:
            raise ModelFormatError(f"{self.path} is no checkpoint: {error}") from error
        if saved.signature != signature:
            raise ValueError(
                f"the checkpoint {self.path} is of a training with other data or parameters: "
                "remove it to begin anew, or use another file"
            )
        return saved


def signature_of(*parts: Any) -> str:
    """SHA-256 of arrays, numbers, texts, and lists, mappings and dataclasses of them."""
    digest = hashlib.sha256()
    _add(digest, parts)
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
    elif device_of(part) is not None:
        _add(digest, on_host(part))
    elif isinstance(part, (list, tuple, np.ndarray)):
        digest.update(f"[{len(part)}".encode())
        for one in part:
            _add(digest, one)
    elif isinstance(part, Mapping):
        _add(digest, [pair for pair in sorted(part.items(), key=lambda pair: str(pair[0]))])
    elif is_dataclass(part) and not isinstance(part, type):
        _add(digest, [getattr(part, field.name) for field in fields(part)])
    elif callable(part):
        digest.update(f"{getattr(part, '__qualname__', type(part).__qualname__)}".encode())
    else:
        digest.update(f"{type(part).__name__}:{part!r}".encode())
