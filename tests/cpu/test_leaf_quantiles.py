import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboost.kernels.cpu import leaf_quantiles
from gpuboost.scalar.selection import key_of


def found(values, level, weight=None):
    steps = np.empty(0, np.int64) if weight is None else np.array(weight, np.int64)
    keys = np.array([key_of(v) for v in values], np.uint64)
    out = np.empty(1)
    leaf_quantiles.quantile_of(keys, steps, level, out)
    return out[0]


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(
    values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40),
    level=st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.75, 0.999]),
    seed=st.integers(0, 100),
)
def test_quantiles_are_those_of_sorted_rows(values, level, seed):
    weight = np.random.default_rng(seed).integers(1, 4, len(values))
    for given_weight in (None, weight):
        rows = values if given_weight is None else np.repeat(values, given_weight)
        rows = np.sort(rows)
        place = level * len(rows)
        k = int(np.ceil(place - 1e-9))
        expected = rows[k - 1]
        if abs(place - k) < 1e-9 and k < len(rows):
            expected = 0.5 * rows[k - 1] + 0.5 * rows[k]
        assert found(values, level, given_weight) == expected


@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_many_leaves(rng, weighted):
    n, n_leaves, block_rows = 5000, 300, 700
    labels = rng.integers(0, n_leaves - 1, n).astype(np.int32)  # the last leaf is empty
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    y, raw = rng.standard_cauchy(n), rng.normal(size=n)
    weight = rng.integers(1, 5, n).astype(float) if weighted else np.empty(0)
    counts = np.empty((-(-len(rows) // block_rows), n_leaves), np.int64)
    begin = np.empty(n_leaves + 1, np.int64)
    counter = np.zeros(1, np.int64)
    places = rows, labels, block_rows
    leaf_quantiles.count_labels(counter, *places, counts)
    leaf_quantiles.place_labels(counts, begin)
    assert begin[-1] == len(rows)
    keys = np.empty(len(rows), np.uint64)
    steps = np.empty(len(rows) if weighted else 0, np.int64)
    counter[:] = 0
    given_rows = y, raw, weight, np.empty(0), 1.0
    leaf_quantiles.list_residuals(counter, *places, counts, *given_rows, keys, steps)
    values = np.full(n_leaves, 7.0)
    counter[:] = 0
    numbers = 0.5, 2.0, 0.0, 0.1
    own = np.arange(n_leaves, dtype=np.int32)
    leaf_quantiles.leaf_values(counter, keys, steps, begin, own, *numbers, values)
    for leaf in range(n_leaves):
        members = rows[labels[rows] == leaf]
        if len(members) == 0:
            assert values[leaf] == 7.0
            continue
        times = weight[members].astype(int) if weighted else 1
        residual = np.repeat(y[members] - raw[members], times)
        median = np.median(residual)
        expected = median + np.mean(np.clip(residual - median, -2.0, 2.0))
        assert values[leaf] == pytest.approx(0.1 * expected)
