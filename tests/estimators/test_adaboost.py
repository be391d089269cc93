"""AdaBoost against scikit-learn's, and its laws."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator

import gpuboost
from gpuboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GPUBoostClassifier,
    importance,
    load_model,
)
from gpuboost.estimators import adaboost

#: scikit-learn excuses its own AdaBoost regressor (and classifier) from this.
EXCUSED = {
    (
        AdaBoostRegressor,
        f"check_sample_weight_equivalence_on_{kind}_data",
    ): "rows are drawn: a weight of 2 is not two rows"
    for kind in ("dense", "sparse")
}
CHECKS = [
    (e, c) for estimator in (AdaBoostClassifier(n_estimators=5), AdaBoostRegressor(n_estimators=5))
    for e, c in estimator_checks_generator(estimator, mark=None)
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=lambda v: getattr(getattr(v, "func", v), "__name__", None) or repr(v),
)
def test_check_estimator(estimator, check):
    reason = EXCUSED.get((type(estimator), check.func.__name__))
    if reason is not None:
        pytest.xfail(reason)
    check(estimator)


def generated(n_classes):
    return make_classification(400, 6, n_informative=4, n_classes=n_classes, random_state=n_classes)


DATA = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "2 classes": generated(2),
    "4 classes": generated(4),
}


def rounds_alike(ours, theirs, x):
    """Rounds in which both grew the same tree.

    Where two cuts are equally good, scikit-learn takes one of them at random.
    """
    pairs = zip(ours.ensemble_.trees, theirs.estimators_, strict=False)
    alike = [
        a.feature[0] == b.tree_.feature[0]
        and abs(a.threshold[0] - b.tree_.threshold[0]) < 1e-5 * x.std()
        for a, b in pairs
    ]
    return alike.index(False) if False in alike else len(alike)


@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("name", DATA)
def test_rounds_are_those_of_scikit_learn(name, learning_rate):
    x, y = DATA[name]
    ours = AdaBoostClassifier(n_estimators=30, learning_rate=learning_rate).fit(x, y)
    best = 0
    for seed in range(5):  # its tie-breaking
        theirs = ensemble.AdaBoostClassifier(
            n_estimators=30, learning_rate=learning_rate, random_state=seed
        ).fit(x, y)
        n = rounds_alike(ours, theirs, x)
        best = max(best, n)
        np.testing.assert_allclose(
            ours.estimator_errors_[:n], theirs.estimator_errors_[:n], rtol=1e-6
        )
        np.testing.assert_allclose(
            ours.estimator_weights_[:n], theirs.estimator_weights_[:n], rtol=1e-6
        )
        if n == len(theirs.estimators_) == ours.n_estimators_:
            np.testing.assert_allclose(
                ours.decision_function(x), theirs.decision_function(x), atol=1e-6
            )
            np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-6)
            np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))
            np.testing.assert_allclose(
                ours.feature_importances_, theirs.feature_importances_, atol=1e-6
            )
    assert best == (3 if name == "iris" else 30)  # petal length and width of iris are equally good


@pytest.mark.parametrize("n_classes", [2, 4])
def test_deeper_trees_and_weights(rng, n_classes):
    x, y = generated(n_classes)
    weight = rng.random(len(y))
    ours = AdaBoostClassifier(n_estimators=10, max_depth=3, criterion="entropy").fit(
        x, y, sample_weight=weight
    )
    tree = DecisionTreeClassifier(max_depth=3, criterion="entropy")
    theirs = ensemble.AdaBoostClassifier(tree, n_estimators=10, random_state=0).fit(
        x, y, sample_weight=weight
    )
    np.testing.assert_allclose(
        ours.estimator_weights_[:3], theirs.estimator_weights_[:3], rtol=1e-6
    )
    assert abs(ours.score(x, y) - theirs.score(x, y)) < 0.03


@pytest.mark.parametrize("n_classes", [2, 4])
def test_stages_of_the_classifier_end_at_the_prediction(n_classes):
    x, y = generated(n_classes)
    model = AdaBoostClassifier(n_estimators=12).fit(x, y)
    stages = [
        list(method(x))
        for method in (
            model.staged_decision_function,
            model.staged_predict_proba,
            model.staged_predict,
        )
    ]
    assert [len(own) for own in stages] == [model.n_estimators_] * 3
    np.testing.assert_allclose(stages[0][-1], model.decision_function(x), atol=1e-12)
    np.testing.assert_allclose(stages[1][-1], model.predict_proba(x), atol=1e-12)
    np.testing.assert_array_equal(stages[2][-1], model.predict(x))
    assert list(model.staged_score(x, y))[-1] == model.score(x, y)
    first = AdaBoostClassifier(n_estimators=1).fit(x, y)
    np.testing.assert_allclose(stages[1][0], first.predict_proba(x))
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_a_bound_on_the_training_error():
    """Freund and Schapire: the training error is at most the product over rounds of 2 sqrt(e (1 -.

    E)).
    """
    x, y = generated(2)
    model = AdaBoostClassifier(n_estimators=40).fit(x, y)
    bounds = np.cumprod(2 * np.sqrt(model.estimator_errors_ * (1 - model.estimator_errors_)))
    assert (1 - np.array(list(model.staged_score(x, y))) <= bounds + 1e-12).all()


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regressor_is_as_good_as_scikit_learn(loss):
    x, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(AdaBoostRegressor(loss=loss), x, y, cv=3)
    theirs = cross_val_score(
        ensemble.AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), loss=loss, random_state=0),
        x,
        y,
        cv=3,
    )
    assert abs(ours.mean() - theirs.mean()) < 0.04
    first = [
        AdaBoostRegressor(loss=loss, n_estimators=1, random_state=s).fit(x, y).estimator_errors_[0]
        for s in range(20)
    ]
    tree = DecisionTreeRegressor(max_depth=3)
    twin = [
        ensemble.AdaBoostRegressor(tree, loss=loss, n_estimators=1, random_state=s)
        .fit(x, y)
        .estimator_errors_[0]
        for s in range(20)
    ]
    spread = np.hypot(np.std(first), np.std(twin)) / np.sqrt(20)
    assert abs(np.mean(first) - np.mean(twin)) < 4 * spread


def test_stages_of_the_regressor_end_at_the_prediction():
    x, y = load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(n_estimators=10, criterion="absolute_error").fit(x, y)
    stages = list(model.staged_predict(x))
    assert len(stages) == model.n_estimators_
    np.testing.assert_array_equal(stages[-1], model.predict(x))
    assert list(model.staged_score(x, y))[-1] == model.score(x, y)
    said = np.concatenate([tree.value[:, 0] for tree in model.ensemble_.trees])
    assert all(np.isin(stage, said).all() for stage in stages)  # a median is what some tree says


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_rows_of_weight_0_are_as_if_not_there(rng, kind):
    x, y = generated(2)
    weight = np.where(rng.random(len(y)) < 0.3, 0.0, 1.0)
    present = weight > 0
    a, b = (
        kind(n_estimators=8).fit(x, y, sample_weight=weight),
        kind(n_estimators=8).fit(x[present], y[present]),
    )
    np.testing.assert_allclose(a.estimator_weights_, b.estimator_weights_, rtol=1e-10)
    np.testing.assert_array_equal(a.predict(x), b.predict(x))


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_threads_and_splitters(kind):
    x, y = generated(2)
    x = np.round(x, 1)  # fewer than 256 distinct values: bins are values
    models = [
        kind(n_estimators=8, n_jobs=n, splitter=s, random_state=4).fit(x, y)
        for n, s in ((1, "exact"), (2, "exact"), (2, "hist"))
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].estimator_weights_, other.estimator_weights_)
        np.testing.assert_array_equal(models[0].predict(x), other.predict(x))
    assert (
        kind(n_estimators=8, max_features=1, random_state=1).fit(x, y).estimator_errors_[0]
        >= models[0].estimator_errors_[0]
    )


def test_nominal_columns_missing_values_and_class_weights(rng):
    frame = pd.DataFrame(
        {"a": rng.normal(size=300), "b": pd.Categorical(rng.choice(list("pqrs"), 300))}
    )
    y = frame["b"].isin(["p", "s"]) ^ (rng.random(300) < 0.1)
    frame.loc[:20, "a"] = np.nan
    model = AdaBoostClassifier(n_estimators=5, categorical_features="auto").fit(
        frame, np.where(y, "yes", "no")
    )
    assert (
        model.score(frame, np.where(y, "yes", "no")) > 0.85
        and list(model.classes_) == ["no", "yes"]
        and model.n_classes_ == 2
    )
    assert importance.mdi(model).values[1] > 0.5
    values = AdaBoostRegressor(n_estimators=3, categorical_features=["b"]).fit(
        frame, y.astype(float)
    )
    assert values.score(frame, y) > 0.3
    rare = np.where(rng.random(300) < 0.1, "yes", "no")
    plain = AdaBoostClassifier(n_estimators=3, max_depth=3).fit(frame[["a"]], rare)
    balanced = AdaBoostClassifier(n_estimators=3, max_depth=3, class_weight="balanced").fit(
        frame[["a"]], rare
    )
    assert (balanced.predict(frame[["a"]]) == "yes").sum() > (
        plain.predict(frame[["a"]]) == "yes"
    ).sum()


def lowest_error(x, y, weight):
    """Of all stumps on some columns, and of all constants."""
    found = [weight[y != c].sum() for c in np.unique(y)]
    for column in x.T:
        for cut in np.unique(column):
            sides = [(y[own], weight[own]) for own in (column <= cut, column > cut)]
            found.append(
                sum(min((w[own != c].sum() for c in np.unique(y)), default=0) for own, w in sides)
            )
    return min(found)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_stumps_of_lowest_error(n_classes):
    """In every round, on the weights that the rounds before it left."""
    x, y = generated(n_classes)
    x = x[:150].round(1)
    y = y[:150]
    options = {"n_estimators": 8, "criterion": "misclassification"}
    model = AdaBoostClassifier(**options).fit(x, y)
    weight = np.full(len(y), 1 / len(y))
    assert model.n_estimators_ == 8
    votes = [tree.value.argmax(axis=1)[leaves] for tree, leaves in zip(
        model.ensemble_.trees, model.apply(x).T, strict=True
    )]  # fmt: skip
    for said, error, step in zip(
        votes, model.estimator_errors_, model.estimator_weights_, strict=True
    ):
        assert error == pytest.approx(lowest_error(x, y, weight), abs=1e-9)
        weight = weight * np.exp(step * (said != y))
        weight /= weight.sum()
    gini = AdaBoostClassifier(n_estimators=8).fit(x, y)
    assert gini.fingerprint() != model.fingerprint()


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("criterion", "mse", "criterion must be one of .*got 'mse'"),
        ("criterion", "poisson", "criterion must be one of .*got 'poisson'"),
        ("splitter", "random", "splitter must be one of 'exact', 'best', 'hist'; got 'random'"),
        ("max_bins", 64, "max_bins must be 256, .*'exact'.* got 64"),
        ("n_estimators", 0, "n_estimators must be"),
        ("learning_rate", -1, "learning_rate must be"),
        ("max_depth", 0, "max_depth must be"),
        ("max_features", "all", "max_features must be"),
        ("min_samples_leaf", 0, "min_samples_leaf must be"),
        ("device", "gpu", "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got 'gpu'"),
        ("n_jobs", 0, "n_jobs must be"),
        ("categorical_features", ["nowhere"], "categorical_features names the feature"),
    ],
)
def test_errors_name_the_culprit_and_keep_the_model(kind, name, value, message):
    x, y = generated(2)
    model = kind(n_estimators=2).fit(x, y)
    before, params = model.predict(x), model.get_params()
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**{name: value}).fit(x, y)
    model.set_params(**params)
    np.testing.assert_array_equal(model.predict(x), before)


def test_one_class_is_predicted():
    x, _ = generated(2)
    model = AdaBoostClassifier(n_estimators=3).fit(x, np.full(len(x), "only"))
    assert (model.predict(x) == "only").all()
    np.testing.assert_array_equal(model.predict_proba(x), np.ones((len(x), 1)))
    np.testing.assert_array_equal(next(model.staged_decision_function(x)), np.ones((len(x), 1)))


def test_errors_of_data():
    x, y = generated(2)
    with pytest.raises(ValueError, match="no better than chance.*max_depth"):
        AdaBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="1d array"):
        AdaBoostClassifier().fit(x, np.stack([y, y], axis=1))
    with pytest.raises(
        ValueError, match="loss must be one of 'linear', 'square', 'exponential'; got 'cubic'"
    ):
        AdaBoostRegressor(loss="cubic").fit(x, y)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        AdaBoostRegressor().fit(x, y, sample_weight=np.where(y, 1, -1))
    for call in (
        lambda m: m.predict(x),
        lambda m: m.feature_importances_,
        lambda m: list(m.staged_predict(x)),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(AdaBoostRegressor())


# --- the exponential objective of gradient boosting


def test_exponential_boosting_goes_where_adaboost_goes():
    """A large first step on a stump.

    Both split at the same place, and the leaf values have the signs of AdaBoost's votes.
    """
    x, y = generated(2)
    ada = AdaBoostClassifier(n_estimators=1, splitter="hist", max_bins=64).fit(x, y)
    boost = GPUBoostClassifier(
        objective="exponential",
        n_estimators=1,
        max_depth=1,
        learning_rate=1.0,
        reg_lambda=0.0,
        max_bins=64,
    ).fit(x, y)
    ours, theirs = boost.ensemble_.trees[0], ada.ensemble_.trees[0]
    assert ours.feature[0] == theirs.feature[0]
    assert (boost.predict(x) == ada.predict(x)).mean() > 0.99


def test_exponential_probabilities_are_those_of_twice_the_score(rng):
    x, y = generated(2)
    model = GPUBoostClassifier(
        objective="exponential",
        n_estimators=30,
        max_depth=2,
        eval_metric=["exponential", "logloss", "error", "auc"],
    )
    model.fit(x, y, eval_set=(x, y))
    raw = model.decision_function(x)
    p = model.predict_proba(x)[:, 1]
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-2 * raw)))
    np.testing.assert_array_equal(model.predict(x), p > 0.5)
    result = {name: values[-1] for name, values in model.evals_result_["validation_0"].items()}
    assert result["exponential"] == pytest.approx(np.exp(-(2 * y - 1) * raw).mean())
    assert result["logloss"] == pytest.approx(-np.log(np.where(y == 1, p, 1 - p)).mean())
    assert result["error"] == pytest.approx((model.predict(x) != y).mean())
    assert model.evals_result_["validation_0"]["exponential"][0] > result["exponential"]
    default = GPUBoostClassifier(objective="exponential", n_estimators=2).fit(x, y, eval_set=(x, y))
    assert list(default.evals_result_["validation_0"]) == ["exponential"]
    other = GPUBoostClassifier(n_estimators=2, eval_metric="exponential").fit(
        x, y, eval_set=(x, y)
    )  # half of the log odds
    value = np.exp(-(2 * y - 1) * other.decision_function(x) / 2).mean()
    assert other.evals_result_["validation_0"]["exponential"][-1] == pytest.approx(value)


def test_exponential_is_for_two_classes():
    with pytest.raises(
        ValueError,
        match="objective='exponential' is for two classes, y has 3; use .*AdaBoostClassifier",
    ):
        GPUBoostClassifier(objective="exponential").fit(*load_iris(return_X_y=True))


def test_best_is_another_name_of_exact_and_logarithms_are_of_the_probabilities():
    x, y = load_iris(return_X_y=True)
    exact, best = (
        AdaBoostClassifier(n_estimators=4, splitter=name).fit(x, y) for name in ("exact", "best")
    )
    assert exact.fingerprint() == best.fingerprint()
    np.testing.assert_allclose(best.predict_log_proba(x), np.log(best.predict_proba(x)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_classifier_can_be_boosted(n_classes):
    """As scikit-learn does it, where nothing is drawn."""
    x, y = generated(n_classes)
    x, names = x[:200], np.array(["a", "b", "c"])[y[:200]]
    weight = np.linspace(1, 2, len(x))
    base = GaussianNB()
    model = AdaBoostClassifier(base, n_estimators=6, learning_rate=0.5).fit(x, names, weight)
    theirs = ensemble.AdaBoostClassifier(base, n_estimators=6, learning_rate=0.5)
    theirs.fit(x, names, weight)
    np.testing.assert_allclose(model.estimator_errors_, theirs.estimator_errors_)
    np.testing.assert_allclose(model.estimator_weights_, theirs.estimator_weights_)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x))
    np.testing.assert_array_equal(model.predict(x), theirs.predict(x))
    for own, other in zip(
        model.staged_decision_function(x), theirs.staged_decision_function(x), strict=True
    ):
        np.testing.assert_allclose(own, other, atol=1e-12)
    assert len(model) == model.n_estimators_ == len(model.estimators_)
    assert (
        isinstance(model[0], GaussianNB) and model.classes_.tolist() == ["a", "b", "c"][:n_classes]
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


def test_any_regressor_can_be_boosted():
    x, y = load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=1).fit(x, y)
    assert model.score(x, y) > 0.45 and len(list(model.staged_predict(x))) == 5
    said = np.stack([member.predict(x) for member in model])
    assert np.isin(model.predict(x), said).all()
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = model.feature_importances_
    shares = AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3).fit(x, y)
    assert shares.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("action", [
    lambda model: model.save_model("model.gb"), lambda model: model.fingerprint(),
    lambda model: model.apply(np.zeros((1, 4))),
])  # fmt: skip
def test_what_needs_trees_says_that_there_are_none(action):
    model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(*load_iris(return_X_y=True))
    with pytest.raises(TypeError, match=r"no trees, as it boosts estimator=GaussianNB\(\).*pickle"):
        action(model)


@pytest.mark.filterwarnings("ignore:.*estimator is:UserWarning")
@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (AdaBoostClassifier, gpuboost.DecisionTreeClassifier(max_depth=2)),
        (AdaBoostRegressor, gpuboost.DecisionTreeRegressor(max_depth=2, splitter="hist")),
    ],
)
def test_own_trees_stay_trees(kind, base, tmp_path):
    """They can be saved, and the first one of classes is the one that is grown without them."""
    x, y = load_iris(return_X_y=True)
    model = kind(base, n_estimators=4).fit(x, y)
    model.save_model(tmp_path / "model.gb")
    loaded = load_model(tmp_path / "model.gb")
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    assert [member.max_depth for member in model] == [2] * len(model)
    if kind is AdaBoostClassifier:
        plain = kind(n_estimators=4, max_depth=2).fit(x, y)
        assert plain.fingerprint() == model.fingerprint()


def test_an_estimator_trains_where_it_does_whatever_device_says(monkeypatch, caplog):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    adaboost.say_that_an_estimator_trains_where_it_does.cache_clear()
    x, y = load_iris(return_X_y=True)
    for kind, base in (
        (AdaBoostClassifier, GaussianNB()),
        (AdaBoostRegressor, LinearRegression()),
        (AdaBoostClassifier, DecisionTreeClassifier(max_depth=2)),
    ):
        with caplog.at_level("INFO", "gpuboost"):
            cpu, cuda = (kind(base, n_estimators=3, device=d).fit(x, y) for d in ("cpu", "cuda"))
        np.testing.assert_array_equal(cpu.predict(x), cuda.predict(x))
        np.testing.assert_array_equal(cpu.estimator_weights_, cuda.estimator_weights_)
    assert len([r for r in caplog.records if "trains where it does" in r.message]) == 1


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_parameters_of_trees_do_not_go_with_an_estimator(kind):
    base = GaussianNB() if kind is AdaBoostClassifier else LinearRegression()
    x, y = load_iris(return_X_y=True)
    for name, value in [("max_depth", 5), ("splitter", "hist"), ("categorical_features", [0])]:
        with pytest.raises(ValueError, match=f"{name} is a parameter of the trees"):
            kind(base, **{name: value}).fit(x, y)
    model = kind(n_estimators=2).fit(x, y)
    with pytest.raises(ValueError, match="estimator must be a"):
        model.set_params(estimator=KMeans(2)).fit(x, y)
    model.predict(x)
