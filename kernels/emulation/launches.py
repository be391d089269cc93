"""Launches on the emulated device: kernels of a ``.cu`` text, and bodies with one thread a row.

It is stricter than CuPy, which passes whatever it is given: arguments are checked against the
kernel's parameters. ``run_kernel`` is where a launch becomes instructions of this computer."""

import ctypes
import functools

import numpy as np

from gpuboost.kernels.emulation import build, streams
from gpuboost.kernels.emulation.arrays import ndarray
from gpuboost.kernels.emulation.control import findings, kernel_counts, settings
from gpuboost.kernels.emulation.memory import allocations

_ORDER_NUMBERS = {"forward": 0, "reverse": 1, "random": 2}
_COUNTED = (
    "launches",
    "threads",
    "shared_atomics",
    "shared_atomic_passes",
    "global_atomics",
    "load_sectors",
    "load_bytes",
    "store_sectors",
    "store_bytes",
)


class _Parameter(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int) for name in ("size", "is_pointer", "is_float", "element", "is_const")
    ]


@functools.cache
def _library(source, options, checked):
    path = build.build(source, options, checked)
    library = ctypes.CDLL(str(path))
    library.path = path
    return library


class RawModule:
    """The kernels of one source."""

    def __init__(self, *, code=None, options=()):
        if not isinstance(options, tuple):
            raise TypeError(f"Expected tuple, got {type(options).__name__}")
        self.code, self.options = code, options

    def compile(self, log_stream=None):
        """Compile now, not at the first launch."""
        self.library()

    def library(self):
        """The compiled source for the mode in use."""
        return _library(self.code, self.options, settings.mode != "fast")

    def get_function(self, name):
        """A kernel by name."""
        return RawKernel(self, name)


