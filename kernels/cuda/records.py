"""Records as C structs: ``gpuboost/dtypes.py`` says once what they look like."""

import numpy as np

from gpuboost.dtypes import GROWTH, NODE, PAIR, SET_NODE, SET_SPLIT, SPLIT, TREE_GROWTH

#: How far the growth of a tree has come, on the device.
STATE = np.dtype(
    [
        ("n_nodes", np.int32),
        ("n_leaves", np.int32),
        ("level", np.int32),  # steps begun
        ("n_free", np.int32),  # free histogram slots
        ("n_chosen", np.int32),  # nodes being split in this step
        ("n_pairs", np.int32),  # pairs of children whose histograms are due
        ("n_built", np.int32),  # nodes whose histograms are built from rows
    ],
    align=True,
)

#: A node of a classical tree in the work of a step: it may be split, or its rows are divided.
OPEN_NODE = np.dtype(
    [
        ("begin", np.int64),  # its rows are rows[begin:end] of those of all trees of the batch
        ("end", np.int64),
        ("tree", np.int32),  # number in the batch
        ("key", np.uint32),  # of its random choices
        ("split", np.int32),  # to be divided: the place of its split among those of the last step
        (
            "first_tile",
            np.int32,
        ),  # of a node with many rows: tiles of all such are numbered through
        ("number", np.int32),  # among the nodes of the batch; by it its BRANCH is found
    ],
    align=True,
)

#: What a search says of one feature that a node tries.
FEATURE_CUT = np.dtype(
    [
        ("score", np.float64),  # of both sides of the best cut; -inf: there is none
        ("node_score", np.float64),  # of the node before it is split
        ("threshold", np.float64),  # where it was drawn; NaN: between two codes
        ("feature", np.int32),  # -1: no feature is left to be drawn
        ("state", np.int32),  # see cart.cuh
        ("code", np.int32),  # codes up to this one go left; -1: those of a set
        ("next_code", np.int32),  # the next code present behind it; 0: none
        ("n_left", np.int32),  # rows that go left
        ("missing_left", np.int32),
    ],
    align=True,
)

#: The best split of a node: of the features tried so far, or of enough of them.
FOUND_SPLIT = np.dtype(
    [
        ("gain", np.float64),  # the score of the cut while features are tried
        ("node_score", np.float64),
        ("threshold", np.float64),
        ("feature", np.int32),  # -1: no split
        ("code", np.int32),
        ("next_code", np.int32),
        ("n_left", np.int32),
        ("missing_left", np.int32),
        ("n_tried", np.int32),  # features that were not constant
    ],
    align=True,
)

#: How a node came about (midpoint splitter): its place is the node's number.
BRANCH = np.dtype(
    [
        ("threshold", np.float64),  # of the split above it
        ("feature", np.int32),
        ("above", np.int32),  # number of the node above; -1: there is none
        ("is_left", np.int32),
    ],
    align=True,
)

#: What ``search_features`` in cart_search.cu needs to know besides the data.
SEARCH_SIZES = np.dtype(
    [
        ("n_rows", np.int64),
        ("block_bytes", np.int64),  # memory of a block
        (
            "n_places",
            np.int32,
        ),  # most codes that a node may have present, the missing value included
        ("n_cell", np.int32),  # sums of each
        ("n_cuts", np.int32),  # most cuts that are compared at once
        ("n_chunk_cells", np.int32),  # further sums of a block (absolute error)
        ("n_outputs", np.int32),
        ("n_ranks", np.int32),
        ("with_classes", np.int32),
        ("code_bytes", np.int32),  # of a code: 1 or 4
        ("set_words", np.int32),  # of a set of categories
        ("in_shared", np.int32),  # whether a block's memory is shared memory
    ],
    align=True,
)

#: What is known of the key that is looked for in a leaf.
KEY_SEARCH = np.dtype(
    [
        ("key", np.uint64),  # its digits found so far
        ("next", np.uint64),  # the lowest key above it
        ("before", np.int64),  # weight of the keys that begin lower
        ("upto", np.int64),  # weight of the keys up to it
        ("total", np.int64),  # weight of all keys of the leaf
        ("away", np.int64),  # sum of the limited distances from the quantile, times weights
    ],
    align=True,
)

STRUCTS = {
    "Growth": GROWTH,
    "Split": SPLIT,
    "Node": NODE,
    "Pair": PAIR,
    "State": STATE,
    "TreeGrowth": TREE_GROWTH,
    "OpenNode": OPEN_NODE,
    "FeatureCut": FEATURE_CUT,
    "FoundSplit": FOUND_SPLIT,
    "Branch": BRANCH,
    "SearchSizes": SEARCH_SIZES,
    "KeySearch": KEY_SEARCH,
}
_C_NAMES = {
    "f8": "double",
    "i8": "long long",
    "i4": "int",
    "u8": "unsigned long long",
    "u4": "unsigned int",
    "u1": "unsigned char",
}


#: Those that are others in fits with categories.
WITH_SETS = {"Split": SET_SPLIT, "Node": SET_NODE}


def c_structs(categorical=False):
    """The text of all structs, inner ones first."""
    structs = STRUCTS | WITH_SETS if categorical else STRUCTS
    return "".join(_c_struct(name, dtype, structs) for name, dtype in structs.items())


def _c_struct(name, dtype, structs):
    fields = "".join(f"    {_c_field(field, dtype[field], structs)};\n" for field in dtype.names)
    check = (
        f'static_assert(sizeof({name}) == {dtype.itemsize}, "{name} is laid out as in numpy");\n'
    )
    return f"struct {name} {{\n{fields}}};\n{check}"


def _c_field(name, dtype, structs):
    if dtype.names:
        return f"{next(own for own, record in structs.items() if record == dtype)} {name}"
    base, length = (dtype.base, f"[{dtype.shape[0]}]") if dtype.shape else (dtype, "")
    return f"{_C_NAMES[base.str[1:]]} {name}{length}"
