import math
import types

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from gpuboost.objectives.scores import auc
from gpuboost.scalar.area import area_and_pairs, sum_in_order

NOTHING = np.empty(0)


def float_auc(y, score, weight):
    """The same area from sums of floats, row by row of the sorted scores."""
    order = np.argsort(score, kind="stable")
    w, positive = weight[order], y[order] > 0.5
    _, start = np.unique(score[order], return_index=True)
    pos = np.add.reduceat(np.where(positive, w, 0.0), start)
    neg = np.add.reduceat(np.where(positive, 0.0, w), start)
    below = np.concatenate([[0.0], np.cumsum(neg)[:-1]])
    return float((pos * (below + 0.5 * neg)).sum() / (pos.sum() * neg.sum()))


@pytest.mark.parametrize("n", [2, 50, 4096, 4097, 20_000])
@pytest.mark.parametrize("digits", [0, 2, 17])
def test_rows_without_weights_are_counted_exactly(rng, n, digits):
    y, score = (np.arange(n) % 3 == 0).astype(float), rng.normal(size=n).round(digits)
    y[:2] = 0, 1
    assert auc(y, score) == float_auc(y, score, np.ones(n))  # to the last bit
    area, pairs = area_and_pairs(y, score, NOTHING)
    assert pairs == y.sum() * (n - y.sum()) and 2 * area == int(2 * area)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_weights_are_as_good_as_floats(rng, scale):
    y, score, weight = rng.integers(0, 2, 9000), rng.random(9000).round(3), rng.random(9000) * scale
    assert auc(y, score, weight) == pytest.approx(float_auc(y, score, weight), rel=4e-15)
    assert auc(y, score, weight) == pytest.approx(
        roc_auc_score(y, score, sample_weight=weight), rel=1e-12
    )
    with_zeros = np.append(weight, np.zeros(100)), np.append(y, y[:100]), np.append(score, y[:100])
    assert auc(with_zeros[1], with_zeros[2], with_zeros[0]) == pytest.approx(
        auc(y, score, weight), rel=4e-15
    )


def test_the_order_of_rows_does_not_matter(rng):
    y, score, weight = rng.integers(0, 2, 9000), rng.random(9000).round(3), rng.random(9000)
    weight[:] = np.floor(weight * 2**20)  # so that their sum has no order either
    first = area_and_pairs(y, score, weight)
    for _ in range(5):
        places = rng.permutation(9000)
        assert area_and_pairs(y[places], score[places], weight[places]) == first


def test_where_there_is_nothing_to_tell():
    for y, weight in (([], NOTHING), ([1, 1], NOTHING), ([0, 0], NOTHING), ([0, 1], np.zeros(2))):
        area, pairs = area_and_pairs(np.array(y), np.arange(len(y)), weight)
        assert area == pairs == 0.0 and math.isnan(auc(np.array(y), np.arange(len(y)), weight))


def the_target(y, raw):
    return y


@pytest.mark.parametrize("n", [1, 127, 129, 4096, 4097, 700_000])
def test_sums_have_the_order_of_the_kernels(n, rng, backend):
    values = rng.exponential(size=n)
    metric = types.SimpleNamespace(
        row_value=the_target,
        per_row=False,
        n_arrays=0,
        parameters=(),
        score=lambda total, n_rows: total,
    )
    expected = backend.mean_of_rows(metric, 1.0, values, values[None], NOTHING, np.empty((0, n)))
    assert sum_in_order(values) == expected
