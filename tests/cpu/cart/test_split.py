"""The threshold that a split keeps."""

import numpy as np
import pytest
from numba import njit

from gpuboost.dtypes import TREE_NODE
from gpuboost.kernels.cpu.cart.split import settle_threshold


@njit
def settle(nodes, next_code, begin, lower, upper):
    settle_threshold(nodes[0], next_code, begin, lower, upper)


@pytest.mark.parametrize(
    ("drawn", "next_code", "threshold"),
    [
        (np.nan, 2, 4.0),  # none was drawn: in the middle of the gap
        (3.5, 2, 3.5),
        (3.0, 2, 3.0),  # the highest value on the left may be the threshold
        (5.0, 2, 4.0),  # the lowest on the right may not
        (1.0, 2, 4.0),
        (np.nan, 0, np.inf),  # no value on the right: all of them go left
    ],
)
def test_a_threshold_lies_between_the_values_of_both_sides(drawn, next_code, threshold):
    nodes = np.zeros(1, TREE_NODE).view(np.recarray)
    nodes["feature"], nodes["code"], nodes["threshold"] = 1, 1, drawn
    begin = np.array([0, 2, 5])
    lower = np.array([np.nan, 0.0, np.nan, 2.0, 5.0])
    upper = np.array([np.nan, 0.0, np.nan, 3.0, 6.0])
    settle(nodes, next_code, begin, lower, upper)
    assert nodes.threshold[0] == threshold
