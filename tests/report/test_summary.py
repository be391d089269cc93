"""Summaries of columns."""

import numpy as np

from gpuboost.report.summary import bars_of, spark


def test_small_histograms(rng):
    values = np.sort(rng.normal(size=10_000))
    assert bars_of(values).sum() >= 0.98 * 10_000 and len(bars_of(values)) == 20
    assert bars_of(np.array([-1.7e308, 1.7e308])).sum() == 2  # a span beyond the largest number
    assert bars_of(np.full(5, 2.0)).tolist() == [5] and not len(bars_of(np.array([np.inf])))
    assert spark(np.empty(0)) == "" and spark(np.array([1, 0, 2])).count("M") == 2
