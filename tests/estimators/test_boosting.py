"""Gradient boosting behind the API of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, make_multilabel_classification
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


@pytest.mark.parametrize("objective", ["log_loss", "exponential"])
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
