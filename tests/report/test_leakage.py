"""Features that alone give the target away, and clean data without any."""

import numpy as np
import pytest
from sklearn import datasets

from gpuboost.report.leakage import suspects

rng = np.random.default_rng(0)
NOISE = rng.normal(size=(3000, 4))
LABELS = (NOISE[:, 0] + rng.normal(size=3000) > 0.3).astype(int)
NUMBERS = np.exp(NOISE[:, 0]) + rng.normal(size=3000)
KINDS = np.digitize(NUMBERS, [0.5, 1, 2])


def found(column, y, classes):
    """Whether the last of some columns is the only suspect."""
    numbers = [s.feature for s in suspects(np.column_stack([NOISE[: len(y)], column]), y, classes)]
    assert numbers in ([], [4])
    return numbers == [4]


def flipped(y, n):
    out = y.copy()
    out[:: len(y) // n][:n] = (out[:: len(y) // n][:n] + 1) % (y.max() + 1)
    return out


@pytest.mark.parametrize(
    "column",
    [
        LABELS,
        5 - 3.0 * LABELS,
        LABELS + rng.uniform(0, 0.9, 3000),  # a number that lies on one side
        np.where(LABELS == 1, np.nan, rng.normal(size=3000)),  # missing means one class
        np.argsort(np.argsort(LABELS, kind="stable")),  # numbers of rows, sorted by class
        flipped(LABELS, 5),  # a few mistakes
        2.0 * LABELS + rng.integers(0, 2, 3000),  # categories, each of one class
    ],
)
def test_features_that_give_classes_away(column):
    assert found(column, LABELS, classes=True)


@pytest.mark.parametrize(
    "column",
    [
        flipped(LABELS, 60),
        np.arange(3000),
        np.full(3000, np.nan),
        np.zeros(3000),
        NOISE[:, 0] + rng.normal(size=3000),
        rng.integers(0, 2000, 3000),  # a name of the row, nearly
        np.where(rng.random(3000) < 0.9, LABELS, -1),  # known for most rows only
    ],
)
def test_features_that_do_not(column):
    assert not found(column, LABELS, classes=True)


def test_several_classes():
    assert found(KINDS[::-1].max() - KINDS, KINDS, classes=True)
    assert found(NUMBERS, KINDS, classes=True)
    assert not found(np.minimum(KINDS, 1), KINDS, classes=True)


@pytest.mark.parametrize(
    "column",
    [
        NUMBERS,
        -1e200 * NUMBERS,
        NUMBERS**3,
        np.log(NUMBERS - NUMBERS.min() + 1),
        NUMBERS + 0.01 * rng.normal(size=3000),
        np.where(np.arange(3000) % 20 == 0, np.nan, NUMBERS),  # not known of some rows
    ],
)
def test_features_that_give_numbers_away(column):
    assert found(column, NUMBERS, classes=False)


def test_categories_that_give_numbers_away():
    prices = rng.normal(size=40)
    category = rng.integers(0, 40, 3000)
    assert found(category, prices[category], classes=False)


@pytest.mark.parametrize(
    "column",
    [
        NUMBERS + 0.1 * rng.normal(size=3000),
        np.arange(3000),
        np.full(3000, np.nan),
        np.round(NUMBERS),
        np.where(np.arange(3000) % 3 > 0, np.nan, NUMBERS),
        np.where(np.arange(3000) % 2 == 0, np.inf, NUMBERS),
    ],
)
def test_features_that_do_not_give_numbers_away(column):
    assert not found(column, NUMBERS, classes=False)


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("iris", True),
        ("wine", True),
        ("breast_cancer", True),
        ("digits", True),
        ("diabetes", False),
    ],
)
def test_no_false_alarm_on_clean_data(name, classes):
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert suspects(x, y, classes) == []
    for label in np.unique(y) if classes else ():
        assert suspects(x, (y == label).astype(int), classes) == []


def test_many_rows_and_few():
    y = np.tile([0, 1], 50_000)
    assert [s.feature for s in suspects(y[:, None] * [0, 1.0], y, classes=True)] == [1]
    for n in (0, 1, 2, 90):
        assert suspects(y[:n, None], y[:n], classes=True) == []
        assert suspects(NUMBERS[:n, None], NUMBERS[:n], classes=False) == []
    assert suspects(NUMBERS[:, None], np.ones(3000), classes=False) == []
