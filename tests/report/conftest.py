"""Fixtures of these tests."""

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0)
