"""A compiled PTX module: its kernels, launches of them, and which basic blocks have been run."""

import ctypes
import functools

import numpy as np

from gpuboost.kernels.emulation.ptx.build import build

#: More basic blocks than any launch enters that comes to its end.
_ENDLESS = 1 << 30
_ORDERS = ("forward", "reverse", "random", "preempted")


class _Parameter(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint32), ("n_bytes", ctypes.c_uint32)]


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("body", ctypes.c_void_p),
        ("parameters", ctypes.POINTER(_Parameter)),
        ("n_parameters", ctypes.c_uint32),
        ("parameter_bytes", ctypes.c_uint32),
        ("max_threads", ctypes.c_uint32),
        ("shared_bytes", ctypes.c_uint32),
        ("n_blocks", ctypes.c_uint32),
        ("hits", ctypes.POINTER(ctypes.c_uint8)),
        ("lines", ctypes.POINTER(ctypes.c_uint32)),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("order", ctypes.c_uint32),
        ("n_spans", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("spans", ctypes.c_void_p),
    ]


@functools.cache
def library_of(text):
    """The library of a PTX text, compiled when it is first asked for."""
    return _loaded(build(text))


@functools.cache
def _loaded(path):
    return Library(path)


class Library:
    """The kernels of one PTX module."""

    def __init__(self, path):
        self.path = path
        # one machine for all threads of the process: nobody else runs while a launch does
        self._lib = ctypes.PyDLL(str(path))
        self._lib.ptx_run.restype = ctypes.c_char_p
        n = ctypes.c_uint32.in_dll(self._lib, "ptx_n_kernels").value
        kernels = (_Kernel * n).in_dll(self._lib, "ptx_kernels")
        self._numbers = {kernel.name.decode(): i for i, kernel in enumerate(kernels)}
        self._kernels = kernels

    @property
    def names(self):
        """Names of the kernels."""
        return list(self._numbers)

    def _kernel(self, name):
        if name not in self._numbers:
            raise RuntimeError(f"CUDA_ERROR_NOT_FOUND: no kernel is called {name}")
        return self._kernels[self._numbers[name]]

    def shared_bytes(self, name):
        """Static shared memory of a kernel."""
        return self._kernel(name).shared_bytes

    def parameter_sizes(self, name):
        """Bytes of each parameter of a kernel."""
        kernel = self._kernel(name)
        return [kernel.parameters[i].n_bytes for i in range(kernel.n_parameters)]

    def run(
        self,
        name,
        grid,
        block,
        arguments,
        shared_bytes,
        spans,
        order="forward",
        seed=0,
        limit=_ENDLESS,
    ):
        """Run a kernel; raises if the machine finds a fault.

        Parameters
        ----------
        name : str
        grid, block : tuple of three int
        arguments : list of bytes
            One for each parameter.
        shared_bytes : int
            Dynamic shared memory.
        spans : ndarray of shape (n, 2), dtype uint64
            Where the arrays that the kernel may use begin and end, in ascending order.
        order : {'forward', 'reverse', 'random', 'preempted'}
        seed : int
        limit : int
            A launch that enters more basic blocks than this is said not to end.
        """
        kernel = self._kernel(name)
        sizes = self.parameter_sizes(name)
        if [len(argument) for argument in arguments] != sizes:
            raise TypeError(
                f"{name} takes arguments of {sizes} bytes; got "
                f"{[len(argument) for argument in arguments]}"
            )
        buffer = bytearray(max(16, kernel.parameter_bytes))
        for i, argument in enumerate(arguments):
            begin = kernel.parameters[i].offset
            buffer[begin : begin + len(argument)] = argument
        spans = np.ascontiguousarray(spans, np.uint64).reshape(-1, 2)
        how = _Launch(_ORDERS.index(order), len(spans), seed, limit, spans.ctypes.data)
        failure = self._lib.ptx_run(
            ctypes.c_uint32(self._numbers[name]),
            (ctypes.c_uint32 * 3)(*grid),
            (ctypes.c_uint32 * 3)(*block),
            ctypes.c_uint32(shared_bytes),
            (ctypes.c_uint8 * len(buffer)).from_buffer(buffer),
            ctypes.byref(how),
        )
        if failure is not None:
            raise RuntimeError(
                f"PTX machine: {name}: {failure.decode()}; the text is {self.path.stem}.ptx in "
                f"{self.path.parent}"
            )

    def blocks(self, name):
        """{PTX line: whether it has ever been run} of the basic blocks of a kernel."""
        kernel = self._kernel(name)
        hits, lines = kernel.hits[: kernel.n_blocks], kernel.lines[: kernel.n_blocks]
        out = {}
        for i, (hit, line) in enumerate(zip(hits, lines, strict=True)):
            out[line, i] = bool(hit)
        return out
