"""Machine code of row kernels: linked from their PTX, and kept for the next process.

numba's PTX is as new as its compiler, and a driver that is older refuses it. Machine code for its
architecture it loads: nvJitLink, which numba-cuda brings along, makes it without the driver's help.
Where it cannot, the driver gets the PTX.
"""

import functools
import logging
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpuboost.cached_files import cache_folder, keep, kept
from gpuboost.kernels.cuda.digest import NoDigest, digest_of

log = logging.getLogger("gpuboost")

#: Packages that turn a function into PTX.
PACKAGES = (
    "numba", "numba-cuda", "numpy", "nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12"
)  # fmt: skip


class CannotLink(RuntimeError):
    """There is no linker, or it does not take the PTX."""


def code_of(kernel, signature, capability):
    """(machine code, or PTX if it cannot be linked; name of the kernel in it).

    From the cache if it is there; numba is called only if it is not.
    """
    file = _file_of(kernel, signature, capability)
    stored = None if file is None else kept(file)
    if stored is None:
        ptx, name = kernel.ptx(signature, capability)
        try:
            code = link(ptx, capability)
        except CannotLink as problem:
            say_that_the_driver_compiles(str(problem), re.search(r"\.version (\S+)", ptx)[1])
            return ptx.encode(), name
        stored = name.encode() + b"\n" + code
        if file is not None:
            _keep(file, stored)
    name, _, code = stored.partition(b"\n")
    return code, name.decode()


def link(ptx, capability):
    """Machine code for a compute capability."""
    linker = find_linker()
    text = ptx.encode()
    handle = linker.create(1, [f"-arch=sm_{capability[0]}{capability[1]}"])
    try:
        linker.add_data(handle, linker.InputType.PTX, text, len(text), "kernel")
        linker.complete(handle)
        code = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, code)
    except linker.nvJitLinkError as error:
        report = bytearray(linker.get_error_log_size(handle))
        linker.get_error_log(handle, report)
        message = report.decode(errors="replace").strip("\0\n ")
        raise CannotLink(f"nvJitLink {_linker_version()}: {error}; {message}") from error
    finally:
        linker.destroy(handle)
    return bytes(code)


@functools.cache
def find_linker():
    try:
        from cuda.bindings import nvjitlink

        nvjitlink.version()
    except (ImportError, RuntimeError) as error:
        raise CannotLink(f"nvJitLink is not there: {error}") from error
    return nvjitlink


def _linker_version():
    try:
        return ".".join(map(str, find_linker().version()))
    except CannotLink:
        return "none"


@functools.cache
def _versions():
    """Of all that turns a function into machine code."""
    rewriting = Path(__file__).with_name("rowwise.py").read_bytes()
    return sys.version_info[:2], tuple(map(_version, PACKAGES)), _linker_version(), rewriting


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _file_of(kernel, signature, capability):
    """Where the code is kept; None if it cannot be, which is said once."""
    try:
        digest = digest_of(kernel.body, signature, capability, _versions())
        return cache_folder("cubins") / f"{kernel.name}-{digest[:32]}.cubin"
    except NoDigest as problem:
        log.info("the code of %s is compiled in every process: %s", kernel.name, problem)
    except OSError as problem:
        say_that_nothing_is_kept(str(problem))
    return None


def _keep(file, stored):
    try:
        keep(file, stored)
    except OSError as problem:  # a full disk is no reason to stop
        say_that_nothing_is_kept(str(problem))


@functools.cache
def say_that_nothing_is_kept(problem):
    log.warning(
        "compiled row kernels cannot be kept, every process compiles them anew (%s): set "
        "GPUBOOST_CACHE_DIR to a folder that can be written to",
        problem,
    )


@functools.cache
def say_that_the_driver_compiles(problem, ptx_version):
    log.warning(
        "row kernels go to the driver as PTX %s, which a driver older than that refuses, as they "
        'cannot be linked here (%s): pip install ".[cuda12]" or ".[cuda13]" brings nvJitLink',
        ptx_version,
        problem,
    )
