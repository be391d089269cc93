"""Buffers and threads of boosted trees."""

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import Summary
from gpuboost.exchange import LeafQuantile
from gpuboost.kernels.cpu import grower
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.boosting import Booster

NONE = np.empty(0)


def booster(backend, x, y, **options):
    params = BoostParams(**options)
    features = FeatureMap.of_numbers(x.shape[1]).with_cuts(Summary.of(x, NONE), 255, backend)
    binned = features.matrix(x, backend, by_rows=True)
    loss = OBJECTIVES["squared_error"]
    return Booster(features, binned, y, NONE, np.zeros(1), loss, params, 0, backend)


@pytest.fixture
def grown(backend, rng):
    """A booster that has grown one tree of up to four leaves, and its targets."""
    y = rng.random(300)
    boosting = booster(backend, rng.random((300, 3)), y, max_depth=2, learning_rate=1.0)
    boosting.round(0, [])
    return boosting, y


def test_leaf_values_are_medians_of_the_residuals_of_their_rows(grown):
    boosting, y = grown
    own, raw = boosting.grower, np.full((1, 300), 0.25)
    rows = np.arange(50, 300, dtype=np.int32)
    before = own.trees[-1].values.copy()
    weights, medians = (NONE, NONE, 1.0), [LeafQuantile(0.5, 0.0)]
    own.set_leaf_quantiles(rows, y[None], raw, weights, medians, boosting.growth, 0.5)
    nodes, values = own.trees[-1].nodes, own.trees[-1].values
    inner = nodes["left"] >= 0
    np.testing.assert_array_equal(values[inner], before[inner])
    leaf_of_row = own.leaf_of_label[own.labels[rows]]
    for leaf in np.unique(leaf_of_row):
        median = np.median(y[rows[leaf_of_row == leaf]] - 0.25)
        assert values[leaf, 0] == pytest.approx(0.5 * median, rel=1e-15)


def test_trees_are_handed_out_a_few_at_a_time(grown):
    boosting, _ = grown
    own = boosting.grower
    assert own.take_trees(everything=False) == []
    assert len(own.take_trees(everything=True)) == 1 and own.trees == []
    own.trees = list(range(grower.KEPT_TREES))
    assert own.take_trees(everything=False) == list(range(grower.KEPT_TREES))


@pytest.mark.parametrize(("small_work", "n_threads"), [(1, 2), (1 << 40, 1)])
def test_small_trees_are_grown_by_one_thread(small_work, n_threads, rng, monkeypatch):
    monkeypatch.setattr(grower, "SMALL_WORK", small_work)
    with get_backend("cpu", 2) as backend:
        assert booster(backend, rng.random((50, 2)), rng.random(50)).grower.threads == n_threads


def test_a_pool_that_is_too_small_for_all_nodes_has_spare_places(backend, rng, monkeypatch):
    x, y = rng.random((50, 2)), rng.random(50)
    whole = booster(backend, x, y, grow_policy="leafwise", max_leaves=20).grower
    assert whole.n_spare == 0
    monkeypatch.setattr(grower, "POOL_BYTES", 1)
    small = booster(backend, x, y, grow_policy="leafwise", max_leaves=20).grower
    assert (small.n_slots, small.n_spare) == (1, 4)
