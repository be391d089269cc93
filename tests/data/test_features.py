import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.backend import get_backend
from gpuboost.data.features import Feature, FeatureMap
from gpuboost.data.summary import SAMPLE_ROWS, Summary

NOTHING = np.empty(0)


def fit(x, max_bins=256, weight=NOTHING, n_jobs=1):
    with get_backend("cpu", n_jobs) as backend:
        features = FeatureMap.of_numbers(x.shape[1]).with_cuts(
            Summary.of(x, weight), max_bins, backend
        )
        return features, features.matrix(x, backend, by_rows=True)


def cuts_of(features):
    return [feature.cuts for feature in features.features]


def expected_bins(features, x):
    out = np.empty(x.shape, np.uint8)
    for f, cuts in enumerate(feature.cuts for feature in features.features):
        v = x[:, f].astype(np.float64)
        out[:, f] = np.where(np.isnan(v), 0, 1 + np.searchsorted(cuts, v, side="left"))
    return out


def test_few_distinct_values_get_a_bin_each():
    x = np.array([[3.0], [1.0], [7.0], [1.0], [np.nan]])
    features, binned = fit(x)
    np.testing.assert_array_equal(features.features[0].cuts, [2.0, 5.0])
    np.testing.assert_array_equal(binned.columns[0], [2, 1, 3, 1, 0])
    np.testing.assert_array_equal(binned.by_rows[:5], [2, 1, 3, 1, 0])


@pytest.mark.parametrize("value", [5.0, np.nan, np.inf, -np.inf])
def test_constant_columns_have_no_cut(value):
    features, binned = fit(np.full((4, 1), value))
    assert len(features.features[0].cuts) == 0
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
    features, binned = fit(x, max_bins)
    cuts = features.features[0].cuts
    assert (np.diff(cuts) > 0).all() and len(cuts) <= min(max_bins, 255) - 1
    np.testing.assert_array_equal(binned.columns.T, expected_bins(features, x))
    distinct = np.unique(x[~np.isnan(x)])
    if len(distinct) <= max_bins:
        assert len(cuts) == max(len(distinct) - 1, 0)


