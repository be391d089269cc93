"""The decision tree estimators: what they offer, and how they complain."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from gpuboost import DecisionTreeClassifier, DecisionTreeRegressor

IRIS, CANCER, DIABETES = (
    load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes)
)
BOTH = [(DecisionTreeClassifier, IRIS), (DecisionTreeRegressor, DIABETES)]
X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20.0)
C = np.arange(20) % 2


# --- what a fitted tree can be asked


@pytest.mark.parametrize(("kind", "data"), BOTH)
def test_leaves_and_paths(kind, data):
    model = kind(max_depth=4).fit(*data)
    tree = model.ensemble_.trees[0]
    leaves, path = model.apply(data[0]), model.decision_path(data[0])
    assert (tree.left[leaves] < 0).all() and leaves.dtype == np.int64
    assert path.format == "csr" and path.shape == (len(leaves), len(tree.left))
    np.testing.assert_array_equal(np.asarray(path.sum(axis=1)).ravel(), tree.depth[leaves] + 1)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.count)
    assert (path[np.arange(len(leaves)), leaves] == 1).all() and (path[:, 0].toarray() == 1).all()
    assert (
        model.get_depth() == tree.depth.max() == 4 and model.get_n_leaves() == (tree.left < 0).sum()
    )


def test_probabilities():
    x, y = CANCER
    model = DecisionTreeClassifier(max_depth=3).fit(x, y)
    shares = model.predict_proba(x)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(x), model.classes_[shares.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(x), np.log(shares), rtol=1e-15)
    leaf = model.apply(x) == model.apply(x[:1])
    np.testing.assert_allclose(shares[0, 1], y[leaf].mean())


def test_importances_are_scikit_learns():
    x = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    one, other = (
        DecisionTreeRegressor(max_depth=4).fit(x, y),
        SklearnRegressor(max_depth=4, random_state=0).fit(x, y),
    )
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, atol=1e-12)
    assert DecisionTreeRegressor().fit(x, np.ones(400)).feature_importances_.sum() == 0


def test_fingerprint():
    x, y = IRIS
    one = DecisionTreeClassifier(max_depth=3).fit(x, y)
    assert (
        len(one.fingerprint()) == 64
        and one.fingerprint() == DecisionTreeClassifier(max_depth=3).fit(x, y).fingerprint()
    )
    assert one.fingerprint() != DecisionTreeClassifier(max_depth=2).fit(x, y).fingerprint()
    frame = pd.DataFrame({"colour": list("abcabcabca")})
    labels = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1])
    sets = [
        DecisionTreeClassifier(categorical_features=["colour"], max_depth=1).fit(frame, own)
        for own in (labels, np.roll(labels, 1))
    ]
    assert sets[0].fingerprint() != sets[1].fingerprint()
    # names of categories are no part of it, as those of classes and features are none
    renamed = frame.replace({"a": "d", "b": "e", "c": "f"})
    assert sets[0].fingerprint() == clone(sets[0]).fit(renamed, labels).fingerprint()


def test_pickle_and_clone():
    x, y = IRIS
    model = DecisionTreeClassifier(ccp_alpha="cv", max_depth=3, random_state=3).fit(x, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(copy.predict_proba(x), model.predict_proba(x))
    assert clone(model).get_params() == model.get_params() and not hasattr(
        clone(model), "ccp_alpha_"
    )


# --- targets


def test_string_classes():
    frame = load_iris(as_frame=True)
    names = frame.target_names[frame.target]
    model = DecisionTreeClassifier(max_depth=3).fit(frame.data, names)
    assert set(model.predict(frame.data)) == set(names) and model.n_classes_ == 3
    assert list(model.feature_names_in_) == list(frame.data.columns)


def test_several_outputs_of_classes():
    x, y = IRIS
    x = x.astype(np.float32)
    size = np.where(x[:, 0] > 5.8, "large", "small")
    both = np.column_stack([y.astype(str), size])
    model = DecisionTreeClassifier(max_depth=4).fit(x, both)
    assert (
        model.n_outputs_ == 2
        and model.n_classes_ == [3, 2]
        and [list(c) for c in model.classes_] == [["0", "1", "2"], ["large", "small"]]
    )
    assert model.predict(x).shape == (150, 2)
    np.testing.assert_array_equal(model.predict(x)[:, 1], size)
    assert [p.shape for p in model.predict_proba(x)] == [(150, 3), (150, 2)] and len(
        model.predict_log_proba(x)
    ) == 2
    alone = DecisionTreeClassifier(max_depth=4).fit(x, np.column_stack([y, y]))
    np.testing.assert_array_equal(
        alone.predict(x)[:, 0], DecisionTreeClassifier(max_depth=4).fit(x, y).predict(x)
    )


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_several_outputs_of_numbers(criterion):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.exp(np.column_stack([x[:, 0], x[:, 1] + 0.2 * x[:, 2]]))
    options = {"criterion": criterion, "max_depth": 3, "min_samples_leaf": 10}
    one, other = (
        DecisionTreeRegressor(**options).fit(x, y),
        SklearnRegressor(random_state=0, **options).fit(x, y),
    )
    np.testing.assert_allclose(one.predict(x), other.predict(x))
    np.testing.assert_allclose(one.ensemble_.trees[0].impurity[0], other.tree_.impurity[0])


def test_one_column_is_a_vector():
    x, y = DIABETES
    assert DecisionTreeRegressor(max_depth=2).fit(x, y[:, None]).predict(x).shape == y.shape
    x, y = IRIS
    model = DecisionTreeClassifier(max_depth=2).fit(x, y[:, None])
    assert model.predict(x).shape == y.shape and model.predict_proba(x).shape == (150, 3)


def test_class_weight():
    x, y = CANCER
    both = [
        kind(max_depth=1, class_weight={0: 1, 1: 5}).fit(x.astype(np.float32), y)
        for kind in (DecisionTreeClassifier, SklearnClassifier)
    ]
    np.testing.assert_allclose(*[model.predict_proba(x.astype(np.float32)) for model in both])
    balanced = DecisionTreeClassifier(max_depth=1, class_weight="balanced").fit(x, y)
    np.testing.assert_allclose(balanced.ensemble_.trees[0].value[0], 0.5)
    without = DecisionTreeClassifier(class_weight={0: 0, 1: 1}).fit(x, y)
    assert (
        without.get_n_leaves() == 1
        and list(without.classes_) == [0, 1]
        and without.predict_proba(x[:1])[0, 1] == 1
    )


def test_one_class_is_a_leaf():
    model = DecisionTreeClassifier().fit(X, np.ones(20))
    assert model.get_n_leaves() == 1 and model.get_depth() == 0 and (model.predict(X) == 1).all()


# --- nominal columns


def nominal_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=200), "colour": rng.choice(["blue", "green", "red", "white"], 200)}
    )
    y = frame["colour"].isin(["green", "white"]).astype(int).to_numpy(copy=True)
    return frame, y


@pytest.mark.parametrize("how", ["auto", ["colour"], [1], [False, True]])
def test_strings_and_category_dtypes(how):
    frame, y = nominal_frame()
    if how == "auto":
        frame["colour"] = frame["colour"].astype("category")
    model = DecisionTreeClassifier(categorical_features=how).fit(frame, y)
    assert model.get_n_leaves() == 2 and model.score(frame, y) == 1
    assert model.feature_importances_[1] == 1
    shuffled = frame.sample(frac=1, random_state=0)
    np.testing.assert_array_equal(model.predict(shuffled), y[shuffled.index])


@pytest.mark.parametrize("unknown", ["violet", None, np.nan])
def test_an_unseen_category_is_missing(unknown):
    frame, y = nominal_frame()
    frame.loc[:30, "colour"] = None
    y[:31] = 1
    model = DecisionTreeClassifier(categorical_features=["colour"], max_depth=1).fit(frame, y)
    strange = pd.DataFrame({"size": [0.0], "colour": pd.Series([unknown], dtype=object)})
    np.testing.assert_array_equal(model.predict_proba(strange), model.predict_proba(frame[:1]))
    numbers = np.random.default_rng(0).integers(0, 4, (100, 1)) * 10.0
    model = DecisionTreeRegressor(categorical_features=[0]).fit(numbers, numbers[:, 0] ** 2)
    assert model.predict([[5.0]]) == model.predict([[np.nan]]) == model.predict([[1e9]])
    np.testing.assert_allclose(model.predict(numbers), numbers[:, 0] ** 2)


def test_a_category_of_rows_without_weight_is_unseen():
    frame, y = nominal_frame()
    weight = (frame["colour"] != "red").to_numpy().astype(float)
    model = DecisionTreeClassifier(categorical_features=["colour"]).fit(frame, y, weight)
    without = DecisionTreeClassifier(categorical_features=["colour"]).fit(
        frame[weight > 0], y[weight > 0]
    )
    assert model.fingerprint() == without.fingerprint()
    np.testing.assert_array_equal(model.predict_proba(frame), without.predict_proba(frame))


def test_cross_validation_with_categories_that_a_fold_has_not():
    frame, _ = nominal_frame()
    frame["colour"] = [f"c{i // 2}" for i in range(200)]  # two rows each: many are in one fold only
    y = np.arange(200) // 2 % 3
    model = DecisionTreeClassifier(categorical_features=["colour"], ccp_alpha="cv").fit(frame, y)
    assert 1 <= model.get_n_leaves() <= 100


# --- scikit-learn's tools


def test_grid_search_pipeline_and_set_output():
    frame = load_iris(as_frame=True)
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"), DecisionTreeClassifier()
    )
    search = GridSearchCV(
        pipeline, {"decisiontreeclassifier__ccp_alpha": [0.0, 0.02, "cv"]}, cv=3
    ).fit(frame.data, frame.target)
    assert search.best_score_ > 0.9
    assert list(search.best_estimator_[-1].feature_names_in_) == list(frame.data.columns)


def test_metadata_routing_of_weights():
    x, y = CANCER
    weight = np.random.default_rng(0).random(len(y))
    with config_context(enable_metadata_routing=True):
        model = (
            DecisionTreeClassifier(max_depth=3)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        assert (
            cross_validate(model, x, y, params={"sample_weight": weight})["test_score"].min() > 0.8
        )


def test_metadata_reaches_the_fit():
    x, y = CANCER
    x = x.astype(np.float32)
    with config_context(enable_metadata_routing=True):
        model = DecisionTreeRegressor(max_depth=1).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(model).fit(x, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(
        pipeline.predict(x),
        SklearnRegressor(max_depth=1, random_state=0)
        .fit(x, y, np.where(y == 1, 3.0, 1.0))
        .predict(x),
    )


# --- complaints

PARAMETERS = [
    (
        "criterion",
        "mse",
        "criterion must be one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson'; "
        "got 'mse'",
    ),
    ("criterion", "gini", "criterion must be one of .*; got 'gini'"),
    (
        "splitter",
        "worst",
        "splitter must be one of 'exact', 'best', 'hist', 'random', 'midpoint'; got 'worst'",
    ),
    ("max_depth", 0, "max_depth must be an integer at least 1 or None; got 0"),
    ("min_samples_split", 1, "min_samples_split must be"),
    ("min_samples_leaf", 0, "min_samples_leaf must be"),
    ("min_samples_leaf", 1.5, "min_samples_leaf must be"),
    (
        "min_weight_fraction_leaf",
        0.6,
        "min_weight_fraction_leaf must be a number at least 0 and at most 0.5; got 0.6",
    ),
    ("max_features", 0, "max_features must be"),
    ("max_features", "auto", "max_features must be .*'sqrt'.*got 'auto'"),
    ("max_leaf_nodes", 1, "max_leaf_nodes must be an integer at least 2"),
    ("min_impurity_decrease", -1, "min_impurity_decrease must be"),
    ("ccp_alpha", -0.1, "ccp_alpha must be a number at least 0; got -0.1"),
    ("ccp_alpha", "auto", "ccp_alpha must be a number at least 0 or 'cv'; got 'auto'"),
    ("cv", 1, "cv must be an integer at least 2; got 1"),
    (
        "cv",
        "five",
        "cv must be an integer at least 2, a splitter of scikit-learn or an iterable of "
        "splits; got 'five'",
    ),
    ("cv", None, "cv must be"),
    (
        "categorical_features",
        [2],
        "categorical_features must give features by name or by number, 0 to 1; got 2",
    ),
    (
        "categorical_features",
        ["a"],
        "categorical_features names the feature 'a', but the columns of X have no names",
    ),
    ("categorical_split", "best", "categorical_split must be one of 'auto'"),
    (
        "feature_probabilities",
        [0.5, 0.5],
        "feature_probabilities needs splitter='midpoint'; got splitter='exact'",
    ),
    ("max_bins", 1, "max_bins must be"),
    ("device", "gpu", "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got 'gpu'"),
    ("n_jobs", 0, "n_jobs must be"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    PARAMETERS,
    ids=[f"{name}={value}" for name, value, _ in PARAMETERS],
)
def test_bad_parameters_name_themselves(name, value, message):
    model = DecisionTreeRegressor(max_depth=1).fit(X[:, :1], Y)
    before = model.fingerprint()
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**{name: value}).fit(X, Y)
    assert model.n_features_in_ == 1 and model.fingerprint() == before


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [1.0],
            r"feature_probabilities must have one entry for each of the 2 features; got shape "
            r"\(1,\)",
        ),
        ([-1.0, 2.0], "feature_probabilities must be finite, not negative and not all zero"),
        ([0.0, 0.0], "feature_probabilities must be finite, not negative and not all zero"),
        ([np.nan, 1.0], "feature_probabilities must be finite"),
    ],
)
def test_bad_feature_probabilities(value, message):
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(splitter="midpoint", feature_probabilities=value).fit(X, Y)


COMBINATIONS = {
    "categories have no middle": (
        {"splitter": "midpoint", "categorical_features": [0]},
        Y,
        "categorical_features .* splitter='midpoint'",
    ),
    "one is drawn": (
        {"splitter": "midpoint", "max_features": 1},
        Y,
        "max_features must be None with splitter='midpoint'",
    ),
    "negative counts": (
        {"criterion": "poisson"},
        Y - 1,
        r"criterion='poisson' needs y of at least 0; got \[-1.\] at row 0",
    ),
    "no counts": (
        {"criterion": "poisson"},
        0 * Y,
        "criterion='poisson' needs y with a positive sum",
    ),
    "too many folds": ({"ccp_alpha": "cv", "cv": 30}, Y, "cv=30 does not fit the data: .*30"),
    "folds that leave rows out": (
        {"ccp_alpha": "cv", "cv": ShuffleSplit(train_size=3, test_size=3)},
        Y,
        "cv=.* does not fit the data",
    ),
    "bins of an exact tree": ({"max_bins": 16}, Y, "max_bins must be 256, .*'exact'.* got 16"),
    "bins of a random tree": (
        {"max_bins": 16, "splitter": "random"},
        Y,
        "max_bins must be 256, .*'random'.* got 16",
    ),
    "NaN in y": ({}, np.where(Y == 3, np.nan, Y), "NaN"),
}


@pytest.mark.parametrize("case", COMBINATIONS)
def test_bad_combinations(case):
    options, y, message = COMBINATIONS[case]
    model = DecisionTreeRegressor(max_depth=1).fit(X[:, :1], Y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X, y)
    assert model.fingerprint() == before and model.n_features_in_ == 1


@pytest.mark.parametrize(("cv", "ccp_alpha"), [(3, 0.0), (ShuffleSplit(3), 0.1)])
def test_folds_without_a_search_warn(cv, ccp_alpha):
    """scikit-learn's checks set ``cv`` of every estimator that has it: an error would fail them."""
    model = DecisionTreeRegressor(cv=cv, ccp_alpha=ccp_alpha)
    with pytest.warns(
        UserWarning, match=f"cv=.* is not used: .* needs ccp_alpha='cv'; got ccp_alpha={ccp_alpha}"
    ) as told:
        model.fit(X, Y)
    assert told[0].filename == __file__
    assert model.fingerprint() == DecisionTreeRegressor(ccp_alpha=ccp_alpha).fit(X, Y).fingerprint()


