"""A stand-in for the CuPy calls that ``kernels/cuda`` makes.

Device arrays are guarded numpy arrays, kernels run on the emulated device.

It is stricter than CuPy, which passes whatever it is given: arguments are checked against the
kernel's parameters, and nothing but kernels and copies may touch an array."""

import ctypes
import functools
import time
import types
import weakref

import numpy as np

from gpuboost.kernels.emulation import build as _build
from gpuboost.kernels.emulation.control import counters, findings, kernel_counts, settings

_GUARD = 256
_GUARD_BYTE, _FRESH_BYTE = 0xCB, 0xA5
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
_allocations = weakref.WeakValueDictionary()  # address -> _Allocation


class _Allocation:
    """A piece of device memory with guards on both sides."""

    def __init__(self, n_bytes):
        _not_while_capturing("an allocation")
        free, _ = cuda.Device().mem_info
        if n_bytes > free:
            raise MemoryError(f"out of device memory: {n_bytes} bytes asked for, {free} free")
        self.n_bytes = n_bytes
        self.device = cuda.runtime.getDevice()
        self.label = "global memory"  # what findings and counts call it
        self._raw = np.full(n_bytes + 3 * _GUARD, _GUARD_BYTE, np.uint8)
        self._first = -self._raw.ctypes.data % _GUARD + _GUARD
        self.bytes = self._raw[self._first : self._first + n_bytes]
        self.bytes[:] = _FRESH_BYTE
        self.address = self._raw.ctypes.data + self._first
        _allocations[self.address] = self

    def intact(self):
        """Whether nobody has written into the guards."""
        before, after = self._raw[: self._first], self._raw[self._first + self.n_bytes :]
        return bool((before == _GUARD_BYTE).all() and (after == _GUARD_BYTE).all())


class ndarray(np.ndarray):
    """An array on the emulated device. Only kernels and copies touch it."""

    allocation = None

    def __array_finalize__(self, other):
        """Views keep the memory alive."""
        self.allocation = getattr(other, "allocation", None)

    def get(self, stream=None):
        """A copy on the host."""
        _not_while_capturing("a download")
        counters.synchronizations += 1
        counters.moved(2, self.nbytes)
        return np.array(self.view(np.ndarray))

    def set(self, host, stream=None):
        """Copy from the host."""
        _not_while_capturing("an upload")
        counters.moved(1, self.nbytes)
        np.copyto(self.view(np.ndarray), host)

    def fill(self, value):
        """Set all entries."""
        self.view(np.ndarray).fill(value)

    def copy(self, order="C"):
        """A copy on the device."""
        return self.astype(self.dtype)

    def astype(self, dtype):
        """A copy on the device, in another type."""
        out = empty(self.shape, dtype)
        np.copyto(out.view(np.ndarray), self.view(np.ndarray), casting="unsafe")
        return out

    def argsort(self, axis=-1):
        """Places in ascending order; equal values keep theirs, as with CuPy."""
        out = empty(self.shape, np.int64)
        np.copyto(out.view(np.ndarray), np.argsort(self.view(np.ndarray), axis, kind="stable"))
        return out

    def item(self, *args):
        """One entry, on the host."""
        return self.get().item(*args)

    __int__ = __float__ = __bool__ = __index__ = lambda self: self.item()

    @property
    def data(self):
        """Where it is."""
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0])

    @property
    def device(self):
        """On which device it is."""
        return cuda.Device(self.allocation.device)

    def __dlpack_device__(self):
        """The same, as DLPack says it."""
        return 2, self.allocation.device

    @property
    def __cuda_array_interface__(self):
        """How others find it."""
        return {**self.__array_interface__, "version": 3}

    def __array_ufunc__(self, *args, **kwargs):
        """No arithmetic here."""
        raise TypeError("this is device memory: use a kernel, or get() for a copy on the host")

    __array_function__ = __array_ufunc__  # and no numpy functions


def empty(shape, dtype=float):
    """An array of garbage."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    allocation = _Allocation(int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
    array = allocation.bytes.view(dtype).reshape(shape).view(ndarray)
    array.allocation = allocation
    return array


def zeros(shape, dtype=float):
    """An array of zeros."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def asarray(x):
    """A host array on the device; a device array as it is."""
    if isinstance(x, ndarray):
        return x
    if hasattr(x, "__cuda_array_interface__"):  # another library's array on this device
        return _borrowed(
            np.asarray(types.SimpleNamespace(__array_interface__=x.__cuda_array_interface__))
        )
    host = np.asarray(x)
    array = empty(host.shape, host.dtype)
    array.set(host)
    return array


