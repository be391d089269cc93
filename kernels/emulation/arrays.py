"""Arrays on the emulated device. Only kernels and copies touch their memory."""

import types

import numpy as np

from gpuboost.kernels.emulation import memory, streams
from gpuboost.kernels.emulation import work as works
from gpuboost.kernels.emulation.control import counters, settings


class ndarray:  # noqa: N801
    """An array on the emulated device.

    ``storage`` is its memory as a numpy array, which only running work may touch.
    """

    def __init__(self, storage, allocation, borrowed_from=None):
        self.storage, self.allocation, self._borrowed_from = storage, allocation, borrowed_from

    shape = property(lambda self: self.storage.shape)
    strides = property(lambda self: self.storage.strides)
    dtype = property(lambda self: self.storage.dtype)
    ndim = property(lambda self: self.storage.ndim)
    size = property(lambda self: self.storage.size)
    itemsize = property(lambda self: self.storage.itemsize)
    nbytes = property(lambda self: self.storage.nbytes)
    flags = property(lambda self: self.storage.flags)
    T = property(lambda self: self._view(self.storage.T))

    @property
    def data(self):
        """Where it is."""
        return types.SimpleNamespace(ptr=self.storage.ctypes.data if self.allocation.n_bytes else 0)

    @property
    def device(self):
        """On which device it is."""
        return Device(self.allocation.device)

    def use(self, writes):
        """Work's use of it."""
        begin = end = self.data.ptr
        for length, stride in zip(self.shape, self.strides, strict=True):
            begin, end = begin + min(0, (length - 1) * stride), end + max(0, (length - 1) * stride)
        return self.allocation.use(begin, end + self.itemsize, writes)

    def _view(self, storage):
        return ndarray(storage, self.allocation, self._borrowed_from)

    def _enqueue(self, name, action, reads=(), queue=None):
        """Let the current stream change the array."""
        queue = streams.current_queue() if queue is None else queue
        streams.not_while_capturing(name, queue)
        uses = [(self, True), *((array, False) for array in reads)]
        uses = [array.use(writes) for array, writes in uses if array.size]
        works.enqueue(queue, name, action, uses)

    # --- parts and forms

    def __len__(self):
        return len(self.storage)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        """A part of it, in the same memory."""
        keys = key if isinstance(key, tuple) else (key,)
        if not all(k is None or k is Ellipsis or isinstance(k, _PLACES) for k in keys):
            raise NotImplementedError("the emulated device has no indexing by arrays")
        return self._view(self.storage[keys if Ellipsis in keys else (*keys, Ellipsis)])

    def __setitem__(self, key, value):
        self[key]._assign(value)

    def _assign(self, value):
        if isinstance(value, np.ndarray):
            raise TypeError("a host array is copied with set")
        target = self.storage
        if isinstance(value, ndarray):
            source = value.storage
            self._enqueue("a copy", lambda: np.copyto(target, source, "unsafe"), [value])
        else:
            self._enqueue("a fill", lambda: target.fill(value))

    def reshape(self, *shape):
        """In another shape, in the same memory."""
        storage = self.storage.reshape(*shape)
        if self.size and not np.shares_memory(storage, self.storage):
            raise NotImplementedError("the emulated device does not copy here")
        return self._view(storage)

    def view(self, dtype):
        """With another dtype, in the same memory."""
        return self._view(self.storage.view(dtype))

    # --- between host and device

    def get(self, stream=None, order="C", out=None, blocking=True):
        """A copy on the host."""
        if out is not None or not blocking:
            raise NotImplementedError("the emulated device has no such copy")
        queue = streams.current_queue() if stream is None else stream.queue
        streams.not_while_capturing("a download", queue)
        counters.synchronizations += 1
        counters.moved(2, self.nbytes)
        host, source = np.empty(self.shape, self.dtype, order), self.storage
        if self.size:
            uses = [self.use(writes=False)]
            work = works.enqueue(queue, "a download", lambda: np.copyto(host, source), uses)
            works.wait(work)
        return host

    def set(self, arr, stream=None):
        """Copy from the host, whose array may change as soon as this returns."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        if not (self.flags.c_contiguous or self.flags.f_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        counters.moved(1, self.nbytes)
        target, staged = self.storage, arr.copy()
        queue = None if stream is None else stream.queue
        self._enqueue("an upload", lambda: np.copyto(target, staged), queue=queue)

    def item(self, *args):
        """One entry, on the host."""
        return self.get().item(*args)

    __int__ = __float__ = __bool__ = __index__ = lambda self: self.item()

    # --- what CuPy has kernels for

    def fill(self, value):
        """Set all entries."""
        self._assign(value)

    def copy(self, order="C"):
        """A copy on the device."""
        return self.astype(self.dtype)

    def astype(self, dtype):
        """A copy on the device, in another type."""
        out = empty(self.shape, dtype)
        out._assign(self)
        return out

    def sort(self, axis=-1):
        """Sort in place."""
        target = self.storage
        self._enqueue("a sort", lambda: target.sort(axis))

    def argsort(self, axis=-1):
        """Places in ascending order; equal values keep theirs, as with CuPy."""
        out, source = empty(self.shape, np.int64), self.storage
        target = out.storage
        out._enqueue(
            "a sort", lambda: np.copyto(target, np.argsort(source, axis, kind="stable")), [self]
        )
        return out

    # --- for others

    @property
    def __cuda_array_interface__(self):
        """How others find it."""
        return {**self.storage.__array_interface__, "data": (self.data.ptr, False), "version": 3}

    def __dlpack_device__(self):
        """On which device it is, as DLPack says it."""
        return 2, self.allocation.device

    def __dlpack__(self, **options):
        """Its memory, for others."""
        return self.storage.__dlpack__()

    def __array__(self, *args, **kwargs):
        """Not in silence."""
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct "
            "a NumPy array explicitly."
        )

    def _no_arithmetic(self, *args, **kwargs):
        raise TypeError("this is device memory: use a kernel, or get() for a copy on the host")

    __array_ufunc__ = __array_function__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = (
        _no_arithmetic
    )
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _no_arithmetic
    )
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __neg__ = __invert__ = _no_arithmetic
    __hash__ = None


_PLACES = (int, np.integer, slice)


class Device:
    """A device, by its number."""

    def __init__(self, device=None):
        self.id = streams.current.device if device is None else int(device)
        self._before = []

    def __enter__(self):
        self._before.append(streams.current.device)
        streams.current.device = self.id
        return self

    def __exit__(self, *exc):
        streams.current.device = self._before.pop()

    def use(self):
        """Make it the current device."""
        streams.current.device = self.id

    def synchronize(self):
        """Wait for all its work."""
        streams.not_while_capturing("a synchronization")
        counters.synchronizations += 1
        works.wait_for_device(self.id)

    @property
    def compute_capability(self):
        """Its architecture."""
        return (settings.ptx or "sm_80").removeprefix("sm_")

    @property
    def attributes(self):
        """What it has."""
        return {
            "MultiProcessorCount": settings.n_multiprocessors,
            "MaxSharedMemoryPerBlock": settings.shared_bytes,
            "MaxSharedMemoryPerBlockOptin": settings.shared_bytes_optin,
            "MaxSharedMemoryPerMultiprocessor": settings.shared_bytes_optin + 1024,
            "MaxThreadsPerMultiProcessor": 2048,
        }

    @property
    def mem_info(self):
        """Free and all memory, without what the pool holds."""
        return memory.pool(self.id).mem_info()


def empty(shape, dtype=float):
    """An array of garbage."""
    streams.not_while_capturing("an allocation")
    shape = shape if isinstance(shape, tuple) else (shape,)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    allocation = memory.pool(streams.current.device).allocate(n_bytes, streams.current_queue())
    return ndarray(allocation.bytes.view(dtype).reshape(shape), allocation)


def zeros(shape, dtype=float):
    """An array of zeros."""
    array = empty(shape, dtype)
    storage = array.storage
    array._enqueue("a fill", lambda: storage.view(np.uint8).fill(0))
    return array


def asarray(a):
    """A host array on the device; a device array as it is."""
    if isinstance(a, ndarray):
        return a
    if hasattr(a, "__cuda_array_interface__"):  # another library's array on this device
        interface = types.SimpleNamespace(__array_interface__=a.__cuda_array_interface__)
        return _borrowed(np.asarray(interface), a)
    host = np.asarray(a)
    if host.dtype.kind not in "?biufc" and not (host.dtype.kind == "V" and _takes_records()):
        raise ValueError(f"Unsupported dtype {host.dtype}")
    array = empty(host.shape, host.dtype)
    array.set(host)
    return array


def _takes_records():
    return int(settings.cupy_version.split(".")[0]) >= 14


def from_dlpack(array):
    """An array from another library."""
    return _borrowed(np.from_dlpack(array), array)


def _borrowed(storage, owner):
    """Another library's memory on the device as an array."""
    if not storage.size:
        return empty(storage.shape, storage.dtype)
    return ndarray(storage, memory.allocation_at(storage.ctypes.data), owner)


def asnumpy(a):
    """A device array on the host."""
    return a.get() if isinstance(a, ndarray) else np.asarray(a)
