"""Leaf values that follow from the residuals of the rows of a leaf: quantiles by counting.

The rows are put in order of their leaves. In each leaf the keys of the residuals, integers in the
same order, are counted in buckets; those of the bucket that has the quantile are counted again,
until a bucket is one key. Weights are whole numbers, so that nothing depends on the order of rows.
"""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, kernel, take_number
from gpuboost.scalar.fixed_point import unit_for
from gpuboost.scalar.selection import (
    MEAN_ROOM,
    is_edge,
    is_reached,
    key_of,
    order_leaves,
    value_of,
    whole_weight,
)

BUCKETS = 1024


@kernel
def count_labels(
    counter,  # (1,) int64, INOUT
    rows,  # (n,) int32, IN
    labels,  # (n_rows,) uint8 or int32, IN
    block_rows,
    counts,  # (n_blocks, n_labels) int64, OUT
):
    """How many rows of each block have each label."""
    block = take_number(counter)
    while block < counts.shape[0]:
        own = counts[block]
        for label in range(own.shape[0]):
            own[label] = 0
        for i in range(block * block_rows, min((block + 1) * block_rows, rows.shape[0])):
            own[labels[rows[i]]] += 1
        block = take_number(counter)


@kernel
def place_labels(
    counts,  # (n_blocks, n_labels) int64, INOUT: numbers in, first places out
    begin,  # (n_labels + 1,) int64, OUT
):
    """Where the rows of each label, and those of each block among them, begin."""
    place = 0
    for label in range(counts.shape[1]):
        begin[label] = place
        for block in range(counts.shape[0]):
            n = counts[block, label]
            counts[block, label] = place
            place += n
    begin[counts.shape[1]] = place


@kernel
def list_residuals(
    counter,  # (1,) int64, INOUT
    rows,  # (n,) int32, IN
    labels,  # (n_rows,) uint8 or int32, IN
    block_rows,
    places,  # (n_blocks, n_labels) int64, INOUT
    y,  # (n_rows,) float64, IN
    raw,  # (n_rows,) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    factor,  # (n_rows,) float64 or (0,), IN
    unit,  # of the weights
    keys,  # (n,) uint64, OUT: of the residuals, label by label
    steps,  # (n,) int64 or (0,), OUT: their weights
):
    """Keys and weights of the residuals, in the order of the labels."""
    block = take_number(counter)
    while block < places.shape[0]:
        own = places[block]
        for i in range(block * block_rows, min((block + 1) * block_rows, rows.shape[0])):
            row = rows[i]
            place = own[labels[row]]
            own[labels[row]] = place + 1
            keys[place] = key_of(y[row] - raw[row])
            if steps.shape[0] > 0:
                w = weight[row] if weight.shape[0] > 0 else 1.0
                steps[place] = whole_weight(w * factor[row] if factor.shape[0] > 0 else w, unit)
        block = take_number(counter)


@kernel
def list_values(
    values,  # (n,) float64, IN
    weight,  # (n,) float64 or (0,), IN
    unit,
    keys,  # (n,) uint64, OUT
    steps,  # (n,) int64 or (0,), OUT
):
    """Keys and weights of values."""
    for i in range(values.shape[0]):
        keys[i] = key_of(values[i])
        if steps.shape[0] > 0:
            steps[i] = whole_weight(weight[i], unit)


@helper
def swap(keys, steps, a, b):
    """Let two entries change places."""
    keys[a], keys[b] = keys[b], keys[a]
    if steps.shape[0] > 0:
        steps[a], steps[b] = steps[b], steps[a]


@helper
def range_of(keys, n):
    """The lowest and the highest of the first n keys."""
    low, high = keys[0], keys[0]
    for i in range(n):
        low = keys[i] if keys[i] < low else low
        high = keys[i] if keys[i] > high else high
    return low, high


@helper
def fill_buckets(keys, steps, n, low, shift, counts):
    """Weights of the first n keys by the bucket that they are in."""
    for b in range(BUCKETS):
        counts[b] = 0
    if steps.shape[0] > 0:
        for i in range(n):
            counts[(keys[i] - low) >> shift] += steps[i]
    else:
        for i in range(n):
            counts[(keys[i] - low) >> shift] += 1


