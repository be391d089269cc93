"""Which device: CuPy and a GPU, or the emulated device."""

import functools
import os
from importlib import import_module

#: Older versions of CuPy refuse arrays of records.
OLDEST_CUPY = (14, 0)
INSTALL = 'pip install ".[cuda12]" (or ".[cuda13]" for a CUDA 13 driver)'


def emulated():
    """Whether the emulated device was asked for."""
    return os.environ.get("GPUBOOST_EMULATE_CUDA", "") not in ("", "0")


def cupy():
    """CuPy, or its stand-in on the emulated device."""
    return _module(_name())


def _name():
    return "gpuboost.kernels.emulation.cupy_stand_in" if emulated() else "cupy"


_module = functools.cache(import_module)


def memory(device):
    """Bytes of a device that can be had, and its size.

    What CuPy's pool holds and nobody uses can be had, though the driver does not count it as free.
    """
    free, total = device.mem_info
    with device:
        return free + cupy().get_default_memory_pool().free_bytes(), total


def missing(index):
    """None if CUDA device number ``index`` can be used, else what is missing and what to do."""
    try:
        version = import_module(_name()).__version__
    except (ImportError, RuntimeError) as error:
        return _import_problem("CuPy", "cupy", error)
    if tuple(map(int, version.split(".")[:2])) < OLDEST_CUPY:
        oldest = ".".join(map(str, OLDEST_CUPY))
        return f"CuPy {version} is too old, it must be {oldest} or newer; install it with {INSTALL}"
    try:
        n = cupy().cuda.runtime.getDeviceCount()
    except RuntimeError as error:  # CuPy's errors are RuntimeErrors
        return f"no CUDA device answers ({error}); an NVIDIA driver and a GPU are needed"
    if n == 0:
        return "the driver reports no CUDA device"
    if index >= n:
        return (
            f"there is no device number {index}: the driver reports {n} "
            f"device{'s' if n > 1 else ''}"
        )
    if not emulated():
        try:
            import numba.cuda  # noqa: F401
        except (ImportError, RuntimeError) as error:
            return _import_problem("numba-cuda", "numba.cuda", error)
    return None


def _import_problem(name, module, error):
    """What to say of a package that cannot be imported; to install it only if it is not there."""
    if isinstance(error, ModuleNotFoundError) and error.name in (module, None):
        return f"{name} cannot be imported ({error}); install it with {INSTALL}"
    return f"{name} is installed, but cannot be imported ({error})"
