"""How CPU kernels are compiled, and what numba has no name for.

That is prefetching, atomic operations, and yielding the core.
"""

import functools
import glob
import hashlib
import os
import pickle
import sys
import threading
import warnings
from pathlib import Path

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, serialize
from numba.extending import intrinsic, overload, register_jitable

from gpuboost.kernels.cpu._compiler import HelperCompiler, KernelCompiler
from gpuboost.scalar import fixed_point, formulas, quantiles, rows, search, selection
from gpuboost.uninterrupted import uninterrupted

# nogil: our own threads run kernels side by side (numba's thread pool dies when two Python threads
# enter it, or after a fork). error_model numpy: no zero check before each division, so that loops
# vectorise. No fastmath: the order of operations is ours.
_jit = functools.partial(
    numba.njit,
    nogil=True,
    error_model="numpy",
    no_cfunc_wrapper=True,
    pipeline_class=KernelCompiler,
)


def _source_stamp():
    """A digest of everything that kernels are compiled from."""
    here, package = Path(__file__).parent, Path(formulas.__file__).parents[1]
    sources = [
        *sorted(here.glob("**/*.py")),
        package / "dtypes.py",
        *sorted((package / "scalar").glob("*.py")),
        *sorted((package / "objectives").glob("*.py")),
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


SOURCE_STAMP = _source_stamp()
#: Bytes of a checksum and of a stamp.
DIGEST_SIZE = 32


class KeptCode:
    """Machine code of one function, kept in files for the next process: what numba loads and saves.

    A file is a checksum, the stamp of the sources, and numba's data. numba takes kept code for
    current as long as the function's own file has not changed, whatever happened to the functions
    it calls in other files; here all sources count. A damaged file would end a fit with an error,
    or the process with a crash: it is compiled again instead.
    """

    STAMP = hashlib.sha256(f"{SOURCE_STAMP} {numba.__version__}".encode()).digest()

    def __init__(self, folder, name):
        self.folder, self.name = Path(folder), name

    def _path(self, key):
        return (
            self.folder / f"{self.name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        )

    def load(self, key):
        """The data saved under a key, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:  # not there, or not readable
            return None
        if hashlib.sha256(content[DIGEST_SIZE:]).digest() != content[:DIGEST_SIZE]:
            _warn_of_damage(str(path.parent))
            return None
        if content[DIGEST_SIZE : 2 * DIGEST_SIZE] != self.STAMP:
            return None
        saved_key, data = pickle.loads(content[2 * DIGEST_SIZE :])
        return data if saved_key == key else None

    def save(self, key, data):
        """Keep data under a key; the file appears all at once."""
        content = self.STAMP + serialize.dumps((key, data))
        path = self._path(key)
        draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
        try:
            draft.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(draft, path)
        except OSError:  # a full disk, say: compile in every process
            draft.unlink(missing_ok=True)

    def flush(self):
        """Forget what is kept."""
        for path in self.folder.glob(f"{glob.escape(self.name)}.*.nbc"):
            path.unlink(missing_ok=True)


@functools.cache
def _warn_of_damage(folder):
    """Say once that kept code is damaged."""
    warnings.warn(
        f"machine code that gpuboost keeps in {folder} is damaged; it is compiled again",
        RuntimeWarning,
        stacklevel=2,
    )


def kernel(function=None, *, seconds=None, makes_arrays=True):
    """Compile a kernel, and keep the machine code for the next process.

    ``makes_arrays`` says whether it does so itself, and not only helpers that it calls. ``seconds``
    is how long the compilation takes of this kernel and of those that a first fit compiles after
    it: a user is told.
    """
    if function is None:
        return functools.partial(kernel, seconds=seconds, makes_arrays=makes_arrays)
    if seconds is not None:
        KernelCompiler.expected_seconds[function] = seconds
    dispatcher = _jit(function, _nrt=makes_arrays)
    dispatcher.compile = uninterrupted(dispatcher.compile)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder to write to: compile in every process
        return dispatcher
    cache = dispatcher._cache
    cache._cache_file = KeptCode(cache.cache_path, cache._impl.filename_base)
    return dispatcher


# A function that only kernels call: there is no machine code of it by itself, no wrapper for
# Python, and nothing to keep. Compilation time is what a new user waits for: in kernels plain loops
# instead of slice assignment, sort, sum and the like, each of which costs up to two seconds.
# It makes no arrays: numba then leaves out the counts of references to them.
_part_of_kernels = {"no_cpython_wrapper": True, "pipeline_class": HelperCompiler, "_nrt": False}
helper = functools.partial(_jit, **_part_of_kernels)

# A helper that makes arrays.
allocating = functools.partial(helper, _nrt=True)

# A helper that is always made part of its caller: for functions that take many arrays, which cost
# more to hand over than the work they do.
inlined = functools.partial(helper, forceinline=True)


def jitable(function, **options):
    """Let kernels call a plain function, which Python and other devices use too."""
    return register_jitable(**_part_of_kernels, **options)(function)


def by_type(function, *, views=False):
    """A decorator: what it decorates picks the code of a helper by the types of its arguments.

    ``views`` are parts of arrays that it returns. It is then written into its callers before they
    are compiled, so that they count references to these, or do not.
    """
    compiled = {"error_model": "numpy", **_part_of_kernels, "_nrt": views}
    return overload(function, jit_options=compiled, inline="always" if views else "never")


def exposed(function):
    """A helper as a kernel that Python can call: for tests and benchmarks of a single stage."""
    return _jit()(function.py_func)


for _function in (
    formulas.exp,
    formulas.log,
    formulas.sigmoid,
    formulas.softplus,
    formulas.hash32,
    formulas.arrival,
    formulas.random_sign,
    formulas.may_be_split,
    formulas.power_of_two_below,
    formulas.unit_for,
    formulas.threshold_l1,
    formulas.leaf_weight,
    formulas.leaf_score,
    formulas.plain_score,
    formulas.score_at,
    formulas.within,
    fixed_point.pack_nearest,
    fixed_point.pack_at_random,
    quantiles.cut_between,
    selection.key_of,
    selection.value_of,
    selection.whole_weight,
    selection.is_reached,
    selection.is_edge,
):
    jitable(_function)
for _function in (
    search.first_from,
    rows.goes_left,
    rows.walk,
    rows.add_tree,
    rows.add_trees,
    rows.logistic,
    rows.logistic_of_each,
    rows.shares_of_powers,
    rows.softmax,
):
    jitable(_function, forceinline=True)
for _function in (
    rows.comes_before,
    rows.sift_down,
    rows.weighted_median,
    rows.medians_of_row,
):
    jitable(_function)


def _element(context, builder, signature, args):
    """Address of array[index]; the array and the index are the first two arguments."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of array[index] without waiting (flat index, contiguous array)."""

    def codegen(context, builder, signature, args):
        byte_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(_element(context, builder, signature, args), byte_pointer)
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word]),
            "llvm.prefetch.p0",
        )
        # to read, keep in all caches, data
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@intrinsic
def load_word(typingctx, array, index):
    """The eight bytes from array[index] on as one number, the first of them lowest.

    They need not be aligned, but must exist.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        address = builder.bitcast(_element(context, builder, signature, args), word.as_pointer())
        loaded = builder.load(address, align=1)
        if sys.byteorder == "big":
            swap = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(word, [word]), "llvm.bswap.i64"
            )
            loaded = builder.call(swap, [loaded])
        return loaded

    return types.uint64(array, types.uint64), codegen


@intrinsic
def store_word(typingctx, array, index, word):
    """Write a number into the eight bytes from array[index] on, the lowest byte first."""

    def codegen(context, builder, signature, args):
        value, bits = args[2], ir.IntType(64)
        address = builder.bitcast(_element(context, builder, signature, args), bits.as_pointer())
        if sys.byteorder == "big":
            swap = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(bits, [bits]), "llvm.bswap.i64"
            )
            value = builder.call(swap, [value])
        builder.store(value, address, align=1)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), codegen


@intrinsic
def lowest_bit(typingctx, word):
    """Place of the lowest bit of a word that is set; the word must not be 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), codegen


@intrinsic
def atomic_load(typingctx, array, index):
    """array[index] of an int64 array, in one order for all threads."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(
            _element(context, builder, signature, args), "seq_cst", 8, typ=ir.IntType(64)
        )

    return types.int64(array, types.int64), codegen


@intrinsic
def atomic_store(typingctx, array, index, value):
    """array[index] = value, in one order for all threads."""

    def codegen(context, builder, signature, args):
        builder.store_atomic(args[2], _element(context, builder, signature, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic
def atomic_add(typingctx, array, index, value):
    """array[index] += value, in one order for all threads."""

    def codegen(context, builder, signature, args):
        builder.atomic_rmw("add", _element(context, builder, signature, args), args[2], "seq_cst")
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic
def take_number(typingctx, counter):
    """Return counter[0] and add one to it, atomically.

    This is how threads share out the tasks of a stage.
    """

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.IntType(64)(1), "monotonic")

    return types.int64(counter), codegen


if sys.platform == "win32":

    @helper
    def let_others_run():
        """Nothing: the system has no call for it that is always at hand."""

else:
    _sched_yield = types.ExternalFunction("sched_yield", types.int32())

    @helper
    def let_others_run():
        """Give the core to another thread that is ready, if there is one."""
        _sched_yield()
