"""Rows by level, and means of the rows before each row."""

import numpy as np

from gpuboost.kernels.cpu.target_statistics import ordered_means, sort_by_code


def test_rows_get_the_means_of_the_rows_before_them():
    rows = np.array([3, 0, 1], np.int32)  # row 2 has no weight
    key = np.array([4, 7, 4, 4], np.int64)
    weight = np.array([1, 2, 0, 3], np.int64)
    target = np.array([[10, -1], [20, -2], [0, 0], [30, -3]], np.int64)
    mean = np.full((4, 2), 9.0, np.float32)
    keys, weights, sums = np.empty(3, np.int64), np.empty(3, np.int64), np.empty((3, 2), np.int64)
    units, prior = (0.5, np.array([1.0, 2.0])), np.array([1.0, 0.5])
    n = ordered_means(rows, key, weight, target, *units, prior, 1.0, mean, keys, weights, sums)
    first = [31 / 2.5, -5.5 / 2.5]  # after row 3, which weighs 1.5
    assert mean.tolist() == np.array([first, [1, 0.5], [9, 9], [1, 0.5]], np.float32).tolist()
    assert keys[:n].tolist() == [4, 7]
    assert weights[:n].tolist() == [4, 2]
    assert sums[:n].tolist() == [[40, -4], [20, -2]]


def test_rows_of_one_code_stay_in_order():
    code, rows = np.array([2, 0, 2, 1, 0], np.int32), np.array([4, 2, 1, 0], np.int32)
    out = np.empty(4, np.int32)
    sort_by_code(rows, code, 3, out)
    assert out.tolist() == [4, 1, 2, 0]
