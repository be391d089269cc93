"""Prediction by walking, and by lists of splits."""

import numpy as np
import pytest

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
    label_rows(columns, np.array([0, 1]), shift, limit, np.array([0, 1], np.int32), labels)
    right = [
        (c > last) | ((c == 0) & (missing_left == 0))
        for c, last in zip(columns, (3, 2), strict=True)
    ]
    np.testing.assert_array_equal(labels, np.where(right[0], np.where(right[1], 2, 1), 0))
