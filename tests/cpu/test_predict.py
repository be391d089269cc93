"""Prediction by walking, and by lists of splits."""

import numpy as np
import pytest

from gpuboost.dtypes import BY_SET
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.predict import label_block, list_splits

label_rows = exposed(label_block)


def test_trees_as_lists_of_splits():
    """Two trees: one of three leaves, one that is a leaf; a node says two numbers."""
    left = np.array([1, -1, 3, -1, -1, -1], np.int32)
    value = np.array([0.0, 10.0, 0.0, 20.0, 30.0, 40.0])[:, None] * [1.0, -1.0]
    node_of_split, asked = np.empty(2, np.int64), np.empty(2, np.int32)
    leaf_value = np.empty((2, 4))
    list_splits(np.array([0, 5, 6]), left, value, node_of_split, asked, leaf_value)
    assert node_of_split.tolist() == [0, 2] and asked.tolist() == [0, 1]
    # the left child keeps its label, the right one of split s has s + 1
    assert leaf_value.tolist() == [[10.0, 20.0, 30.0, 40.0], [-10.0, -20.0, -30.0, -40.0]]


@pytest.mark.parametrize("missing_left", [0, 1])
def test_labels_of_a_block(rng, missing_left):
    columns = rng.integers(0, 6, (2, 100)).astype(np.uint8)
    shift = np.full(2, 1 - missing_left, np.uint8)
    limit = np.array([3, 2], np.uint8) - shift
    labels = np.empty(100, np.uint8)
    label_rows(columns, np.array([0, 1]), shift, limit, np.array([0, 1], np.int32), None, labels)
    right = [
        (c > last) | ((c == 0) & (missing_left == 0))
        for c, last in zip(columns, (3, 2), strict=True)
    ]
    np.testing.assert_array_equal(labels, np.where(right[0], np.where(right[1], 2, 1), 0))


def test_labels_by_sets(rng):
    """The first split asks for a bin up to 3, the second one whether a code is in a set."""
    columns = rng.integers(0, 256, (2, 500)).astype(np.uint8)
    shift, limit = np.array([1, BY_SET], np.uint8), np.array([2, 0], np.uint8)
    chosen = rng.random(256) < 0.5
    sets = np.stack([np.packbits(chosen, bitorder="little").view(np.uint64)] * 2)
    labels = np.empty(500, np.uint8)
    label_rows(columns, np.array([0, 1]), shift, limit, np.array([0, 0], np.int32), sets, labels)
    right = (columns[0] > 3) | (columns[0] == 0)
    np.testing.assert_array_equal(labels, np.where(right, 1, np.where(chosen[columns[1]], 0, 2)))
