"""What numba does to compile a kernel here, and what is left out of it.

Left alone, numba optimises every helper and makes machine code of it, and does so again in each
function that calls it, up to the kernel: code at the bottom is gone over once for every level
above it. Here helpers stay as they were written down, and the kernels that take them in are
optimised, once and as a whole. Garbage collection, which would look at numba's many objects again
and again, waits meanwhile. docs/engine.md has the figures.
"""

import gc
import time
from contextlib import contextmanager

from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock

from gpuboost.progress import compilation


class _NoMachineCode:
    """Stands for numba's store of machine code, in which a helper has none."""

    @staticmethod
    def set_env(env_name, env):
        """Nothing: the variable that would be set is in the kernels' code only."""


class HelperCode(JITCodeLibrary):
    """Code of a helper and of the helpers that it calls, to be made part of kernels."""

    codegen = _NoMachineCode()

    def _optimize_final_module(self):
        """Not here: a kernel optimises all that it takes in."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """The address of a function that there is no machine code of."""
        self._ensure_finalized()
        return 0


class KernelCompiler(Compiler):
    """numba's compiler, which tells how long it takes and is not interrupted by the collector."""

    #: Functions whose compilation is worth a line on a terminal, and about how many seconds the
    #: compilation of all that follows it takes.
    expected_seconds = {}

    def compile_extra(self, func):
        """Compile a function."""
        with global_compiler_lock, _timed():
            seconds = self.expected_seconds.get(func)
            if seconds is not None:
                compilation.begins(seconds)
            result = super().compile_extra(func)
            if not self.state.flags.nrt:
                _check_references(self.state, func.__qualname__)
            return result


class HelperCompiler(KernelCompiler):
    """The same for helpers."""

    def compile_extra(self, func):
        """Compile a function to be made part of kernels."""
        self.state.library = HelperCode(self.state.targetctx.codegen(), func.__qualname__)
        result = super().compile_extra(func)
        if not self.state.flags.nrt and _has_arrays(result.signature.return_type):
            raise TypeError(f"{func.__qualname__} returns an array: it must be ``allocating``")
        return result


def _has_arrays(kind):
    """Whether values of a type are arrays, or tuples that have some in them."""
    if isinstance(kind, types.BaseTuple):
        return any(_has_arrays(part) for part in kind)
    return isinstance(kind, types.Array)


def _check_references(state, name):
    """Refuse a function that counts no references and is handed some: they were never given up."""
    for block in state.func_ir.blocks.values():
        for assigned in block.find_insts(ir.Assign):
            call = assigned.value
            if (
                isinstance(call, ir.Expr)
                and call.op == "call"
                and isinstance(state.typemap[call.func.name], types.Dispatcher)
                and _has_arrays(state.typemap[assigned.target.name])
            ):
                raise TypeError(f"{name} is handed arrays by a call: it must be ``allocating``")


@contextmanager
def _timed():
    """The time of a compilation, and no garbage collection meanwhile; only the outermost counts."""
    if not _timed.outermost:
        yield
        return
    collecting, start = gc.isenabled(), time.perf_counter()
    _timed.outermost = False
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # all there is counts as old: it is not gone over right now
            gc.freeze()
            gc.unfreeze()
        if collecting:
            gc.enable()
        _timed.outermost = True
        compilation.took(time.perf_counter() - start)


_timed.outermost = True  # changed only by who has the compiler's lock
