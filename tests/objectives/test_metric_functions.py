"""Metrics that are functions of the user, and scikit-learn scorers."""

import functools

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer, roc_auc_score

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.objectives.metrics import resolve_metrics


def history(model, x, y, **fit):
    return model.fit(x[:60], y[:60], eval_set=(x[60:], y[60:]), **fit).evals_result_["validation_0"]


@pytest.fixture
def rows(rng):
    x = rng.normal(size=(120, 3))
    return x, x[:, 0] + rng.normal(size=120)


def auc(y, probability):
    return roc_auc_score(y, probability)


def known_auc(y, probability):
    return roc_auc_score(y, probability)


known_auc.greater_is_better = True


def weighted_error(y, prediction, sample_weight=None):
    return np.average((y > 0) != (prediction > 0), weights=sample_weight)


def test_names_are_unique(rows):
    x, y = rows
    metrics = [lambda y, p: 1.0, "auc", lambda y, p: 2.0, auc, functools.partial(auc), "auc"]
    result = history(GPUBoostClassifier(n_estimators=1, eval_metric=metrics), x, y > 0)
    names = ["<lambda>", "auc", "<lambda>_2", "auc_2", "auc_3", "auc_4"]
    assert list(result) == names
    assert [result[name][0] for name in ("<lambda>", "<lambda>_2")] == [1.0, 2.0]
    assert result["auc"] == pytest.approx(result["auc_2"])


@pytest.mark.parametrize("greater", [None, False, True])
def test_the_function_says_whether_more_is_better(rows, greater):
    x, y = rows

    def rounds(y, prediction):
        seen.append(len(seen))
        return float(len(seen))

    seen = []
    if greater is not None:
        rounds.greater_is_better = greater
    model = GPUBoostRegressor(n_estimators=9, early_stopping_rounds=3, eval_metric=rounds)
    history(model, x, y)
    assert model.best_iteration_ == (8 if greater else 0)
    rounds.greater_is_better = "yes"
    with pytest.raises(ValueError, match="greater_is_better of eval_metric 'rounds' must be True"):
        history(model, x, y)


def test_scores_of_sklearn_are_better_if_they_are_higher(rows):
    """Its functions whose names end in "_score" are to be maximised, others minimised."""
    x, y = rows
    for function, greater in (
        (roc_auc_score, True),
        (functools.partial(roc_auc_score, max_fpr=0.5), True),
        (functools.partial(known_auc), True),
        (log_loss, False),
        (brier_score_loss, False),
        (auc, False),
    ):
        model = GPUBoostClassifier(n_estimators=20, early_stopping_rounds=20, eval_metric=function)
        (values,) = history(model, x, y > 0).values()
        best = np.argmax(values) if greater else np.argmin(values)
        assert model.best_iteration_ == best


def test_scorers_see_what_they_would_see_of_the_model(rows):
    x, signal = rows
    y = np.array(["no", "yes"])[(signal > 0).astype(int)]
    names = ["roc_auc", "accuracy", "neg_log_loss"]
    scorers = [get_scorer(name) for name in names] + [make_scorer(agreement, pos_label="yes")]
    model = GPUBoostClassifier(n_estimators=3, eval_metric=scorers, early_stopping_rounds=3)
    result = history(model, x, y)
    assert list(result) == [
        "roc_auc_score", "accuracy_score", "neg_log_loss", "agreement",
    ]  # fmt: skip
    last = GPUBoostClassifier(n_estimators=3).fit(x[:60], y[:60])
    for scorer, values in zip(scorers, result.values(), strict=True):
        assert values[-1] == pytest.approx(scorer(last, x[60:], y[60:]))
    assert model.best_score_ == max(result["agreement"])


def agreement(y, labels, pos_label):
    assert set(y) <= {"no", "yes"}
    return np.mean((y == pos_label) == (labels == pos_label))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_scorers_of_regression_and_of_several_classes(rows, device, monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, y = rows
    scorer = get_scorer("neg_mean_squared_error")
    result = history(
        GPUBoostRegressor(n_estimators=3, eval_metric=["rmse", scorer], device=device), x, y
    )
    np.testing.assert_allclose(result["neg_mean_squared_error"], -np.square(result["rmse"]))
    three = np.digitize(y, [-0.5, 0.5])
    metrics = ["mlogloss", get_scorer("neg_log_loss"), get_scorer("roc_auc_ovr")]
    result = history(
        GPUBoostClassifier(n_estimators=3, eval_metric=metrics, device=device), x, three
    )
    np.testing.assert_allclose(result["neg_log_loss"], -np.array(result["mlogloss"]))
    assert result["roc_auc_score"][-1] > 0.5


def test_functions_and_scorers_that_take_weights_get_them(rows):
    x, y = rows
    weight = np.r_[np.ones(30), np.zeros(30)]
    metrics = [weighted_error, make_scorer(weighted_error, greater_is_better=False)]
    model = GPUBoostRegressor(n_estimators=2, eval_metric=metrics)
    result = history(model, x, y, eval_sample_weight=[weight])
    expected = np.mean((y[60:90] > 0) != (model.predict(x[60:90]) > 0))
    assert result["weighted_error"][-1] == expected
    assert result["neg_weighted_error"][-1] == -expected


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (("auc", 0.5, True), "'<lambda>' must return a number; got the tuple .*greater_is_better"),
        ("0.5", "must return a number; got '0.5' of type str"),
        (None, "must return a number; got None"),
        ([0.5, 0.6], "must return a number; got "),
        (1j, "must return a number; got 1j"),
    ],
)
def test_what_is_no_number_is_refused(rows, answer, message):
    with pytest.raises(TypeError, match=message):
        history(GPUBoostRegressor(n_estimators=1, eval_metric=lambda y, p: answer), *rows)


def test_no_metric_is_refused():
    with pytest.raises(ValueError, match="got no metric"):
        resolve_metrics([], None)
