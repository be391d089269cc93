"""From a ``.cu`` file and constants to launchable kernels."""

import functools
from importlib import resources

from gpuboost.dtypes import (
    ABSOLUTE,
    AUTOMATIC,
    BEST,
    ENTROPY,
    EXHAUSTIVE,
    IN_SET,
    LEAFWISE,
    MAX_EXHAUSTIVE,
    MIDPOINT,
    MISCLASSIFICATION,
    N_CODES,
    ONE_VS_REST,
    POISSON,
    RANDOM,
    SET_WORDS,
    SQUARES,
    SUM_BLOCK,
    SUM_LANES,
    SYMMETRIC,
    TIE,
)
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.records import c_structs
from gpuboost.scalar.formulas import LN2_HIGH, LN2_LOW, LOG2_E, SQRT_HALF
from gpuboost.scalar.selection import MEAN_ROOM, ROUNDING

#: --fmad=false: a fused multiply-add rounds once where the CPU rounds twice.
OPTIONS = ("--std=c++17", "--fmad=false")

#: Threads of a block, by kernel family; the occupancy they give is in
#: tests/cuda/compile_table.json.
THREADS = {
    "HISTOGRAM_THREADS": 512,
    "SCAN_THREADS": 128,
    "PARTITION_THREADS": 256,
    "LEAF_THREADS": 256,
    "GROWTH_THREADS": 256,
    "TREE_THREADS": 256,
}

FILES = (
    "histogram",
    "sparse",
    "split",
    "sets",
    "partition",
    "growth",
    "leaves",
    "leaf_quantiles",
    "reduce",
    "cart",
    "cart_search",
)

#: What stands in front of a file besides ``common.cuh``.
SHARED = {
    "split": ("splits.cuh",),
    "sets": ("splits.cuh",),
    "cart": ("cart.cuh",),
    "cart_search": (
        "cart.cuh",
        "cart_places.cuh",
        "cart_categories.cuh",
        "cart_distances.cuh",
    ),
}


#: What is compiled only for fits that have it: rules, and sets of categories.
RULES = ("constrained", "weighted", "grouped", "penalized", "forced", "categorical")


def source(name, group_features, count_rows, rules=(), sparse=False):
    """The whole text of a file: constants, records, common code, kernels.

    ``rules`` are some of ``RULES``.
    """
    if name == "sets":  # which are of nothing else
        rules = (*rules, "categorical")
    constants = {
        **THREADS,
        "N_CODES": N_CODES,
        "LANES": SUM_LANES,
        "SUM_BLOCK": SUM_BLOCK,
        "LEAFWISE": LEAFWISE,
        "SYMMETRIC": SYMMETRIC,
        "SQUARES": SQUARES,
        "ENTROPY": ENTROPY,
        "POISSON": POISSON,
        "MISCLASSIFICATION": MISCLASSIFICATION,
        "ABSOLUTE": ABSOLUTE,
        "BEST": BEST,
        "RANDOM": RANDOM,
        "MIDPOINT": MIDPOINT,
        "AUTOMATIC": AUTOMATIC,
        "EXHAUSTIVE": EXHAUSTIVE,
        "ONE_VS_REST": ONE_VS_REST,
        "MAX_EXHAUSTIVE": MAX_EXHAUSTIVE,
        "TIE": TIE,
        "LN2_HIGH": LN2_HIGH,
        "LN2_LOW": LN2_LOW,
        "LOG2_E": LOG2_E,
        "SQRT_HALF": SQRT_HALF,
        "GROUP_FEATURES": group_features,
        "COUNT_ROWS": int(count_rows),
        **{rule.upper(): int(rule in rules) for rule in RULES},
        "SPARSE": int(sparse),
        "IN_SET": IN_SET,
        "SET_WORDS": SET_WORDS,
        "ROUNDING": ROUNDING,
        "MEAN_ROOM": MEAN_ROOM,
    }
    defines = "".join(f"#define {key} {value}\n" for key, value in constants.items())
    texts = (_read(file) for file in ("common.cuh", *SHARED.get(name, ()), f"{name}.cu"))
    return "".join((defines, c_structs("categorical" in rules), *texts))


def _read(file):
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


@functools.cache
def module(name, group_features, count_rows, rules, sparse, device_id):
    """A compiled file for one device."""
    text = source(name, group_features, count_rows, rules, sparse)
    with cupy().cuda.Device(device_id):
        return cupy().RawModule(code=text, options=OPTIONS)


class Kernels:
    """All kernels for one layout of the codes, by name."""

    def __init__(self, group_features, count_rows, device_id, rules=(), sparse=False):
        self._layout = group_features, count_rows, tuple(rules), sparse, device_id
        self._functions = {}
        self._shared_room = {}  # of each kernel: bytes that it may ask for

    def launch(self, file, name, grid, block, args, shared_mem=0):
        """Launch a kernel on the current stream.

        Scalars must be numpy scalars of the parameter's type.
        """
        key = file, name
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = module(file, *self._layout).get_function(name)
            self._shared_room[key] = function.max_dynamic_shared_size_bytes
        if shared_mem > self._shared_room[key]:
            self._shared_room[key] = function.max_dynamic_shared_size_bytes = shared_mem
        function(grid, block, args, shared_mem=shared_mem)
