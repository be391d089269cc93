"""Features and cuts that are drawn by chance, or lie in the middle of a cell."""

import numpy as np

from gpuboost.dtypes import MIDPOINT, RANDOM
from gpuboost.kernels.cpu._jit import helper, inlined
from gpuboost.scalar.formulas import hash32


@helper
def uniform(key, x):
    """A number in [0, 1) from a key and a counter."""
    return np.float64(hash32(key, x)) * (1.0 / 4294967296.0)


@helper
def draw_feature(features, k, key, probability):
    """Bring a random one of features[k:] to place k, by their probabilities if there are some.

    Returns whether one is left.
    """
    n = features.shape[0]
    chosen = k + np.int64(uniform(key, 3 * k) * (n - k))
    if probability.shape[0] > 0:
        rest = 0.0
        for i in range(k, n):
            rest += probability[features[i]]
        at, chosen = uniform(key, 3 * k) * rest, -1
        for i in range(k, n):
            share = probability[features[i]]
            if share > 0.0 and (chosen < 0 or at >= 0.0):
                chosen = i
            at -= share
        if chosen < 0:
            return False
    features[k], features[chosen] = features[chosen], features[k]
    return True


@helper
def cell_middle(coded_begin, n_codes, lower, upper, nodes, node_id, f):
    """Middle of a node's cell along a feature.

    The cell lies between the splits above the node, or the ends of the data.
    """
    low, high = lower[coded_begin[f] + 1], upper[coded_begin[f] + n_codes[f] - 1]
    low_known, high_known = False, False
    child = node_id
    while nodes[child].parent >= 0:
        parent = nodes[child].parent
        if nodes[parent].feature == f:
            if nodes[parent].left == child and not high_known:
                high, high_known = nodes[parent].threshold, True
            if nodes[parent].right == child and not low_known:
                low, low_known = nodes[parent].threshold, True
        child = parent
    return low + 0.5 * (high - low)


@helper
def last_below(threshold, upper, present, m):
    """How many of the m codes present (from entry 1 on) lie at or below a threshold."""
    low, high = 0, m
    while low < high:
        middle = (low + high) // 2
        if upper[present[1 + middle]] <= threshold:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def drawn_cut(f, coded, growth, work, nodes, node_id, key, m):
    """A cut by chance or in the middle of the cell: (place, threshold).

    The place is among the m codes present, or -1 if there is no such cut.
    """
    upper = coded.upper[coded.begin[f] : coded.begin[f + 1]]
    if growth[0].splitter == RANDOM:
        low = coded.lower[coded.begin[f] + work.present[1]]
        threshold = low + uniform(key, 1) * (upper[work.present[m]] - low)
    else:
        threshold = cell_middle(
            coded.begin, coded.n_codes, coded.lower, coded.upper, nodes, node_id, f
        )
    n_below = last_below(threshold, upper, work.present, m)
    if growth[0].splitter == MIDPOINT and (n_below == 0 or n_below == m):
        return -1, threshold  # all rows are on one side of the middle
    return min(max(n_below - 1, 0), m - 2), threshold
