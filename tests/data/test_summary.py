"""Chunks of a table, summarised one by one, give the cuts of the whole."""

from functools import reduce

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import SAMPLE_ROWS, Summary, sampled_rows


@pytest.mark.parametrize("n_rows", [1000, 2 * SAMPLE_ROWS + 17])
@pytest.mark.parametrize("weighted", [False, True])
def test_merged_summaries_give_the_cuts_of_the_whole(n_rows, weighted):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, n_rows).astype(float) if weighted else np.empty(0)
    y = x[:, 0].copy()
    ends = [0, n_rows // 7, n_rows // 7, n_rows // 2, n_rows]
    parts = [
        Summary.of_chunk(x[a:b], weight[a:b], a, n_rows, y[a:b])
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    merged = reduce(Summary.merge, parts)
    np.testing.assert_array_equal(merged.y, merged.x[:, 0])
    with get_backend("cpu", 2) as backend:
        whole, chunks = (
            FeatureMap.of_numbers(3).with_cuts(summary, 50, backend).features
            for summary in (Summary.of(x, weight), merged)
        )
    for one, other in zip(whole, chunks, strict=True):
        np.testing.assert_array_equal(one.cuts, other.cuts)


def test_the_sample_is_ascending_and_spread_over_all_rows():
    rows = sampled_rows(10 * SAMPLE_ROWS)
    assert len(rows) == SAMPLE_ROWS and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows // 10, np.arange(SAMPLE_ROWS))
    assert sampled_rows(SAMPLE_ROWS) is None


def test_summaries_of_different_content_are_not_merged():
    x = np.ones((2, 1))
    with pytest.raises(ValueError, match="must both have weights and targets, or not"):
        Summary.of_chunk(x, np.ones(2), 0, 4).merge(Summary.of_chunk(x, np.empty(0), 2, 4))
