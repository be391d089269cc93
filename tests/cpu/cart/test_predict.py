"""Rows that walk classical trees."""

import numpy as np

from gpuboost.dtypes import WALK_NODE
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.predict import (
    MAX_BLOCK,
    MIN_BLOCK,
    block_rows,
    find_leaves,
    sum_values,
    tree_medians,
)

compiled_block_rows = exposed(block_rows)


def a_tree():
    """x0 <= 1, then on the right the set {0, 70} of x1; missing values of x1 go left."""
    nodes = np.zeros(5, WALK_NODE).view(np.recarray)
    nodes.left[:], nodes.first_word[:] = [1, -1, 3, -1, -1], -1
    nodes.threshold[0] = 1.0
    nodes.feature[2], nodes.first_word[2], nodes.missing_left[2] = 1, 0, 1
    return nodes, np.array([1 << 1, 1 << (71 - 64)], np.uint64)


X = np.array([[0.0, 0], [1.0, 5], [2.0, 0], [2.0, 70], [2.0, 5], [2.0, np.nan], [np.nan, 5]])
LEAVES = [1, 1, 3, 3, 4, 3, 4]


def test_a_leaf_for_each_row():
    nodes, sets = a_tree()
    out = np.empty((7, 2), np.int32)
    twice = np.concatenate([nodes, nodes]), np.array([0, 2, 4]), np.concatenate([sets, sets])
    find_leaves(np.zeros(1, np.int64), X, np.array([0, 5, 10]), *twice, out)
    np.testing.assert_array_equal(out, np.stack([LEAVES, LEAVES], axis=1))


def test_values_are_added_up_by_the_weights_of_the_trees(rng):
    nodes, sets = a_tree()
    values, out, weights = rng.random((5, 3)), np.ones((7, 3)), np.array([0.5])
    begin, first_set = np.array([0, 5]), np.array([0, 2])
    trees = begin, nodes, values, first_set, sets, weights, 0, 1
    sum_values(np.zeros(1, np.int64), X, *trees, np.empty((0, 0), np.uint8), out)
    np.testing.assert_allclose(out, 1 + 0.5 * values[LEAVES])
    in_bag = np.array([[0, 1, 0, 1, 1, 0, 0]], np.uint8)
    sum_values(np.zeros(1, np.int64), X, *trees, in_bag, out)
    np.testing.assert_allclose(out, 1 + 0.5 * (2 - in_bag.T) * values[LEAVES])


def test_medians_of_what_trees_say():
    nodes, sets = a_tree()
    trees = np.array([0, 5, 10]), np.concatenate([nodes, nodes])
    values = np.arange(10.0)[:, None]
    arguments = *trees, values, np.array([0, 2, 4]), np.tile(sets, 2), np.array([1.0, 2.0])
    out = np.empty((2, 7))
    tree_medians(np.zeros(1, np.int64), X, *arguments, 0, 2, out)
    np.testing.assert_array_equal(out, [LEAVES, np.add(LEAVES, 5)])


def test_blocks_are_neither_too_small_nor_too_large():
    sizes = [compiled_block_rows(n) for n in (1, 16 * 1000, 10**7)]
    assert sizes == [MIN_BLOCK, 1000, MAX_BLOCK]
