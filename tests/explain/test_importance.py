"""Importances against definitions, other libraries and what they promise."""

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold
from small_forests import SMALL, grow_forest

import gpuboost as gb
from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GPUBoostClassifier,
    GPUBoostRegressor,
    importance,
)

OUT_OF_BAG = ("mda_oob", "mdi_oob", "ufi", "sobol_mda")


def noise_and_signal(n=800, seed=0):
    """A weak binary signal, a noise column of 100 values, and a little noise of two values."""
    rng = np.random.default_rng(seed)
    x = np.stack(
        [rng.integers(0, 2, n), rng.integers(0, 100, n), rng.integers(0, 2, n)], axis=1
    ).astype(float)
    return x, (rng.random(n) < np.where(x[:, 0] > 0, 0.65, 0.35)).astype(int)


def test_noise_of_many_values_fools_mdi_only():
    x, y = noise_and_signal()
    model = grow_forest(x, y, 60, classes=True)
    assert importance.mdi(model).values.argmax() == 1
    for method in OUT_OF_BAG:
        found = importance.METHODS[method](model, x, y)
        assert found.values.argmax() == 0, method
    for method in ("mdi_oob", "ufi"):  # signal stands out of its error, noise does not
        found = importance.METHODS[method](model, x, y)
        assert (
            found.values[0] > 5 * found.errors[0] and abs(found.values[1]) < 0.2 * found.values[0]
        ), method


def linear_gaussians(correlation, seed):
    """(x, y, total Sobol indices) of y = b x + noise.

    Without x_j, y loses b_j**2 Var(x_j | the others) of its variance.
    """
    rng = np.random.default_rng(seed)
    b = np.array([1.5, 1.0, 0.5, 0.0])
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = correlation
    x = rng.multivariate_normal(np.zeros(4), covariance, 3000)
    truth = b**2 / np.diag(np.linalg.inv(covariance)) / (b @ covariance @ b + 0.25)
    return x, x @ b + 0.5 * rng.normal(size=3000), truth


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_sobol_mda_of_a_linear_model_of_gaussians(correlation, seed):
    x, y, truth = linear_gaussians(correlation, seed)
    found = importance.sobol_mda(grow_forest(x, y, 40, min_samples_leaf=20, seed=seed), x, y)
    np.testing.assert_allclose(found.values, truth, atol=0.05)
    assert (found.errors < 0.02).all()


def test_sobol_mda_reads_high_from_leaves_of_one_row():
    """The cells of the projected trees are then smaller than any leaf, and their means noisy.

    What docs/importances.md warns of.
    """
    over = []
    for seed in range(3):
        x, y, truth = linear_gaussians(0.0, seed)
        over.append(
            importance.sobol_mda(grow_forest(x, y, 40, seed=seed), x, y).values[0] - truth[0]
        )
    assert 0.03 < np.mean(over) < 0.12


