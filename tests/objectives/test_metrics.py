import numpy as np
import pytest
from sklearn import metrics as sk

from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import resolve_metrics

NOTHING = np.empty(0)


def value(name, objective, y, raw, backend, weight=NOTHING):
    return (
        resolve_metrics(name, OBJECTIVES[objective])[0]
        .score(y, raw, weight, np.empty((0, len(y))), backend)
        .value()
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn(rng, backend, weighted):
    n = 10_000
    w = rng.random(n) if weighted else None
    weight = w if weighted else NOTHING
    y, raw = rng.normal(size=n), rng.normal(size=(1, n))
    assert value("rmse", "squared_error", y, raw, backend, weight) == pytest.approx(
        sk.root_mean_squared_error(y, raw[0], sample_weight=w)
    )
    assert value("mae", "squared_error", y, raw, backend, weight) == pytest.approx(
        sk.mean_absolute_error(y, raw[0], sample_weight=w)
    )
    label = (y > 0).astype(float)
    raw = np.round(raw, 2)  # ties
    p = 1 / (1 + np.exp(-raw[0]))
    assert value("logloss", "log_loss", label, raw, backend, weight) == pytest.approx(
        sk.log_loss(label, p, sample_weight=w)
    )
    assert value("logloss", "exponential", label, raw / 2, backend, weight) == pytest.approx(
        sk.log_loss(label, p, sample_weight=w)
    )
    exponential = np.average(np.exp(-(2 * label - 1) * raw[0] / 2), weights=w)
    assert value("exponential", "log_loss", label, raw, backend, weight) == pytest.approx(
        exponential
    )
    assert value("exponential", "exponential", label, raw / 2, backend, weight) == pytest.approx(
        exponential
    )
    assert value("error", "log_loss", label, raw, backend, weight) == pytest.approx(
        1 - sk.accuracy_score(label, p > 0.5, sample_weight=w)
    )
    assert value("auc", "log_loss", label, raw, backend, weight) == pytest.approx(
        sk.roc_auc_score(label, raw[0], sample_weight=w)
    )
    codes, raw = rng.integers(0, 4, n).astype(float), rng.normal(size=(4, n))
    p = np.exp(raw) / np.exp(raw).sum(axis=0)
    assert value("mlogloss", "multi_log_loss", codes, raw, backend, weight) == pytest.approx(
        sk.log_loss(codes, p.T, sample_weight=w)
    )
    hits = sk.accuracy_score(codes, raw.argmax(axis=0), sample_weight=w)
    assert value("merror", "multi_log_loss", codes, raw, backend, weight) == pytest.approx(1 - hits)


def test_unknown_names_are_told_what_there_is(backend):
    with pytest.raises(ValueError, match="eval_metric must be one of 'rmse', 'mae'.*got 'auc'"):
        resolve_metrics("auc", OBJECTIVES["squared_error"])
