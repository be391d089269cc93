"""Features and cuts that are drawn."""

import numpy as np
import pytest

from gpuboost.dtypes import TREE_NODE
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.cart.chance import cell_middle, draw_feature, last_below, uniform

compiled_cell_middle = exposed(cell_middle)
compiled_last_below = exposed(last_below)
compiled_uniform = exposed(uniform)

draw = exposed(draw_feature)


def test_uniform_numbers_fill_the_unit_interval():
    drawn = np.array([compiled_uniform(np.uint32(3), i) for i in range(2000)])
    assert drawn.min() >= 0 and drawn.max() < 1 and abs(drawn.mean() - 0.5) < 0.03


def first_drawn(n, probability, n_keys=2000):
    counts = np.zeros(n)
    for key in range(n_keys):
        features = np.arange(n, dtype=np.int32)
        assert draw(features, 0, np.uint32(key), probability)
        assert sorted(features) == list(range(n))
        counts[features[0]] += 1
    return counts / n_keys


def test_features_are_drawn_evenly_or_by_their_probabilities():
    np.testing.assert_allclose(first_drawn(4, np.empty(0)), 0.25, atol=0.05)
    np.testing.assert_allclose(
        first_drawn(3, np.array([0.7, 0.0, 0.3])), [0.7, 0.0, 0.3], atol=0.05
    )


def test_features_without_probability_are_never_drawn():
    features = np.array([1, 0, 2], np.int32)
    probability = np.array([0.0, 1.0, 0.0])
    assert draw(features, 0, np.uint32(1), probability) and features[0] == 1
    assert not draw(features, 1, np.uint32(1), probability)


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 1.5, 4.0, 9.0])
def test_codes_below_a_threshold(threshold):
    upper, present = np.arange(6.0), np.array([0, 1, 2, 4, 5], np.int32)
    expected = sum(upper[code] <= threshold for code in present[1:])
    assert compiled_last_below(threshold, upper, present, 4) == expected


def test_the_middle_of_a_cell_is_between_the_splits_above_it():
    nodes = np.zeros(3, TREE_NODE).view(np.recarray)
    nodes.parent[:] = [-1, 0, 1]
    nodes.feature[:2], nodes.threshold[:2] = [0, 0], [6.0, 2.0]
    nodes.left[:2], nodes.right[:2] = [1, 9], [9, 2]  # left of 6, then right of 2
    begin, n_codes = np.array([0, 3, 6]), np.array([3, 3], np.int32)
    lower = upper = np.array([np.nan, 0.0, 10.0, np.nan, -4.0, 4.0])
    middles = [
        compiled_cell_middle(begin, n_codes, lower, upper, nodes, node, f)
        for node, f in [(0, 0), (1, 0), (2, 0), (2, 1)]
    ]
    assert middles == [5.0, 3.0, 4.0, 0.0]
