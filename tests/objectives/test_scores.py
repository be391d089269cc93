"""Every score against scikit-learn, with weights and without."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

from gpuboost.objectives import scores


@pytest.fixture(params=[False, True], ids=["equal", "weighted"])
def weight(request, rng):
    return rng.integers(0, 4, 500).astype(np.float64) if request.param else None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (scores.squared_error, sk.mean_squared_error),
        (scores.rmse, sk.root_mean_squared_error),
        (scores.absolute_error, sk.mean_absolute_error),
        (scores.r2, sk.r2_score),
    ],
)
def test_values(rng, weight, ours, theirs):
    y = rng.normal(size=500)
    prediction = y + rng.normal(size=500)
    expected = theirs(y, prediction, sample_weight=weight)
    assert ours(y, prediction, weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(rng, weight, n_classes):
    y = rng.integers(0, n_classes, 500)
    shares = rng.dirichlet(np.ones(n_classes), 500).round(2)  # with ties
    shares[:, -1] = 1.0 - shares[:, :-1].sum(axis=1)
    shares = shares.clip(0.0)
    assert scores.log_loss(y, shares, weight) == pytest.approx(
        sk.log_loss(y, shares, sample_weight=weight), rel=1e-12
    )
    labels = shares.argmax(axis=1)
    assert scores.accuracy(y, labels, weight) == pytest.approx(
        sk.accuracy_score(y, labels, sample_weight=weight), rel=1e-12
    )
    assert scores.error(y, labels, weight) == pytest.approx(
        sk.zero_one_loss(y, labels, sample_weight=weight), rel=1e-12
    )


def test_two_classes(rng, weight):
    y, p = rng.integers(0, 2, 500), rng.random(500).round(2)
    for ours, theirs in (
        (scores.auc, sk.roc_auc_score),
        (scores.squared_error, sk.brier_score_loss),
    ):
        assert ours(y, p, weight) == pytest.approx(theirs(y, p, sample_weight=weight), rel=1e-12)


def test_where_there_is_nothing_to_tell():
    """One value, or one class, among the rows that count."""
    constant, weight = np.append(np.full(99, 0.1), 5.0), np.append(np.ones(99), 0.0)
    assert math.isnan(scores.r2(constant, constant + 1.0, weight))
    assert scores.variance(constant[:99]) == 0.0 < scores.variance(constant)
    assert math.isnan(scores.auc(np.ones(3), np.arange(3.0)))
    assert scores.log_loss(np.array([1]), np.array([[1.0, 0.0]])) == pytest.approx(52 * math.log(2))
