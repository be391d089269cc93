import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.backend import get_backend
from gpuboost.data.binning import SAMPLE_ROWS, BinMapper

NOTHING = np.empty(0)


def fit(x, max_bins=256, weight=NOTHING, n_jobs=1):
    with get_backend("cpu", n_jobs) as backend:
        mapper = BinMapper.fit(x, weight, max_bins, backend)
        return mapper, mapper.transform(x, backend, by_rows=True)


def expected_bins(mapper, x):
    out = np.empty(x.shape, np.uint8)
    for f, cuts in enumerate(mapper.cuts):
        v = x[:, f].astype(np.float64)
        out[:, f] = np.where(np.isnan(v), 0, 1 + np.searchsorted(cuts, v, side="left"))
    return out


def test_few_distinct_values_get_a_bin_each():
    x = np.array([[3.0], [1.0], [7.0], [1.0], [np.nan]])
    mapper, binned = fit(x)
    np.testing.assert_array_equal(mapper.cuts[0], [2.0, 5.0])
    np.testing.assert_array_equal(binned.columns[0], [2, 1, 3, 1, 0])
    np.testing.assert_array_equal(binned.bins[:5], [2, 1, 3, 1, 0])


@pytest.mark.parametrize("value", [5.0, np.nan, np.inf, -np.inf])
def test_constant_columns_have_no_cut(value):
    mapper, binned = fit(np.full((4, 1), value))
    assert len(mapper.cuts[0]) == 0
    np.testing.assert_array_equal(binned.columns[0], 0 if np.isnan(value) else 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=60),
    st.sampled_from([2, 3, 10, 256]),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_values(values, max_bins, dtype):
    """Cuts ascend strictly, every value gets the bin that the cuts say.

    And no two of few distinct values share one.
    """
    x = np.array(values, dtype)[:, None]
    mapper, binned = fit(x, max_bins)
    cuts = mapper.cuts[0]
    assert (np.diff(cuts) > 0).all() and len(cuts) <= min(max_bins, 255) - 1
    np.testing.assert_array_equal(binned.columns.T, expected_bins(mapper, x))
    distinct = np.unique(x[~np.isnan(x)])
    if len(distinct) <= max_bins:
        assert len(cuts) == max(len(distinct) - 1, 0)


def test_values_at_a_cut_and_next_to_it_agree_in_both_precisions(rng):
    x = rng.normal(size=(3000, 2)).astype(np.float32)
    mapper, _ = fit(x)
    probes = np.concatenate(
        [
            mapper.cuts[0],
            np.nextafter(mapper.cuts[0], np.inf),
            np.nextafter(mapper.cuts[0], -np.inf),
        ]
    )
    for probe in (probes, probes.astype(np.float32)):
        both = np.stack([probe, probe], axis=1)
        with get_backend("cpu", 1) as backend:
            binned = mapper.transform(both, backend, by_rows=False)
        np.testing.assert_array_equal(binned.columns.T, expected_bins(mapper, both))


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "uint16", "float32", "float64"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtypes_and_orders(rng, dtype, order):
    x = np.asarray(rng.integers(0, 100, (500, 3)).astype(dtype), order=order)
    mapper, binned = fit(x)
    reference, _ = fit(x.astype(np.float64))
    for a, b in zip(mapper.cuts, reference.cuts, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(binned.columns.T, expected_bins(mapper, x))


def test_bins_have_about_equal_weight(rng):
    x = rng.normal(size=(20_000, 1))
    weight = np.where(x[:, 0] > 0, 9.0, 1.0)
    mapper, binned = fit(x, 32, weight)
    shares = np.bincount(binned.columns[0], weight)[1:] / weight.sum()
    assert len(shares) == 32 and shares.max() < 1.5 / 32 and shares.min() > 0.5 / 32
    assert (mapper.cuts[0] > 0).sum() > 24  # the heavy half gets most of the cuts


def test_a_heavy_value_does_not_eat_the_bins_of_the_others(rng):
    x = np.where(rng.random((20_000, 1)) < 0.9, 0.0, rng.random((20_000, 1)))
    mapper, _ = fit(x, 64)
    assert len(mapper.cuts[0]) > 50


def test_zero_weight_rows_are_not_there(rng):
    x = rng.normal(size=(400, 2))
    weight = (rng.random(400) < 0.5).astype(float)
    a, _ = fit(x, 16, weight)
    b, _ = fit(x[weight > 0], 16, weight[weight > 0])
    for p, q in zip(a.cuts, b.cuts, strict=True):
        np.testing.assert_array_equal(p, q)


def test_rare_values_of_large_data_are_not_missed():
    x = np.zeros((SAMPLE_ROWS + 50_000, 1), np.float32)
    x[12345], x[23456, 0] = 1.0, np.nan
    mapper, binned = fit(x)
    np.testing.assert_array_equal(mapper.cuts[0], [0.5])
    assert binned.columns[0, 12345] == 2 and binned.columns[0, 23456] == 0


def test_threads_do_not_matter(rng):
    x = rng.normal(size=(50_000, 5)).astype(np.float32)
    a, one = fit(x)
    b, two = fit(x, n_jobs=3)
    np.testing.assert_array_equal(one.bins, two.bins)
    np.testing.assert_array_equal(np.concatenate(a.cuts), np.concatenate(b.cuts))
