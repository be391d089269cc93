"""Chunks of a table, summarised one by one, give the cuts of the whole."""

from functools import reduce

import numpy as np
import pytest

from gpuboost.backend import get_backend
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import SAMPLE_ROWS, Summary, sampled_rows, shares_of_bins


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


def test_half_of_the_bins_go_to_weight_and_half_to_rows():
    weight = np.array([0.5, 0.0, 1.5, 4.0])
    np.testing.assert_array_equal(shares_of_bins(weight, None), [1.25, 0.0, 1.75, 3.0])
    np.testing.assert_array_equal(shares_of_bins(2.0**-40 * weight, None), [1.25, 0.0, 1.75, 3.0])
    # the rows that are looked at say what the mean weight is
    np.testing.assert_array_equal(shares_of_bins(weight, np.array([0, 1, 2])), [1.5, 0, 2.5, 5])


def test_equal_weights_are_none_and_whole_numbers_are_numbers_of_rows():
    none = np.empty(0)
    for equal in (none, np.full(5, 0.3)):
        assert shares_of_bins(equal, None).size == 0
    np.testing.assert_array_equal(shares_of_bins(np.array([0, 0.3, 0.3]), None), [0, 1, 1])
    np.testing.assert_array_equal(shares_of_bins(np.array([0.0, 3, 1]), None), [0, 3, 1])
    assert (
        shares_of_bins(np.array([1.0, 9000]), None) < 3
    ).all()  # more than are exact in training


def test_light_rows_have_bins_beside_heavy_ones():
    """Nine tenths of the rows have next to no weight, and stand where no heavy row is."""
    rng = np.random.default_rng(0)
    heavy = rng.random(3000) < 0.1
    x = np.where(heavy, rng.normal(size=3000), 10 + rng.normal(size=3000))[:, None]
    with get_backend("cpu", 1) as backend:
        (cuts,) = Summary.of(x, np.where(heavy, 1e6, 1.5)).cuts(100, backend)
    assert 40 <= (cuts > 5).sum() <= 50


@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_of_weight_k_is_k_rows_for_the_cuts(weighted):
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(900, 1)), rng.integers(0, 5, 900)
    again = np.repeat(x, weight, axis=0)
    with get_backend("cpu", 1) as backend:
        one, other = (
            Summary.of(*both).cuts(50, backend)[0]
            for both in (
                (x, weight.astype(float)),
                (again, np.ones(len(again)) if weighted else np.empty(0)),
            )
        )
    np.testing.assert_array_equal(one, other)
