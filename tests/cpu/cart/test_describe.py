"""What nodes say: values and impurities."""

import numpy as np
import pytest

from gpuboost.dtypes import ABSOLUTE, ENTROPY, POISSON, SQUARES, TREE_NODE
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.describe import describe_nodes, median_of

compiled_median_of = exposed(median_of)


def nodes_of_a_stump(n, n_left):
    nodes = np.zeros(3, TREE_NODE).view(np.recarray)
    nodes.begin[:], nodes.end[:] = [0, 0, n_left], [n, n_left, n]
    nodes.left[:], nodes.right[:] = [1, -1, -1], [2, -1, -1]
    return nodes


def describe(nodes, rows, weight, classes, y, first_channel, criterion):
    value = np.empty((3, first_channel[-1]))
    node_weight, impurity = np.empty(3), np.empty(3)
    order = np.empty(len(rows), np.int32) if criterion == ABSOLUTE else None
    describe_nodes(
        nodes, rows, weight, classes, y, first_channel, criterion, order, node_weight, value,
        impurity,
    )  # fmt: skip
    return node_weight, value, impurity


@pytest.mark.parametrize("criterion", [SQUARES, POISSON, ABSOLUTE])
def test_numbers(rng, criterion):
    y, weight = rng.random((10, 1)) + 0.1, rng.integers(1, 4, 10).astype(float)
    rows, first = rng.permutation(10).astype(np.int32), np.array([0, 1], np.int32)
    nodes, none = nodes_of_a_stump(10, 4), np.empty((0, 1), np.int32)
    node_weight, value, impurity = describe(nodes, rows, weight, none, y, first, criterion)
    for node, own in enumerate((rows, rows[:4], rows[4:])):
        targets, w = y[own, 0], weight[own]
        mean = np.average(targets, weights=w)
        expected = {
            SQUARES: np.average((targets - mean) ** 2, weights=w),
            POISSON: np.average(targets * np.log(targets / mean), weights=w),
            ABSOLUTE: min(np.average(abs(targets - t), weights=w) for t in targets),
        }[criterion]
        assert node_weight[node] == w.sum() and impurity[node] == pytest.approx(expected)
        if criterion != ABSOLUTE:
            assert value[node, 0] == pytest.approx(mean)


def test_classes(rng):
    classes = rng.integers(0, 3, (10, 1)).astype(np.int32)
    rows, first = np.arange(10, dtype=np.int32), np.array([0, 3], np.int32)
    nodes, weight = nodes_of_a_stump(10, 6), np.ones(10)
    _, value, impurity = describe(nodes, rows, weight, classes, np.empty((0, 1)), first, ENTROPY)
    for node, own in enumerate((rows, rows[:6], rows[6:])):
        share = np.bincount(classes[own, 0], minlength=3) / len(own)
        np.testing.assert_allclose(value[node], share)
        known = share[share > 0]
        assert impurity[node] == pytest.approx(-(known * np.log2(known)).sum())


@pytest.mark.parametrize(
    ("y", "weight", "median"),
    [
        ([3.0], [1.0], 3.0),
        ([5.0, 1.0, 9.0], [1.0, 1.0, 1.0], 5.0),
        ([4.0, 1.0], [1.0, 1.0], 2.5),
        ([4.0, 1.0], [1.0, 3.0], 1.0),
        ([1.0, 2.0, 3.0], [1.0, 1.0, 2.0], 2.5),
    ],
)
def test_the_median_is_between_two_targets_when_the_halves_are_even(y, weight, median):
    y, weight = np.array(y), np.array(weight)
    rows, order = np.arange(len(y), dtype=np.int32), np.empty(len(y), np.int32)
    found, spread = compiled_median_of(rows, 0, len(y), y, weight, order)
    assert found == median and spread == np.average(abs(y - median), weights=weight)
