"""Gradient boosting behind the API of scikit-learn."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.multioutput import MultiOutputClassifier

from gpuboost import AdaBoostClassifier, GPUBoostClassifier, GPUBoostRegressor, load_model


@pytest.fixture
def data(rng):
    x = rng.normal(size=(120, 3))
    return x, x[:, 0] + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_and_labels_agree(data, n_classes):
    x, signal = data
    y = np.array(["a", "b", "c"])[np.digitize(signal, [-0.5, 0.5][: n_classes - 1])]
    model = GPUBoostClassifier(n_estimators=3, max_depth=2).fit(x, y)
    probability = model.predict_proba(x)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(x), model.classes_[probability.argmax(axis=1)])
    *_, last = model.staged_predict_proba(x)
    np.testing.assert_array_equal(last, probability)


def test_stages_end_at_the_prediction_and_early_stopping_goes_back(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=30, learning_rate=1.0, early_stopping_rounds=3)
    model.fit(x[:60], y[:60], eval_set=(x[60:], y[60:]))
    stages = list(model.staged_predict(x))
    np.testing.assert_array_equal(stages[model.best_iteration_], model.predict(x))
    errors = [np.sqrt(np.mean((stage[60:] - y[60:]) ** 2)) for stage in stages]
    assert np.argmin(errors) == model.best_iteration_
    assert min(errors) == pytest.approx(model.best_score_)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        ({"eval_set": [(1, 2, 3)]}, "eval_set must be a pair"),
        ({"eval_sample_weight": [None]}, "eval_sample_weight was given without an eval_set"),
    ],
)
def test_eval_sets_that_are_none(data, fit, message):
    with pytest.raises(ValueError, match=message):
        GPUBoostRegressor(n_estimators=1).fit(*data, **fit)


def test_a_failed_fit_changes_nothing(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=2).fit(x, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(x, np.where(y > 0, np.nan, y))
    assert vars(model) == before


def test_exponential_loss_is_for_two_classes():
    with pytest.raises(ValueError, match="exponential"):
        GPUBoostClassifier(objective="exponential").fit(np.arange(6.0)[:, None], [0, 1, 2] * 2)


# --- one class


@pytest.mark.parametrize("objective", ["log_loss", "exponential", "one_vs_rest", "focal"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_one_class_is_predicted(data, device, objective, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y = data[0], np.full(120, "only")
    metrics = ["logloss", "exponential", "error", "mlogloss", "merror"]
    model = GPUBoostClassifier(
        n_estimators=3, objective=objective, eval_metric=metrics, device=device
    )
    model.fit(x, y, eval_set=(x, y))
    assert model.classes_.tolist() == ["only"] and model.n_classes_ == 1
    assert (model.predict(x) == "only").all() and model.score(x, y) == 1
    np.testing.assert_array_equal(model.predict_proba(x), np.ones((120, 1)))
    for values in model.evals_result_["validation_0"].values():
        assert values == [0.0] * 3
    model.save_model(tmp_path / "one.gb")
    again = load_model(tmp_path / "one.gb")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


@pytest.mark.parametrize("kind", [GPUBoostClassifier, AdaBoostClassifier])
def test_scikit_learns_tools_that_meet_one_class(kind):
    x, y = make_multilabel_classification(80, n_features=4, n_classes=3, random_state=0)
    y[:, 1] = 1
    several = MultiOutputClassifier(kind(n_estimators=2)).fit(x, y)
    assert (several.predict(x)[:, 1] == 1).all()
    assert [p.shape[1] for p in several.predict_proba(x)] == [2, 1, 2]
    ordered = np.arange(80) >= 30  # the first fold has one class
    scores = cross_val_score(kind(n_estimators=2), x, ordered, cv=TimeSeriesSplit(4))
    assert np.isfinite(scores).all()


def test_a_class_whose_rows_have_no_weight_is_all_but_impossible(data):
    x, _ = data
    y, weight = np.arange(120) % 3, np.ones(120)
    weight[y == 2] = 0.0
    proba = GPUBoostClassifier(n_estimators=3).fit(x, y, weight).predict_proba(x)
    assert (proba[:, 2] < 1e-12).all() and (proba[:, 2] > 0).all()
    two = GPUBoostClassifier(n_estimators=3).fit(x, y == 2, weight)
    assert -40 < two.decision_function(x).min() <= two.decision_function(x).max() < -35


# --- metrics that are NaN


def nan_until(last):
    rounds = iter(range(1000))

    def metric(y, prediction):
        number = next(rounds)
        return np.nan if number < last else abs(number - last - 2) + 1.0

    return metric


def test_nan_is_never_the_best_score_and_does_not_stop_training(data):
    x, y = data
    model = GPUBoostRegressor(
        n_estimators=20, early_stopping_rounds=3, eval_metric=["mae", nan_until(5)]
    )
    with pytest.warns(UserWarning, match=r"eval_metric 'metric' on validation_0 is NaN in round 0"):
        model.fit(x, y, eval_set=(x, y))
    assert (model.best_iteration_, model.best_score_, model.n_estimators_) == (7, 1.0, 11)


def test_nan_in_every_round_keeps_all_of_them_and_says_so(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=8, early_stopping_rounds=2, eval_metric=nan_until(99))
    with pytest.warns(UserWarning) as caught:
        model.fit(x, y, eval_set=(x, y))
    nan, nothing = (str(warning.message) for warning in caught)
    assert "is NaN in round 0" in nan  # once, not for every round
    assert "early stopping had nothing to go by: eval_metric 'metric' on validation_0" in nothing
    assert "all 8 rounds are kept" in nothing
    assert model.n_estimators_ == 8 and model.best_iteration_ == 7 and model.best_score_ is None
    assert all(warning.filename == __file__ for warning in caught)


def test_auc_of_one_class_warns(data):
    x, y = data
    model = GPUBoostClassifier(n_estimators=4, early_stopping_rounds=2, eval_metric="auc")
    with pytest.warns(UserWarning, match=r"'auc' on validation_0 .* \(it needs rows of both cla"):
        model.fit(x, y > 0, eval_set=(x[y > 0], np.ones((y > 0).sum(), bool)))
    assert model.n_estimators_ == 4


# --- weights and rows


def test_weights_that_forbid_every_split_warn(data):
    x, y = data
    with pytest.warns(UserWarning, match="no tree has a split: .* min_child_weight=1.0 is needed"):
        GPUBoostRegressor(n_estimators=2).fit(x, y, np.full(120, 1 / 120))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GPUBoostRegressor(n_estimators=2, min_child_weight=0).fit(x, y, np.full(120, 1 / 120))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_subsample_of_nothing_is_one_row(data, device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y = data
    model = GPUBoostRegressor(n_estimators=30, subsample=1e-9, device=device).fit(x, y)
    assert [int(tree.count[0]) for tree in model.ensemble_.trees] == [1] * 30
    cpu = GPUBoostRegressor(n_estimators=30, subsample=1e-9).fit(x, y)
    assert cpu.fingerprint() == model.fingerprint()
    assert len({float(tree.value[0, 0]) for tree in cpu.ensemble_.trees}) > 20  # not always one


# --- monotone features


def pairs_out_of_order(model, x, feature, direction, rng, n=10_000):
    """Pairs of rows that differ in one feature alone, and whose scores are in the wrong order."""
    low = x[rng.integers(0, len(x), n)]
    high = low.copy()
    values = rng.choice(x[~np.isnan(x[:, feature]), feature], (n, 2))
    values += rng.normal(size=(n, 2)) * values.std() * rng.integers(0, 2, (n, 1))
    low[:, feature], high[:, feature] = values.min(axis=1), values.max(axis=1)
    score = getattr(model, "decision_function", model.predict)
    return int((direction * (score(high) - score(low)) < 0).sum())


def noisy(rng):
    """Rows whose targets go up and down along the features, gaps, and weights."""
    x = rng.normal(size=(600, 5))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + x[:, 3] ** 2 + 0.3 * rng.normal(size=600)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y, rng.exponential(size=600)


POLICIES = ["depthwise", "leafwise", "symmetric"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", [GPUBoostRegressor, GPUBoostClassifier])
def test_scores_are_monotone(kind, policy, rng):
    x, y, weight = noisy(rng)
    if kind is GPUBoostClassifier:
        y = y > np.median(y)
    options = {"n_estimators": 40, "learning_rate": 0.3, "grow_policy": policy}
    directions = {0: 1, 1: -1, 3: 1}
    model = kind(monotone_constraints=directions, **options).fit(x, y, sample_weight=weight)
    free = kind(**options).fit(x, y, sample_weight=weight)
    for feature, direction in directions.items():
        assert pairs_out_of_order(model, x, feature, direction, rng) == 0
        assert pairs_out_of_order(free, x, feature, direction, rng) > 100
        assert (model.feature_importances_[feature]) > 0
    assert pairs_out_of_order(model, x, 2, 1, rng) > 100


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "options",
    [
        {"reg_alpha": 0.5, "reg_lambda": 0.0},
        {"max_delta_step": 0.2, "min_samples_leaf": 5},
        {"subsample": 0.5, "colsample_bynode": 0.6, "max_bins": 9},
        {"learning_rate": 1.7, "min_child_weight": 0.0},
    ],
    ids=str,
)
def test_scores_of_real_data_are_monotone(policy, options, rng):
    x, y = load_diabetes(return_X_y=True)
    directions = rng.integers(-1, 2, x.shape[1])
    model = GPUBoostRegressor(
        n_estimators=40, grow_policy=policy, monotone_constraints=directions, **options
    ).fit(x, y)
    for feature in np.flatnonzero(directions):
        assert pairs_out_of_order(model, x, feature, directions[feature], rng, 3000) == 0


def test_a_monotone_target_is_learned_as_well_as_without_constraints():
    x, y = load_breast_cancer(return_X_y=True)
    options = {"n_estimators": 60, "max_depth": 3}
    rises = GPUBoostClassifier(monotone_constraints=[-1] * x.shape[1], **options)
    free = GPUBoostClassifier(**options)
    assert cross_val_score(rises, x, y).mean() > cross_val_score(free, x, y).mean() - 0.02


def test_features_that_are_named_free_change_nothing(data):
    x, y = data
    model = GPUBoostRegressor(n_estimators=3).fit(x, y)
    free = GPUBoostRegressor(n_estimators=3, monotone_constraints={0: 0, 2: 0}).fit(x, y)
    assert free.fingerprint() == model.fingerprint()


def test_monotone_features_by_name(data):
    x, y = data
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    by_name = GPUBoostRegressor(n_estimators=3, monotone_constraints={"a": -1}).fit(frame, y)
    by_number = GPUBoostRegressor(n_estimators=3, monotone_constraints=[-1, 0, 0]).fit(x, y)
    np.testing.assert_array_equal(by_name.predict(frame), by_number.predict(x))
    assert not (by_name.ensemble_.trees[0].feature == 0).any()  # the target rises along it


def test_gaps_are_divided_from_values_in_any_direction():
    """Missing values have no place among the values of a monotone feature."""
    x = np.repeat([1.0, np.nan], 50)[:, None]
    for high in (0.0, 1.0):
        model = GPUBoostRegressor(n_estimators=1, monotone_constraints=[1])
        model.fit(x, np.repeat([high, 1.0 - high], 50))
        assert (model.predict([[1.0]]) > model.predict([[np.nan]])) == (high == 1.0)


def test_three_classes_have_no_monotone_scores(data):
    x, signal = data
    with pytest.raises(ValueError, match="monotone_constraints .* y has 3 classes"):
        GPUBoostClassifier(monotone_constraints={0: 1}).fit(x, np.digitize(signal, [-0.5, 0.5]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logarithms_and_scores_by_stages(data, n_classes):
    x, signal = data
    y = np.digitize(signal, [-0.5, 0.5][: n_classes - 1])
    model = GPUBoostClassifier(n_estimators=3, max_depth=2).fit(x, y)
    np.testing.assert_allclose(model.predict_log_proba(x), np.log(model.predict_proba(x)))
    stages = list(model.staged_decision_function(x))
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[-1], model.decision_function(x))


@pytest.mark.parametrize("kind", [GPUBoostClassifier, GPUBoostRegressor])
def test_sparse_y_is_refused(data, kind):
    with pytest.raises(TypeError, match=r"y must be a dense array.*y\.toarray\(\)"):
        kind().fit(data[0], csr_matrix(data[1][:, None] > 0))


# --- categories


def table(rng, n=900, levels=30):
    """A frame with text, numbers and gaps; the target depends on sets of the texts."""
    x = rng.normal(size=(n, 3))
    codes = rng.integers(0, levels, n)
    effect = rng.normal(size=levels)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame.insert(1, "town", [f"town {code:03d}" for code in codes])
    frame["kind"] = pd.Categorical.from_codes(rng.integers(0, 3, n), ["x", "y", "z"])
    frame.loc[rng.random(n) < 0.1, "town"] = None
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    y = effect[codes] + x[:, 0] + (frame["kind"] == "y") + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


TEXT = ["town", "kind"]


@pytest.mark.parametrize("policy", POLICIES)
def test_categories_are_learned_and_predicted_the_same_way_by_every_road(policy, rng, tmp_path):
    """Few rows, blocks of rows, stages, leaves, a saved model."""
    x, y = table(rng)
    kind, limits = GPUBoostRegressor, {"grow_policy": policy, "n_estimators": 12}
    model = kind(categorical_features=TEXT, **limits).fit(x, y)
    assert model.ensemble_.by_blocks and any(len(tree.sets) for tree in model.ensemble_.trees)
    assert model.score(x, y) > 0.7
    many = model.predict(x)
    few = [model.predict(x[i : i + 9]) for i in range(0, len(x), 9)]
    np.testing.assert_array_equal(np.concatenate(few), many)
    np.testing.assert_array_equal(list(model.staged_predict(x))[-1], many)
    leaves = model.apply(x)
    said = [tree.value[leaves[:, t], 0] for t, tree in enumerate(model.ensemble_.trees)]
    np.testing.assert_allclose(model.ensemble_.base_score + np.sum(said, axis=0), many)
    assert model.decision_path(x)[0].shape[0] == len(x)
    model.save_model(tmp_path / "model.gb")
    loaded = load_model(tmp_path / "model.gb")
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(x), many)
    assert (model.feature_importances_[[1, 4]] > 0.05).all()


def test_categories_as_text_as_pandas_categories_and_as_numbers(rng):
    """Text and categories in any order are one model; numbers in their order make its trees."""
    x, y = table(rng)
    texts = GPUBoostRegressor(categorical_features=TEXT, n_estimators=5).fit(x, y)
    shuffled = x.astype({name: "category" for name in TEXT})
    for name in TEXT:
        order = rng.permutation(shuffled[name].cat.categories)
        shuffled[name] = shuffled[name].cat.reorder_categories(order)
    by_dtype = GPUBoostRegressor(n_estimators=5)
    assert by_dtype.fit(shuffled, y).fingerprint() == texts.fingerprint()
    numbers = x.copy()
    for name in TEXT:
        places = {text: 7.0 * i for i, text in enumerate(sorted(x[name].dropna().unique()))}
        numbers[name] = x[name].astype(object).map(places).astype(float)
    coded = GPUBoostRegressor(categorical_features=[1, 4], n_estimators=5).fit(numbers, y)
    np.testing.assert_array_equal(coded.predict(numbers), texts.predict(x))


def test_unseen_categories_count_as_missing(rng):
    x, y = table(rng)
    model = GPUBoostRegressor(categorical_features=TEXT, n_estimators=5).fit(x, y)
    gaps, new = x.copy(), x.copy()
    gaps["town"], new["town"] = None, "elsewhere"
    np.testing.assert_array_equal(model.predict(new), model.predict(gaps))


@pytest.mark.parametrize("levels", [254, 255, 900])
def test_long_columns_keep_their_most_frequent_categories(levels, rng, tmp_path):
    n = 4 * levels
    codes = np.concatenate([np.arange(levels), rng.integers(0, min(levels, 300), n - levels)])
    x = np.stack([codes, rng.normal(size=n)], axis=1)
    y = (codes % 7 == 0) + 0.1 * rng.normal(size=n)
    model = GPUBoostRegressor(
        categorical_features=[0],
        categorical_encoding="partition",
        n_estimators=8,
        min_data_per_category=1,
        cat_smooth=0.0,
    ).fit(x, y)
    feature = model.ensemble_.features.features[0]
    assert feature.n_numbers == min(levels, 255) and len(feature.categories) == levels
    model.save_model(tmp_path / "model.gb")
    few = np.concatenate([model.predict(x[i : i + 9]) for i in range(0, n, 9)])
    np.testing.assert_array_equal(load_model(tmp_path / "model.gb").predict(x), few)
    if levels > 255:  # those that share a code have one prediction
        rare = np.flatnonzero(feature.numbers == 254)
        one = np.stack([rare, np.zeros(len(rare))], axis=1)
        assert len(rare) == levels - 254 and len(np.unique(model.predict(one))) == 1


def test_rows_without_weight_have_no_categories(rng):
    x, y = table(rng)
    weight = np.ones(len(x))
    weight[x["town"] == "town 003"] = 0.0
    used = weight > 0
    options = {"categorical_features": TEXT, "n_estimators": 5}
    weighted = GPUBoostRegressor(**options).fit(x, y, sample_weight=weight)
    fewer = GPUBoostRegressor(**options).fit(x[used], y[used])
    assert weighted.fingerprint() == fewer.fingerprint()


def test_classes_eval_sets_and_early_stopping_with_categories(rng):
    x, y = table(rng)
    y = np.digitize(y, [-1.0, 1.0])
    model = GPUBoostClassifier(
        categorical_features=TEXT, n_estimators=60, early_stopping_rounds=3, learning_rate=0.5
    ).fit(x[:600], y[:600], eval_set=(x[600:], y[600:]))
    last = model.evals_result_["validation_0"]["mlogloss"][model.best_iteration_]
    assert log_loss(y[600:], model.predict_proba(x[600:])) == pytest.approx(last)
    assert model.best_iteration_ < 59


def test_monotone_numbers_beside_categories(rng):
    x, y = table(rng)
    model = GPUBoostRegressor(categorical_features=TEXT, monotone_constraints={"a": 1}).fit(x, y)
    higher = x.assign(a=x["a"] + rng.exponential(size=len(x)))
    assert (model.predict(higher) >= model.predict(x)).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"categorical_features": ["city"]}, ValueError,
         "categorical_features names a feature that X does not have: 'city'"),
        ({"categorical_features": TEXT, "monotone_constraints": {"town": 1}}, ValueError,
         "monotone_constraints must be 0 for categorical features, which have no order; got 1 for "
         "feature 'town'"),
        ({"cat_smooth": -1}, ValueError, "cat_smooth must be a number at least 0; got -1"),
        ({"max_cat_to_onehot": 0}, ValueError, "max_cat_to_onehot must be an integer at least 1"),
        ({"max_cat_threshold": 2.5}, TypeError, "max_cat_threshold must be an integer"),
        ({"min_data_per_category": 0}, ValueError, "min_data_per_category must be an integer"),
    ],
)  # fmt: skip
def test_what_fit_says_to_wrong_categories(options, error, message, rng):
    x, y = table(rng, 50)
    with pytest.raises(error, match=re.escape(message)):
        GPUBoostRegressor(**options).fit(x, y)


def test_sparse_matrices_have_no_categories(rng):
    x, y = csr_array(rng.integers(0, 3, (50, 2)).astype(float)), rng.normal(size=50)
    message = "categorical_features must be None or 'auto' for a sparse X, such as this csr_array"
    with pytest.raises(TypeError, match=message):
        GPUBoostRegressor(categorical_features=[0]).fit(x, y)
    model = GPUBoostRegressor(categorical_features=[0], n_estimators=1).fit(x.toarray(), y)
    np.testing.assert_array_equal(model.predict(x), model.predict(x.toarray()))
