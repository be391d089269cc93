"""What a prediction does with one row, in plain Python."""

import numpy as np
import pytest

from gpuboost.dtypes import WALK_NODE
from gpuboost.scalar import rows
from gpuboost.scalar.rows import logistic, softmax

NO_SETS = np.array([0, 0]), np.empty(0, np.uint64)


def leaves_only(n):
    """Nodes of trees that are a leaf each."""
    nodes = np.zeros(n, WALK_NODE).view(np.recarray)
    nodes.left[:] = -1
    return nodes


@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_row_walks_by_its_value_and_missing_ones_by_the_node(missing_left):
    nodes = np.zeros(3, WALK_NODE).view(np.recarray)
    nodes.left[:], nodes.first_word[:] = [1, -1, -1], -1
    nodes.threshold[0], nodes.missing_left[0] = 2.0, missing_left
    value = np.array([[0.0], [10.0], [20.0]])
    x, out = np.array([[1.0], [2.0], [2.5], [np.nan]]), np.ones((1, 4))
    for i in range(4):
        rows.add_trees(i, x, np.array([0, 3]), nodes, value, *NO_SETS, np.array([0.5]), 0, 1, out)
    assert out[0].tolist() == [6.0, 6.0, 11.0, 6.0 if missing_left else 11.0]


def test_categories_go_left_if_the_set_has_them():
    nodes = np.zeros(3, WALK_NODE).view(np.recarray)
    nodes.left[:], nodes.first_word[:] = [1, -1, -1], [1, -1, -1]
    sets = np.array([0, 1 << 3, 1 << (71 - 64)], np.uint64)  # the numbers 2 and 70
    x = np.array([[2.0], [70.0], [3.0], [0.0]])
    assert [int(rows.walk(x, i, nodes, sets)) for i in range(4)] == [1, 1, 2, 2]
    out = np.empty((2, 4), np.int32)
    begin, twice = np.array([0, 3, 6]), np.concatenate([nodes, nodes]).view(np.recarray)
    for i in range(4):
        rows.find_leaves(i, x, begin, twice, np.array([0, 3, 6]), np.tile(sets, 2), out)
    assert out.tolist() == [[1, 1, 2, 2]] * 2


def test_trees_take_turns_with_the_channels_or_have_them_all():
    nodes, first_set = leaves_only(4), np.zeros(5, int)
    x, weights, begin = np.zeros((1, 1)), np.array([1.0, 1.0, 1.0, 0.5]), np.arange(5)
    for value, expected in (
        (np.array([[1.0], [2.0], [4.0], [8.0]]), [4.0, 6.0]),
        (np.array([[1.0, 0.0], [2.0, 10.0], [4.0, 20.0], [8.0, 60.0]]), [10.0, 60.0]),
    ):
        out = np.zeros((2, 1))
        rows.add_trees(0, x, begin, nodes, value, first_set, NO_SETS[1], weights, 1, 4, out)
        assert out[:, 0].tolist() == expected


def test_trees_that_have_seen_a_row_say_nothing_of_it():
    out, in_bag = np.zeros((1, 2)), np.array([[1, 0], [0, 0]], np.uint8)
    arguments = np.arange(4), leaves_only(3), np.array([[1.0], [2.0], [4.0]]), np.zeros(4, int)
    for i in range(2):
        rows.add_unseen_trees(
            i, np.zeros((2, 1)), *arguments, NO_SETS[1], np.ones(3), 1, 3, in_bag, out
        )
    assert out.tolist() == [[4.0, 6.0]]


def test_weighted_medians():
    values = np.array([[1.0, 2.0, 10.0], [10.0, 2.0, 1.0]])
    order = np.empty(3, np.int32)

    def medians(*weights):
        n = len(weights)
        return [rows.weighted_median(row[:n], np.array(weights), order) for row in values]

    assert medians(1.0, 1.0, 1.0) == [2, 2] and medians(1.0, 1.0, 3.0) == [10, 1]
    assert medians(1.0) == [1, 10] and medians(1.0, 1.0) == [1, 2]


def test_medians_are_those_of_a_stable_sort(rng):
    """Equal values keep the order of the trees, which the sums of the weights depend on."""
    for n in (1, 2, 3, 8, 31):
        values, weights = rng.integers(0, 6, n) / 4.0, rng.exponential(size=n)
        out, order = np.empty((n, 1)), np.empty(n, np.int32)
        rows.medians_of_row(0, values, weights, 0, n, order, out)
        for m in range(1, n + 1):
            by_value = np.argsort(values[:m], kind="stable")
            reached = np.cumsum(weights[by_value])
            assert out[m - 1, 0] == values[by_value[(reached >= 0.5 * reached[-1]).argmax()]]
        np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


def test_sums_means_and_logarithms_of_shares():
    out = np.empty((1, 2))
    rows.sum_of_scores(0, np.array([[3.0, 5.0]]), np.array([[0.5, -1.0]]), out)
    assert out.tolist() == [[3.5, 4.0]]
    rows.mean_of_trees(0, np.array([[3.0, 5.0]]), 4.0, out)
    assert out.tolist() == [[0.75, 1.25]]
    rows.log_of_shares(0, np.array([[0.0, 1.0]]), out)
    assert out.tolist() == [[-np.inf, 0.0]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_of_adaboost_and_their_probabilities(rng, n_classes):
    votes = rng.dirichlet(np.ones(n_classes), 4) * 7.0
    decision = np.empty((4, 1 if n_classes == 2 else n_classes))
    found = np.empty((4, n_classes))
    for i in range(4):
        rows.samme_decision(i, votes, 7.0, decision)
        rows.samme_probabilities(i, decision, found)
    shares = votes / 7.0
    if n_classes == 2:
        np.testing.assert_allclose(decision[:, 0], 2 * (shares[:, 1] - shares[:, 0]))
        scores = decision * [-0.5, 0.5]
    else:
        np.testing.assert_allclose(decision, shares - (1 - shares) / 2)
        scores = decision / 2
    expected = np.exp(scores)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))


def test_logistic_probabilities_add_up_to_one(rng):
    raw, out = rng.normal(size=(1, 5)), np.empty((5, 2))
    for i in range(5):
        logistic(i, raw, 2.0, out)
    np.testing.assert_allclose(out[:, 1], 1 / (1 + np.exp(-2.0 * raw[0])))
    np.testing.assert_array_equal(out.sum(axis=1), 1.0)


def test_softmax_does_not_overflow(rng):
    raw, out = rng.normal(size=(3, 4)) + [0, 1000, -1000, 0], np.empty((4, 3))
    for i in range(4):
        softmax(i, raw, out)
    expected = np.exp(raw - raw.max(axis=0))
    np.testing.assert_allclose(out, (expected / expected.sum(axis=0)).T)
