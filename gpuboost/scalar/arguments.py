"""Functions of rows that take further arrays: one call for any number of them.

The arrays come as the rows of one matrix (n_arrays, n_rows). Compilers want to know how many
arguments a function has; each closure here adds one of them and calls the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, for compilers that find the functions which a function calls."""
    return function


def _chain(
    last: Callable[..., Any],
    with_next: Callable[[Callable[..., Any], int], Callable[..., Any]],
    n_arrays: int,
    compiled: Callable[..., Callable[..., Any]],
) -> Callable[..., Any]:
    """Compile the last call, and around it one for each array, which adds an argument."""
    call = compiled(last)
    for k in range(n_arrays):
        call = compiled(with_next(call, k))
    return call


def of_row(
    function: Callable[..., Any],
    n_arrays: int,
    compiled: Callable[..., Callable[..., Any]] = as_it_is,
) -> Callable[..., Any]:
    """``call(first, arrays, i, *rest)`` is ``function(*first, *values of row i, *rest)``."""

    def all_there(first: Any, arrays: Any, i: int, *rest: Any) -> Any:
        return function(*first, *rest)

    return _chain(all_there, _with_value, n_arrays, compiled)


def _with_value(call: Callable[..., Any], k: int) -> Callable[..., Any]:
    def with_value(first: Any, arrays: Any, i: int, *rest: Any) -> Any:
        return call(first, arrays, i, arrays[k, i], *rest)

    return with_value


def of_rows(
    function: Callable[..., Any],
    n_arrays: int,
    compiled: Callable[..., Callable[..., Any]] = as_it_is,
) -> Callable[..., Any]:
    """``call(first, arrays, *rest)`` is ``function(*first, *arrays, *rest)``."""

    def all_there(first: Any, arrays: Any, *rest: Any) -> Any:
        return function(*first, *rest)

    return _chain(all_there, _with_array, n_arrays, compiled)


def _with_array(call: Callable[..., Any], k: int) -> Callable[..., Any]:
    def with_array(first: Any, arrays: Any, *rest: Any) -> Any:
        return call(first, arrays, arrays[k], *rest)

    return with_array
