"""Learning rates by round, the end of time, callbacks and the checkpoints that are due."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpuboost import Callback
from gpuboost.training.checkpoint import Checkpoint
from gpuboost.training.control import RoundControl, saved_rounds, schedule_of


def test_schedules():
    assert schedule_of(0.1, 5) is None is schedule_of("fast", 5) is schedule_of(np.array(0.1), 5)
    rates = schedule_of([0.5, 0.25, 0.125], 3)
    assert [rates(i) for i in range(3)] == [0.5, 0.25, 0.125]
    halves = schedule_of(lambda number: 0.5**number, 3)
    assert [halves(i) for i in range(3)] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0.1, 0.2], "a number for each of the n_estimators=3 rounds; got 2"),
        ([0.1, -0.2, 0.1], "learning_rate of round 1 .from 0. must be .* above 0.*got -0.2"),
        ([0.1, 0.1, float("nan")], "learning_rate of round 2"),
        ([0.1, 0.1, "x"], "learning_rate of round 2 .from 0. must be a number.*'x'"),
        (lambda number: True, "learning_rate of round 0 .from 0. must be a number.*True"),
    ],
)
def test_rates_that_are_none(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        schedule_of(wrong, 3)(0)


WATCH = SimpleNamespace(
    results={"a": {"rmse": [3.0, 2.0]}, "b": {"rmse": []}},
    best_score=2.0,
    best_round=1,
    stopped=False,
    n_seen=2,
)


class Recorder(Callback):
    """Keeps the states that it sees, and answers as it is told."""

    def __init__(self, before=None, after=None):
        self.answers, self.seen = (before, after), []

    def before_round(self, state):
        self.seen.append(state)
        return self.answers[0]

    def after_round(self, state):
        self.seen.append(state)
        return self.answers[1]


def test_time():
    assert not RoundControl(0.1).out_of_time()
    assert RoundControl(0.1, max_time=5.0, begun=-1e9).out_of_time()


def test_rates_of_schedules_and_callbacks():
    assert RoundControl(0.1).learning_rate(3, WATCH, 5) == 0.1
    schedule = RoundControl(0.1, lambda number: 2.0 + number)
    assert schedule.learning_rate(3, WATCH, 5) == 5.0
    schedule.callbacks = [Recorder(), Recorder(0.25), Recorder()]
    assert schedule.learning_rate(3, WATCH, 5) == 0.25
    assert [one.seen[0].learning_rate for one in schedule.callbacks] == [5.0, 5.0, 0.25]
    schedule.callbacks = [Recorder(-1)]
    with pytest.raises(ValueError, match="learning_rate of round 3 .* got -1"):
        schedule.learning_rate(3, WATCH, 5)


def test_states_cannot_be_changed():
    callback = Recorder()
    control = RoundControl(0.1, callbacks=[callback])
    control.after_round(1, WATCH, 5, 0.1, list)
    (state,) = callback.seen
    assert (state.round, state.n_rounds, state.learning_rate) == (1, 5, 0.1)
    assert state.scores == {"a": {"rmse": 2.0}, "b": {}}
    assert (state.best_round, state.best_score) == (1, 2.0) and state.seconds >= 0
    with pytest.raises(AttributeError):
        state.round = 3
    with pytest.raises(TypeError):
        state.scores["a"]["rmse"] = 0.0


def test_a_callback_stops():
    control = RoundControl(0.1, callbacks=[Recorder(), Recorder(after=True), Recorder()])
    control.after_round(1, WATCH, 5, 0.1, list)
    assert control.stopped and all(len(one.seen) == 1 for one in control.callbacks)


def test_checkpoints_are_written_when_they_are_due(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Checkpoint, "write", lambda self, saved: written.append(saved.n_rounds))
    control = RoundControl(0.1, callbacks=[Checkpoint(tmp_path / "run.gb", every=3)])
    for number in range(8):
        watch = SimpleNamespace(**vars(WATCH) | {"n_seen": number + 1})
        control.after_round(number, watch, 8, 0.1, list)
    assert written == [3, 6, 8]


def test_the_furthest_checkpoint_counts(monkeypatch):
    found = {"a": None, "b": SimpleNamespace(n_rounds=3), "c": SimpleNamespace(n_rounds=2)}
    monkeypatch.setattr(Checkpoint, "read", lambda self, signature: found[self.path])
    assert saved_rounds([Checkpoint(name) for name in "abc"], "").n_rounds == 3
    assert saved_rounds([Checkpoint("a"), Recorder()], "") is None
