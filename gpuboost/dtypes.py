"""Every array dtype and record layout of the engine, with the reason for each width.

The records are shared by all devices: a CUDA kernel reads the same bytes as its CPU twin.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

#: A bin is one byte: the bin matrix is what training reads most.
BIN = np.uint8

#: Bin 0 is the missing value, always. Value bins start at 1. With the missing bin at the bottom,
#: "goes right" is one unsigned comparison, ``uint8(bin - a) > b``, for both missing directions (see
#: ``kernels/cpu/partition.py``).

#: Codes of a bin.
N_CODES = 256

#: Most value bins a feature can have: one code is kept for the missing value.
MAX_VALUE_BINS = N_CODES - 1

#: Cells from one feature's histogram to the next: a constant, so that loops over features unroll,
#: and not a power of two. With 256 cells (2 KiB) the same bin of every other feature has the same
#: low 12 address bits; the processor then takes a load for dependent on an unrelated store, and
#: histograms of columns with few values take 10 times as long (3.8 instead of 0.37 ns an update).
HIST_STRIDE = 264

#: Row ids. Four bytes halve the traffic of the partition step; 2**31 rows of bins would need 2 GiB
#: a column anyway.
ROW = np.int32

#: A histogram cell and a row's gradient pair: ``(gradient << 32) + hessian``. Both halves stay
#: below 2**31 in sum (the scale sees to it), so one 64-bit addition adds both and never carries
#: from one into the other.
PACKED = np.int64

#: Fine sums behind the leaf values.
FINE = np.int64

#: Float sums are added in one order on every device (see ``kernels/cpu/gradients.py``): blocks of
#: rows, and running sums in a block.
SUM_BLOCK, SUM_LANES = 4096, 128

#: Growth orders.
DEPTHWISE, LEAFWISE, SYMMETRIC = 0, 1, 2

#: What a grower needs to know besides the data; one record, so that a kernel takes one argument.
GROWTH = np.dtype(
    [
        ("gradient_unit", np.float64),  # value of one gradient step: a power of two
        ("hessian_unit", np.float64),
        ("min_child_weight", np.float64),
        ("min_split_gain", np.float64),
        ("reg_lambda", np.float64),
        ("reg_alpha", np.float64),
        ("max_delta_step", np.float64),
        ("min_samples_leaf", np.int64),  # 1: not checked (a split with gain has rows on both sides)
        ("cat_smooth", np.float64),  # of sets of categories
        ("min_data_per_category", np.int64),
        ("max_cat_to_onehot", np.int32),
        ("max_cat_threshold", np.int32),
        ("order", np.int32),
        ("max_depth", np.int32),
        ("max_leaves", np.int32),
        ("level_features", np.int32),  # how many features each level may use
        ("node_features", np.int32),  # and each node
        ("leaves_per_step", np.int32),  # most nodes that leaf-wise growth splits at once
        ("max_steps", np.int32),  # a step splits some nodes: a level, or the best leaves
        ("column_key", np.uint32),  # key of this tree's column draws
        ("rounding_key", np.uint32),  # and of its rounding
    ],
    align=True,
)

#: Which rows a round keeps when they are drawn by their gradients (``scalar/sampling.py``).
SAMPLE = np.dtype(
    [
        ("scale", np.float64),  # of the sizes of gradients: a power of two
        ("full_size", np.float64),  # size that would be kept with probability 1, in steps
        ("share_at", np.float64),  # probability of the rows in the limit's bucket
        ("share_below", np.float64),
        ("bucket", np.int64),  # the limit: rows in buckets above it are kept for certain
    ],
    align=True,
)

#: The best split of a node: what the search writes.
SPLIT = np.dtype(
    [
        ("gain", np.float64),  # 0: no split
        ("left", PACKED),  # packed sums of the rows that go left
        ("feature", np.int32),  # -1: no split
        ("bin", np.uint8),  # bins up to this one go left
        ("missing_left", np.uint8),
    ],
    align=True,
)

#: Words of a set of codes: code c is bit c % 64 of word c // 64.
SET_WORDS = N_CODES // 64

#: Kinds of splits: up to a bin, or in a set of codes.
CUT, IN_SET = 0, 1

#: A split in fits that have categories, where it is of either kind. Records of other fits have no
#: room for sets: records of another type are compiled for themselves. What is new stands in
#: front, as numba takes a record that begins with the fields of another one for that one.
SET_SPLIT = np.dtype(
    [
        ("set", np.uint64, (SET_WORDS,)),  # codes that go left, 0 among them if missing ones do
        *((name, SPLIT[name]) for name in SPLIT.names or ()),
        ("kind", np.uint8),
    ],
    align=True,
)

#: A node while its tree grows.
NODE = np.dtype(
    [
        ("split", SPLIT),  # the best split, made or not
        ("sums", PACKED),  # packed sums of the node's rows
        ("begin", np.int64),  # its rows are rows[begin:end], if they were moved there
        ("end", np.int64),
        ("depth", np.int32),
        ("left", np.int32),  # -1: a leaf
        ("right", np.int32),
        ("slot", np.int32),  # its histogram in the pool, -1: none kept
        ("first_part", np.int32),  # buffers in the pool with further parts of it, to be added
        ("n_parts", np.int32),
        ("open", np.int32),  # 1: may still be split
    ],
    align=True,
)

#: The same in fits that have categories.
SET_NODE = np.dtype(
    [
        ("split", SET_SPLIT),
        *((name, NODE[name]) for name in (NODE.names or ())[1:]),
    ],
    align=True,
)

#: One piece of a node's rows, the unit of parallel partition.
PIECE = np.dtype(
    [
        ("begin", np.int64),
        ("end", np.int64),
        ("n_left", np.int64),  # found by the first pass
        ("left_at", np.int64),  # where the second pass puts them
        ("right_at", np.int64),
        ("node", np.int32),
    ],
    align=True,
)

#: A part of a node's rows whose histogram one task builds, and the buffer it builds it in.
CHUNK = np.dtype([("begin", np.int64), ("end", np.int64), ("buffer", np.int32)], align=True)

#: How far the growth of a tree has come.
PROGRESS = np.dtype(
    [
        ("n_nodes", np.int32),
        ("n_leaves", np.int32),
        ("level", np.int32),  # levels finished (symmetric growth)
        ("n_free", np.int32),  # free slots in the histogram pool
        ("n_chosen", np.int32),  # nodes being split in this step
        ("n_moving", np.int32),  # those of them whose rows are partitioned
        ("n_pieces", np.int32),
        ("n_pairs", np.int32),  # pairs of children whose histograms are due
        ("first_pair", np.int32),  # those of them in hand
        ("end_pair", np.int32),
        ("n_chunks", np.int32),
        ("n_rows_due", np.int64),  # rows to go over for the pairs in hand
        ("n_rows_moving", np.int64),  # their rows
    ],
    align=True,
)

#: Two siblings whose histograms are due. Only the smaller one is built from its rows if the
#: parent's histogram is still there.
PAIR = np.dtype(
    [
        ("small", np.int32),
        ("large", np.int32),  # -1: none (the root)
        ("inherits", np.int32),  # 1: the larger one's slot holds the parent's histogram
    ],
    align=True,
)

#: A split in a tree written as a list of splits: asks the rows of one label; those that go right
#: get the next unused label.
LABEL_SPLIT = np.dtype(
    [
        ("feature", np.int32),
        ("asked", np.int32),
        ("shift", np.uint8),  # a bin goes right when uint8(bin - shift) > limit
        ("limit", np.uint8),
    ],
    align=True,
)

#: In the place of a shift: a code goes right when it is not in the split's set.
BY_SET = 2

#: Criteria of classical trees. Gini impurity and squared error are one: both are decided by sums of
#: squares.
SQUARES, ENTROPY, POISSON, MISCLASSIFICATION, ABSOLUTE = 0, 1, 2, 3, 4

#: A score has to be higher by this part to count as higher: ties go to the lowest (feature, cut),
#: whatever the rounding of the division.
TIE = 2.0**-44

#: How a classical tree finds the cut of a feature: the best one, one at random, the middle of the
#: cell.
BEST, RANDOM, MIDPOINT = 0, 1, 2

#: How the categories of a nominal feature are divided: in an order that is best for two classes and
#: for numbers, one against the others, or in every way; AUTOMATIC takes every way if there are few
#: categories and three classes or more, else the order.
AUTOMATIC, FISHER, ONE_VS_REST, EXHAUSTIVE = 0, 1, 2, 3

#: Most categories that are divided in every possible way: 511 ways.
MAX_EXHAUSTIVE = 10

#: Counters under which the key of a node of a classical tree gives the keys of its children. Those
#: of its draws of features are 3 k, those of the cuts of features 3 f + 2: none serves twice.
LEFT_CHILD, RIGHT_CHILD = 1, 4

#: What the grower of a classical tree needs to know besides the data.
TREE_GROWTH = np.dtype(
    [
        ("weight_unit", np.float64),  # value of one step of the fixed-point weights: a power of two
        ("value_unit", np.float64),  # and of weight times target
        ("min_weight_leaf", np.float64),
        ("min_gain", np.float64),
        ("min_samples_split", np.int64),
        ("min_samples_leaf", np.int64),
        # of nominal features with more than MAX_EXHAUSTIVE categories: rows of the node that make a
        # category one of its own, rows of the node's mean that are added to each, and categories
        # that the smaller side may have
        ("min_data_per_category", np.int64),
        ("cat_smooth", np.float64),
        ("max_cat_threshold", np.int64),
        ("criterion", np.int32),
        ("splitter", np.int32),
        ("division", np.int32),  # of nominal features
        ("max_depth", np.int32),
        # 0: no limit, growth goes depth first; else the node of highest gain is split first
        ("max_leaves", np.int32),
        ("max_features", np.int32),
        ("key", np.uint32),
    ],
    align=True,
)

#: How far the growth of a classical tree has come.
TREE_PROGRESS = np.dtype(
    [
        ("n_nodes", np.int64),
        ("n_leaves", np.int64),
        ("n_open", np.int64),  # nodes that can be split
        ("first_new", np.int64),  # nodes from here on have not been looked at
        ("n_words", np.int64),  # words of the sets of categories
        ("n_looked", np.int64),  # new nodes that have been looked at, the last one first
        # of the node in hand: features that have been looked at (0: it was not interrupted), and
        # those of them that vary
        ("n_seen", np.int64),
        ("n_tried", np.int64),
        ("done", np.int64),  # work since the growth was last gone on with
    ],
    align=True,
)

#: The best split of a node of a classical tree so far.
TREE_BEST = np.dtype(
    [
        ("score", np.float64),
        ("threshold", np.float64),  # where it was drawn, or NaN
        ("feature", np.int64),  # -1: none
        ("code", np.int64),  # -1 for a set
        ("next_code", np.int64),  # the next code present behind it; 0: none
        ("missing_left", np.bool_),
    ],
    align=True,
)

#: A node of a classical tree.
TREE_NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("gain", np.float64),  # decrease of weight times impurity
        ("begin", np.int64),  # its rows are rows[begin:end]
        ("end", np.int64),
        ("feature", np.int32),  # of the best split, made or not; -1: there is none
        # codes up to this one go left; -1: the categories that go left are in a set
        ("code", np.int32),
        ("first_word", np.int32),  # where the set is
        ("left", np.int32),  # -1: a leaf
        ("right", np.int32),
        ("parent", np.int32),
        ("depth", np.int32),
        ("key", np.uint32),  # of its random choices; depends on the path to it alone
        ("missing_left", np.uint8),
    ],
    align=True,
)

#: A node of a classical tree as prediction reads it: one cache line holds it. The right child
#: stands behind the left one.
WALK_NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),
        ("left", np.int32),  # -1: a leaf
        ("first_word", np.int32),
        ("missing_left", np.uint8),
    ],
    align=True,
)


def record_of(dtype: np.dtype, fields: Mapping[str, Any]) -> np.ndarray:
    """An array with one record; fields that are not named are 0."""
    record = np.zeros(1, dtype)
    for name, value in fields.items():
        record[name] = value
    return record
