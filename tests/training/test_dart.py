"""DART: what is left out, the weights of XGBoost, exact sums, the same on both devices."""

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.backend import host_backend
from gpuboost.config import BoostParams
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.dart import Dart, grid_of, on_grid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
X[:, 1] = RNG.integers(0, 6, 400)
Y = X[:, 0] + X[:, 1] % 2 + 0.3 * RNG.normal(size=400)
THREE = np.digitize(Y, [0.3, 1.2])
WEIGHT = RNG.exponential(size=400)
OFTEN = {"boosting": "dart", "rate_drop": 0.5, "skip_drop": 0.2}
SAMPLED = {"subsample": 0.7, "colsample_bytree": 0.8, "max_depth": 3, "random_state": 3}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("kind", "y", "options"),
    [
        (gb.GPUBoostRegressor, Y, {}),
        (gb.GPUBoostClassifier, THREE, {"categorical_features": [1], "normalize_type": "forest"}),
        (gb.GPUBoostClassifier, THREE, {"multi_strategy": "vector_leaf"}),
        (
            gb.GPUBoostRegressor,
            np.stack([Y, 1e6 * Y], axis=1),
            {"monotone_constraints": [1, 0, 0, 0], "prune": True, "min_split_gain": 1.0},
        ),
    ],
    ids=["numbers", "categories", "vectors", "outputs"],
)
def test_scores_are_the_sum_of_the_trees_and_go_on_exactly(kind, y, options, device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    options = SAMPLED | OFTEN | options | {"device": device}
    fit = {"sample_weight": WEIGHT, "eval_set": (X[::2], y[::2])}
    model = kind(n_estimators=6, **options).fit(X, y, **fit)
    by_hand = np.repeat(model.ensemble_.base_score[:, None], 400, axis=1)
    assert len({float(np.abs(tree.value).max()) for tree in model.ensemble_.trees}) > 3
    if kind is gb.GPUBoostRegressor:
        curve = model.evals_result_["validation_0"]["rmse"]
        error = (model.predict(X[::2]) - y[::2]) ** 2
        rmse = np.sqrt(error.mean(axis=0)).mean()
        assert curve[-1] == pytest.approx(rmse, rel=1e-12)
    else:
        proba = model.predict_proba(X[::2])[np.arange(200), y[::2]]
        curve = model.evals_result_["validation_0"]["mlogloss"]
        assert curve[-1] == pytest.approx(-np.log(proba).mean(), rel=1e-9)
    assert by_hand.shape[0] == model.ensemble_.n_channels
    parts = kind(n_estimators=3, warm_start=True, **options).fit(X, y, **fit)
    parts.set_params(n_estimators=6).fit(X, y, **fit)
    assert parts.fingerprint() == model.fingerprint()
    assert parts.evals_result_ == model.evals_result_
    if device == "cuda":
        cpu = kind(n_estimators=6, **options | {"device": "cpu"}).fit(X, y, **fit)
        assert cpu.fingerprint() == model.fingerprint()


def test_a_checkpoint_has_all_that_dart_needs(tmp_path):
    class Interrupt(gb.Callback):
        def after_round(self, state):
            if state.round == 4:
                raise KeyboardInterrupt

    whole = gb.GPUBoostRegressor(n_estimators=8, **OFTEN).fit(X, Y)
    save = gb.Checkpoint(tmp_path / "run.gb", every=2)
    with pytest.raises(KeyboardInterrupt):
        gb.GPUBoostRegressor(n_estimators=8, callbacks=[save, Interrupt()], **OFTEN).fit(X, Y)
    ended = gb.GPUBoostRegressor(n_estimators=8, callbacks=[save], **OFTEN).fit(X, Y)
    assert ended.fingerprint() == whole.fingerprint()


def test_weights_are_those_of_xgboost():
    with host_backend(1) as backend:
        for kind, k, expected in (
            ("tree", 0, (1.0, 1.0)),
            ("tree", 3, (1 / 3.1, 3 / 3.1)),
            ("forest", 3, (1 / 1.1, 1 / 1.1)),
        ):
            params = BoostParams(boosting="dart", normalize_type=kind)
            dart = Dart(params, 0, np.ones(1), [], backend)
            dart.dropped = list(range(k))
            assert dart.weights(0.1) == pytest.approx(expected)


def test_rounds_are_left_out_with_their_probability():
    params = BoostParams(boosting="dart", rate_drop=0.25, skip_drop=0.4)
    with host_backend(1) as backend:
        dart, n_dropped = Dart(params, 5, np.ones(1), [[] for _ in range(100)], backend), []
        for number in range(100, 400):
            dart.begin_round(number, None, None, None)
            n_dropped.append(len(dart.dropped))
            del dart.rounds[100:]
    n_dropped = np.array(n_dropped)
    assert abs((n_dropped == 0).mean() - 0.4) < 0.1
    assert abs(n_dropped[n_dropped > 0].mean() - 25) < 1.5


def test_the_grid_follows_the_targets():
    squares, log_loss = OBJECTIVES["squared_error"], OBJECTIVES["log_loss"]
    y = np.array([[0.0, -3.0, 1e9], [0.0, 0.0, 0.0]])
    assert grid_of(squares, y, np.array([1, 1, 0.0]), 2).tolist() == [2.0**-38, 2.0**-39]
    assert grid_of(log_loss, y[1], np.empty(0), 1).tolist() == [2.0**-39]
    assert on_grid(np.array([0.3, -0.3]), np.array([0.25])).tolist() == [0.25, -0.25]


def test_nothing_dropped_is_boosting_up_to_the_grid():
    dart = gb.GPUBoostRegressor(n_estimators=5, boosting="dart", skip_drop=1.0).fit(X, Y)
    plain = gb.GPUBoostRegressor(n_estimators=5).fit(X, Y)
    np.testing.assert_allclose(dart.predict(X), plain.predict(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_drop": 0.5}, "rate_drop needs boosting='dart'"),
        ({"skip_drop": 0.1}, "skip_drop needs boosting='dart'"),
        ({"normalize_type": "forest"}, "normalize_type needs boosting='dart'"),
        ({"boosting": "goss"}, "boosting must be one of 'gbtree', 'dart'"),
        (
            {"boosting": "dart", "early_stopping_rounds": 3, "validation_fraction": 0.1},
            "early_stopping_rounds must be None with boosting='dart'",
        ),
        ({"boosting": "dart", "oob_score": True, "subsample": 0.5}, "oob_score must be False"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        gb.GPUBoostRegressor(n_estimators=2, **options).fit(X, Y)


def test_trees_of_other_trainings_cannot_be_left_out():
    first = gb.GPUBoostRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="goes on from models of boosting='dart'"):
        gb.GPUBoostRegressor(n_estimators=2, boosting="dart").fit(X, Y, init_model=first)
