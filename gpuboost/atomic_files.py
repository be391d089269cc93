"""Writing files so that no reader ever sees half of one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    r"""Write a file that appears under its name all at once, or not at all.

    The bytes go to a temporary file in the same folder, which takes the name when the block ends
    and everything is on the disk. If anything fails before, the temporary file is removed and what
    was under the name stays. A new file gets the permissions that new files get here, a replaced
    one keeps its own. A symbolic link stays one: the file it points to is replaced. What is not a
    file (a pipe, a device) is written to directly.

    Parameters
    ----------
    path : str or path-like
        Name of the file.

    Yields
    ------
    file
        Open for writing bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gpuboost.atomic_files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.bin")
    ...     with atomic_write(path) as file:
    ...         _ = file.write(bytes([1, 2, 3]))
    ...         before = path.exists()
    ...     before, path.read_bytes()
    (False, b'\x01\x02\x03')
    """
    path = os.fspath(path)
    replaced: os.stat_result | None = None
    with suppress(FileNotFoundError):
        replaced = os.stat(path)
    # a folder fails here, with the error that opening one gives
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".gpuboost-{secrets.token_hex(8)}.tmp")
    number = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    try:
        with open(number, "wb") as file:
            if replaced is not None:
                os.chmod(temporary, stat.S_IMODE(replaced.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Put the new name on the disk too, where the system lets a folder be opened.

    The file is complete in any case.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