def test_a_path_needs_no_search_by_cross_validation():
    model = DecisionTreeRegressor(ccp_alpha="cv", cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(model.cost_complexity_pruning_path(X, Y).ccp_alphas) > 1


def test_bad_class_weight():
    with pytest.raises(ValueError, match="class_weight must be .*; got 'balanced_subsample'"):
        DecisionTreeClassifier(class_weight="balanced_subsample").fit(X, C)
    with pytest.raises(ValueError, match="class_weight must not be negative"):
        DecisionTreeClassifier(class_weight={0: -1}).fit(X, C)


def test_misclassification_warns():
    with pytest.warns(
        UserWarning,
        match="not strictly concave: a split that carves out a pure node can have a gain of 0",
    ):
        DecisionTreeClassifier(criterion="misclassification").fit(X, C)


def test_unfitted():
    for call in ("predict", "predict_proba", "predict_log_proba", "apply", "decision_path"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(DecisionTreeClassifier(), call)(X)
    for call in ("get_depth", "get_n_leaves", "fingerprint"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(DecisionTreeRegressor(), call)()
    with pytest.raises(NotFittedError):
        DecisionTreeClassifier().feature_importances_  # noqa: B018
    with pytest.raises(NotFittedError):
        DecisionTreeClassifier().prune_reduced_error(X, C)
