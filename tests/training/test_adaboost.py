"""The AdaBoost loops: worked examples and laws."""

import numpy as np
import pytest

from gpuboost.data.features import FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.training.adaboost import (
    AdaBoostParams,
    TreeLearner,
    blame_of_rows,
    boost_classes,
    boost_values,
    draw_by_weight,
    reweigh_classes,
    reweigh_values,
)
from gpuboost.training.trees import TreeGrower, TreeParams


def learner(x, targets, criterion, depth, backend):
    coded = FeatureMap.of_numbers(x.shape[1]).matrix_with_borders(x, np.ones(len(x)), None, backend)
    grower = TreeGrower(coded, targets, TreeParams(criterion, max_depth=depth), backend)
    return TreeLearner(grower, x, 0, backend)


def test_five_rows_two_of_them_wrong():
    """The error is 2/5, so wrong rows grow by the factor 3/2.

    Five weights of 1/5 become 1/4 twice and 1/6 three times.
    """
    wrong = np.array([True, False, True, False, False])
    step = np.log((1 - 2 / 5) / (2 / 5))
    weight = reweigh_classes(np.full(5, 1 / 5), wrong, step)
    np.testing.assert_allclose(weight, np.where(wrong, 1 / 4, 1 / 6))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_after_a_round_the_tree_is_no_better_than_chance(rng, n_classes):
    """What a round learned is of no use on the weights of the next one.

    Its error there is 1 - 1 / n_classes.
    """
    weight, wrong = rng.dirichlet(np.ones(30)), rng.random(30) < 0.3
    error = weight[wrong].sum()
    step = np.log((1 - error) / error) + np.log(n_classes - 1)
    assert reweigh_classes(weight, wrong, step)[wrong].sum() == pytest.approx(1 - 1 / n_classes)


def test_extreme_weights_neither_overflow_nor_vanish():
    weight = reweigh_classes(np.array([0.5, 0.5, 0.0]), np.array([True, False, False]), 1e6)
    assert weight[0] == pytest.approx(1) and 0 < weight[1] < 1e-15 and weight[2] == 0


def test_one_round_of_r2_by_hand():
    """Errors 0, 1, 2, 4 at equal weights: losses 0, 1/4, 1/2, 1 with mean 7/16, so beta = 7/9."""
    weight = np.full(4, 1 / 4)
    blame = blame_of_rows(np.array([0.0, 1.0, 2.0, 4.0]), weight, "linear")
    np.testing.assert_allclose(blame, [0, 1 / 4, 1 / 2, 1])
    error = (weight * blame).sum()
    beta = error / (1 - error)
    assert beta == pytest.approx(7 / 9)
    by_hand = np.array([7 / 9, (7 / 9) ** 0.75, (7 / 9) ** 0.5, 1])
    np.testing.assert_allclose(reweigh_values(weight, blame, beta, 1.0), by_hand / by_hand.sum())


def test_losses_of_r2():
    error, weight = (
        np.array([0.0, 1.0, 2.0, 9.0]),
        np.array([1.0, 1.0, 1.0, 0.0]),
    )  # the largest error that counts is 2
    np.testing.assert_allclose(blame_of_rows(error, weight, "square"), [0, 1 / 4, 1, 0])
    np.testing.assert_allclose(
        blame_of_rows(error, weight, "exponential"), [0, 1 - np.exp(-0.5), 1 - np.exp(-1), 0]
    )
    np.testing.assert_array_equal(blame_of_rows(np.zeros(4), weight, "linear"), 0)


def test_draws_follow_the_weights_and_ignore_rows_without(backend):
    weight = np.array([0.5, 0.0, 0.3, 0.2])
    drawn = sum(draw_by_weight(weight, backend.mix_key(0, 12, r)) for r in range(3000))
    assert drawn.sum() == 9000 and drawn[1] == 0
    np.testing.assert_allclose(drawn / 9000, weight, atol=0.02)  # four standard deviations
    present = weight > 0
    np.testing.assert_array_equal(
        draw_by_weight(weight, 7)[present], draw_by_weight(weight[present], 7)
    )


def test_a_perfect_tree_ends_it(backend):
    x = np.arange(10.0)[:, None]
    codes = (x[:, 0] > 4).astype(int)
    params = AdaBoostParams(n_estimators=5)
    found = boost_classes(
        learner(x, TreeTargets.of_classes(codes[:, None], [2]), "gini", 1, backend),
        codes,
        np.ones(10),
        params,
    )
    assert len(found.members) == 1 and found.weights == [1.0] and found.errors == [0.0]
    y = codes * 3.0
    found = boost_values(
        learner(x, TreeTargets.of_values(y[:, None]), "squared_error", 1, backend),
        y,
        np.ones(10),
        params,
    )
    assert len(found.members) == 1 and found.weights == [1.0] and found.errors == [0.0]


def test_no_better_than_chance(backend):
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    codes = np.array([0, 1, 0, 1])
    trees = learner(x, TreeTargets.of_classes(codes[:, None], [2]), "gini", 1, backend)
    with pytest.raises(ValueError, match=r"no better than chance \(0.5\).*max_depth"):
        boost_classes(trees, codes, np.ones(4), AdaBoostParams())
    # one row of four is wrong in the first round; then its weight is 1/2
    codes, x = np.array([0, 0, 0, 1]), np.zeros((4, 1))
    trees = learner(x, TreeTargets.of_classes(codes[:, None], [2]), "gini", 1, backend)
    with pytest.warns(UserWarning, match="stopped after 1 of 50 rounds.*try a larger max_depth"):
        found = boost_classes(trees, codes, np.ones(4), AdaBoostParams())
    np.testing.assert_allclose(found.errors, [1 / 4])
    np.testing.assert_allclose(found.weights, [np.log(3)])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    trees = learner(x, TreeTargets.of_values(y[:, None]), "squared_error", 1, backend)
    with pytest.warns(UserWarning, match="stopped after 1 of 50 rounds"):
        found = boost_values(trees, y, np.ones(4), AdaBoostParams())
    assert found.weights == [1.0] and found.errors[0] >= 0.5


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "n_estimators",
            0,
            "n_estimators must be an integer at least 1",
        ),
        ("learning_rate", 0.0, "learning_rate must be a number above 0; got 0.0"),
        ("loss", "cubic", "loss must be one of 'linear', 'square', 'exponential'; got 'cubic'"),
    ],
)
def test_parameters(name, value, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostParams(**{name: value})


def test_no_function_of_the_machine_is_asked(monkeypatch, rng):
    """numpy's exp, log and power differ in the last bit between processors; so do its sums."""

    def refuse(*args, **options):
        raise AssertionError("a function whose bits depend on the machine")

    for name in ("exp", "log", "power"):
        monkeypatch.setattr(np, name, refuse)
    weight, blame = rng.dirichlet(np.ones(50)), rng.random(50)
    order = rng.permutation(50)
    wrong = blame > 0.7
    for again, there in (
        (reweigh_classes(weight[order], wrong[order], 0.7), reweigh_classes(weight, wrong, 0.7)),
        (
            reweigh_values(weight[order], blame[order], 0.4, 0.5),
            reweigh_values(weight, blame, 0.4, 0.5),
        ),
    ):
        np.testing.assert_array_equal(again, there[order])
    assert blame_of_rows(blame, weight, "exponential").max() == pytest.approx(1 - 1 / np.e)