class RawKernel:
    """A kernel that can be launched."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.max_dynamic_shared_size_bytes = settings.shared_bytes
        self._parameters = None

    def __call__(self, grid, block, args, *, shared_mem=0):
        """Launch on the current stream, or record the launch while it is capturing."""
        if self._parameters is None:
            self._parameters = _parameters(self.module.library(), self.name)
        if len(args) != len(self._parameters):
            raise TypeError(
                f"{self.name} takes {len(self._parameters)} arguments; got {len(args)} (CuPy "
                "would let it read garbage)"
            )
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise RuntimeError(
                f"CUDA_ERROR_INVALID_VALUE: {self.name} asks for {shared_mem} bytes of shared "
                "memory"
            )
        values, uses = [], []
        for i, (value, parameter) in enumerate(zip(args, self._parameters, strict=True)):
            values.append(_argument(self.name, i, value, parameter))
            if isinstance(value, ndarray) and value.size:
                uses.append(value.use(writes=not parameter.is_const))
        arrays = spans() if settings.ptx else None
        launched = self.module, self.name, _three(grid), _three(block), values, shared_mem, arrays
        streams.launch(self.name, functools.partial(run_kernel, *launched), uses)


def spans():
    """Where the arrays of the device begin and end, in ascending order."""
    return sorted((a.address, a.address + a.n_bytes) for a in allocations() if a.n_bytes)


def run_kernel(module, name, grid, block, values, shared_mem, arrays):
    """Run a kernel of a module now; ``values`` are its arguments, one array of one item each.

    ``arrays`` are the spans when it was launched, for compiled kernels.
    """
    if settings.ptx:
        from gpuboost.kernels.emulation.ptx import device

        arguments = [value.tobytes() for value in values]
        device.run_source(
            module.code, module.options, name, grid, block, arguments, shared_mem, arrays
        )
        return
    library = module.library()
    check, count = settings.mode == "check", settings.mode == "count"
    library.emulated_configure(
        _ORDER_NUMBERS[settings.order], ctypes.c_ulonglong(settings.seed), int(check), int(count)
    )
    if settings.mode != "fast":
        library.emulated_forget_arrays()
        for allocation in allocations():
            library.emulated_know_array(
                ctypes.c_void_p(allocation.address),
                ctypes.c_size_t(allocation.n_bytes),
                allocation.label.encode(),
            )
    launch = getattr(library, f"launch_{name}")
    launch.restype = ctypes.c_char_p
    addresses = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
    failure = launch(
        (ctypes.c_uint * 3)(*grid),
        (ctypes.c_uint * 3)(*block),
        ctypes.c_size_t(shared_mem),
        addresses,
    )
    if check:
        _collect_findings(library, name)
    if count:
        _collect_counts(library)
    if failure:
        raise RuntimeError(f"emulated device: {failure.decode()}")
    if settings.mode == "fast" and not all(allocation.intact() for allocation in allocations()):
        raise RuntimeError(f"emulated device: {name} has written outside an array")


def launch_rows(name, args, run):
    """Launch a body with one thread a row: ``run(args, spans)`` with arrays of the emulated memory.

    It is not known which of its arrays a body writes: all of them may be written.
    """
    values, uses = [], []
    for i, value in enumerate(args):
        if isinstance(value, ndarray):
            values.append(value.storage)
            uses += [value.use(writes=True)] if value.size else []
        elif isinstance(value, np.generic):
            values.append(value)
        else:
            _wrong(name, i, f"{value!r} is neither device memory nor a numpy scalar")
    streams.launch(name, functools.partial(run, values, spans() if settings.ptx else None), uses)


def _parameters(library, name):
    if not hasattr(library, f"launch_{name}"):
        raise RuntimeError(f"CUDA_ERROR_NOT_FOUND: no kernel is called {name}")
    described = (_Parameter * 64)()
    return described[: getattr(library, f"describe_{name}")(described)]


def _three(size):
    if not isinstance(size, tuple):
        raise TypeError(f"Expected tuple, got {type(size).__name__}")
    return (*map(int, size), 1, 1)[:3]


def _wrong(kernel, i, text):
    raise TypeError(f"{kernel}, argument {i}: {text}")


def _argument(kernel, i, value, parameter):
    """An argument's bytes, checked against the parameter."""
    wrong = functools.partial(_wrong, kernel, i)
    if value is None and parameter.is_pointer:
        return np.zeros(1, np.uint64)
    if isinstance(value, np.ndarray):
        wrong("a host array")
    if isinstance(value, ndarray):
        if not parameter.is_pointer:
            wrong("an array for a number")
        if not value.flags.c_contiguous:
            wrong("an array that is not contiguous, and a kernel does not see strides")
        if parameter.element not in (1, value.dtype.itemsize):
            wrong(f"items of {value.dtype.itemsize} bytes for a pointer to {parameter.element}")
        return np.array([value.data.ptr], np.uint64)
    if not isinstance(value, np.generic):
        wrong(f"{value!r} is not a numpy scalar, and CuPy guesses its width")
    if parameter.is_pointer:
        wrong(f"the number {value!r} for a pointer")
    if value.dtype.itemsize != parameter.size or (value.dtype.kind == "f") != bool(
        parameter.is_float
    ):
        wrong(
            f"{value.dtype} for a {'floating-point' if parameter.is_float else 'integer'} "
            f"parameter of {parameter.size} bytes"
        )
    return np.array([value])


def _collect_findings(library, kernel):
    kind, array = ctypes.c_char_p(), ctypes.c_char_p()
    where, other, line = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int()
    for i in range(library.emulated_n_findings()):
        library.emulated_finding(i, *map(ctypes.byref, (kind, array, where, other, line)))
        at = line.value or build.line_of(library.path, where.value)
        against = f" against line {build.line_of(library.path, other.value)}" if other.value else ""
        text = f"{kernel}: {kind.value.decode()}, {array.value.decode()}, line {at}{against}"
        if text not in findings:
            findings.append(text)
    library.emulated_clear_findings()


def _collect_counts(library):
    name, numbers = ctypes.c_char_p(), (ctypes.c_ulonglong * len(_COUNTED))()
    for i in range(library.emulated_n_counts()):
        library.emulated_counts(i, ctypes.byref(name), numbers)
        kernel_counts[name.value.decode()].update(dict(zip(_COUNTED, numbers, strict=True)))
    library.emulated_clear_counts()
