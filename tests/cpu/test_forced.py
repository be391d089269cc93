"""Forced splits of nodes: which are made, and what the children get."""

import numpy as np

from gpuboost.dtypes import DEPTHWISE, GROWTH, NODE, SYMMETRIC
from gpuboost.kernels.cpu import forced
from gpuboost.kernels.cpu._jit import exposed

TABLE = np.array([[4, 2, 1, -1], [3, 5, 2, 2], [0, 1, -1, -1]], np.int32)


def growth_of(order):
    growth = np.zeros(1, GROWTH)
    growth["order"] = order
    return growth.view(np.recarray)


def family():
    nodes = np.zeros(3, NODE).view(np.recarray)
    nodes.left[0], nodes.right[0] = 1, 2
    return nodes


def test_children_get_the_splits_of_their_side():
    given = forced.make_forced(TABLE, 3)
    for k, children in ((0, [1, -1]), (1, [2, 2]), (2, [-1, -1]), (-1, [-1, -1])):
        given.of_node[:] = k
        exposed(forced.hand_down_forced)(given, growth_of(DEPTHWISE), family(), 0)
        assert given.of_node[1:].tolist() == children


def test_levels_follow_one_another_and_nodes_have_none():
    given, growth = forced.make_forced(TABLE, 3), growth_of(SYMMETRIC)
    given.of_node[:] = 0
    for level in (1, 2, -1, -1):
        exposed(forced.hand_down_forced)(given, growth, family(), 0)
        exposed(forced.next_level)(given, growth)
        assert given.of_node.tolist() == [level, -1, -1]


def test_forced_splits_come_first():
    given = forced.make_forced(TABLE, 2)
    given.of_node[:] = -1, 1
    rank = exposed(forced.rank_gain)
    assert rank(given, 2.5, 0) == 2.5 and rank(given, -3.0, 1) == np.inf
    assert rank(None, 2.5, 1) == 2.5


def test_the_place_of_a_feature():
    assert exposed(forced.place_of)(np.array([1, 4, 9], np.int32), 9) == 2


def test_nothing_is_made_of_nothing():
    assert forced.make_forced(None, 3) is None
