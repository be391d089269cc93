"""Random forests and extremely randomised trees."""

import pickle

import numpy as np
import pandas as pd
import pytest
from forest_cases import CLASSIFIERS, FORESTS, REGRESSORS, assert_same_trees, data_for
from sklearn import config_context, ensemble
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpuboost
from gpuboost import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gpuboost.data.features import FeatureMap
from gpuboost.data.targets import TreeTargets
from gpuboost.training.trees import TREES, GrowingTree, TreeGrower, TreeParams

# A row of weight 2 is drawn as often as any other and then counts twice; two equal rows are drawn
# independently of each other. scikit-learn excuses its own random forests from this check. Without
# bags it holds, and is checked for extremely randomised trees.
EXCUSED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights do not change which rows are drawn"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [kind(n_estimators=5) for kind in FORESTS],
    expected_failed_checks=lambda model: EXCUSED if model.bootstrap else {},
    xfail_strict=True,
)
def test_check_estimator(estimator, check):
    if (
        getattr(check, "func", check).__name__
        == "check_classifiers_multilabel_output_format_decision_function"
    ):
        assert not hasattr(estimator, "decision_function")  # which is what it would look at
        return
    check(estimator)


def test_pipeline_grid_search_pickle_clone_and_routing():
    x, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=10))
    search = GridSearchCV(pipeline, {"randomforestclassifier__max_depth": [2, 4]}, cv=3).fit(x, y)
    assert search.best_score_ > 0.9
    for kind in FORESTS:
        model = kind(n_estimators=5, random_state=3, max_bins=64)
        assert clone(model).get_params() == model.get_params()
        model.fit(*data_for(kind))
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(model)).predict(data_for(kind)[0]),
            model.predict(data_for(kind)[0]),
        )
    with config_context(enable_metadata_routing=True):
        model = (
            RandomForestClassifier(n_estimators=5)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        assert (
            cross_validate(model, x, y, params={"sample_weight": np.arange(len(y)) + 1.0})[
                "test_score"
            ].min()
            > 0.85
        )


@pytest.mark.parametrize("kind", FORESTS)
def test_threads_make_no_difference(kind):
    x, y = data_for(kind)
    one, two, four = (kind(n_estimators=12, random_state=1, n_jobs=n).fit(x, y) for n in (1, 2, 4))
    assert_same_trees(one, two)
    assert_same_trees(one, four)
    np.testing.assert_array_equal(one.predict(x), four.predict(x))


@pytest.mark.parametrize("kind", FORESTS)
def test_seeds(kind):
    x, y = data_for(kind)
    fit = lambda state: kind(n_estimators=3, random_state=state).fit(x, y)  # noqa: E731
    assert_same_trees(fit(None), fit(0))
    assert_same_trees(fit(np.random.RandomState(5)), fit(np.random.RandomState(5)))
    trees = [fit(0).ensemble_.trees[0], fit(0).ensemble_.trees[1], fit(1).ensemble_.trees[0]]
    assert len({tree.threshold.tobytes() for tree in trees}) == 3


@pytest.mark.parametrize("kind", FORESTS)
def test_one_tree_on_all_rows_and_features_is_a_plain_tree(kind, backend):
    x, y = data_for(kind)
    model = kind(n_estimators=1, bootstrap=False, max_features=None, random_state=2).fit(x, y)
    classes = kind in CLASSIFIERS
    targets = (
        TreeTargets.of_classes(y[:, None], [3]) if classes else TreeTargets.of_values(y[:, None])
    )
    splitter = "random" if kind in (ExtraTreesClassifier, ExtraTreesRegressor) else "hist"
    coded = FeatureMap.of_numbers(x.shape[1]).matrix_with_borders(x, np.ones(len(x)), 256, backend)
    grower = TreeGrower(
        coded, targets, TreeParams("gini" if classes else "squared_error", splitter), backend
    )
    assert_same_trees(model, [grower.grow(GrowingTree(np.ones(len(x)), backend.mix_key(2, TREES)))])
    assert model.score(x, y) == 1.0


@pytest.mark.parametrize("kind", FORESTS)
def test_rows_without_weight_are_as_if_they_were_not_there(kind, rng):
    x, y = data_for(kind)
    weight = rng.integers(0, 3, len(y)).astype(float)
    some = weight > 0
    x = np.where(some[:, None], x, 3 * x)  # the others reach further
    for more in ({"max_bins": 16}, {"splitter": "exact"}, {"splitter": "midpoint"}):
        options = {"n_estimators": 6, "bootstrap": True, **more}
        assert_same_trees(
            kind(**options).fit(x, y, weight), kind(**options).fit(x[some], y[some], weight[some])
        )


def decision_tree(kind, splitter):
    """The decision tree that a forest of this kind is made of."""
    by_chance = kind in (ExtraTreesClassifier, ExtraTreesRegressor)
    tree = DecisionTreeClassifier if kind in CLASSIFIERS else DecisionTreeRegressor
    return tree(splitter="random" if by_chance and splitter == "exact" else splitter)


def rows_of_many_kinds(kind, rng, n=500, n_outputs=1):
    """Many distinct values, some missing, a nominal column, weights that are 0 for some."""
    x = rng.normal(size=(n, 5))
    x[:, 3] = rng.integers(0, 6, n)
    y = x[:, 0] + (x[:, 3] % 2) + rng.normal(size=n) / 4
    y = np.column_stack([y, x[:, 1] * x[:, 0]])[:, :n_outputs]
    y = np.digitize(y, [-0.3, 0.8]) if kind in CLASSIFIERS else y
    x[:, :3][rng.random((n, 3)) < 0.1] = np.nan
    return x, y if n_outputs > 1 else y[:, 0], rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("splitter", ["exact", "midpoint"])
@pytest.mark.parametrize("kind", FORESTS)
def test_a_forest_of_one_tree_on_all_rows_is_the_decision_tree(kind, splitter, n_outputs, rng):
    x, y, weight = rows_of_many_kinds(kind, rng, n_outputs=n_outputs)
    for options in (
        {"random_state": 4},
        {"max_depth": 4, "categorical_features": [3]},
        {"min_samples_leaf": 7, "max_leaf_nodes": 20, "random_state": 1},
        {"criterion": "entropy" if kind in CLASSIFIERS else "absolute_error", "max_depth": 5},
    ):
        if splitter == "midpoint":
            options.pop("categorical_features", None)
        forest = kind(
            n_estimators=1, bootstrap=False, max_features=None, splitter=splitter, **options
        ).fit(x, y, weight)
        tree = decision_tree(kind, splitter).set_params(**options).fit(x, y, weight)
        assert_same_trees(forest, tree)
        np.testing.assert_array_equal(forest.predict(x), tree.predict(x))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_exact_forests_of_integers_are_scikit_learns(name, rng):
    x = rng.integers(0, 1000, size=(400, 6)).astype(float)
    signal = x[:, 0] * x[:, 1] / 1000 + x[:, 2] + 50 * rng.normal(size=400)
    y = np.digitize(signal, [500, 900]) if "Classifier" in name else signal
    # leaves of ten rows: in small nodes several cuts are equally good
    options = {"n_estimators": 2, "max_features": None, "bootstrap": False, "min_samples_leaf": 10}
    ours = getattr(gpuboost, name)(splitter="exact", **options).fit(x, y)
    theirs = getattr(ensemble, name)(random_state=0, **options).fit(x, y)
    new = rng.integers(0, 1000, size=(500, 6)).astype(float)
    answers = [getattr(m, "predict_proba", m.predict)(new) for m in (ours, theirs)]
    same = np.isclose(*answers, rtol=1e-9, atol=1e-12).mean()
    assert same == 1.0 or (same > 0.9 and "Classifier" in name)  # class counts have more ties
    options |= {"n_estimators": 100, "bootstrap": True, "oob_score": True}
    bagged = getattr(gpuboost, name)(splitter="exact", **options).fit(x, y)
    scores = bagged.oob_score_, getattr(ensemble, name)(**options).fit(x, y).oob_score_
    assert abs(scores[0] - scores[1]) < 0.04


@pytest.mark.parametrize("kind", FORESTS)
def test_up_to_255_values_bins_lose_nothing(kind, rng):
    """The trees are the same; only where cuts fall between two values may differ."""
    x = rng.integers(0, 200, size=(600, 5)).astype(float)
    y = x[:, 0] + x[:, 1] * x[:, 2] / 100 + 20 * rng.normal(size=600)
    y = np.digitize(y, [120, 250]) if kind in CLASSIFIERS else y
    options = {"n_estimators": 5, "bootstrap": True, "random_state": 3, "oob_score": True}
    with pytest.warns(UserWarning, match="have no out-of-bag"):
        exact = kind(splitter="exact", **options).fit(x, y)
        bins = kind(**options).fit(x, y)
    for a, b in zip(exact.ensemble_.trees, bins.ensemble_.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_array_equal(a.value, b.value)
    assert exact.oob_score_ == pytest.approx(bins.oob_score_, abs=0.02)


@pytest.mark.parametrize("splitter", ["exact", "midpoint"])
@pytest.mark.parametrize("kind", FORESTS)
def test_without_bins_everything_together(kind, splitter, rng):
    """Threads, warm starts and bags change nothing; rows outside bags judge the forest."""
    x, y, weight = rows_of_many_kinds(kind, rng, n_outputs=2)
    options = {"splitter": splitter, "bootstrap": True, "max_samples": 0.6, "oob_score": True}
    options["categorical_features"] = [3] if splitter == "exact" else None
    whole = kind(n_estimators=30, n_jobs=1, **options).fit(x, y, weight)
    grown = kind(n_estimators=12, n_jobs=2, warm_start=True, **options).fit(x, y, weight)
    grown.set_params(n_estimators=30).fit(x, y, weight)
    assert_same_trees(whole, grown)
    assert whole.oob_score_ == grown.oob_score_ > 0.1
    for i, tree in enumerate(whole.ensemble_.trees):
        assert tree.count[0] == (whole.bag_counts(i) > 0).sum()
    other = "midpoint" if splitter == "exact" else "exact"
    grown.set_params(n_estimators=31, splitter=other, categorical_features=None)
    with pytest.raises(ValueError, match=f"splitter is not what .*: '{splitter}', now '{other}'"):
        grown.fit(x, y, weight)


def test_middles_are_those_of_all_rows_whatever_is_in_the_bag(rng):
    x = rng.random((300, 3))
    x[0], x[1] = 0.0, 1.0
    y = rng.normal(size=300)
    model = RandomForestRegressor(n_estimators=20, splitter="midpoint", max_depth=4).fit(x, y)
    for tree in model.ensemble_.trees:
        inner = tree.left >= 0
        steps = tree.threshold[inner] * 16
        np.testing.assert_array_equal(steps, np.round(steps))
        assert tree.threshold[0] == 0.5


def test_importances_are_the_mean_over_trees():
    x, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(n_estimators=10).fit(x, y)
    parts = []
    for tree in model.ensemble_.trees:
        total = np.zeros(13)
        for node in np.flatnonzero(tree.left >= 0):
            for child, sign in ((node, 1), (tree.left[node], -1), (tree.right[node], -1)):
                total[tree.feature[node]] += sign * tree.cover[child] * tree.impurity[child]
        parts.append(total / total.sum())
    np.testing.assert_allclose(model.feature_importances_, np.mean(parts, axis=0))
    np.testing.assert_array_equal(
        RandomForestRegressor(n_estimators=2).fit(x, np.ones(len(x))).feature_importances_,
        np.zeros(13),
    )


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_diabetes])
@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_as_good_as_scikit_learn(load, name):
    """The same number of trees and the same parameters.

    Scores of three seeds and five folds differ by no more than their noise.

    On diabetes the seed alone moves the mean of the folds by 0.012.
    """
    x, y = load(return_X_y=True)
    kind = f"{name}{'Regressor' if load is load_diabetes else 'Classifier'}"
    own, peer = (
        np.mean(
            [
                cross_val_score(
                    getattr(library, kind)(n_estimators=30, random_state=seed, n_jobs=1), x, y
                )
                for seed in range(3)
            ],
            axis=0,
        )
        for library in (gpuboost, ensemble)
    )
    assert own.mean() > peer.mean() - 2 * np.std(own - peer) / np.sqrt(5) - 0.01


