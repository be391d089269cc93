"""Pruning from the bottom, against a definition by hand and in fits on both devices."""

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.config import BoostParams
from gpuboost.dtypes import NODE
from gpuboost.exchange import BoostedTree
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.prune import check_pruning, pruned

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (500, 2)).astype(float)
X = np.column_stack([X, RNG.normal(size=500)])
# the first split gains little, those below it much
Y = (X[:, 0] != X[:, 1]) ^ (RNG.random(500) < 0.1)
WEIGHT = RNG.exponential(size=500)


def record(left, gain):
    """A tree whose nodes have their numbers as values."""
    nodes = np.zeros(len(left), NODE)
    nodes["left"] = left
    nodes["right"] = np.where(nodes["left"] >= 0, nodes["left"] + 1, -1)
    nodes["split"]["gain"] = gain
    number = np.arange(len(left), dtype=float)
    return BoostedTree(nodes, number[:, None], number, number.astype(np.int64))


@pytest.mark.parametrize(
    ("least", "values", "left"),
    [
        (0.5, [0, 1, 2, 3, 4, 5, 6], [1, 3, 5, -1, -1, -1, -1]),
        (2.0, [0, 1, 2, 5, 6], [1, -1, 3, -1, -1]),  # the root stays, for what is below it
        (3.0, [0], [-1]),
    ],
)
def test_splits_above_leaves_go_first(least, values, left):
    tree = pruned(record([1, 3, 5, -1, -1, -1, -1], [1.0, 2.0, 3.0, 0, 0, 0, 0]), least)
    assert tree.values[:, 0].tolist() == tree.cover.tolist() == tree.counts.tolist() == values
    assert tree.nodes["left"].tolist() == left
    assert tree.nodes["right"].tolist() == [i + 1 if i >= 0 else -1 for i in left]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_low_gains_stay_above_higher_ones(device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    options = {"n_estimators": 4, "max_depth": 5, "subsample": 0.8, "device": device}
    options |= {"min_split_gain": 20.0}
    fit = {"sample_weight": WEIGHT, "eval_set": (X, Y)}
    model = gb.GPUBoostClassifier(prune=True, **options).fit(X, Y, **fit)
    grown = gb.GPUBoostClassifier(**options | {"min_split_gain": 0.0}).fit(X, Y, **fit)
    first, whole = model.ensemble_.trees[0], grown.ensemble_.trees[0]
    assert 1 < first.n_leaves < whole.n_leaves
    inner = first.left >= 0
    lowest = inner & ~np.isin(first.left, np.flatnonzero(inner))
    lowest &= ~np.isin(first.right, np.flatnonzero(inner))
    assert (first.gain[lowest] > 20).all() and first.gain[inner].min() <= 20
    assert set(first.value.ravel()) <= set(whole.value.ravel())
    loss = -np.log(np.where(Y, *model.predict_proba(X).T[::-1])).mean()
    assert loss == pytest.approx(model.evals_result_["validation_0"]["logloss"][-1], rel=1e-9)
    cpu = gb.GPUBoostClassifier(prune=True, **options | {"device": "cpu"}).fit(X, Y, **fit)
    assert cpu.fingerprint() == model.fingerprint()


def test_refusals():
    for options, message in (
        ({"prune": True}, "prune needs a min_split_gain above 0"),
        ({"prune": True, "min_split_gain": 1.0, "grow_policy": "symmetric"}, "prune must be False"),
    ):
        with pytest.raises(ValueError, match=message):
            gb.GPUBoostRegressor(**options).fit(X, Y)
    medians = OBJECTIVES["absolute_error"]
    with pytest.raises(ValueError, match="prune must be False with objective 'absolute_error'"):
        check_pruning(BoostParams(prune=True, min_split_gain=1.0), medians)
