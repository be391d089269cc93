"""How CPU kernels are compiled, and the two machine instructions numba has no name for."""

import functools

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from gpuboost import formulas

# nogil: our own threads run kernels side by side (numba's thread pool dies when two Python threads enter it, or after a fork).
# error_model numpy: no zero check before each division, so that loops vectorise. No fastmath: the order of operations is ours.
kernel = functools.partial(numba.njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)

# A function that only kernels call. Compilation time is what a new user waits for: no wrapper for Python here, and in kernels plain loops
# instead of slice assignment, sort, sum and the like, each of which costs up to two seconds to compile.
helper = functools.partial(kernel, no_cpython_wrapper=True)

for _name in ("exp", "log", "sigmoid", "softplus", "hash32", "threshold_l1", "leaf_weight", "leaf_score", "plain_score"):
    register_jitable(getattr(formulas, _name))


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of array[index] (flat index, contiguous array), without waiting for it."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(data, [args[1]]), byte_pointer)
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word]), "llvm.prefetch.p0"
        )
        builder.call(function, [address, word(0), word(3), word(1)])  # to read, keep in all caches, data
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@intrinsic
def take_number(typingctx, counter):
    """Return counter[0] and add one to it, atomically: how threads share out the tasks of a stage."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.IntType(64)(1), "monotonic")

    return types.int64(counter), codegen
