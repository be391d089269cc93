"""The numbers of a report: permutation importances, calibration, ROC curves."""

import numpy as np
import pytest
from sklearn import metrics

import gpuboost as gb
from gpuboost.report import judge


def test_permutation_is_what_the_library_measures(cancer):
    """The same rows, columns and loss as importance.mda.

    Means agree within their errors, and the order of what matters too.
    """
    from gpuboost.report.subject import Subject

    X, X_new, y, y_new = cancer
    X, X_new = X.iloc[:, 20:28], X_new.iloc[:, 20:28]
    model = gb.GPUBoostClassifier(n_estimators=20).fit(X, y)
    subject = Subject.of(model, y)
    found, n_rows = judge.permutation(
        subject,
        subject.rows(X_new, y_new, None, "X"),
        np.argsort(-gb.importance.mdi(model).values)[:5],
    )
    expected = gb.importance.mda(model, X_new, y_new, scoring="neg_log_loss", n_repeats=30)
    known = np.isfinite(found.values)
    assert n_rows == len(X_new) and known.sum() == 5
    assert (
        abs(found.values - expected.values)[known]
        <= 5 * (found.errors + expected.errors)[known] + 1e-9
    ).all()


def test_calibration_counts_every_row(rng):
    p = rng.random(1000)
    y = (rng.random(1000) < p).astype(int)
    found = judge.calibration(y, np.ones(1000), p)
    assert found.counts.sum() == 1000 and len(found.counts) == 10 and found.counts.min() >= 99
    assert (
        (abs(found.predicted - found.observed) < 0.15).all()
        and (found.low <= found.observed).all()
        and (found.observed <= found.high).all()
    )
    constant = judge.calibration(y, np.ones(1000), np.full(1000, 0.5))
    assert constant.counts.tolist() == [1000] and constant.observed[0] == pytest.approx(y.mean())


def test_roc_curve(rng):
    y, p, weight = rng.integers(0, 2, 3000), rng.random(3000).round(2), rng.random(3000)
    false, true, _ = metrics.roc_curve(y, p, sample_weight=weight, drop_intermediate=False)
    found = judge.roc(y, weight, p)
    np.testing.assert_allclose(found, (false, true), atol=1e-12)
    assert len(judge.roc(y, weight, rng.random(3000))[0]) <= 400
