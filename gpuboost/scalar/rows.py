"""What a prediction does with one row: written once, compiled for every device."""

from typing import Any

import numpy as np

from gpuboost.scalar.formulas import exp, log, sigmoid

#: Sets of categories are words of 64 bits; unsigned numbers keep shifts and indices simple.
ONE, WORD = np.uint64(1), np.uint64(64)

# --- trees


def goes_left(x: Any, i: int, node: Any, sets: Any) -> Any:
    """Where a node sends a row."""
    value = np.float64(x[i, np.uint64(node.feature)])
    if value != value:
        return node.missing_left != 0
    if node.first_word < 0:
        return value <= node.threshold
    code = np.uint64(value) + ONE
    return (sets[np.uint64(node.first_word) + code // WORD] >> code % WORD) & ONE != 0


def walk(x: Any, i: int, nodes: Any, sets: Any) -> Any:
    """The leaf of a row in one tree."""
    k = np.uint64(0)
    while nodes[k].left >= 0:
        node = nodes[k]
        k = np.uint64(node.left) + np.uint64(not goes_left(x, i, node, sets))
    return k


def add_tree(
    i: int,
    t: int,
    x: Any,
    begin: Any,
    nodes: Any,
    values: Any,
    first_set: Any,
    sets: Any,
    weights: Any,
    out: Any,
) -> None:
    """Add tree t to the raw scores of a row, which are a column of ``out``."""
    own_sets = sets[first_set[t] : first_set[t + 1]]
    leaf = np.uint64(begin[t]) + walk(x, i, nodes[begin[t] : begin[t + 1]], own_sets)
    n_channels = out.shape[0]
    # no arrays of one row: to make them takes longer than the walk
    if values.shape[1] < n_channels:  # a number for the tree's own channel
        out[t % n_channels, i] += weights[t] * values[leaf, 0]
    else:
        for c in range(n_channels):
            out[c, i] += weights[t] * values[leaf, c]


def add_trees(
    i: int,
    x: Any,
    begin: Any,
    nodes: Any,
    values: Any,
    first_set: Any,
    sets: Any,
    weights: Any,
    first_tree: int,
    end_tree: int,
    out: Any,
) -> None:
    """Add trees to the raw scores of a row, in the order of the trees."""
    for t in range(first_tree, end_tree):
        add_tree(i, t, x, begin, nodes, values, first_set, sets, weights, out)


def add_unseen_trees(
    i: int,
    x: Any,
    begin: Any,
    nodes: Any,
    values: Any,
    first_set: Any,
    sets: Any,
    weights: Any,
    first_tree: int,
    end_tree: int,
    in_bag: Any,
    out: Any,
) -> None:
    """Add those of the trees whose bags, the rows of ``in_bag``, do not have the row."""
    for t in range(first_tree, end_tree):
        if in_bag[t - first_tree, i] == 0:
            add_tree(i, t, x, begin, nodes, values, first_set, sets, weights, out)


def find_leaves(
    i: int, x: Any, begin: Any, nodes: Any, first_set: Any, sets: Any, out: Any
) -> None:
    """The leaf of a row in each tree, into a column of ``out``."""
    for t in range(out.shape[0]):
        own_sets = sets[first_set[t] : first_set[t + 1]]
        out[t, i] = np.int32(walk(x, i, nodes[begin[t] : begin[t + 1]], own_sets))


# --- medians


def comes_before(values: Any, a: int, b: int) -> Any:
    """Whether value a stands before value b in ascending order; equal ones keep theirs."""
    return values[a] < values[b] or (values[a] == values[b] and a < b)


def sift_down(values: Any, order: Any, begin: int, end: int) -> None:
    """Let the entry at ``begin`` sink to its place in a heap that has the last value on top."""
    k = begin
    child = 2 * k + 1
    while child < end:
        if child + 1 < end and comes_before(values, order[child], order[child + 1]):
            child += 1
        if comes_before(values, order[k], order[child]):
            order[k], order[child] = order[child], order[k]
            k = child
            child = 2 * k + 1
        else:
            child = end


def weighted_median(values: Any, weights: Any, order: Any) -> Any:
    """The lowest value at which half of the weight is reached; ``order`` is overwritten."""
    n = values.shape[0]
    for t in range(n):
        order[t] = t
    for k in range(n // 2):
        sift_down(values, order, n // 2 - 1 - k, n)
    for k in range(n - 1):
        order[0], order[n - 1 - k] = order[n - 1 - k], order[0]
        sift_down(values, order, 0, n - 1 - k)
    total, reached, place = 0.0, 0.0, 0
    for t in range(n):
        total += weights[order[t]]
    for t in range(n):
        place = t
        reached += weights[order[t]]
        if reached >= 0.5 * total:
            break
    return values[order[place]]


def medians_of_row(
    i: int, answers: Any, weights: Any, first_tree: int, end_tree: int, order: Any, out: Any
) -> None:
    """Medians of what the first first_tree + 1, ..., end_tree trees say of a row, into a column."""
    for n in range(first_tree, end_tree):
        out[n - first_tree, i] = weighted_median(answers[: n + 1], weights, order)


# --- from raw scores to predictions


def sum_of_scores(i: int, raw: Any, margin: Any, out: Any) -> None:
    """Raw scores (n_rows, n_channels) and what is added to them."""
    for k in range(out.shape[1]):
        out[i, k] = raw[i, k] + margin[i, k]


def mean_of_trees(i: int, sums: Any, total: float, out: Any) -> None:
    """Sums over the trees divided by the trees' weight."""
    for c in range(out.shape[1]):
        out[i, c] = sums[i, c] / total


def log_of_shares(i: int, shares: Any, out: Any) -> None:
    """Logarithms of class shares; minus infinity for a share of 0."""
    for c in range(out.shape[1]):
        out[i, c] = log(shares[i, c]) if shares[i, c] > 0.0 else -np.inf


def power_of_e(i: int, raw: Any, out: Any) -> None:
    """Means from their logarithms."""
    for k in range(raw.shape[0]):
        out[i, k] = exp(raw[k, i])


def probability(i: int, raw: Any, out: Any) -> None:
    """Probabilities from their log odds."""
    for k in range(raw.shape[0]):
        out[i, k] = sigmoid(raw[k, i])


def shares_of_odds(i: int, raw: Any, out: Any) -> None:
    """Class probabilities in proportion to those that each class has against all others."""
    total = 0.0
    for k in range(raw.shape[0]):
        out[i, k] = sigmoid(raw[k, i])
        total += out[i, k]
    for k in range(raw.shape[0]):
        out[i, k] /= total


def in_order(i: int, raw: Any, out: Any) -> None:
    """The scores of a row in ascending order."""
    for k in range(raw.shape[0]):
        score, place = raw[k, i], k
        while place > 0 and out[i, place - 1] > score:
            out[i, place] = out[i, place - 1]
            place -= 1
        out[i, place] = score


def normal_mean(i: int, raw: Any, out: Any) -> None:
    """The mean of a normal distribution."""
    out[i, 0] = raw[0, i]


def log_normal_mean(i: int, raw: Any, out: Any) -> None:
    """The mean of a log-normal distribution, from mean and log scale of the logarithm."""
    scale = exp(raw[1, i])
    out[i, 0] = exp(raw[0, i] + 0.5 * scale * scale)


def logistic(i: int, raw: Any, scale: float, out: Any) -> None:
    """Probabilities of two classes; the score times the scale is the log odds of the second."""
    p = sigmoid(scale * raw[0, i])
    out[i, 0] = 1.0 - p
    out[i, 1] = p


def logistic_of_each(i: int, raw: Any, scale: float, out: Any) -> None:
    """Probabilities of several labels; each score times the scale is the log odds of its label."""
    for k in range(raw.shape[0]):
        out[i, k] = sigmoid(scale * raw[k, i])


def softmax(i: int, raw: Any, out: Any) -> None:
    """Class probabilities of a row from its scores, (n_classes, n_rows)."""
    for k in range(raw.shape[0]):
        out[i, k] = raw[k, i]
    shares_of_powers(out[i])


def shares_of_powers(scores: Any) -> None:
    """Put the share of e**score in the sum of all of them in the place of each score."""
    n = scores.shape[0]
    top = scores[0]
    for k in range(1, n):
        top = scores[k] if scores[k] > top else top
    total = 0.0
    for k in range(n):
        scores[k] = exp(scores[k] - top)
        total += scores[k]
    for k in range(n):
        scores[k] /= total


def samme_decision(i: int, votes: Any, weight: float, out: Any) -> None:
    """AdaBoost's decision from the votes for each class, by trees of this total weight.

    Of two classes there is one number, twice the weighted share of votes for the second less that
    for the first.
    """
    n_classes = votes.shape[1]
    if n_classes == 2:
        out[i, 0] = 2.0 * (votes[i, 1] - votes[i, 0]) / weight
    else:
        others = n_classes - 1.0 if n_classes > 1 else 1.0
        for c in range(n_classes):
            against = (weight - votes[i, c]) / others
            out[i, c] = (votes[i, c] - against) / weight


def samme_probabilities(i: int, decision: Any, out: Any) -> None:
    """Softmax of decision / (n_classes - 1), which SAMME is a fit of."""
    n_classes = out.shape[1]
    if n_classes == 2:
        out[i, 0] = -decision[i, 0] / 2.0
        out[i, 1] = decision[i, 0] / 2.0
    else:
        others = n_classes - 1.0 if n_classes > 1 else 1.0
        for c in range(n_classes):
            out[i, c] = decision[i, c] / others
    shares_of_powers(out[i])


#: Links by name: what they do with a row, and how many numbers they make; None: one of each score.
LINK_ROWS = {
    "log": (power_of_e, None),
    "probability": (probability, None),
    "one_vs_rest": (shares_of_odds, None),
    "sorted": (in_order, None),
    "normal": (normal_mean, 1),
    "log_normal": (log_normal_mean, 1),
}
