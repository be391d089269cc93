"""A tree that ignores one of its features: at a split on it a row goes both ways.

A row then reaches several leaves. Rows that reach the same ones are a cell of the projected tree,
and a cell predicts the mean of its rows in the bag. The cells are found by dividing all rows, from
the root down:

    visited   0 | 1 2 | 3 4 6 | ...        nodes that the rows in hand have reached, level by level
                    at      tail           the next node to ask, and where its children are noted

A node on the ignored feature notes both children and leaves the rows together. Any other node
divides the rows; the left ones go on with the left child in ``visited[tail]``, the right ones wait
on a stack for their turn, in which the right child takes this place. Rows that no row of the bag
goes along with stay with the mean of the level above."""

import numpy as np

from gpuboost.kernels.cpu._jit import helper, kernel
from gpuboost.scalar.rows import goes_left


@helper
def divide(x, node, sets, begin, end, rows, scratch):
    """Put the rows that go left before the others, in order; returns where the others begin."""
    middle, n_right = begin, 0
    for i in range(begin, end):
        row = rows[i]
        if goes_left(x, row, node, sets):
            rows[middle] = row
            middle += 1
        else:
            scratch[n_right] = row
            n_right += 1
    for i in range(n_right):
        rows[middle + i] = scratch[i]
    return middle


@helper
def describe(rows, begin, end, weight, y, mean):
    """Mean of the rows in the bag into ``mean``; returns how many rows are in the bag."""
    n, total = 0, 0.0
    for c in range(mean.shape[0]):
        mean[c] = 0.0
    for i in range(begin, end):
        w = weight[rows[i]]
        if w > 0.0:
            n += 1
            total += w
            for c in range(mean.shape[0]):
                mean[c] += w * y[rows[i], c]
    for c in range(mean.shape[0]):
        mean[c] /= total
    return n


@helper
def has_bag_rows(rows, begin, end, weight):
    """Whether any of some rows is in the bag."""
    i = begin
    while i < end and weight[rows[i]] == 0.0:
        i += 1
    return i < end


@helper
def predict_cell(rows, begin, end, weight, mean, out):
    """Give the rows that are not in the bag their prediction."""
    for i in range(begin, end):
        if weight[rows[i]] == 0.0:
            for c in range(mean.shape[0]):
                out[rows[i], c] = mean[c]


@kernel
def project_tree(
    x,  # (n_rows, n_features) float64, IN: category numbers in nominal columns
    nodes,  # (n_nodes,) WALK_NODE, IN: one tree
    sets,  # (n_words,) uint64, IN
    ignored,  # the feature to ignore; -1: none
    weight,  # (n_rows,) float64, IN: of the rows in the bag, 0 for the others
    y,  # (n_rows, n_channels) float64, IN
    # (n_rows, n_channels) float64, OUT: predictions of the rows that are not in the bag; the others
    # are left as they are
    out,
):
    """Predictions of the projected tree."""
    n_rows, n_channels = y.shape
    rows, scratch = np.arange(n_rows), np.empty(n_rows, np.int64)
    visited = np.empty(nodes.shape[0], np.int64)
    waiting, waiting_mean = np.empty((n_rows, 6), np.int64), np.empty((n_rows, n_channels))
    mean = np.empty(n_channels)
    visited[0] = 0
    begin, end, at, tail, level_end, n_waiting = 0, n_rows, 0, 1, 0, 0
    while True:
        finished = False
        if at == level_end:
            n_bag = describe(rows, begin, end, weight, y, mean)
            level_end = tail
            # one row of the bag, or nothing but such rows: no division changes a prediction any
            # more
            finished = at == tail or n_bag == 1 or n_bag == end - begin
        if finished:
            predict_cell(rows, begin, end, weight, mean, out)
            if n_waiting == 0:
                break
            n_waiting -= 1
            begin, end, at, tail, level_end = (
                waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2],
                waiting[n_waiting, 3], waiting[n_waiting, 4],
            )  # fmt: skip
            visited[tail] = waiting[n_waiting, 5]
            tail += 1
            for c in range(n_channels):
                mean[c] = waiting_mean[n_waiting, c]
            continue
        node = nodes[visited[at]]
        at += 1
        if node.left < 0:
            continue
        visited[tail] = node.left
        tail += 1
        if node.feature == ignored:
            visited[tail] = node.left + 1
            tail += 1
            continue
        middle = divide(x, node, sets, begin, end, rows, scratch)
        if not has_bag_rows(rows, middle, end, weight):
            predict_cell(rows, middle, end, weight, mean, out)
            end = middle
        elif not has_bag_rows(rows, begin, middle, weight):
            predict_cell(rows, begin, middle, weight, mean, out)
            begin = middle
            visited[tail - 1] = node.left + 1
        else:
            frame = middle, end, at, tail - 1, level_end, node.left + 1
            for k in range(6):
                waiting[n_waiting, k] = frame[k]
            for c in range(n_channels):
                waiting_mean[n_waiting, c] = mean[c]
            n_waiting += 1
            end = middle
