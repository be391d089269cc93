"""What a prediction does with one row, in plain Python."""

import numpy as np
import pytest

from gpuboost.dtypes import WALK_NODE
from gpuboost.scalar.rows import add_value_trees, logistic, softmax


@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_row_walks_by_its_value_and_missing_ones_by_the_node(missing_left):
    nodes = np.zeros(3, WALK_NODE).view(np.recarray)
    nodes.left[:] = [1, -1, -1]
    nodes.threshold[0], nodes.missing_left[0] = 2.0, missing_left
    value = np.array([[0.0], [10.0], [20.0]])
    x, out = np.array([[1.0], [2.0], [2.5], [np.nan]]), np.ones((1, 4))
    for i in range(4):
        add_value_trees(i, x, np.array([0, 3]), nodes, value, 0, 1, out)
    assert out[0].tolist() == [11.0, 11.0, 21.0, 11.0 if missing_left else 21.0]


def test_trees_take_turns_with_the_outputs():
    nodes = np.zeros(4, WALK_NODE).view(np.recarray)
    nodes.left[:] = -1
    value, out = np.array([[1.0], [2.0], [4.0], [8.0]]), np.zeros((2, 1))
    add_value_trees(0, np.zeros((1, 1)), np.arange(5), nodes, value, 1, 4, out)
    assert out[:, 0].tolist() == [4.0, 10.0]


def test_logistic_probabilities_add_up_to_one(rng):
    raw, out = rng.normal(size=(1, 5)), np.empty((5, 2))
    for i in range(5):
        logistic(i, raw, 2.0, out)
    np.testing.assert_allclose(out[:, 1], 1 / (1 + np.exp(-2.0 * raw[0])))
    np.testing.assert_array_equal(out.sum(axis=1), 1.0)


def test_softmax_does_not_overflow(rng):
    raw, out = rng.normal(size=(3, 4)) + [0, 1000, -1000, 0], np.empty((4, 3))
    for i in range(4):
        softmax(i, raw, out)
    expected = np.exp(raw - raw.max(axis=0))
    np.testing.assert_allclose(out, (expected / expected.sum(axis=0)).T)