def from_dlpack(x):
    """An array from another library."""
    return _borrowed(np.from_dlpack(x))


def _borrowed(memory):
    """Another library's memory on the device as an array."""
    array = memory.view(ndarray)
    array.allocation = _allocation_at(array.data.ptr)
    return array


def asnumpy(x):
    """A device array on the host."""
    return x.get() if isinstance(x, ndarray) else np.asarray(x)


# --- kernels


class _Argument(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("size", "is_pointer", "is_float", "element")]


@functools.cache
def _library(source, options, checked):
    path = _build.build(source, options, checked)
    library = ctypes.CDLL(str(path))
    library.path = path
    return library


class RawModule:
    """The kernels of one source."""

    def __init__(self, *, code, options=()):
        self.code, self.options = code, tuple(options)

    def compile(self):
        """Compile now, not at the first launch; returns the library for the mode in use."""
        return _library(self.code, self.options, settings.mode != "fast")

    def get_function(self, name):
        """A kernel by name."""
        return Function(self, name)


class Function:
    """A kernel that can be launched."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.max_dynamic_shared_size_bytes = settings.shared_bytes
        self._parameters = None

    def __call__(self, grid, block, args, shared_mem=0, stream=None):
        """Launch, or record the launch while a stream is capturing."""
        library = self.module.compile()
        if self._parameters is None:
            if not hasattr(library, f"launch_{self.name}"):
                raise RuntimeError(f"CUDA_ERROR_NOT_FOUND: no kernel is called {self.name}")
            described = (_Argument * 64)()
            self._parameters = described[: getattr(library, f"describe_{self.name}")(described)]
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
        values = [
            _argument(self.name, i, a, p)
            for i, (a, p) in enumerate(zip(args, self._parameters, strict=True))
        ]
        call = functools.partial(
            self._run, _three(grid), _three(block), values, shared_mem, list(args)
        )
        if _current.recording is not None:
            _current.recording.append(call)
        else:
            call()

    def _run(self, grid, block, values, shared_mem, keep_alive):
        counters.launched(self.name)
        if settings.ptx:
            run_compiled(
                self.module.code, self.module.options, self.name, grid, block, values, shared_mem
            )
            return
        library = self.module.compile()
        check, count = settings.mode == "check", settings.mode == "count"
        library.emulated_configure(
            _ORDER_NUMBERS[settings.order],
            ctypes.c_ulonglong(settings.seed),
            int(check),
            int(count),
        )
        if settings.mode != "fast":
            library.emulated_forget_arrays()
            for allocation in list(_allocations.values()):
                library.emulated_know_array(
                    ctypes.c_void_p(allocation.address),
                    ctypes.c_size_t(allocation.n_bytes),
                    allocation.label.encode(),
                )
        launch = getattr(library, f"launch_{self.name}")
        launch.restype = ctypes.c_char_p
        addresses = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
        failure = launch(
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            ctypes.c_size_t(shared_mem),
            addresses,
        )
        if check:
            _collect_findings(library, self.name)
        if count:
            _collect_counts(library)
        if failure:
            raise RuntimeError(f"emulated device: {failure.decode()}")
        if settings.mode == "fast" and not all(
            allocation.intact() for allocation in list(_allocations.values())
        ):
            raise RuntimeError(f"emulated device: {self.name} has written outside an array")


def run_compiled(code, options, name, grid, block, values, shared_mem):
    """Run the PTX of a kernel, as compilers for a GPU write it."""
    from gpuboost.kernels.emulation.ptx import device

    device.run_source(
        code, options, name, grid, block, [v.tobytes() for v in values], shared_mem, spans()
    )


def spans():
    """Where the arrays of the device begin and end, in ascending order."""
    return sorted((a.address, a.address + a.n_bytes) for a in list(_allocations.values()))


def _three(size):
    return (*map(int, size), 1, 1)[:3]


def _argument(kernel, i, value, parameter):
    """An argument's bytes, checked against the parameter."""

    def wrong(text):
        raise TypeError(f"{kernel}, argument {i}: {text}")

    if value is None and parameter.is_pointer:
        return np.zeros(1, np.uint64)
    if isinstance(value, np.ndarray):
        if not isinstance(value, ndarray):
            wrong("a host array")
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
        at = line.value or _build.line_of(library.path, where.value)
        against = (
            f" against line {_build.line_of(library.path, other.value)}" if other.value else ""
        )
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


