"""How good predictions are, in one number: numpy functions of targets, predictions and weights.

Classes are numbers from 0, and probabilities have a column for each; ``weight`` may be None.
"""

from __future__ import annotations

import math

import numpy as np

from gpuboost.scalar.area import area_and_pairs

Weight = np.ndarray | None


def log_loss(y: np.ndarray, shares: np.ndarray, weight: Weight = None) -> float:
    """Mean of -log of the probability of what happened.

    A probability of 0 counts as the smallest step from 1.
    """
    p = np.clip(shares[np.arange(len(y)), y], np.finfo(np.float64).eps, 1.0)
    return float(np.average(-np.log(p), weights=weight))


def accuracy(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Part of the rows whose class is right."""
    return float(np.average(prediction == y, weights=weight))


def error(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Part of the rows whose class is wrong."""
    return float(np.average(prediction != y, weights=weight))


def squared_error(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Mean of the squared errors; of the probabilities of class 1 it is the Brier score."""
    return float(np.average((prediction - y) ** 2, weights=weight))


def rmse(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Root of the mean squared error."""
    return math.sqrt(squared_error(y, prediction, weight))


def absolute_error(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Mean of the absolute errors."""
    return float(np.average(np.abs(prediction - y), weights=weight))


def variance(y: np.ndarray, weight: Weight = None) -> float:
    """Mean squared distance from the mean; exactly 0 where all rows that count are equal."""
    counted = y if weight is None else y[weight > 0]
    if (counted == counted[0]).all():
        return 0.0
    return squared_error(y, np.average(y, weights=weight), weight)


def r2(y: np.ndarray, prediction: np.ndarray, weight: Weight = None) -> float:
    """Part of the variance that is explained; NaN where there is none."""
    spread = variance(y, weight)
    return 1.0 - squared_error(y, prediction, weight) / spread if spread > 0 else math.nan


def auc(y: np.ndarray, score: np.ndarray, weight: Weight = None) -> float:
    """Area under the ROC curve; ties count half. NaN where only one class is there."""
    return share_of_pairs(*area_and_pairs(y, score, np.empty(0) if weight is None else weight))


def share_of_pairs(area: float, pairs: float) -> float:
    """The area under the ROC curve from what ``area_and_pairs`` counts."""
    return float(area) / float(pairs) if pairs > 0 else math.nan
