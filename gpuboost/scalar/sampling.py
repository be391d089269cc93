"""Rows drawn by the size of their gradients: how a size becomes a probability.

Sizes are put into buckets, 128 for each power of two, and all rows of a bucket are kept with one
probability. What is counted are integers, and a row is kept if its hash is low enough: every device
draws the same rows. A row that is kept counts 1 / probability times, so that all sums are right on
average.

``mvs`` (minimal variance sampling, Ibragimov and Gusev 2019): the probability is proportional to
the size, and 1 for the largest. ``goss`` (gradient-based one-side sampling, Ke et al. 2017): 1 for
a share of the rows, those of largest size, and the same lower one for all others; rows of the
bucket in between share what is left of the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import floor, sqrt

from gpuboost.scalar.formulas import hash32, power_of_two_below

#: 32 powers of two, from 2**-24 to 2**8 times the mean size, each in 128 buckets.
N_BUCKETS = 4096
#: The bucket of rows of no weight, behind the others: none of them is kept.
NO_BUCKET = N_BUCKETS
#: Bits of a squared size below those that make the bucket, and the lowest bucket's bits.
SHIFT, LOWEST = 46, (1023 - 48) << 6
#: Steps of a size, in units of the mean.
STEPS = 2.0**24
#: Hashes are below this.
HASHES = 4294967296.0


def begin_sample(sums: Any, root: float, n_rows: float, sample: Any) -> None:
    """The scale of sizes, from the sums of |g| and h (n_outputs, 2): their mean is about 1."""
    total = 0.0
    for k in range(sums.shape[0]):
        total += sums[k, 0] + root * sums[k, 1]
    sample[0].scale = power_of_two_below(n_rows / total) if total > 0.0 else 1.0
    sample[0].bucket = -1
    sample[0].share_at = 1.0
    sample[0].share_below = 1.0
    sample[0].full_size = 1.0


def bucket_of(square: float) -> Any:
    """The bucket of a squared, scaled size; those beyond all buckets, and NaN, are in the ends."""
    place = (np.float64(square).view(np.int64) >> np.int64(SHIFT)) - np.int64(LOWEST)
    return min(max(place, np.int64(0)), np.int64(N_BUCKETS - 1))


def steps_of(bucket: Any) -> Any:
    """The size of all rows of a bucket, its lower end, as a whole number of steps."""
    bits = np.int64((np.int64(bucket) + np.int64(LOWEST)) << np.int64(SHIFT))
    return np.int64(floor(sqrt(bits.view(np.float64)) * STEPS))


def square_of(g: float, h: float, root: float) -> float:
    """The squared size of one output of a row."""
    second = root * h
    return g * g + second * second


def weighted_bucket(square: float, weight: float, scale: float) -> Any:
    """The bucket of a row with a weight; rows of no weight are in a bucket of their own."""
    scaled = weight * scale
    return NO_BUCKET if weight == 0.0 else bucket_of(square * (scaled * scaled))


def measure_row(
    i: Any, g: Any, h: Any, root: float, weight: Any, weighted: Any, sample: Any, buckets: Any
) -> None:
    """The bucket of a row's size sqrt(sum of g**2 + (root * h)**2), times its weight."""
    square, scale = 0.0, sample[0].scale
    for k in range(g.shape[0]):
        square += square_of(g[k, i], h[k, i], root)
    if weighted:
        buckets[i] = weighted_bucket(square, weight[i], scale)
    else:
        buckets[i] = bucket_of(square * (scale * scale))


def add_sizes(bucket: Any, counts: Any) -> None:
    """``counts[1]``: the steps of all rows of a bucket, of which ``counts[0]`` are the numbers."""
    counts[1, bucket] = counts[0, bucket] * steps_of(bucket)


