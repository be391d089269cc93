"""Records as C structs: ``gpuboost/dtypes.py`` says once what they look like."""

import numpy as np

from gpuboost.dtypes import GROWTH, NODE, PAIR, SPLIT, TREE_GROWTH

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

#: A node of a classical tree that may be split.
OPEN_NODE = np.dtype(
    [
        ("begin", np.int64),  # its rows are rows[begin:end] of those of all trees of the batch
        ("end", np.int64),
        ("tree", np.int32),  # number in the batch
        ("key", np.uint32),  # of its random choices
    ],
    align=True,
)

#: The best split of such a node.
FOUND_SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("threshold", np.float64),  # where it was drawn; NaN: between two codes
        ("feature", np.int32),  # -1: no split
        ("code", np.int32),  # codes up to this one go left
        ("next_code", np.int32),  # the next code present behind it; 0: none
        ("n_left", np.int32),  # rows that go left
        ("missing_left", np.int32),
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
    "FoundSplit": FOUND_SPLIT,
}
_C_NAMES = {
    "f8": "double",
    "i8": "long long",
    "i4": "int",
    "u4": "unsigned int",
    "u1": "unsigned char",
}


def c_structs():
    """The text of all structs, inner ones first."""
    return "".join(_c_struct(name, dtype) for name, dtype in STRUCTS.items())


def _c_struct(name, dtype):
    fields = "".join(f"    {_c_type(dtype[field])} {field};\n" for field in dtype.names)
    check = (
        f'static_assert(sizeof({name}) == {dtype.itemsize}, "{name} is laid out as in numpy");\n'
    )
    return f"struct {name} {{\n{fields}}};\n{check}"


def _c_type(dtype):
    return (
        next(name for name, record in STRUCTS.items() if record == dtype)
        if dtype.names
        else _C_NAMES[dtype.str[1:]]
    )
