"""Metrics as curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from plot_parts import inside_and_apart
from sklearn.datasets import load_breast_cancer

import gpuboost as gb


def test_curves_are_the_results():
    X, y = load_breast_cancer(return_X_y=True)
    model = gb.GPUBoostClassifier(
        n_estimators=60, eval_metric=["auc", "logloss"], early_stopping_rounds=5
    )
    model.fit(X[::2], y[::2], eval_set=[(X[::2], y[::2]), (X[1::2], y[1::2])])
    auc, loss = gb.plot_metric(model)
    assert (auc.get_ylabel(), loss.get_ylabel()) == ("auc", "logloss")
    expected = model.evals_result_["validation_1"]
    for ax, name, best in ((auc, "auc", np.argmax), (loss, "logloss", np.argmin)):
        curve, ring = ax.lines[2:4]
        np.testing.assert_array_equal(curve.get_ydata(), expected[name])
        assert ring.get_xdata()[0] == best(expected[name]) + 1
    assert (
        loss.lines[-1].get_xdata()[0] == model.best_iteration_ + 1
        and loss.lines[-1].get_linestyle() == ":"
    )
    assert (
        len({line.get_linestyle() for line in (loss.lines[0], loss.lines[2])}) == 2
    )  # not by colour alone
    only = gb.plot_metric(model, "auc", ax=plt.subplots()[1])
    assert only.get_ylabel() == "auc"


@pytest.mark.parametrize("n_rounds", [1, 10_000])
def test_few_and_many_rounds(rng, n_rounds):
    ax = gb.plot_metric(
        {"train": {"rmse": rng.random(n_rounds)}, "test $_^$": {"rmse": rng.random(n_rounds)}}
    )
    inside_and_apart(ax)
    shown = [text for text in (tick.get_text() for tick in ax.get_xticklabels()) if text]
    assert "1" in shown if n_rounds == 1 else "10,000" in shown
    assert "after 1 round" in ax.get_legend().get_texts()[0].get_text() if n_rounds == 1 else True


def test_metrics_that_are_not_known_everywhere():
    ax = gb.plot_metric({"a": {"auc": [np.nan, 0.5, 0.7]}, "b": {"auc": [np.nan] * 3}})
    assert "best 0.7 after 3 rounds" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ({"v": {"rmse": [1.0]}}, {"metric": "mae"}, "metric must be one of 'rmse'; got 'mae'"),
        (
            {"v": {"rmse": []}},
            {},
            r"evals_result_\['v'\]\['rmse'\] must be a list of one number for each round",
        ),
        ({}, {}, "the model was fitted without an eval_set"),
        (gb.DecisionTreeClassifier(), {}, "got DecisionTreeClassifier"),
    ],
)
def test_complaints_about_metrics(model, options, message):
    with pytest.raises(ValueError, match=message):
        gb.plot_metric(model, **options)


def test_too_few_axes():
    with pytest.raises(
        ValueError, match="ax must have axes for each of the 2 metrics 'a', 'b'; got 1"
    ):
        gb.plot_metric({"v": {"a": [1.0], "b": [1.0]}}, ax=plt.subplots()[1])
