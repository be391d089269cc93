"""Rows of a node that is split."""

import numpy as np
import pytest
from numba import njit

from gpuboost.dtypes import TREE_NODE
from gpuboost.kernels.cpu.cart.partition import partition


@njit
def divide(matrix, at, stride, nodes, sets, rows, scratch):
    return partition(matrix, at, stride, nodes[0], sets, rows, scratch)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("nominal", [False, True])
def test_left_rows_come_first_and_both_sides_keep_their_order(rng, by_rows, missing_left, nominal):
    codes = rng.integers(0, 100, (2, 200)).astype(np.uint8)
    rows = np.sort(rng.choice(200, 90, replace=False)).astype(np.int32)
    before, own = rows.copy(), codes[1][rows]
    node = np.zeros(1, TREE_NODE).view(np.recarray)
    node["code"], node["first_word"], node["missing_left"] = 40, -1, missing_left
    left, sets = (own <= 40) & ((own > 0) | (missing_left == 1)), np.zeros(0, np.uint64)
    if nominal:
        node["code"], node["first_word"] = -1, 1
        sets = np.array([0, 0xFF00FF00FF00FF00, 0xF0F0F0F0F0], np.uint64)
        left = np.array([int(sets[1 + c // 64]) >> (int(c) % 64) & 1 for c in own], bool)
    matrix = np.ascontiguousarray(codes.T).reshape(-1) if by_rows else codes.reshape(-1)
    at, stride = (1, 2) if by_rows else (200, 1)
    n_left = divide(matrix, at, stride, node, sets, rows, np.empty(200, np.int32))
    assert n_left == left.sum()
    np.testing.assert_array_equal(rows, np.concatenate([before[left], before[~left]]))