@helper
def quantile(
    keys,  # (n,) uint64, INOUT: n > 0; their order changes
    steps,  # (n,) int64 or (0,), INOUT: their weights
    level,
    counts,  # (BUCKETS,) int64, SCRATCH
):
    """The quantile of the numbers with these keys, and their weight."""
    n = keys.shape[0]
    total = np.int64(n if steps.shape[0] == 0 else 0)
    for i in range(steps.shape[0]):
        total += steps[i]
    low, high = range_of(keys, n)
    before = np.int64(0)  # the weight of keys below low
    upto = total  # and up to high
    while low < high:
        shift = np.uint64(0)
        while (high - low) >> shift >= np.uint64(BUCKETS):
            shift += np.uint64(1)
        fill_buckets(keys, steps, n, low, shift, counts)
        b, upto = 0, before + counts[0]
        while not is_reached(upto, total, level):
            b += 1
            before = upto
            upto += counts[b]
        low += np.uint64(b) << shift
        last = low + ((np.uint64(1) << shift) - np.uint64(1))
        high = last if last < high else high
        kept = 0
        for i in range(n):
            if keys[i] >= low and keys[i] <= high:
                swap(keys, steps, kept, i)
                kept += 1
        n = kept
        low, high = range_of(keys, n)
    value = value_of(low)
    if is_edge(upto, total, level):
        following = ~np.uint64(0)
        for i in range(keys.shape[0]):
            if keys[i] > low and keys[i] < following:
                following = keys[i]
        value = 0.5 * value + 0.5 * value_of(following)
    return value, total


@helper
def mean_beyond(keys, steps, total, middle, limit):
    """Mean of what numbers are away from the middle, none farther than the limit."""
    unit = unit_for(MEAN_ROOM, limit * np.float64(total))
    scale = 1.0 / unit
    away = np.int64(0)
    for i in range(keys.shape[0]):
        distance = value_of(keys[i]) - middle
        distance = -limit if distance < -limit else distance
        distance = limit if distance > limit else distance
        w = np.float64(steps[i]) if steps.shape[0] > 0 else 1.0
        away += np.int64(np.floor(distance * w * scale + 0.5))
    return np.float64(away) * unit / np.float64(total)


@kernel
def leaf_values(
    counter,  # (1,) int64, INOUT
    keys,  # (n,) uint64, INOUT: of the residuals, label by label; their order changes
    steps,  # (n,) int64 or (0,), INOUT: their weights
    begin,  # (n_labels + 1,) int64, IN: where those of each label begin
    leaf_of_label,  # (n_labels,) int32, IN
    level,
    limit,
    max_delta_step,
    learning_rate,
    values,  # (n_nodes,) float64, INOUT: those of leaves that have rows
):
    """The values of the leaves."""
    counts = np.empty(BUCKETS, np.int64)
    label = take_number(counter)
    while label < leaf_of_label.shape[0]:
        first, end = begin[label], begin[label + 1]
        if first < end:
            own_keys = keys[first:end]
            own_steps = steps[first:end] if steps.shape[0] > 0 else steps
            value, total = quantile(own_keys, own_steps, level, counts)
            if limit > 0.0:
                value += mean_beyond(own_keys, own_steps, total, value, limit)
            if max_delta_step > 0.0:
                value = max_delta_step if value > max_delta_step else value
                value = -max_delta_step if value < -max_delta_step else value
            values[leaf_of_label[label]] = learning_rate * value
        label = take_number(counter)


@kernel
def quantile_of(
    keys,  # (n,) uint64, INOUT
    steps,  # (n,) int64 or (0,), INOUT
    level,
    out,  # (1,) float64, OUT
):
    """The quantile of all numbers together."""
    out[0] = quantile(keys, steps, level, np.empty(BUCKETS, np.int64))[0]


order_leaves = kernel(order_leaves)
