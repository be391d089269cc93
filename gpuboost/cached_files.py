"""Files that can be made again: the folder they are kept in, and how damage to them is noticed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gpuboost.atomic_files import atomic_write

DIGEST_BYTES = hashlib.sha256().digest_size


def cache_folder(kind: str) -> Path:
    """The folder for one kind of files, which is made if it is not there.

    It is in ``GPUBOOST_CACHE_DIR``, or in the user's cache folder if that is not set.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("GPUBOOST_CACHE_DIR") or caches / "gpuboost") / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def keep(path: Path, content: bytes) -> None:
    """Write a file behind a digest of its content; readers see all of it or none."""
    with atomic_write(path) as file:
        file.write(hashlib.sha256(content).digest() + content)


def kept(path: Path) -> bytes | None:
    """What ``keep`` has written; None if there is no such file, or if it is damaged."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    content = stored[DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == stored[:DIGEST_BYTES] else None
