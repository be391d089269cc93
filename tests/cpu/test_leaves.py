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
    number_leaves(nodes, splits, leaf_of_label)
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
    g, h = rng.integers(-9, 9, 300).astype(float), rng.integers(1, 9, 300).astype(float)
    growth, weight = np.zeros(1, GROWTH).view(np.recarray), rng.integers(1, 3, 300).astype(float)
    growth["fine_gradient_unit"] = growth["fine_hessian_unit"] = 1.0
    growth["reg_lambda"] = 1.0
    labels, sums = np.empty(300, np.uint8), np.zeros((5, N_SUMS), np.int64)
    counter = np.zeros(1, np.int64)
    sum_by_labels(counter, columns, splits, leaf_of_label, rows, g, h, weight, growth, labels, sums)
    leaves = leaves_of(columns)
    np.testing.assert_array_equal(leaf_of_label[labels], leaves)
    for leaf in (1, 3, 4):
        own = rows[leaves[rows] == leaf]
        expected = [(g * weight)[own].sum(), (h * weight)[own].sum(), len(own)]
        assert sums[leaf].tolist() == expected
    values, cover = np.empty(5), np.empty(5)
    leaf_values(nodes, sums, growth, 0.5, None, values, cover)
    assert sums[0].tolist() == [(g * weight)[rows].sum(), (h * weight)[rows].sum(), len(rows)]
    np.testing.assert_allclose(values, -0.5 * sums[:, 0] / (sums[:, 1] + 1.0))
    np.testing.assert_array_equal(cover, sums[:, 1])


def test_values_are_added_to_rows_by_label_and_to_rows_of_another_matrix(tree, rng):
    nodes, splits, leaf_of_label = tree
    columns = rng.integers(0, 6, (2, 100)).astype(np.uint8)
    values, raw = rng.random(5), np.ones(100)
    walked = raw.copy()
    add_labelled(np.zeros(1, np.int64), columns, splits, leaf_of_label, values, raw)
    add_walked(np.zeros(1, np.int64), columns, nodes, values, walked)
    np.testing.assert_array_equal(walked, raw)
    np.testing.assert_array_equal(raw, 1 + values[leaves_of(columns)])
    labels = np.searchsorted(leaf_of_label, leaves_of(columns)).astype(np.int32)
    again = np.ones(100)
    add_leaf_values(np.zeros(1, np.int64), labels, leaf_of_label, values, again)
    np.testing.assert_array_equal(again, raw)


def test_rows_without_a_label_walk(tree, rng):
    nodes, _, leaf_of_label = tree
    columns = rng.integers(0, 6, (2, 100)).astype(np.uint8)
    labels = np.where(np.arange(100) % 2, -1, 7).astype(np.int32)
    walk_the_rest(np.zeros(1, np.int64), columns, nodes, leaf_of_label, labels)
    assert (labels[::2] == 7).all()
    np.testing.assert_array_equal(leaf_of_label[labels[1::2]], leaves_of(columns)[1::2])
