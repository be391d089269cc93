"""Curves of metrics, and when they end a training."""

import warnings

import numpy as np
import pytest

from gpuboost.backend import host_backend
from gpuboost.config import BoostParams
from gpuboost.objectives.metrics import Metric, Score
from gpuboost.training.evaluation import EvalSet, Stopping, Watch

NONE = np.empty(0)


def watched(curves, stopping, n_seen=0, higher=False):
    """A watch over eval sets whose metrics have these values, round by round."""
    values = {name: iter(curve) for name, curve in curves.items()}

    def of(name):
        return Metric(name, lambda *_: Score(next(values[name])), higher)

    with host_backend(1) as backend:
        sets = [EvalSet.of("rows", None, NONE, NONE, np.zeros((1, 0)), NONE, backend)]
        watch = Watch(stopping, sets, [of(name) for name in curves], None, backend, 10, n_seen)
    sets[0].binned = object()  # they are not the training rows
    return watch


def run(watch):
    for number in range(watch.n_seen, 10):
        watch.evaluate()
        watch.see(0)
        if watch.stopped:
            return number
    return None


def test_the_last_metric_stops_unless_another_one_is_named():
    curves = {"a": [5, 4, 4, 4, 4, 4, 4, 4, 4, 4.0], "b": [9, 8, 7, 6, 5, 5, 5, 5, 5, 5.0]}
    params = BoostParams(early_stopping_rounds=2)
    metrics = [Metric(name, None) for name in curves]
    watch = watched(curves, Stopping.of(params, ["rows"], metrics))
    assert run(watch) == 6 and watch.best_round == 4
    params = BoostParams(early_stopping_rounds=2, stopping_metric="a", stopping_set="rows")
    watch = watched(curves, Stopping.of(params, ["rows"], metrics))
    assert run(watch) == 3 and (watch.best_round, watch.best_score) == (1, 4.0)
    with pytest.raises(ValueError, match="stopping_metric must be one of 'a', 'b' or None; got"):
        Stopping.of(BoostParams(early_stopping_rounds=2, stopping_metric="c"), ["rows"], metrics)
    with pytest.raises(ValueError, match="stopping_set must be one of 'rows' or None; got 'x'"):
        Stopping.of(BoostParams(early_stopping_rounds=2, stopping_set="x"), ["rows"], metrics)


@pytest.mark.parametrize("sign", [1, -1])
def test_small_improvements_do_not_count(sign):
    curve = [sign * value for value in (5, 4, 3.9, 3.8, 3.7, 3.6, 2.9, 2.8, 2.7, 2.6)]
    watch = watched({"a": curve}, Stopping(4, 1.0), higher=sign < 0)
    assert run(watch) == 6 and watch.best_round == 2  # 4 is no more than 1 better than 5
    watch = watched({"a": curve}, Stopping(5, 0.5), higher=sign < 0)
    assert run(watch) is None and watch.best_round == 6


def test_curves_go_on_where_they_ended():
    curve = [5, 4, 3, 3, 3, 3, 3, 3, 3, 3.0]
    whole = watched({"a": curve}, Stopping(3))
    assert run(whole) == 5
    for n in range(1, 6):
        watch = watched({"a": curve[n:]}, Stopping(3), n_seen=n)
        watch.take_over({"rows": {"a": curve[:n]}})
        assert run(watch) == 5 and watch.best_round == whole.best_round == 2
        assert watch.results == whole.results


def test_nothing_to_go_by_is_said():
    watch = watched({"a": [np.nan] * 10}, Stopping(3))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run(watch)
        watch.finish()
    assert "is NaN in round 0" in str(said[0].message)
    assert "early stopping had nothing to go by" in str(said[-1].message)
