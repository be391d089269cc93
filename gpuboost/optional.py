"""Packages that only some functions need.

They are imported when they are used; if one is missing, the error says what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(module: str, purpose: str) -> Any:
    """Import a module that the library can do without."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(
            f'{purpose} needs {package}: pip install {package} (".[cli]" in a checkout '
            "installs all of them)"
        ) from error
