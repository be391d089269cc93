"""Weights and targets of the rows of a node."""

import numpy as np
import pytest

from gpuboost.dtypes import TREE_GROWTH
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.gather import gather_classes, gather_values

compiled_gather_classes = exposed(gather_classes)
compiled_gather_values = exposed(gather_values)

ROWS = np.array([4, 1, 3], np.int32)
WEIGHT = np.array([9, 2, 9, 4, 8])


@pytest.mark.parametrize(("classes", "same"), [([0, 1, 0, 1, 1], True), ([0, 1, 0, 1, 0], False)])
def test_classes(classes, same):
    classes = np.array(classes, np.int32)[:, None]
    weight, own, total = np.empty(3, np.int64), np.empty(3, np.int32), np.zeros(2)
    found = compiled_gather_classes(ROWS, WEIGHT, classes, 0.5, weight, own, total)
    assert found == (7.0, same)
    assert weight.tolist() == [8, 2, 4] and own.tolist() == classes[ROWS, 0].tolist()
    np.testing.assert_array_equal(total, 0.5 * np.bincount(classes[ROWS, 0], weight, 2))


@pytest.mark.parametrize(("ranks", "same"), [([0, 1, 0, 1, 1], True), ([0, 1, 0, 1, 2], False)])
def test_values(ranks, same):
    growth = np.zeros(1, TREE_GROWTH).view(np.recarray)
    growth["weight_unit"], growth["value_unit"] = 0.5, 0.25
    values = np.array([[10], [20], [30], [40], [60]])
    weight, own, total = np.empty(3, np.int64), np.empty(3, np.int64), np.zeros(1)
    ranks = np.array(ranks, np.int32)[:, None]
    found = compiled_gather_values(ROWS, WEIGHT, values, ranks, growth, weight, own, total)
    assert found == (7.0, same) and own.tolist() == [60, 20, 40] and total.tolist() == [30.0]
