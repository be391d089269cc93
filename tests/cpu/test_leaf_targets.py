"""Quantiles of the targets that share a leaf with a row."""

import numpy as np
import pytest

from gpuboost.kernels.cpu.leaf_targets import leaf_quantiles


@pytest.mark.parametrize("n_trees", [1, 3])
def test_quantiles_are_those_of_the_shares_over_all_trees(rng, n_trees):
    """Trees of two leaves; a tree puts every training row into one of them."""
    n, targets = 30, np.sort(rng.random(30))
    leaf = rng.integers(0, 2, (n_trees, n))
    leaf[:, 0], leaf[:, 1] = 0, 1
    lists = [np.flatnonzero(leaf[t] == k) for t in range(n_trees) for k in range(2)]
    begin = np.concatenate([[0], np.cumsum([len(own) for own in lists])])
    share = np.concatenate([np.full(len(own), 1 / len(own)) for own in lists])
    leaves = rng.integers(0, 2, (8, n_trees)).astype(np.int32)
    wanted, out = np.array([0.0, 0.3, 0.5, 1.0]), np.empty((8, 4))
    leaf_quantiles(
        np.zeros(1, np.int64), leaves, 2 * np.arange(n_trees + 1), begin,
        np.concatenate(lists).astype(np.int32), share, np.arange(n, dtype=np.int32), targets,
        wanted, out,
    )  # fmt: skip
    for row in range(8):
        weight = np.zeros(n)
        for t in range(n_trees):
            own = lists[2 * t + leaves[row, t]]
            weight[own] += 1 / len(own) / n_trees
        reached = np.cumsum(weight)
        for q, found in zip(wanted, out[row], strict=True):
            assert found == targets[np.flatnonzero((reached >= q - 1e-9) & (weight > 0))[0]]
