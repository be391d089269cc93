"""Sizes of gradients become probabilities."""

import numpy as np
import pytest

from gpuboost.dtypes import SAMPLE
from gpuboost.scalar import sampling
from gpuboost.scalar.sampling import N_BUCKETS, NO_BUCKET, STEPS


def buckets_of(sizes, scale):
    return np.array([sampling.bucket_of((size * scale) ** 2) for size in sizes])


def planned(sizes, n_wanted, n_top, by_size):
    """The bucket of each row, and the probability with which it is kept."""
    sample, n = np.zeros(1, SAMPLE).view(np.recarray), len(sizes)
    sampling.begin_sample(np.array([[sizes.sum(), n]]), 0.0, float(n), sample)
    buckets = buckets_of(sizes, sample[0].scale)
    counts = np.zeros((2, N_BUCKETS + 1), np.int64)
    counts[0] = np.bincount(buckets, minlength=N_BUCKETS + 1)
    for bucket in range(N_BUCKETS):
        sampling.add_sizes(bucket, counts)
    up_to = counts.cumsum(axis=1)
    for bucket in range(N_BUCKETS):
        sampling.find_limit(bucket, up_to, n_wanted, n_top, by_size, sample)
    shares = np.array([sampling.share_kept(bucket, by_size, sample) for bucket in buckets])
    return buckets, shares


def optimal(sizes, n_wanted):
    """min(1, size / mean), with the mean that keeps so many rows on average: by bisection."""
    low, high = 0.0, sizes.sum() / n_wanted * 2
    for _ in range(200):
        mean = (low + high) / 2
        low, high = (mean, high) if np.minimum(1, sizes / mean).sum() > n_wanted else (low, mean)
    return np.minimum(1, sizes / high)


DRAWS = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "heavy tails": lambda rng, n: rng.pareto(0.8, size=n),
    "few values": lambda rng, n: rng.choice([0.1, 0.5, 2.0], size=n),
    "all equal": lambda rng, n: np.full(n, 0.3),
    "most are 0": lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.4),
}


@pytest.mark.parametrize("share", [0.1, 0.35])
@pytest.mark.parametrize("draw", DRAWS)
def test_probabilities_by_size_are_the_optimal_ones(rng, draw, share):
    sizes = DRAWS[draw](rng, 3000)
    _, shares = planned(sizes, share * 3000, 0.0, by_size=True)
    # sizes are rounded down to one of 128 steps for each power of two
    np.testing.assert_allclose(shares[sizes > 0], optimal(sizes, share * 3000)[sizes > 0], 0.02)
    assert shares.sum() == pytest.approx(share * 3000, rel=1e-9)
    assert (shares[sizes == 0] < 1e-6).all()


@pytest.mark.parametrize("draw", DRAWS)
def test_the_largest_are_kept_and_others_by_chance(rng, draw):
    sizes = DRAWS[draw](rng, 3000)
    buckets, shares = planned(sizes, 900.0, 600.0, by_size=False)
    assert shares.sum() == pytest.approx(900)
    limit = np.sort(buckets)[-600]
    assert (shares[buckets > limit] == 1).all()
    np.testing.assert_allclose(shares[buckets < limit], (900 - 600) / (3000 - 600))
    # ties share what is left of the places
    assert len(set(shares[buckets == limit])) == 1


def test_buckets_are_in_the_order_of_sizes_and_hold_all(rng):
    sizes = np.sort(np.concatenate([2.0 ** rng.uniform(-30, 12, 500), [0.0, 1e-100, 1e100]]))
    buckets = buckets_of(sizes, 1.0)
    assert (np.diff(buckets) >= 0).all() and buckets[0] == 0 and buckets[-1] == N_BUCKETS - 1
    inside = (sizes > 2.0**-24) & (sizes < 2.0**8)
    floor = np.array([sampling.steps_of(b) for b in buckets]) / STEPS
    assert (floor[inside] <= sizes[inside]).all()
    coarse = inside & (sizes > 2.0**-10)  # below, whole steps are the limit
    assert (floor[coarse] > sizes[coarse] * (1 - 1 / 64)).all()
    assert 0 <= sampling.bucket_of(np.nan) < N_BUCKETS


def test_sizes_of_rows():
    g, h = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 5.0]]), np.ones((2, 3))
    sample, buckets = np.zeros(1, SAMPLE).view(np.recarray), np.empty(3, np.int16)
    sample[0].scale = 1.0
    for i in range(3):
        sampling.measure_row(i, g, h, 2.0, np.array([1.0, 2.0, 0.0]), True, sample, buckets)
    squares = [9.0 + 0.0 + 2 * 2.0**2, 2.0**2 * (1.0 + 4.0 + 2 * 2.0**2)]
    assert buckets.tolist() == [*map(sampling.bucket_of, squares), NO_BUCKET]
