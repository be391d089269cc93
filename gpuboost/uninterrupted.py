"""Work that an interrupt must not leave in pieces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

#: Bytes of the stack of a thread: as many as main threads have, which compilers need.
STACK_SIZE = 1 << 24

P = ParamSpec("P")
Result = TypeVar("Result")


def uninterrupted(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let a function do its work in a thread of its own if the main thread calls it.

    An interrupt in the middle of a compilation, or of the import of kernels, would leave numba in
    pieces: each later fit would end with an error. The main thread waits instead, where it can be
    interrupted at once; what has been begun is finished without it, for the next call.

    Parameters
    ----------
    function : callable
        What is to be done.

    Returns
    -------
    callable
        The same, with the same arguments, results and errors.

    Examples
    --------
    >>> uninterrupted(divmod)(7, 2)
    (3, 1)
    """

    @wraps(function)
    def apart(*args: P.args, **keywords: P.kwargs) -> Result:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **keywords)
        results: list[Result] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def run() -> None:
            try:
                results.append(function(*args, **keywords))
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        before = threading.stack_size(STACK_SIZE)
        try:
            threading.Thread(target=run, name="uninterrupted", daemon=True).start()
        finally:
            threading.stack_size(before)
        while not done.wait(0.1):  # Windows looks at signals only between waits
            pass
        if errors:
            raise errors[0]
        return results[0]

    return apart