@pytest.mark.parametrize("max_features", [None, 1])
def test_a_signal_with_a_copy(max_features):
    """Either of two copies can be spared, and Sobol-MDA sees it.

    But only if the trees split on both.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3))
    x[:, 1] = x[:, 0]
    y = 2 * x[:, 0] + x[:, 2] + 0.5 * rng.normal(size=2000)
    found = importance.table(
        grow_forest(x, y, 30, min_samples_leaf=20, max_features=max_features),
        x,
        y,
        ("mdi_oob", "sobol_mda"),
    ).to_frame()
    if max_features is None:  # of equal splits the first feature's is taken
        assert found["sobol_mda"]["x0"] > 0.6 and (found.loc["x1"] == 0).all()
    else:
        assert (abs(found["sobol_mda"][["x0", "x1"]]) < 0.02).all() and found["sobol_mda"][
            "x2"
        ] > 0.1
        assert found["mdi_oob"]["x0"] == pytest.approx(found["mdi_oob"]["x1"], rel=0.3)


def test_drop_column_of_a_linear_model():
    """With least squares instead of trees.

    R squared lost is the share of the variance, to within its standard error.
    """
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3))
    y = x @ [1.0, 0.5, 0.0] + rng.normal(size=2000)
    found = importance.drop_column(LinearRegression(), x, y)
    truth = np.array([1.0, 0.25, 0.0]) / 2.25
    assert (abs(found.values - truth)[:2] < 3 * found.errors[:2]).all() and abs(
        found.values[2]
    ) < 0.005
    assert 0.005 < found.errors[0] < 0.03


def test_standard_errors_of_drop_column_match_repetitions():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(1)
    found = []
    for _ in range(100):
        x = rng.normal(size=(300, 2))
        found.append(
            importance.drop_column(
                LinearRegression(), x, x @ [1.0, 0.7] + rng.normal(size=300), cv=3
            )
        )
    spread, claimed = (
        np.std([f.values for f in found], axis=0),
        np.mean([f.errors for f in found], axis=0),
    )
    np.testing.assert_allclose(claimed, spread, rtol=0.25)


def test_drop_column_by_hand():
    x, y = load_iris(return_X_y=True)
    model = GPUBoostClassifier(n_estimators=5)
    folds = KFold(3, shuffle=True, random_state=2)
    scores = np.zeros((3, 5))
    for k, (train, test) in enumerate(folds.split(x)):
        for j in range(5):
            columns = [f for f in range(4) if f != j]
            scores[k, j] = accuracy_score(
                y[test], model.fit(x[train][:, columns], y[train]).predict(x[test][:, columns])
            )
    np.testing.assert_allclose(
        importance.drop_column(model, x, y, cv=folds).values,
        (scores[:, 4:] - scores[:, :4]).mean(axis=0),
    )


@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
def test_drop_column_keeps_nominal_columns_in_place(rng):
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=200),
            "b": rng.choice(["p", "q", "r"], 200),
            "c": rng.choice(["u", "v"], 200),
        }
    )
    y = (frame["b"] == "q") + 2.0 * (frame["c"] == "v") + 0.1 * rng.normal(size=200)
    found = importance.drop_column(
        AdaBoostRegressor(n_estimators=3, categorical_features=["b", 2]), frame, y, cv=3
    )
    assert (
        found.names == ["a", "b", "c"]
        and found.values.argmax() == 2
        and abs(found.values[0]) < 0.05
    )


def test_mda_is_that_of_scikit_learn():
    x, y = load_diabetes(return_X_y=True)
    model = GPUBoostRegressor(n_estimators=30, max_depth=3).fit(x[:300], y[:300])
    found = importance.mda(model, x[300:], y[300:], n_repeats=4, random_state=3)
    theirs = permutation_importance(model, x[300:], y[300:], n_repeats=4, random_state=3)
    np.testing.assert_allclose(found.values, theirs.importances_mean)
    np.testing.assert_allclose(found.errors, theirs.importances_std / np.sqrt(3))
    rng = np.random.default_rng(0)
    drops = []
    for _ in range(50):  # and it is the score lost by permutations
        permuted = x[300:].copy()
        permuted[:, 2] = rng.permutation(permuted[:, 2])
        drops.append(model.score(x[300:], y[300:]) - r2_score(y[300:], model.predict(permuted)))
    assert abs(found.values[2] - np.mean(drops)) < 4 * found.errors[2] + 4 * np.std(
        drops
    ) / np.sqrt(50)


@pytest.mark.parametrize(
    "kind", [GPUBoostClassifier, GPUBoostRegressor, AdaBoostClassifier, AdaBoostRegressor]
)
def test_mdi_of_estimators(kind):
    x, y = load_breast_cancer(return_X_y=True)
    x = np.hstack([x[:, :5], np.zeros((len(x), 1))])
    found = importance.mdi(kind(n_estimators=5).fit(x, y))
    assert (
        found.values.sum() == pytest.approx(1)
        and found.values[5] == 0
        and (found.values >= 0).all()
    )
    model = kind(n_estimators=5).fit(x, y)
    np.testing.assert_allclose(found.values, model.feature_importances_)
    permuted = importance.mda(model, x, y, n_repeats=2)
    assert permuted.values[5] == 0 and permuted.errors[5] == 0


@pytest.mark.parametrize("name", SMALL)
def test_mdi_of_a_forest(small, name):
    model, _, _ = small[name]
    shares = []
    for tree in model.ensemble_.trees:
        inner = tree.left >= 0
        decrease = tree.cover * tree.impurity
        lost = decrease[inner] - decrease[tree.left[inner]] - decrease[tree.right[inner]]
        own = np.bincount(tree.feature[inner], lost, minlength=4)
        leaves = ~inner
        assert own.sum() == pytest.approx(
            decrease[0] - decrease[leaves].sum()
        )  # the total decrease
        shares.append(own / own.sum())
    found = importance.mdi(model).values
    np.testing.assert_allclose(found, np.mean(shares, axis=0), atol=1e-9)
    assert found.sum() == pytest.approx(1) and found[3] == 0


def test_a_forest_of_leaves_has_no_importances():
    x, y = np.zeros((30, 2)), np.arange(30.0)
    model = grow_forest(x, y, 3)
    np.testing.assert_array_equal(importance.table(model, x, y, ("mdi", *OUT_OF_BAG)).values, 0)


@pytest.mark.parametrize("method", OUT_OF_BAG)
def test_errors_of_out_of_bag_measures(method):
    x, y = noise_and_signal(60)
    measure = importance.METHODS[method]
    model = grow_forest(x, y, 3, classes=True)
    with pytest.raises(
        ValueError, match="X must be the training data of the forest, which has 60 rows; got 59"
    ):
        measure(model, x[1:], y[1:])
    with pytest.raises(
        ValueError, match="y must be the training data of the forest, which has 60 rows; got 59"
    ):
        measure(model, x, y[1:])
    with pytest.raises(
        ValueError, match="y has a class that the training data of the forest does not have: .*7"
    ):
        measure(model, x, np.where(np.arange(60) == 3, 7, y))
    with pytest.raises(ValueError, match=f"{method} needs out-of-bag rows.*bootstrap=True"):
        measure(grow_forest(x, y, 3, classes=True, replace=False), x, y)
    with pytest.raises(
        TypeError,
        match=f"{method} needs a random forest with bootstrap samples; got AdaBoostClassifier",
    ):
        measure(AdaBoostClassifier(n_estimators=2).fit(x, y), x, y)


def test_table():
    frame = load_iris(as_frame=True)
    model = AdaBoostClassifier(n_estimators=3).fit(frame.data, frame.target)
    found = importance.table(model, frame.data, frame.target, ("mdi", "mda", "drop_column"))
    assert found.values.shape == found.errors.shape == (3, 4) and np.isnan(found.errors[0]).all()
    assert list(found.to_frame().columns) == ["mdi", "mda", "drop_column"] and list(
        found.to_frame().index
    ) == list(frame.data.columns)
    np.testing.assert_array_equal(
        found.to_frame()["mda"], importance.mda(model, frame.data, frame.target).values
    )
    with pytest.raises(ValueError, match="methods must be some of 'mdi', 'mda'.*got 'shap'"):
        importance.table(model, frame.data, frame.target, ["mdi", "shap"])
    with pytest.raises(ValueError, match="methods must be some of"):
        importance.table(model, frame.data, frame.target, [])


def test_plot_draws_the_highest_features_of_each_method(tmp_path):
    pytest.importorskip("matplotlib")
    frame = load_breast_cancer(as_frame=True)
    model = GPUBoostClassifier(n_estimators=5).fit(frame.data, frame.target)
    found = importance.table(model, frame.data, frame.target)
    figure = importance.plot(found, max_features=7)
    assert [axes.get_title() for axes in figure.axes] == ["mdi", "mda"]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [found.names[f] for f in np.argsort(-found.values[0], kind="stable")[:7]]
    np.testing.assert_allclose(
        [bar.get_width() for bar in figure.axes[1].patches], found.to_frame().loc[labels, "mda"]
    )
    figure.savefig(tmp_path / "importances.png")


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_mdi_in_the_unit_of_the_impurity_is_scikit_learns(weighted):
    """Of one exact tree; a forest has the mean over its trees."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)).astype(np.float32).astype(float)
    y = x[:, 0] * x[:, 1] + x[:, 2] + 0.1 * rng.normal(size=200)
    weight = rng.integers(500, 1500, 200) / 1024 if weighted else None
    ours = gb.DecisionTreeRegressor(min_samples_leaf=8).fit(x, y, weight)
    theirs = sklearn.tree.DecisionTreeRegressor(min_samples_leaf=8, random_state=0)
    wanted = theirs.fit(x, y, weight).tree_.compute_feature_importances(normalize=False)
    found = importance.mdi(ours, normalize=False).values
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_allclose(importance.mdi(ours).values, found / found.sum())
    forest = gb.RandomForestRegressor(3, max_depth=3).fit(x, y, weight)
    trees = [
        np.bincount(tree.feature[tree.left >= 0], tree.gain[tree.left >= 0], minlength=4)
        / tree.cover[0]
        for tree in forest.ensemble_.trees
    ]
    np.testing.assert_allclose(
        importance.mdi(forest, normalize=False).values, np.mean(trees, axis=0)
    )
    boosted = gb.GPUBoostRegressor(n_estimators=2).fit(x, y, sample_weight=weight)
    np.testing.assert_array_equal(
        importance.mdi(boosted, normalize=False).values, boosted.ensemble_.importance("gain")
    )
