"""Checkpoints: a training that is killed goes on to the same bits; half a file is never loaded."""

import os
import signal
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import gpuboost as gb
from gpuboost.model.file import read_model
from gpuboost.training.checkpoint import Checkpoint, SavedRounds, signature_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[:, 1] = RNG.integers(0, 5, 300)
Y = X[:, 0] + X[:, 1] % 2 + 0.3 * RNG.normal(size=300)
THREE = np.digitize(Y, [0.3, 1.2])
SAMPLED = {"subsample": 0.6, "colsample_bynode": 0.7, "max_depth": 3, "n_jobs": 1}


class Interrupt(gb.Callback):
    """Ends a training with an error after some rounds."""

    def __init__(self, last):
        self.last = last

    def after_round(self, state):
        if state.round == self.last:
            raise KeyboardInterrupt


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("kind", "y", "options"),
    [
        (gb.GPUBoostRegressor, Y, {"oob_score": True, "early_stopping_rounds": 9}),
        (gb.GPUBoostClassifier, THREE, {"sampling_method": "mvs"}),
        (
            gb.GPUBoostClassifier,
            THREE,
            {
                "multi_strategy": "vector_leaf",
                "categorical_features": [1],
                "categorical_encoding": "target",
                "feature_penalties": [1.0, 2.0, 3.0, 4.0],
            },
        ),
    ],
    ids=["numbers", "classes", "vectors"],
)
def test_an_interrupted_training_goes_on(kind, y, options, device, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    options = SAMPLED | options | {"n_estimators": 7, "device": device}
    fit = {"eval_set": (X[:90], y[90:180])}
    whole = kind(**options).fit(X, y, **fit)
    save = gb.Checkpoint(tmp_path / "run.gb", every=2)
    with pytest.raises(KeyboardInterrupt):
        kind(**options, callbacks=[save, Interrupt(4)]).fit(X, y, **fit)
    ended = kind(**options, callbacks=[save]).fit(X, y, **fit)
    assert ended.fingerprint() == whole.fingerprint()
    assert ended.evals_result_ == whole.evals_result_
    assert ended.ensemble_.n_used == whole.ensemble_.n_used
    again = kind(**options, callbacks=[save]).fit(X, y, **fit)  # nothing is left to do
    assert again.fingerprint() == whole.fingerprint()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_killed_ten_times_at_random_moments(tmp_path):
    options = SAMPLED | {"n_estimators": 200, "early_stopping_rounds": 190}
    fit = {"eval_set": (X[:90], Y[:90])}
    whole = gb.GPUBoostRegressor(**options).fit(X, Y, **fit)
    save, rng, rounds = gb.Checkpoint(tmp_path / "run.gb", every=1), np.random.default_rng(0), []
    for _ in range(10):
        before, over = time_of(save.path), False
        child = os.fork()
        if child == 0:
            gb.GPUBoostRegressor(**options, callbacks=[save]).fit(X, Y, **fit)
            os._exit(0)
        while time_of(save.path) == before and not over:
            over = os.waitpid(child, os.WNOHANG)[0] == child
            time.sleep(0.001)
        if over:  # no round was left
            break
        time.sleep(rng.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rounds.append(saved_rounds_of(save))
    ended = gb.GPUBoostRegressor(**options, callbacks=[save]).fit(X, Y, **fit)
    assert rounds == sorted(rounds) and 0 < rounds[0] < rounds[-1] and len(rounds) > 3
    assert ended.fingerprint() == whole.fingerprint()
    assert ended.evals_result_ == whole.evals_result_


def time_of(path):
    """When the file was written."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


def saved_rounds_of(save):
    with open(save.path, "rb") as file:
        header, _ = read_model(file)
    return header["checkpoint"]["n_rounds"]


def test_half_a_file_is_never_loaded(tmp_path):
    path = tmp_path / "run.gb"
    gb.GPUBoostRegressor(n_estimators=3, callbacks=[gb.Checkpoint(path)]).fit(X, Y)
    content = path.read_bytes()
    for n in [0, 1, 63, 64, 100, *range(200, len(content), 997), len(content) - 1]:
        path.write_bytes(content[:n])
        with pytest.raises(gb.ModelFormatError, match=r"run.gb is no checkpoint"):
            gb.GPUBoostRegressor(n_estimators=3, callbacks=[gb.Checkpoint(path)]).fit(X, Y)
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    path.write_bytes(bytes(damaged))
    with pytest.raises(gb.ModelFormatError, match="is no checkpoint"):
        gb.GPUBoostRegressor(n_estimators=3, callbacks=[gb.Checkpoint(path)]).fit(X, Y)
    gb.GPUBoostRegressor(n_estimators=3).fit(X, Y).save_model(path)
    with pytest.raises(gb.ModelFormatError, match="it holds something else"):
        gb.GPUBoostRegressor(n_estimators=3, callbacks=[gb.Checkpoint(path)]).fit(X, Y)


def test_other_data_and_parameters_are_refused(tmp_path):
    save = gb.Checkpoint(tmp_path / "run.gb")
    gb.GPUBoostRegressor(n_estimators=3, callbacks=[save]).fit(X, Y)
    more = gb.GPUBoostRegressor(n_estimators=5, callbacks=[save], max_time=1e9, verbose=0)
    whole = gb.GPUBoostRegressor(n_estimators=5).fit(X, Y)
    assert more.fit(X, Y).fingerprint() == whole.fingerprint()
    for options, x, y, fit in (
        ({"max_depth": 3}, X, Y, {}),
        ({"random_state": 1}, X, Y, {}),
        ({}, X + 1e-9, Y, {}),
        ({}, X, Y[::-1], {}),
        ({}, X, Y, {"sample_weight": np.ones(300)}),
        ({}, X, Y, {"eval_set": (X, Y)}),
        ({}, X, Y, {"base_margin": Y}),
        ({}, csr_array(X), Y, {}),
    ):
        options = {"n_estimators": 5} | options
        with pytest.raises(ValueError, match="other data or parameters: remove it"):
            gb.GPUBoostRegressor(callbacks=[save], **options).fit(x, y, **fit)
    with pytest.raises(ValueError, match="n_estimators=4 must be at least the 5 rounds"):
        gb.GPUBoostRegressor(n_estimators=4, callbacks=[save]).fit(X, Y)
    with pytest.raises(ValueError, match="callbacks must have no Checkpoint with refit"):
        gb.GPUBoostRegressor(
            callbacks=[save], refit=True, validation_fraction=0.1, early_stopping_rounds=3
        ).fit(X, Y)


def test_behind_another_model(tmp_path):
    first = gb.GPUBoostRegressor(n_estimators=3).fit(X, Y)
    fit = {"init_model": first, "eval_set": (X, Y)}
    whole = gb.GPUBoostRegressor(n_estimators=4).fit(X, Y, **fit)
    save = gb.Checkpoint(tmp_path / "run.gb", every=1)
    with pytest.raises(KeyboardInterrupt):
        gb.GPUBoostRegressor(n_estimators=4, callbacks=[save, Interrupt(5)]).fit(X, Y, **fit)
    ended = gb.GPUBoostRegressor(n_estimators=4, callbacks=[save]).fit(X, Y, **fit)
    assert ended.fingerprint() == whole.fingerprint()
    assert ended.evals_result_ == whole.evals_result_


def test_what_it_is_given(tmp_path):
    for wrong in (0, 1.5, None):
        with pytest.raises(ValueError, match="every must be an integer at least 1"):
            Checkpoint(tmp_path / "run.gb", every=wrong)
    assert Checkpoint(tmp_path / "none.gb").read("") is None
    tree = gb.GPUBoostRegressor(n_estimators=1).fit(X, Y).ensemble_.trees[0]
    saved = SavedRounds("a", 1, [tree], {"v": {"rmse": [float("nan")]}})
    Checkpoint(tmp_path / "run.gb").write(saved)
    read = Checkpoint(tmp_path / "run.gb").read("a")
    assert np.isnan(read.results["v"]["rmse"][0])
    np.testing.assert_array_equal(read.trees[0].value, tree.value)


def test_signatures_tell_all_parts_apart():
    parts = [
        np.arange(3.0),
        np.arange(3),
        np.arange(3.0)[:, None],
        [0.0, 1.0, 2.0],
        [[0.0], 1.0, 2.0],
        {"a": 1},
        {"a": 1.0},
        {"b": 1},
        None,
        "None",
        np.array(["a", None], object),
        SavedRounds("a", 1, [], {}),
        SavedRounds("a", 2, [], {}),
        len,
        max,
    ]
    signatures = [signature_of(part) for part in parts]
    assert len(set(signatures)) == len(parts)
    assert signatures == [signature_of(part) for part in parts]
    assert signature_of(np.arange(6.0)[::2]) == signature_of(np.array([0.0, 2.0, 4.0]))
