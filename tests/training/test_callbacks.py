"""Callbacks of users, in fits."""

import sys
from types import ModuleType

import numpy as np
import pytest

import gpuboost as gb
from gpuboost.training.callbacks import check_callbacks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=200)


class Watcher(gb.Callback):
    """Keeps what it sees, changes the rate and stops at a round."""

    def __init__(self, last=None, rates=None):
        self.last, self.rates, self.states = last, rates, []

    def before_round(self, state):
        return None if self.rates is None else self.rates[state.round]

    def after_round(self, state):
        self.states.append(state)
        return state.round == self.last


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_they_see_every_round_and_change_no_model(device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    fit = {"eval_set": (X, Y)}
    plain = gb.GPUBoostRegressor(n_estimators=5, device=device).fit(X, Y, **fit)
    watcher = Watcher()
    model = gb.GPUBoostRegressor(n_estimators=5, device=device, callbacks=[watcher])
    assert model.fit(X, Y, **fit).fingerprint() == plain.fingerprint()
    curve = plain.evals_result_["validation_0"]["rmse"]
    assert [state.scores["validation_0"]["rmse"] for state in watcher.states] == curve
    assert [state.round for state in watcher.states] == [0, 1, 2, 3, 4]
    stopped = gb.GPUBoostRegressor(n_estimators=5, device=device, callbacks=[Watcher(last=2)])
    assert stopped.fit(X, Y).n_estimators_ == 3
    rates = [0.5, 0.4, 0.3]
    by_callback = gb.GPUBoostRegressor(n_estimators=3, callbacks=[Watcher(rates=rates)])
    by_list = gb.GPUBoostRegressor(n_estimators=3, learning_rate=rates)
    assert by_callback.fit(X, Y).fingerprint() == by_list.fit(X, Y).fingerprint()


def test_their_errors_end_the_fit():
    class Broken(gb.Callback):
        def after_round(self, state):
            raise RuntimeError(f"round {state.round}")

    model = gb.GPUBoostRegressor(n_estimators=3).fit(X, Y)
    before = model.fingerprint()
    with pytest.raises(RuntimeError, match="round 0"):
        model.set_params(callbacks=[Broken()]).fit(X, Y)
    assert model.fingerprint() == before


def test_what_is_no_callback():
    assert check_callbacks(None) == [] == check_callbacks(())
    for wrong in (Watcher(), [print], [gb.Callback], "log"):
        with pytest.raises(TypeError, match="callbacks must be a list of gpuboost.Callback"):
            gb.GPUBoostRegressor(callbacks=wrong).fit(X, Y)


class Trial:
    """What is used of a trial of Optuna."""

    def __init__(self, worst):
        self.worst, self.reported = worst, []

    def report(self, value, step):
        self.reported.append((step, value))

    def should_prune(self):
        return len(self.reported) == self.worst


def test_pruning(monkeypatch):
    optuna = ModuleType("optuna")
    optuna.TrialPruned = type("TrialPruned", (Exception,), {})
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    fit = {"eval_set": [(X, Y), (X[:50], Y[:50])], "eval_names": ["all", "some"]}
    options = {"n_estimators": 4, "eval_metric": ["mae", "rmse"]}
    trial = Trial(worst=None)
    model = gb.GPUBoostRegressor(callbacks=[gb.OptunaPruning(trial)], **options).fit(X, Y, **fit)
    assert trial.reported == list(enumerate(model.evals_result_["some"]["rmse"]))
    named = Trial(worst=3)
    pruning = gb.OptunaPruning(named, eval_set="all", metric="mae")
    with pytest.raises(optuna.TrialPruned, match="pruned at round 2"):
        gb.GPUBoostRegressor(callbacks=[pruning], **options).fit(X, Y, **fit)
    assert named.reported == list(enumerate(model.evals_result_["all"]["mae"]))[:3]
    for wrong, message in (
        (gb.OptunaPruning(trial, metric="auc"), "metric of OptunaPruning must be one of 'mae'"),
        (gb.OptunaPruning(trial, eval_set="none"), "eval_set of OptunaPruning must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            gb.GPUBoostRegressor(callbacks=[wrong], **options).fit(X, Y, **fit)
    with pytest.raises(ValueError, match="those of fit, which has none"):
        gb.GPUBoostRegressor(callbacks=[gb.OptunaPruning(trial)]).fit(X, Y)
