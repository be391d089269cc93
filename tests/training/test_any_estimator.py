"""Estimators that AdaBoost boosts in place of trees."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import ExtraTreeRegressor

from gpuboost.training.any_estimator import (
    EstimatorLearner,
    check_estimator,
    said_by,
    votes_of,
)

X = np.arange(12.0).reshape(6, 2)
LABELS = np.array(["a", "b", "a", "b", "b", "b"])


@pytest.mark.parametrize(
    ("estimator", "classes", "error", "words"),
    [
        ("tree", True, TypeError, "classifier of scikit-learn's API; got 'tree'"),
        (GaussianNB, True, TypeError, "estimator must be None or a classifier"),
        (LinearRegression(), True, ValueError, "must be a classifier; got LinearRegression"),
        (GaussianNB(), False, ValueError, "must be a regressor; got GaussianNB"),
        (KNeighborsClassifier(), True, ValueError, "sample_weight.*KNeighborsClassifier does not"),
        (make_pipeline(GaussianNB()), True, ValueError, "sample_weight.*Pipeline does not"),
    ],
)
def test_what_cannot_be_boosted(estimator, classes, error, words):
    with pytest.raises(error, match=words):
        check_estimator(estimator, classes)
    check_estimator(LogisticRegression(), True)
    check_estimator(make_pipeline(LinearRegression()), False)


def test_copies_see_weights_and_only_rows_that_have_some(backend):
    weight = np.array([0.0, 0.1, 0.2, 0.3, 0.2, 0.2])
    learner = EstimatorLearner(GaussianNB(), X, LABELS, weight, np.array(["a", "b"]), 0, backend)
    member = learner.learn(weight, 0)
    np.testing.assert_allclose(member.class_prior_, [0.2, 0.8])
    assert set(np.unique(learner.says(member))) <= {0.0, 1.0}
    assert learner.says(member).shape == (6, 2)


def test_copies_see_drawn_rows_and_have_a_seed_each(backend):
    learner = EstimatorLearner(ExtraTreeRegressor(), X, X[:, 0], np.ones(6), None, 7, backend)
    first, second = learner.learn(np.ones(6), 0), learner.learn(np.ones(6), 1)
    assert first.random_state != second.random_state
    assert first.random_state == learner.learn(np.ones(6), 0).random_state
    draws = np.array([0.0, 0.0, 2.0, 1.0, 0.0, 3.0])
    learner = EstimatorLearner(DummyRegressor(), X, X[:, 0], np.ones(6), None, 7, backend)
    assert learner.learn(draws, 0).constant_[0, 0] == (2 * 4 + 6 + 3 * 10) / 6


class Fixed:
    def __init__(self, *values):
        self.values = values

    def predict(self, x):
        return np.array(self.values)


def test_votes_and_medians():
    weights, x = np.array([1.0, 2.0, 4.0]), np.zeros((2, 1))
    members = [Fixed("a", "b"), Fixed("b", "b"), Fixed("a", "a")]
    _, second, third = votes_of(members, weights, x, np.array(["a", "b"]))
    np.testing.assert_array_equal(second, [[1, 0], [2, 3]])
    np.testing.assert_array_equal(third, [[5, 4], [2, 3]])
    numbers = [Fixed(3.0, 1.0), Fixed(1.0, 2.0), Fixed(2.0, 3.0)]
    first, second, third = votes_of(numbers, weights, x, None)
    np.testing.assert_array_equal(np.concatenate([first, second, third]), [[3, 1], [1, 2], [2, 3]])


def test_predictions_that_are_no_numbers_or_unknown():
    with pytest.raises(ValueError, match="estimator=.* predicts NaN"):
        said_by(Fixed(np.nan, 1.0), np.zeros((2, 1)), None)
    with pytest.raises(ValueError, match="what estimator predicts has a class"):
        said_by(Fixed("a", "c"), np.zeros((2, 1)), np.array(["a", "b"]))
