"""Folds of cross-validation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboost.cli import main
from gpuboost.cli.common import CliError
from gpuboost.cli.measure import fold_numbers


@given(st.lists(st.integers(0, 4), min_size=7, max_size=60), st.integers(2, 7), st.integers(0, 9))
def test_folds_are_equal_shares_of_every_class(labels, k, seed):
    y = np.array(labels)
    folds = fold_numbers(y, k, seed, classes=True)
    single = np.bincount(y)[y] == 1
    assert ((folds == -1) == single).all()
    for label in set(labels):
        counts = np.bincount(folds[(y == label) & ~single], minlength=k)
        assert single[y == label].all() or counts.max() - counts.min() <= 1
        # a model of the other folds knows every class that it is judged on
        assert counts.max() < (y == label).sum() or single[y == label].all()
    assert (folds == fold_numbers(y, k, seed, classes=True)).all()


@given(st.integers(2, 60), st.integers(2, 7), st.integers(0, 9))
def test_folds_of_numbers_are_equal_shares(n, k, seed):
    if n < k:
        with pytest.raises(CliError, match=f"--cv {k} needs at least {k} rows"):
            fold_numbers(np.zeros(n), k, seed, classes=False)
        return
    counts = np.bincount(fold_numbers(np.zeros(n), k, seed, classes=False), minlength=k)
    assert counts.sum() == n and counts.max() - counts.min() <= 1


@pytest.mark.parametrize("k", ["1", "0", "-2", "x", "2.5"])
def test_at_least_two_folds(csv, capsys, k):
    with pytest.raises(SystemExit):
        main(["train", "table.csv", "--target", "price", f"--cv={k}"])
    assert "--cv: must be a whole number, at least 2" in capsys.readouterr().err
