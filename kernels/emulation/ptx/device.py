"""Launches of compiled kernels: what the emulated device calls in place of its own."""

import functools
import zlib
from collections import Counter
from dataclasses import dataclass

from gpuboost.kernels.emulation.control import counters, settings
from gpuboost.kernels.emulation.ptx.compilers import compile_ptx, compile_row_kernel
from gpuboost.kernels.emulation.ptx.library import library_of


@dataclass(frozen=True)
class Target:
    """An architecture, and the compiler that compiles for it."""

    architecture: int
    nvrtc: str

    def __str__(self):
        return f"sm_{self.architecture} {self.nvrtc}"


#: How often each kernel has been launched: {(target, kernel): number}.
launches = Counter()
#: Kernels that have been loaded: {(library, kernel): the first target it was loaded for}.
_loaded = {}


def target():
    """The target that the settings ask for."""
    return Target(int(settings.ptx.removeprefix("sm_")), settings.nvrtc)


@functools.cache
def _of_source(code, options, target):
    return library_of(compile_ptx(target.nvrtc, code, target.architecture, options))


@functools.cache
def _of_row_kernel(kernel, signature, target):
    text, name = compile_row_kernel(kernel, signature, target.architecture)
    return library_of(text), name


def parameter_sizes(code, options, kernel):
    """Bytes of each parameter of a kernel in a CUDA source."""
    return _of_source(code, options, target()).parameter_sizes(kernel)


def run_source(code, options, kernel, grid, block, arguments, shared_bytes, spans):
    """Run a kernel of a CUDA source; arguments are bytes, ``spans`` where arrays are."""
    here = target()
    _run(here, _of_source(code, options, here), kernel, kernel, grid, block, arguments,
         shared_bytes, spans)  # fmt: skip


def run_row_kernel(kernel, signature, grid, block, arguments, spans):
    """Run a row kernel for types of arguments."""
    here = target()
    library, name = _of_row_kernel(kernel, signature, here)
    _run(here, library, name, kernel.name, grid, block, arguments, 0, spans)


def _run(target, library, name, label, grid, block, arguments, shared_bytes, spans):
    launches[target, label] += 1
    _loaded.setdefault((library, name), (target, label))
    n = counters.launches.get(label, 0)
    # an order of its own for each launch, and the same one whenever the same is done again
    seed = zlib.crc32(f"{settings.seed} {label} {n}".encode())
    library.run(name, grid, block, arguments, shared_bytes, spans, settings.order, seed)


def coverage():
    """{(target, kernel, library): {(PTX line, number): run}} of all kernels in use.

    Texts that are the same for several targets are one library, and stand under the first.
    """
    return {
        (target, label, library): library.blocks(name)
        for (library, name), (target, label) in _loaded.items()
    }
