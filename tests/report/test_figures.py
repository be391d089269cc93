"""The figures of a page."""

import numpy as np
from report_pages import report

import gpuboost as gb


def test_many_rows_become_hexagons_and_samples(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("gpuboost.report.summary.MAX_ROWS", 1000)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = X.sum(axis=1).astype(float)
    page = report(gb.GPUBoostRegressor(n_estimators=3).fit(X, y), tmp_path, X, y)
    assert (
        "3,000 rows, counted in hexagons" in page.html
        and "sample of 1,000 rows" in page.html
        and "2,000 rows, 5 shuffles" in page.html
    )
