"""Rows that are held out: how many, which, and with all that belongs to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from gpuboost.backend import host_backend
from gpuboost.data.sparse import sparse_rows
from gpuboost.training.row_sampling import RowUnits
from gpuboost.training.validation import HeldOut, TrainingRows, hold_out, rounds_for_all

NONE = np.empty(0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=5),
    fraction=st.floats(0.01, 0.9),
    seed=st.integers(0, 5),
)
def test_every_class_gives_its_share(sizes, fraction, seed):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    train, valid = hold_out(fraction, "random", len(classes), seed, NONE, classes)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, valid])), np.arange(len(classes)))
    given_away = np.bincount(classes[valid], minlength=len(sizes))
    assert (np.abs(given_away - fraction * np.array(sizes)) <= 1).all()
    assert (given_away < sizes).all()
    most = max(1, min(round(fraction * len(classes)), len(classes) - 1))
    assert len(valid) <= most and len(valid) >= most - len(sizes)


def test_the_last_rows_and_rows_without_weight():
    weight = np.ones(20)
    weight[[3, 18, 19]] = 0
    train, valid = hold_out(0.2, "last", 20, 0, weight)
    assert valid.tolist() == [15, 16, 17] and set(train) >= {3, 18, 19}
    without = weight > 0
    for how in ("random", "last"):
        some = hold_out(0.3, how, 20, 4, weight).valid
        fewer = np.flatnonzero(without)[hold_out(0.3, how, 17, 4, NONE).valid]
        if how == "last":
            np.testing.assert_array_equal(some, fewer)
        assert len(some) == len(fewer) and without[some].all()


def test_groups_stay_together():
    groups = np.random.default_rng(0).integers(0, 12, 200)
    train, valid = hold_out(0.25, "random", 200, 1, NONE, groups=groups)
    assert not set(groups[train]) & set(groups[valid]) and 30 <= len(valid) <= 70
    other = hold_out(0.25, "random", 200, 2, NONE, groups=groups).valid
    assert set(groups[other]) != set(groups[valid])


def test_nothing_may_be_left_empty():
    with pytest.raises(ValueError, match="validation_fraction=0.1 of 1 rows leaves"):
        hold_out(0.1, "random", 1, 0, NONE)
    with pytest.raises(ValueError, match="leaves 0 rows to train on"):
        hold_out(0.5, "random", 4, 0, NONE, groups=np.zeros(4))
    with pytest.raises(ValueError, match="'last' holds out all rows of class number 1"):
        hold_out(0.5, "last", 4, 0, NONE, np.array([0, 0, 1, 1]))


def test_rows_are_taken_with_everything():
    x = np.arange(12.0).reshape(6, 2) * (np.arange(12).reshape(6, 2) % 3 > 0)
    y, rows = np.arange(12.0).reshape(2, 6), np.array([1, 4, 5])
    units = RowUnits.of(6, 0.5, np.array([0, 0, 1, 1, 2, 2]))
    weight = np.arange(6.0)
    with host_backend(1) as backend:
        dense = TrainingRows(x, y, weight, {"bound": weight}, units, y).take(rows, backend)
        sparse = TrainingRows(sparse_rows(csr_array(x), False), y, NONE).take(rows, backend)
    np.testing.assert_array_equal(dense.x, x[rows])
    np.testing.assert_array_equal(dense.y, y[:, rows])
    np.testing.assert_array_equal(dense.margin, y[:, rows])
    np.testing.assert_array_equal(dense.row_arrays["bound"], weight[rows])
    assert dense.row_units.units.tolist() == [0, 2, 2] and dense.weight.tolist() == [1, 4, 5]
    expected = sparse_rows(csr_array(x[rows]), False)
    for name in ("data", "column", "begin"):
        np.testing.assert_array_equal(getattr(sparse.x, name), getattr(expected, name))
    assert sparse.weight.size == 0 and sparse.row_arrays is None is sparse.margin


def test_rounds_grow_with_the_rows():
    assert rounds_for_all(80, HeldOut(np.arange(80), np.arange(20))) == 100