def find_limit(
    bucket: Any, up_to: Any, n_wanted: float, n_top: float, by_size: Any, sample: Any
) -> None:
    """Write the limit into ``sample`` if it is in this bucket.

    ``up_to`` has the sums of ``counts`` up to each bucket. At most one bucket is the limit: rows
    above it are kept for certain.
    """
    last = N_BUCKETS - 1
    n_above = np.float64(up_to[0, last] - up_to[0, bucket])
    if by_size:
        if is_certain(bucket, up_to, n_wanted, n_above):
            return
        if bucket < last:
            n_next = np.float64(up_to[0, last] - up_to[0, bucket + 1])
            if not is_certain(bucket + 1, up_to, n_wanted, n_next):
                return
        room, rest = n_wanted - n_above, np.float64(up_to[1, bucket])
        sample[0].bucket = bucket
        sample[0].full_size = rest / room if room > 0.0 and rest > 0.0 else 1.0
        return
    n_before = np.float64(up_to[0, bucket - 1]) if bucket > 0 else 0.0
    n_at = np.float64(up_to[0, bucket]) - n_before
    if n_above < n_top and n_top <= n_above + n_at:
        below = (n_wanted - n_top) / (np.float64(up_to[0, last]) - n_top)
        sample[0].bucket = bucket
        sample[0].share_below = below
        sample[0].share_at = below + (1.0 - below) * ((n_top - n_above) / n_at)


def is_certain(bucket: Any, up_to: Any, n_wanted: float, n_above: float) -> Any:
    """Whether rows of a bucket are as large as what would be a probability of 1."""
    room = n_wanted - n_above
    return room > 0.0 and np.float64(steps_of(bucket)) * room >= np.float64(up_to[1, bucket])


def share_kept(bucket: Any, by_size: Any, sample: Any) -> float:
    """The probability with which a row of a bucket is kept."""
    if bucket == NO_BUCKET:
        return 0.0
    if bucket > sample[0].bucket:
        return 1.0
    if by_size:
        share = np.float64(steps_of(bucket)) / sample[0].full_size
        return share if share < 1.0 else 1.0
    return sample[0].share_at if bucket == sample[0].bucket else sample[0].share_below


def fill_plan(bucket: Any, by_size: Any, sample: Any, plan: Any) -> None:
    """For the rows of a bucket: hashes below ``plan[0]`` are kept, and count ``plan[1]`` times."""
    share = share_kept(bucket, by_size, sample)
    plan[0, bucket] = share * HASHES
    plan[1, bucket] = 1.0 / share if share > 0.0 else 0.0


def times_of_row(i: Any, key: Any, bucket: Any, plan: Any) -> Any:
    """How often a row counts: 0 times if it is not drawn."""
    # a product, as a branch would be as good as random
    return plan[1, bucket] * np.float64(np.float64(hash32(key, i)) < plan[0, bucket])


def keep_row(i: Any, key: Any, buckets: Any, plan: Any, g: Any, h: Any, factor: Any) -> None:
    """Draw a row, and multiply its gradients by how often it counts."""
    times = times_of_row(i, key, buckets[i], plan)
    factor[i] = times
    for k in range(g.shape[0]):
        g[k, i] = g[k, i] * times
        h[k, i] = scaled_hessian(h[k, i], times)


def scaled_hessian(h: float, times: float) -> float:
    """A hessian times a factor; those below zero are refused, also of rows that are not drawn."""
    return h * times if h >= 0.0 else np.nan


def keep_unit(i: Any, key: Any, units: Any, shares: Any, factor: Any) -> None:
    """Draw a row with the others of its unit, with a probability of its own."""
    drawn = np.float64(hash32(key, units[i])) < shares[i] * HASHES
    factor[i] = 1.0 if drawn else 0.0


def weight_left_out(i: Any, factor: Any, weight: Any, out: Any) -> None:
    """The weight of a row that is not drawn; 0 for one that is."""
    of_row = weight[i] if weight.shape[0] > 0 else 1.0
    out[i] = 0.0 if factor[i] > 0.0 else of_row