def messy(rng, n=400):
    """Three classes that follow from a number, a category and whether a value is missing."""
    size, gap = rng.normal(size=n), rng.random(n) < 0.3
    town = rng.choice(["rome", "oslo", "lima", "cairo"], n)
    y = np.where(gap, "gap", np.where((size > 0) ^ np.isin(town, ["rome", "lima"]), "up", "down"))
    frame = pd.DataFrame(
        {
            "size": size,
            "town": town,
            "other": np.where(gap, np.nan, rng.normal(size=n)),
            "noise": rng.normal(size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return frame, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_missing_values_categories_weights_and_classes_together(kind, rng):
    frame, y, weight = messy(rng)
    model = kind(
        n_estimators=60, max_features=None, categorical_features=["town"], random_state=0
    ).fit(frame[:300], y[:300], weight[:300])
    assert model.score(frame[300:], y[300:]) > 0.85 and list(model.feature_names_in_) == list(
        frame.columns
    )
    unknown, missing = frame[300:].assign(town="nowhere"), frame[300:].assign(town=None)
    np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    plain = frame.assign(town=frame["town"].astype("category"))
    again = (
        clone(model).set_params(categorical_features="auto").fit(plain[:300], y[:300], weight[:300])
    )
    assert_same_trees(model, again)


@pytest.mark.parametrize("seed", range(16))
def test_leaves_say_what_their_rows_say(seed):
    """Whatever the data: rows find the leaves that they were grown into.

    Whose values are means over exactly these rows.
    """
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(2, 600)), FORESTS[seed % 4]
    x = rng.normal(size=(n, 4)).astype(rng.choice(["f4", "f8"])) * 10.0 ** rng.integers(-3, 4)
    x[:, 0] = rng.integers(0, 20, n)
    x[rng.random(x.shape) < 0.15] = np.nan
    y, weight = rng.integers(0, 3, n), rng.integers(0, 3, n) + (np.arange(n) == 0)
    options = {
        "max_bins": int(rng.choice([2, 8, 256])),
        "min_samples_leaf": int(rng.choice([1, 4])),
        "max_leaf_nodes": [None, 9][seed // 8],
    }
    model = kind(
        n_estimators=3,
        bootstrap=bool(seed // 4 % 2),
        categorical_features=[0],
        random_state=seed,
        **options,
    ).fit(x, y, weight)
    said = np.eye(3)[y][:, np.unique(y)] if kind in CLASSIFIERS else y[:, None]
    for i, (tree, leaf) in enumerate(zip(model.ensemble_.trees, model.apply(x).T, strict=True)):
        own = weight * (model.bag_counts(i) if model.bootstrap else 1)
        for node in np.flatnonzero(tree.left < 0):
            inside = own * (leaf == node)
            assert (
                (inside > 0).sum()
                == tree.count[node]
                >= min(options["min_samples_leaf"], tree.count[0])
            )
            np.testing.assert_allclose(tree.value[node], inside @ said / inside.sum(), atol=1e-12)
        assert options["max_leaf_nodes"] is None or tree.n_leaves <= 9


@pytest.mark.parametrize(
    "criterion", ["entropy", "log_loss", "misclassification", "absolute_error", "poisson"]
)
def test_criteria(criterion):
    kinds = REGRESSORS if criterion in ("absolute_error", "poisson") else CLASSIFIERS
    for kind in kinds:
        x, y = data_for(kind)
        assert (
            kind(n_estimators=20, criterion=criterion, max_depth=6)
            .fit(x[::2], y[::2])
            .score(x[1::2], y[1::2])
            > 0.25
        )


def test_probabilities_are_better_than_those_of_one_tree():
    x, y = load_iris(return_X_y=True)
    few, many = (
        RandomForestClassifier(n_estimators=n).fit(x[::2], y[::2]).predict_proba(x[1::2])
        for n in (1, 100)
    )
    assert log_loss(y[1::2], many) < log_loss(y[1::2], few)


def test_progress_lines(capsys):
    x, y = load_iris(return_X_y=True)
    RandomForestClassifier(n_estimators=10, verbose=4, n_jobs=1).fit(x, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" trees")[0] for line in lines] == [
        "training: 4/10",
        "training: 8/10",
        "training: 10/10",
    ]
    RandomForestClassifier(n_estimators=10).fit(x, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            RandomForestClassifier,
            {"n_estimators": 0},
            "n_estimators must be an integer at least 1",
        ),
        (
            RandomForestClassifier,
            {"criterion": "squared_error"},
            "criterion must be one of 'gini'.*got 'squared_error'",
        ),
        (
            RandomForestRegressor,
            {"criterion": "gini"},
            "criterion must be one of 'squared_error'.*got 'gini'",
        ),
        (RandomForestClassifier, {"max_depth": 0}, "max_depth must be"),
        (RandomForestClassifier, {"max_features": 0}, "max_features must be"),
        (RandomForestClassifier, {"max_bins": 257}, "max_bins must be.*got 257"),
        (
            ExtraTreesClassifier,
            {"splitter": "random"},
            "splitter must be one of 'hist', 'exact', 'best', 'midpoint'; got 'random'",
        ),
        (
            ExtraTreesClassifier,
            {"splitter": "exact", "max_bins": 16},
            "max_bins must be 256, its default, with splitter='exact'.*got 16",
        ),
        (
            RandomForestClassifier,
            {"splitter": "midpoint", "max_features": 2},
            "max_features must be 'sqrt', its default, or None with splitter='midpoint'.*got 2",
        ),
        (
            RandomForestRegressor,
            {"splitter": "midpoint", "max_features": 1},
            "max_features must be 1.0, its default, or None with splitter='midpoint'.*got 1",
        ),
        (
            RandomForestRegressor,
            {"splitter": "midpoint", "categorical_features": [0]},
            "categorical_features cannot be used with splitter='midpoint'",
        ),
        (
            RandomForestClassifier,
            {"bootstrap": "yes"},
            "bootstrap must be True or False; got 'yes'",
        ),
        (RandomForestClassifier, {"warm_start": 1}, "warm_start must be True or False; got 1"),
        (
            RandomForestClassifier,
            {"max_samples": 0.5, "bootstrap": False},
            "max_samples must be None with bootstrap=False.*got 0.5",
        ),
        (RandomForestClassifier, {"max_samples": -1}, "max_samples must be .*got -1"),
        (
            RandomForestClassifier,
            {"oob_score": "r2"},
            "oob_score must be True, False or a function.*got 'r2'",
        ),
        (ExtraTreesClassifier, {"oob_score": True}, "oob_score=True needs bootstrap=True"),
        (
            RandomForestClassifier,
            {"voting": "loud"},
            "voting must be one of 'soft', 'hard'; got 'loud'",
        ),
        (
            RandomForestClassifier,
            {"class_weight": "even"},
            "class_weight must be one of 'balanced', 'balanced_subsample'; got 'even'",
        ),
        (
            RandomForestRegressor,
            {"keep_targets": None},
            "keep_targets must be True or False; got None",
        ),
        (
            RandomForestClassifier,
            {"categorical_features": ["town"]},
            "categorical_features names the feature 'town'",
        ),
        (RandomForestClassifier, {"categorical_split": "best"}, "categorical_split must be one of"),
        (
            RandomForestClassifier,
            {"device": "gpu"},
            "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got 'gpu'",
        ),
        (RandomForestClassifier, {"n_jobs": 0}, "n_jobs must be"),
        (RandomForestClassifier, {"verbose": -1}, "verbose must be"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(kind, options, message):
    x, y = load_iris(return_X_y=True)
    model = kind(n_estimators=2).fit(x, y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(x[:, :3], y)
    assert {**before, **options} == model.__dict__
