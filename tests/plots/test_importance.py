"""Importances as bars."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plot_parts import inside_and_apart
from sklearn.datasets import load_breast_cancer, load_iris

import gpuboost as gb


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax, k=0):
    return np.array([bar.get_width() for bar in ax.containers[k]])


def test_bars_are_the_importances():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = gb.GPUBoostClassifier(n_estimators=10).fit(X, y)
    for kind in ("gain", "split", "cover"):
        expected = pd.Series(
            model.set_params(importance_type=kind).feature_importances_, X.columns
        ).sort_values(ascending=False)
        ax = gb.plot_importance(model, importance_type=kind, max_features=5)
        np.testing.assert_allclose(bars(ax), expected[:5])
        assert ax.get_xlabel() == f"{kind} (share)"
    assert gb.plot_importance(model).get_xlabel() == "cover (share)"  # the model's own
    assert len(labels(gb.plot_importance(model))) == 20


def test_classical_trees_and_given_values():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = gb.RandomForestClassifier(n_estimators=5).fit(X, y)
    np.testing.assert_allclose(
        bars(gb.plot_importance(model)), np.sort(model.feature_importances_)[::-1]
    )
    ax = gb.plot_importance(model, values=[1, 4, 2, 3], feature_names=list("abcd"))
    assert labels(ax) == ["b", "d", "c", "a"] and bars(ax).tolist() == [4, 3, 2, 1]
    ax = gb.plot_importance(model, values={"mine": [1, 4, 2, 3], "yours": [0, -5, 10, 0]})
    assert bars(ax, 0).tolist() == [1, 0.75, 0.5, 0.25] and bars(ax, 1).tolist() == [-0.5, 0, 1, 0]


def test_measures_side_by_side():
    X, y = load_iris(return_X_y=True)
    model = gb.RandomForestClassifier(n_estimators=10).fit(X, y)
    table = gb.importance.table(model, X, y, ["mdi", "mdi_oob", "ufi"])
    ax = gb.plot_importance(table)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == table.methods
    order = np.argsort(-table.values[0])
    np.testing.assert_allclose(
        bars(ax, 2 * 2), table.values[2, order] / table.values[2].max()
    )  # whiskers are containers too
    hatches = {
        container[0].get_hatch() for container in ax.containers if hasattr(container, "patches")
    }
    assert len(hatches) == 3  # not by colour alone
    assert gb.plot_importance(gb.importance.mdi_oob(model, X, y)).get_xlabel() == "mdi_oob"


@pytest.mark.parametrize("n_features", [1, 500])
def test_few_and_many_features_with_long_names(rng, n_features):
    X = pd.DataFrame(
        rng.normal(size=(100, n_features)),
        columns=[f"{f} {'W' * 200} $_^$ {f}" for f in range(n_features)],
    )
    model = gb.GPUBoostRegressor(n_estimators=5).fit(X, X.iloc[:, 0])
    ax = gb.plot_importance(model)
    inside_and_apart(ax)
    assert (
        labels(ax)[0].startswith("0 WW") and labels(ax)[0].endswith("^$ 0") and "…" in labels(ax)[0]
    )
    table = gb.importance.table(model, X.iloc[:50], X.iloc[:50, 0], ["mdi"])
    inside_and_apart(gb.plot_importance(table, max_features=50))


def test_given_axes_keep_their_size(rng):
    X = pd.DataFrame(
        rng.normal(size=(100, 30)), columns=[f"a name of some length {f}" for f in range(30)]
    )
    figure, ax = plt.subplots(figsize=(3, 2))
    assert (
        gb.plot_importance(
            gb.GPUBoostRegressor(n_estimators=3).fit(X, X.iloc[:, 0]), max_features=30, ax=ax
        )
        is ax
    )
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert min(box.x0 for box in boxes) >= 0 and not any(
        a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]
    )


def test_a_model_without_splits():
    model = gb.GPUBoostRegressor(n_estimators=2).fit([[0.0], [1.0]], [1.0, 1.0])
    assert bars(gb.plot_importance(model)).tolist() == [0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"importance_type": "weight"},
            "importance_type must be one of 'gain', 'split', 'cover'; got 'weight'",
        ),
        ({"max_features": 0}, "max_features must be an integer at least 1"),
        (
            {"values": [1, 2]},
            r"values must have one entry for each of the 4 features; 'importance' has shape \(2,\)",
        ),
        ({"values": {}}, "values must hold at least one measure"),
        (
            {"values": [1] * 4, "importance_type": "gain"},
            "importance_type='gain' was given together with values",
        ),
        (
            {"feature_names": ["a"]},
            "feature_names must have one entry for each of the 4 features; got 1",
        ),
    ],
)
def test_complaints_about_importances(options, message):
    model = gb.GPUBoostClassifier(n_estimators=1).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=message):
        gb.plot_importance(model, **options)


def test_other_complaints():
    x, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="not fitted yet"):
        gb.plot_importance(gb.GPUBoostClassifier())
    with pytest.raises(ValueError, match="a table of importances has its own"):
        gb.plot_importance(gb.importance.mdi(gb.DecisionTreeClassifier().fit(x, y)), values=[1] * 4)
