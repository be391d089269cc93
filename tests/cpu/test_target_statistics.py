"""Sums of targets by level as each row is reached."""

import numpy as np

from gpuboost.kernels.cpu.target_statistics import ordered_sums


def test_rows_get_the_sums_of_the_rows_before_them():
    order = np.array([3, 0, 1], np.int64)  # row 2 has no weight
    level = np.array([0, 1, 0, 0], np.int64)
    weight = np.array([1, 2, 0, 3], np.int64)
    target = np.array([[10, -1], [20, -2], [0, 0], [30, -3]], np.int64)
    level_weight, level_sum = np.zeros(2, np.int64), np.zeros((2, 2), np.int64)
    weight_before, sum_before = np.zeros(4, np.int64), np.zeros((4, 2), np.int64)
    ordered_sums(order, level, weight, target, level_weight, level_sum, weight_before, sum_before)
    assert weight_before.tolist() == [3, 0, 0, 0]
    assert sum_before.tolist() == [[30, -3], [0, 0], [0, 0], [0, 0]]
    assert level_weight.tolist() == [4, 2]
    assert level_sum.tolist() == [[40, -4], [20, -2]]
