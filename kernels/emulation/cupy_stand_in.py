"""A stand-in for the CuPy calls that ``kernels/cuda`` makes, under CuPy's names.

``tests/emulation/test_cupy_stand_in.py`` compares it with the CuPy that is installed."""

import types

from gpuboost.kernels.emulation import memory, streams
from gpuboost.kernels.emulation.arrays import (
    Device,
    asarray,
    asnumpy,
    empty,
    from_dlpack,
    ndarray,
    zeros,
)
from gpuboost.kernels.emulation.control import counters, settings
from gpuboost.kernels.emulation.launches import RawKernel, RawModule

__all__ = [
    "RawKernel",
    "RawModule",
    "asarray",
    "asnumpy",
    "cuda",
    "empty",
    "from_dlpack",
    "get_default_memory_pool",
    "ndarray",
    "zeros",
]


def __getattr__(name):
    if name == "__version__":
        return settings.cupy_version
    raise AttributeError(f"the emulated device's CuPy has no {name}")


def get_default_memory_pool():
    """The pool of the current device."""
    return memory.pool(streams.current.device)


def _alloc_pinned_memory(size):
    streams.not_while_capturing("an allocation")
    return memory.allocate_pinned(size)


def _memcpy_async(dst, src, size, kind, stream):
    queue = streams.queue_at(stream)
    streams.not_while_capturing("a copy", queue)
    counters.moved(kind, size)
    memory.copy_raw(dst, src, size, kind, queue)


cuda = types.SimpleNamespace(
    Stream=streams.Stream,
    Event=streams.Event,
    Graph=streams.Graph,
    Device=Device,
    get_current_stream=streams.get_current_stream,
    get_elapsed_time=streams.get_elapsed_time,
    alloc_pinned_memory=_alloc_pinned_memory,
    runtime=types.SimpleNamespace(
        getDeviceCount=lambda: settings.n_devices,
        getDevice=lambda: streams.current.device,
        pointerGetAttributes=memory.allocation_at,
        memcpyAsync=_memcpy_async,
        CUDARuntimeError=RuntimeError,
    ),
)