# --- streams, events, memory

_current = types.SimpleNamespace(device=0, recording=None)  # launches of a capture, or None


def _not_while_capturing(what):
    if _current.recording is not None:
        raise RuntimeError(f"cudaErrorStreamCaptureUnsupported: {what} while a stream is capturing")


class _Stream:
    """Work happens at once, so streams have nothing to do but to be counted."""

    ptr = 0

    def __init__(self, non_blocking=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def synchronize(self):
        _not_while_capturing("a synchronization")
        counters.synchronizations += 1

    def wait_event(self, event):
        pass

    def begin_capture(self):
        _not_while_capturing("another capture")
        _current.recording = []

    def end_capture(self):
        recorded, _current.recording = _current.recording, None
        return _Graph(recorded)


class _Graph:
    """Recorded launches."""

    def __init__(self, calls):
        self._calls = calls

    def launch(self, stream=None):
        counters.graph_launches += 1
        for call in self._calls:
            call()


class _Event:
    done = True

    def record(self, stream=None):
        self.seconds = time.perf_counter()

    def synchronize(self):
        counters.synchronizations += 1


class _Device:
    def __init__(self, number=None):
        self.id = _current.device if number is None else int(number)
        self._before = []

    def __enter__(self):
        self._before.append(_current.device)
        _current.device = self.id
        return self

    def __exit__(self, *exc):
        _current.device = self._before.pop()

    def use(self):
        pass

    def synchronize(self):
        counters.synchronizations += 1

    @property
    def compute_capability(self):
        return (settings.ptx or "sm_80").removeprefix("sm_")

    @property
    def attributes(self):
        return {
            "MultiProcessorCount": settings.n_multiprocessors,
            "MaxSharedMemoryPerBlock": settings.shared_bytes,
            "MaxSharedMemoryPerBlockOptin": settings.shared_bytes_optin,
            "MaxSharedMemoryPerMultiprocessor": settings.shared_bytes_optin + 1024,
            "MaxThreadsPerMultiProcessor": 2048,
        }

    @property
    def mem_info(self):
        return settings.memory_bytes - _used_bytes(), settings.memory_bytes


def _used_bytes():
    return sum(allocation.n_bytes for allocation in list(_allocations.values()))


def _alloc_pinned_memory(n_bytes):
    _not_while_capturing("an allocation")
    memory = (ctypes.c_char * max(1, n_bytes))()

    class Pinned(type(memory)):
        @property
        def ptr(self):
            return ctypes.addressof(self)

    return Pinned()


def _memcpy_async(target, source, n_bytes, kind, stream):
    _not_while_capturing("a copy")
    counters.moved(kind, n_bytes)
    ctypes.memmove(target, source, n_bytes)


def _allocation_at(pointer):
    """The piece of device memory that a pointer points into.

    As CuPy, an error if it is on no device.
    """
    for address, allocation in list(_allocations.items()):
        if address <= pointer < address + allocation.n_bytes:
            return allocation
    raise RuntimeError("cudaErrorInvalidValue: no device has such a pointer")


_Stream.null = _Stream()
cuda = types.SimpleNamespace(
    Stream=_Stream,
    Event=_Event,
    Device=_Device,
    get_current_stream=lambda: _Stream.null,
    get_elapsed_time=lambda begin, end: 1e3 * (end.seconds - begin.seconds),
    alloc_pinned_memory=_alloc_pinned_memory,
    runtime=types.SimpleNamespace(
        getDeviceCount=lambda: settings.n_devices,
        getDevice=lambda: _current.device,
        pointerGetAttributes=_allocation_at,
        memcpyAsync=_memcpy_async,
        CUDARuntimeError=RuntimeError,
    ),
)


def get_default_memory_pool():
    """The pool of device memory, which keeps nothing that could be freed."""
    return types.SimpleNamespace(free_all_blocks=lambda: None, used_bytes=_used_bytes)
