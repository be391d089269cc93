"""Binary search: written once, compiled for every device."""

from typing import Any


def first_from(values: Any, low: Any, high: Any, value: Any) -> Any:
    """The first place from ``low`` on, in ascending values, that has ``value`` or more.

    ``high`` if no place before it has.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
