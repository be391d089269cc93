"""Kernels with one thread per row: scalar Python functions ``body(i, *args)`` compiled by numba.

The same body runs on a GPU (numba.cuda), and as a loop on the emulated device. It takes arrays and
numbers; an array is indexed as on the CPU, so losses, metrics and formulas serve both devices as
they are.

On a GPU numba is only the compiler. It contracts a * b + c into one rounding and has no switch for
that: where its PTX says ``fma.rn``, a multiplication and an addition take its place, and those that
it leaves without ``.rn``, which the assembler may contract too, get it. The result is linked and
kept (``cubins.py``), and launched like the other kernels, by CuPy."""

import functools
import math
import re
import types

import numba
import numpy as np

from gpuboost.kernels.cuda.cubins import code_of
from gpuboost.kernels.cuda.device import cupy, emulated

THREADS = 256


class RowKernel:
    """A compiled body; call it as ``kernel(n, *args)``."""

    def __init__(self, body):
        self.body = body
        self.name = body.__name__
        self._compiled = {}

    def __call__(self, n, *args):
        """Run ``body(i, *args)`` for i < n. Numbers must be numpy scalars."""
        if n == 0:
            return
        if emulated():
            self._emulate(n, args)
        else:
            self._launch(n, args)

    # --- on a GPU

    def _launch(self, n, args):
        signature = tuple(_numba_type(a) for a in args)
        device = cupy().cuda.Device()
        key = signature, device.id
        function = self._compiled.get(key)
        if function is None:
            capability = device.compute_capability
            code, name = code_of(self, signature, (int(capability[:-1]), int(capability[-1])))
            loaded = cupy().cuda.function.Module()
            loaded.load(code)
            function = self._compiled[key] = loaded.get_function(name)
        flat = [np.int64(n)]
        for a in args:
            flat += _flatten(a)
        function((-(-n // THREADS),), (THREADS,), flat)

    def ptx(self, signature, capability):
        """PTX without fused multiply-adds, and the kernel's name in it.

        For argument types and a compute capability.
        """
        from numba import cuda

        body = on_device(self.body)

        def kernel(n, *args):
            i = cuda.grid(1)
            if i < n:
                body(i, *args)

        kernel.__name__ = self.name
        text, _ = cuda.compile_ptx(
            _spread(kernel, len(signature)), (numba.int64, *signature), cc=capability
        )
        text = without_fma(text)
        return text, re.search(r"\.visible \.entry (\w+)\(", text).group(1)

    # --- on the emulated device

    def _emulate(self, n, args):
        from gpuboost.kernels.emulation.control import settings
        from gpuboost.kernels.emulation.launches import launch_rows

        def run(values, spans):
            if settings.ptx:
                self._run_ptx(n, values, spans)
                return
            first, step = _visiting_order(n, settings.order, settings.seed)
            _loop(self.body)(n, first, step, *values)

        launch_rows(self.name, args, run)

    def _run_ptx(self, n, values, spans):
        from gpuboost.kernels.emulation.ptx import device

        flat = [np.int64(n), *(part for value in values for part in _flatten(value))]
        arguments = [
            (np.uint64(a.ctypes.data) if isinstance(a, np.ndarray) else a).tobytes() for a in flat
        ]
        signature = tuple(_numba_type(value) for value in values)
        grid, block = (-(-n // THREADS), 1, 1), (THREADS, 1, 1)
        device.run_row_kernel(self, signature, grid, block, arguments, spans)


@functools.cache
def _loop(body):
    body = on_host(body)

    @numba.njit(error_model="numpy")
    def loop(n, first, step, *args):
        i = first
        for _ in range(n):
            body(i, *args)
            i = (i + step) % n

    return loop


def _visiting_order(n, order, seed):
    """Start and step, modulo n, of an order in which all of n threads have their turn."""
    if order == "forward" or n == 1:
        return 0, 1
    if order == "reverse":
        return n - 1, n - 1
    rng = np.random.default_rng(seed)
    step = int(rng.integers(1, n))
    while math.gcd(step, n) != 1:
        step += 1
    return int(rng.integers(n)), step


@functools.cache
def on_device(function):
    """A Python function and all Python functions it calls, as numba.cuda device functions.

    For a numpy function it is the function of the same name in ``math``.
    """
    if isinstance(function, np.ufunc):  # numba.cuda does not know them all
        return getattr(math, function.__name__)
    from numba import cuda

    return cuda.jit(device=True)(_with_callees(function, on_device))


@functools.cache
def on_host(function):
    """A Python function and all Python functions it calls, compiled for the CPU.

    A numpy function is taken as it is.
    """
    return (
        function
        if isinstance(function, np.ufunc)
        else numba.njit(error_model="numpy")(_with_callees(function, on_host))
    )


def _with_callees(function, compiled):
    """A copy of a function that calls compiled versions of the functions it names."""

    def replaced(value):
        return compiled(value) if isinstance(value, (types.FunctionType, np.ufunc)) else value

    names = set(function.__code__.co_names)
    scope = {k: replaced(v) if k in names else v for k, v in function.__globals__.items()}
    cells = tuple(types.CellType(replaced(c.cell_contents)) for c in function.__closure__ or ())
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


def _spread(kernel, n_args):
    """``kernel(n, *args)`` with named parameters, as numba wants it for a signature."""
    names = [f"a{k}" for k in range(n_args)]
    scope = {"kernel": on_device(kernel)}
    exec(f"def {kernel.__name__}(n, {', '.join(names)}):\n    kernel(n, {', '.join(names)})", scope)  # noqa: S102
    return scope[kernel.__name__]


def without_fma(ptx):
    """PTX in which every product, sum and difference of floats is rounded.

    For a fused multiply-add there is a multiplication and an addition. ``.rn`` forbids the
    assembler to fuse: what has no rounding it may.
    """

    def two_roundings(match):
        modifiers, target, a, b, c = match.groups()
        kind = modifiers.rpartition(".")[2]
        return (
            f"{{\n\t.reg .{kind} %product;\n\tmul.rn{modifiers} %product, {a}, {b};\n\t"
            f"add.rn{modifiers} {target}, %product, {c};\n\t}}"
        )

    operands = r"\s+([^,]+), ([^,]+), ([^,]+), ([^;]+);"
    ptx = re.sub(rf"\b(?:fma|mad)\.rn((?:\.ftz)?\.f(?:32|64)){operands}", two_roundings, ptx)
    return re.sub(r"(?<![\w.])(mul|add|sub)((?:\.ftz)?(?:\.sat)?\.f(?:32|64))\b", r"\1.rn\2", ptx)


def _is_array(value):
    return isinstance(value, np.ndarray) or hasattr(value, "__cuda_array_interface__")


def _numba_type(value):
    if _is_array(value):
        return numba.types.Array(
            numba.from_dtype(value.dtype), value.ndim, "C" if value.flags.c_contiguous else "A"
        )
    return numba.typeof(value)


def _flatten(value):
    """An argument as numba's kernels take it.

    An array is (meminfo, parent, items, item size, data, shape, strides).
    """
    if not _is_array(value):
        return [value]
    numbers = [0, 0, value.size, value.dtype.itemsize]
    return [
        *map(np.int64, numbers),
        value,
        *map(np.int64, value.shape),
        *map(np.int64, value.strides),
    ]
