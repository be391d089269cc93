"""Trees that were grown level by level, numbered as if they had been grown node after node."""

import numpy as np

from gpuboost.dtypes import TREE_NODE
from gpuboost.kernels.cpu.cart.levels import order_nodes
from gpuboost.kernels.cpu.frontier import make_frontier

VALUES = np.array([np.nan, 1.0, 2.0, 3.0, 4.0])


def order(by_levels, next_code, root, n, max_leaves=0, sets=None):
    """The nodes of a tree of one feature with four values, and its sets."""
    sets = np.zeros((len(by_levels), 0), np.uint64) if sets is None else sets
    out, words = np.zeros(n, TREE_NODE).view(np.recarray), np.zeros(n, np.uint64)
    n_nodes, n_words = order_nodes(
        by_levels, next_code, sets, root, np.array([5], np.int32), np.array([0, 5]), VALUES,
        VALUES, max_leaves, make_frontier(n), np.zeros(n, np.int64), out, words,
    )  # fmt: skip
    return out[:n_nodes], words[:n_words]


def levels():
    """Three splits at places 1, 2 and 3, the first of which is the root of a second tree."""
    by_levels = np.zeros(8, TREE_NODE).view(np.recarray)
    by_levels.left[:] = [-1, 2, 4, 6, -1, -1, -1, -1]
    by_levels.gain[:] = np.arange(8)  # to tell nodes apart
    by_levels.feature[:] = -1
    for place, code in ((1, 2), (2, 1), (3, 3)):
        by_levels.feature[place], by_levels.code[place] = 0, code
        by_levels.threshold[place] = np.nan
    return by_levels, np.array([0, 3, 2, 4, 0, 0, 0, 0], np.int32)


def test_the_left_child_of_a_node_is_split_before_the_right_one():
    out, _ = order(*levels(), 1, 7)
    assert out.gain.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert out.left.tolist() == [1, 3, 5, -1, -1, -1, -1]
    assert out.right.tolist() == [2, 4, 6, -1, -1, -1, -1]
    assert out.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert out.threshold[:3].tolist() == [2.5, 1.5, 3.5]


def test_with_few_leaves_the_node_of_highest_gain_is_split_first():
    """The right child of the root has it; the left one keeps its split, which is not made."""
    out, _ = order(*levels(), 1, 7, max_leaves=3)
    assert out.gain.tolist() == [1, 2, 3, 6, 7]
    assert out.left.tolist() == [1, -1, 3, -1, -1]
    assert out.parent.tolist() == [-1, 0, 0, 2, 2]
    assert out.feature.tolist() == [0, 0, 0, -1, -1]
    alone, _ = order(*levels(), 1, 7, max_leaves=4)
    assert alone.left.tolist() == [1, 5, 3, -1, -1, -1, -1]


def test_sets_stand_in_the_order_in_which_splits_are_found():
    """The right child is looked at before the left one; a split that is not made has its set."""
    by_levels, next_code = levels()
    by_levels.code[[1, 2, 3]] = -1
    sets = np.arange(8, dtype=np.uint64)[:, None] * 10
    for max_leaves in (0, 2):
        out, words = order(by_levels, next_code, 1, 7, max_leaves, sets)
        assert words.tolist() == [10, 30, 20]
        assert out.first_word[:3].tolist() == [0, 2, 1]