def test_values_at_a_cut_and_next_to_it_agree_in_both_precisions(rng):
    x = rng.normal(size=(3000, 2)).astype(np.float32)
    features, _ = fit(x)
    probes = np.concatenate(
        [
            features.features[0].cuts,
            np.nextafter(features.features[0].cuts, np.inf),
            np.nextafter(features.features[0].cuts, -np.inf),
        ]
    )
    for probe in (probes, probes.astype(np.float32)):
        both = np.stack([probe, probe], axis=1)
        with get_backend("cpu", 1) as backend:
            binned = features.matrix(both, backend, by_rows=False)
        np.testing.assert_array_equal(binned.columns.T, expected_bins(features, both))


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "uint16", "float32", "float64"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtypes_and_orders(rng, dtype, order):
    x = np.asarray(rng.integers(0, 100, (500, 3)).astype(dtype), order=order)
    features, binned = fit(x)
    reference, _ = fit(x.astype(np.float64))
    for a, b in zip(cuts_of(features), cuts_of(reference), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(binned.columns.T, expected_bins(features, x))


def test_bins_are_shared_out_by_weight_and_by_rows(rng):
    x = rng.normal(size=(20_000, 1))
    weight = np.where(x[:, 0] > 0, 9.0, 1.0)
    features, binned = fit(x, 32, weight)
    rows, weights = (np.bincount(binned.columns[0], w)[1:] for w in (None, weight))
    shares = (rows / rows.sum() + weights / weights.sum()) / 2
    assert len(shares) == 32 and shares.max() < 1.1 / 32 and shares.min() > 0.9 / 32
    # the heavy half has 9/10 of the weight and 1/2 of the rows
    assert (features.features[0].cuts > 0).sum() == pytest.approx(0.7 * 31, abs=1)


def test_a_heavy_value_does_not_eat_the_bins_of_the_others(rng):
    x = np.where(rng.random((20_000, 1)) < 0.9, 0.0, rng.random((20_000, 1)))
    features, _ = fit(x, 64)
    assert len(features.features[0].cuts) > 50


def test_zero_weight_rows_are_not_there(rng):
    x = rng.normal(size=(400, 2))
    weight = (rng.random(400) < 0.5).astype(float)
    a, _ = fit(x, 16, weight)
    b, _ = fit(x[weight > 0], 16, weight[weight > 0])
    for p, q in zip(cuts_of(a), cuts_of(b), strict=True):
        np.testing.assert_array_equal(p, q)


def test_rare_values_of_large_data_are_not_missed():
    x = np.zeros((SAMPLE_ROWS + 50_000, 1), np.float32)
    x[12345], x[23456, 0] = 1.0, np.nan
    features, binned = fit(x)
    np.testing.assert_array_equal(features.features[0].cuts, [0.5])
    assert binned.columns[0, 12345] == 2 and binned.columns[0, 23456] == 0


def test_threads_do_not_matter(rng):
    x = rng.normal(size=(50_000, 5)).astype(np.float32)
    a, one = fit(x)
    b, two = fit(x, n_jobs=3)
    np.testing.assert_array_equal(one.by_rows, two.by_rows)
    np.testing.assert_array_equal(np.concatenate(cuts_of(a)), np.concatenate(cuts_of(b)))


# --- from a table to numbers


def test_categories_become_their_places_and_the_rest_stays():
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["y", None, "x"]})
    features = FeatureMap.of_table(frame, ["b"])
    assert [feature.kind for feature in features.features] == ["numeric", "categorical"]
    assert features.categories[1].tolist() == ["x", "y"]
    np.testing.assert_array_equal(features.is_categorical, [0, 1])
    new = pd.DataFrame({"a": [0.0, 1.0], "b": ["z", "y"]})
    np.testing.assert_array_equal(features.encode(new), [[0.0, np.nan], [1.0, 1.0]])
    assert new.b.tolist() == ["z", "y"]  # the user's table stays as it was
    matrix = np.array([[0.0, "z"], [1.0, "y"]], dtype=object)
    np.testing.assert_array_equal(features.encode(matrix), [[0.0, np.nan], [1.0, 1.0]])
    with pytest.raises(ValueError, match="column 'b' of X has a category that training has not se"):
        features.encode(new, unknown="error")


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"a": ["x"]}, "column 'a' holds text, and held numbers"),
        ({"a": [datetime.date(2020, 1, 1)]}, "column 'a' holds dates, and held numbers"),
        ({"b": [1.0]}, "column 'b' holds numbers, and held text"),
        ({"c": [1.0]}, "column 'c' holds numbers, and held dates"),
        ({"d": ["1"]}, "column 'd' holds text, and held numbers"),
    ],
)
def test_columns_that_hold_something_else_than_in_training(new, message):
    table = {"a": [1.0], "b": ["x"], "c": [datetime.date(2020, 1, 1)], "d": [5]}
    features = FeatureMap.of_table(pl.DataFrame(table), ["b", "d"])
    with pytest.raises(ValueError, match=f"X must hold what it held in training: {message}"):
        features.encode(pl.DataFrame(table | new))
    nothing = features.encode(pl.DataFrame({name: [None] for name in table}))
    assert np.isnan(nothing).all()
    same = features.encode(
        pl.DataFrame(table | {"a": [True], "b": pl.Series(["x"]).cast(pl.Enum(["x"]))})
    )
    np.testing.assert_array_equal(same[0], [1, 0, 1577836800, 0])


def test_times_are_told(caplog):
    caplog.set_level("INFO", logger="gpuboost")
    FeatureMap.of_table(pl.DataFrame({"t": [datetime.date(2020, 1, 1)], "n": [1]}), None)
    assert "'t' (dates, in seconds since 1970-01-01T00:00 UTC)" in caplog.text


def test_numbers_may_be_categories_and_stay_in_their_order():
    x = np.array([[7.0], [3.0], [np.nan], [7.0]])
    encoded = FeatureMap.of_table(x, [0]).encode(x)
    np.testing.assert_array_equal(encoded, [[1.0], [0.0], [np.nan], [1.0]])
    assert FeatureMap.of_table(x, "auto").encode(x) is x


def test_numbers_with_categories_are_ordinal():
    features = FeatureMap([Feature(), Feature("categorical", np.array([0.0, 2.0]))])
    named = features.with_categories({0: np.array(["a", "b"]), 1: np.array(["c", "d"])})
    assert [feature.kind for feature in named.features] == ["ordinal", "categorical"]
    assert named.encode(np.array([["b", "d"]])).tolist() == [[1.0, 1.0]]
