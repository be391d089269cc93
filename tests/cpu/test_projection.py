"""Trees that ignore a feature."""

import numpy as np
import pytest

from gpuboost.dtypes import WALK_NODE
from gpuboost.kernels.cpu.projection import project_tree


@pytest.mark.parametrize("ignored", [-1, 0, 1])
def test_a_cell_predicts_the_mean_of_the_rows_of_the_bag_that_reach_the_same_leaves(rng, ignored):
    """x0 <= 0.5, and on both sides x1 <= 0.5."""
    nodes = np.zeros(7, WALK_NODE).view(np.recarray)
    nodes.left[:], nodes.first_word[:] = [1, 3, 5, -1, -1, -1, -1], -1
    nodes.feature[1:3], nodes.threshold[:] = 1, 0.5
    x, y = rng.random((60, 2)), rng.random((60, 1))
    weight = rng.integers(0, 3, 60).astype(float)
    out = np.full((60, 1), np.nan)
    project_tree(x, nodes, np.zeros(0, np.uint64), ignored, weight, y, out)
    sides = np.where(np.arange(2) == ignored, 0, x > 0.5)
    for row in range(60):
        together = (sides == sides[row]).all(axis=1) & (weight > 0)
        expected = np.average(y[together, 0], weights=weight[together])
        assert np.isnan(out[row, 0]) if weight[row] else out[row, 0] == pytest.approx(expected)
