"""Labels, sums and values of leaves."""

import numpy as np
import pytest

from gpuboost.dtypes import GROWTH, LABEL_SPLIT, NODE
from gpuboost.kernels.cpu.leaves import (
    N_SUMS,
    add_labelled,
    add_leaf_values,
    add_walked,
    leaf_values,
    number_leaves,
    sum_by_labels,
    walk_the_rest,
)


@pytest.fixture
def tree():
    """Root: bins of feature 0 up to 3 left. Its right child: bins of feature 1 up to 2."""
    nodes = np.zeros(5, NODE).view(np.recarray)
    nodes.left[:], nodes.right[:] = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    nodes["split"]["bin"][[0, 2]], nodes["split"]["feature"][2] = [3, 2], 1
    splits, leaf_of_label = np.zeros(2, LABEL_SPLIT).view(np.recarray), np.empty(3, np.int32)
    number_leaves(nodes, splits, None, leaf_of_label)
    return nodes, splits, leaf_of_label


def leaves_of(columns):
    """Missing values (bin 0) go right."""
    right = [(c > last) | (c == 0) for c, last in zip(columns, (3, 2), strict=True)]
    return np.where(right[0], np.where(right[1], 4, 3), 1)


def test_sums_by_labels_are_those_of_the_rows_the_tree_was_grown_on(tree, rng):
    nodes, splits, leaf_of_label = tree
    assert leaf_of_label.tolist() == [1, 3, 4]
    columns = rng.integers(0, 6, (2, 300)).astype(np.uint8)
    rows = np.flatnonzero(rng.random(300) < 0.5).astype(np.int32)
    shape = 2, 300
    g, h = rng.integers(-9, 9, shape).astype(float), rng.integers(1, 9, shape).astype(float)
    growth, weight = np.zeros(1, GROWTH).view(np.recarray), rng.integers(1, 3, 300).astype(float)
    growth["reg_lambda"] = 1.0
    units = np.array([[1.0, 1.0], [0.5, 2.0**-3]])
    labels, sums = np.empty(300, np.uint8), np.zeros((2, 5, N_SUMS), np.int64)
    counter = np.zeros(1, np.int64)
    tree = columns, splits, None, leaf_of_label
    sum_by_labels(counter, *tree, rows, g, h, weight, units, labels, sums)
    leaves = leaves_of(columns)
    np.testing.assert_array_equal(leaf_of_label[labels], leaves)
    values, cover = np.empty((5, 2)), np.empty(5)
    leaf_values(nodes, sums, growth, units, 0.5, None, values, cover)
    for node, own in ((0, rows), *((leaf, rows[leaves[rows] == leaf]) for leaf in (1, 3, 4))):
        g_sums, h_sums = ((a * weight)[:, own].sum(axis=1) for a in (g, h))
        np.testing.assert_array_equal(sums[:, node, :2] * units, np.stack([g_sums, h_sums], 1))
        assert (sums[:, node, 2] == len(own)).all() and cover[node] == h_sums.mean()
        np.testing.assert_allclose(values[node], -0.5 * g_sums / (h_sums + 1.0))


def test_values_are_added_to_rows_by_label_and_to_rows_of_another_matrix(tree, rng):
    nodes, splits, leaf_of_label = tree
    columns = rng.integers(0, 6, (2, 100)).astype(np.uint8)
    values, raw = rng.random((5, 3)), np.ones((3, 100))
    walked = raw.copy()
    add_labelled(np.zeros(1, np.int64), columns, splits, None, leaf_of_label, values, raw)
    add_walked(np.zeros(1, np.int64), columns, nodes, values, walked)
    np.testing.assert_array_equal(walked, raw)
    np.testing.assert_array_equal(raw, 1 + values[leaves_of(columns)].T)
    labels = np.searchsorted(leaf_of_label, leaves_of(columns)).astype(np.int32)
    again = np.ones((3, 100))
    add_leaf_values(np.zeros(1, np.int64), labels, leaf_of_label, values, again)
    np.testing.assert_array_equal(again, raw)


def test_rows_without_a_label_walk(tree, rng):
    nodes, _, leaf_of_label = tree
    columns = rng.integers(0, 6, (2, 100)).astype(np.uint8)
    labels = np.where(np.arange(100) % 2, -1, 7).astype(np.int32)
    walk_the_rest(np.zeros(1, np.int64), columns, nodes, leaf_of_label, labels)
    assert (labels[::2] == 7).all()
    np.testing.assert_array_equal(leaf_of_label[labels[1::2]], leaves_of(columns)[1::2])
