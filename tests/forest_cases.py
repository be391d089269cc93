"""Forests and data, for the tests of them."""

import dataclasses

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    load_wine,
)

from gpuboost import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]


REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]


FORESTS = CLASSIFIERS + REGRESSORS


def data_for(kind):
    return load_wine(return_X_y=True) if kind in CLASSIFIERS else load_diabetes(return_X_y=True)


def assert_same_trees(first, second):
    """Every bit of every node."""
    first, second = (
        model if isinstance(model, list) else model.ensemble_.trees for model in (first, second)
    )
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        for field in dataclasses.fields(a):
            np.testing.assert_array_equal(
                getattr(a, field.name), getattr(b, field.name), err_msg=field.name
            )
