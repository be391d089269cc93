"""A digest of all that a Python function is compiled from.

Its code and constants, and the functions, numbers and modules that it names. Two processes that
define the same function get the same digest, and a change anywhere below it gives another one.
"""

import builtins
import hashlib
import math
import operator
import types

import numba
import numpy as np

#: Modules that change with their version only, which whoever keeps code asks for too.
LIBRARIES = {module.__name__ for module in (builtins, math, operator, np, numba)}


class NoDigest(TypeError):
    """A function reads something whose content cannot be told."""


def digest_of(*values):
    """SHA-256 of functions, and of numbers, texts and tuples of them, as hexadecimal digits."""
    return hashlib.sha256(repr(_described(values, {})).encode()).hexdigest()


def _described(value, seen):
    """A value in numbers and texts; ``seen`` numbers the functions that have been met."""
    kind = type(value).__name__
    if isinstance(value, types.FunctionType):
        return _function(value, seen)
    if isinstance(value, types.CodeType):
        return _code(value, seen)
    if isinstance(getattr(value, "py_func", None), types.FunctionType):  # compiled by numba
        return kind, _function(value.py_func, seen)
    if isinstance(value, (tuple, list)):
        return kind, [_described(v, seen) for v in value]
    if isinstance(value, frozenset):
        return kind, sorted(repr(_described(v, seen)) for v in value)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return kind, repr(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (np.ufunc, np.dtype, numba.types.Type)):
        return kind, str(value)
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in LIBRARIES:
        return kind, value.__name__
    named = isinstance(value, (type, types.BuiltinFunctionType))
    if named and str(value.__module__).partition(".")[0] in LIBRARIES:
        return kind, value.__module__, value.__qualname__
    raise NoDigest(f"{value!r} cannot be part of a digest")


def _function(function, seen):
    if function in seen:
        return "function", seen[function]
    seen[function] = len(seen)
    code = function.__code__
    names = sorted(_names(code))
    scope = function.__globals__
    return (
        "function",
        _code(code, seen),
        [(name, _global(scope[name], names, seen)) for name in names if name in scope],
        [_described(cell.cell_contents, seen) for cell in function.__closure__ or ()],
        _described(function.__defaults__, seen),
        _described(tuple(sorted((function.__kwdefaults__ or {}).items())), seen),
    )


def _names(code):
    """Names of globals and attributes in a function and in those that it defines."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _global(value, names, seen):
    """A value that a function names; of a user's module, what the function may read of it."""
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] not in LIBRARIES:
        read = [(n, getattr(value, n)) for n in names if hasattr(value, n)]
        return value.__name__, [(n, _global(v, names, seen)) for n, v in read]
    return _described(value, seen)


def _code(code, seen):
    return (
        code.co_code,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        [_described(const, seen) for const in code.co_consts],
    )
