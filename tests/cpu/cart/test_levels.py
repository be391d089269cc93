"""Trees that were grown level by level, numbered as if they had been grown depth first."""

import numpy as np

from gpuboost.dtypes import TREE_NODE
from gpuboost.kernels.cpu.cart.levels import order_nodes
from gpuboost.kernels.cpu.frontier import make_frontier


def test_the_left_child_of_a_node_is_split_before_the_right_one():
    """Both children of the root are split; the places are those of a second tree of a batch."""
    by_levels = np.zeros(8, TREE_NODE).view(np.recarray)
    by_levels.left[:] = [-1, 2, 4, 6, -1, -1, -1, -1]
    by_levels.right[:] = -1
    by_levels.gain[:] = np.arange(8)  # to tell nodes apart
    by_levels.feature[:] = -1
    for place, code in ((1, 2), (2, 1), (3, 3)):
        by_levels.feature[place], by_levels.code[place] = 0, code
        by_levels.threshold[place] = np.nan
    values = np.array([np.nan, 1.0, 2.0, 3.0, 4.0])
    next_code = np.array([0, 3, 2, 4, 0, 0, 0, 0], np.int32)
    frontier = make_frontier(8)
    out = np.zeros(7, TREE_NODE).view(np.recarray)
    order_nodes(by_levels, next_code, 1, np.array([0, 5]), values, values, frontier, out)
    assert out.gain.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert out.left.tolist() == [1, 3, 5, -1, -1, -1, -1]
    assert out.right.tolist() == [2, 4, 6, -1, -1, -1, -1]
    assert out.parent[1:].tolist() == [0, 0, 1, 1, 2, 2]
    assert out.threshold[:3].tolist() == [2.5, 1.5, 3.5]
