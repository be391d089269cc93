"""Trees as text and as pictures."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine

import gpuboost as gb
from gpuboost.plots.style import COLOURS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# --- text


def test_classes_and_thresholds():
    data = load_iris(as_frame=True)
    model = gb.DecisionTreeClassifier(max_depth=2).fit(data.data, data.target_names[data.target])
    assert gb.export_text(model, decimals=1) == (
        "petal length (cm) <= 2.5\n"
        "|   class setosa (shares 1.0, 0.0, 0.0; weight 50)\n"
        "petal length (cm) > 2.5 or missing\n"
        "|   petal width (cm) <= 1.8 or missing\n"
        "|   |   class versicolor (shares 0.0, 0.9, 0.1; weight 54)\n"
        "|   petal width (cm) > 1.8\n"
        "|   |   class virginica (shares 0.0, 0.0, 1.0; weight 46)\n"
    )
    short = gb.export_text(model, feature_names=list("abcd"), max_depth=1)
    assert (
        short.splitlines()[-1]
        == "|   ... 2 leaves: class versicolor (shares 0.00, 0.50, 0.50; weight 100)"
    )
    assert (
        gb.export_text(model, max_depth=0)
        == "... 3 leaves: class setosa (shares 0.33, 0.33, 0.33; weight 150)\n"
    )


def test_sets_of_categories_and_missing_values():
    frame = pd.DataFrame({"colour": list("abc") * 4, "size": [1.0, 2.0, np.nan, np.nan] * 3})
    model = gb.DecisionTreeRegressor(categorical_features=["colour"]).fit(
        frame, (frame["colour"] == "b") * 2.0
    )
    assert gb.export_text(model) == (
        "colour in {a, c} or missing\n|   value 0.00 (weight 8)\ncolour not in {a, c}\n|   "
        "value 2.00 (weight 4)\n"
    )
    known = gb.DecisionTreeRegressor().fit(frame[["size"]], frame["size"].isna() * -0.001)
    assert (
        gb.export_text(known) == "size is not missing\n|   value 0.00 (weight 6)\n"
        "size is missing\n|   value 0.00 (weight 6)\n"
    )


def test_many_categories_use_several_words():
    column = np.repeat(np.arange(150.0), 2)[:, None]
    model = gb.DecisionTreeRegressor(categorical_features=[0]).fit(
        column, (column[:, 0] % 2 == 1) * 1.0
    )
    first = gb.export_text(model).splitlines()[0]
    assert first == "x0 in {" + ", ".join(f"{c}.0" for c in range(0, 150, 2)) + "} or missing"


def test_several_outputs_weights_and_boosting():
    x, y = load_iris(return_X_y=True)
    text = gb.export_text(
        gb.DecisionTreeClassifier(max_depth=1).fit(x, np.column_stack([y, y > 0]))
    )
    assert "class 0, 0 (shares 1.00, 0.00, 0.00 | 1.00, 0.00; weight 50)" in text
    text = gb.export_text(
        gb.DecisionTreeRegressor(max_depth=1).fit(x, np.column_stack([y, -y]), np.full(150, 0.25))
    )
    assert "value 0.00, 0.00 (weight 12.50)" in text
    boosted = gb.GPUBoostClassifier(n_estimators=2, max_depth=1).fit(x, y)
    assert gb.export_text(boosted, tree=5).count("value") == 2


def test_every_leaf_has_a_line():
    x, y = load_digits(return_X_y=True)
    model = gb.DecisionTreeClassifier().fit(x, y)
    assert gb.export_text(model).count("class ") == model.get_n_leaves()


def test_a_very_deep_tree():
    x = np.arange(3000.0)[:, None]
    model = gb.DecisionTreeRegressor().fit(x, 1.5 ** (x[:, 0] / 5))
    assert (
        model.get_depth() > 1000
        and gb.export_text(model, max_depth=None).count("value") == model.get_n_leaves()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"feature_names": ["a"]},
            "feature_names must have one entry for each of the 4 features; got 1",
        ),
        ({"decimals": -1}, "decimals must be an integer at least 0"),
        ({"max_depth": -1}, "max_depth must be an integer at least 0 or None"),
        ({"tree": 1}, "tree must be an integer at least 0 and at most 0; got 1"),
    ],
)
@pytest.mark.parametrize("function", [gb.export_text, gb.plot_tree])
def test_complaints(function, options, message):
    model = gb.DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=message):
        function(model, **options)


# --- pictures


def boxes_of_texts(ax):
    renderer = ax.figure.canvas.get_renderer()
    return [
        (t.get_text(), t.get_window_extent(renderer))
        for t in [*ax.texts, *ax.get_legend().get_texts()]
    ]


def long_names():
    data = load_diabetes(as_frame=True)
    names = [f"a name that is far too long for a box, number {f}" for f in range(10)]
    return gb.DecisionTreeRegressor(max_depth=5).fit(data.data * 1000, data.target), {
        "feature_names": names
    }


def wine():
    data = load_wine(as_frame=True)
    return gb.DecisionTreeClassifier().fit(data.data, data.target_names[data.target]), {}


def digits():
    return gb.DecisionTreeClassifier(max_depth=4).fit(*load_digits(return_X_y=True)), {}


def colours():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"colour": rng.choice(["dark olive green", "light sea green", "navajo white", "$_^$"], 300)}
    )
    y = np.array(["a class with quite a long name", "$_^$"])[rng.integers(0, 2, 300)]
    return gb.DecisionTreeClassifier(categorical_features=["colour"]).fit(frame, y), {}


@pytest.mark.parametrize("case", [long_names, wine, digits, colours])
def test_nothing_overlaps(case):
    """No two texts, no two boxes; every text of a node inside its box and above its bar."""
    model, options = case()
    ax = gb.plot_tree(model, **options)
    ax.figure.canvas.draw()
    texts = boxes_of_texts(ax)
    for i, (one, a) in enumerate(texts):
        for other, b in texts[:i]:
            assert not a.overlaps(b), (one, other)
    patches = [(p, p.get_window_extent()) for p in ax.patches]
    boxes = [e for p, e in patches if p.get_facecolor() == (1, 1, 1, 1)]
    bars = [e for p, e in patches if p.get_facecolor() != (1, 1, 1, 1) and p.get_width() > 0]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    figure = ax.figure.bbox
    for text, extent in texts:
        inside = [b for b in boxes if b.overlaps(extent)]
        assert (
            figure.x0 <= extent.x0
            and extent.x1 <= figure.x1
            and figure.y0 <= extent.y0
            and extent.y1 <= figure.y1
        )
        if text in ("yes", "no") or text in [t.get_text() for t in ax.get_legend().get_texts()]:
            continue
        assert len(inside) == 1, text
        assert (
            inside[0].x0 <= extent.x0
            and extent.x1 <= inside[0].x1
            and inside[0].y0 <= extent.y0
            and extent.y1 <= inside[0].y1
        ), text
        assert not any(bar.overlaps(extent) for bar in bars), text


def test_depth_and_numbers_of_boxes():
    model, _ = wine()
    n_boxes = [
        sum(p.get_facecolor() == (1, 1, 1, 1) for p in gb.plot_tree(model, max_depth=d).patches)
        for d in (0, 1, None)
    ]
    assert n_boxes == [1, 3, 2 * model.get_n_leaves() - 1]
    texts = [t.get_text() for t in gb.plot_tree(model, max_depth=0).texts]
    assert texts[0] == f"... {model.get_n_leaves()} leaves"


def test_bars_show_shares():
    model, _ = wine()
    root = model.ensemble_.trees[0].value[0]
    bars = [
        p for p in gb.plot_tree(model, max_depth=0).patches if p.get_facecolor() != (1, 1, 1, 1)
    ]
    np.testing.assert_allclose(
        np.array([p.get_width() for p in bars]) / sum(p.get_width() for p in bars), root
    )
    assert [matplotlib.colors.to_hex(p.get_facecolor()).upper() for p in bars] == list(COLOURS[:3])


def test_given_axes_boosting_and_a_single_leaf():
    figure, ax = plt.subplots(figsize=(3, 2))
    model, _ = wine()
    assert gb.plot_tree(model, ax=ax) is ax and ax.texts[0].get_fontsize() < 8
    x, y = load_diabetes(return_X_y=True)
    gb.plot_tree(gb.GPUBoostRegressor(n_estimators=3, max_depth=3).fit(x, y), tree=2)
    assert len(gb.plot_tree(gb.DecisionTreeRegressor().fit(x, 0 * y)).texts) == 2


def simulated(colour, matrix):
    """How a colour looks to people who lack one kind of cone."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = (np.array(matrix) @ linear).clip(0, 1)
    return np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize(
    "matrix",
    [
        # projections of linear RGB for dichromats (Vienot, Brettel and Mollon 1999)
        [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    ],
    ids=["protan", "deutan"],
)
def test_colours_stay_apart(matrix):
    seen = [simulated(c, matrix) for c in COLOURS]
    apart = min(np.abs(a - b).max() for i, a in enumerate(seen) for b in seen[:i])
    assert apart > 0.1


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot_tree needs matplotlib: pip install matplotlib"):
        gb.plot_tree(gb.DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1]))


def test_unfitted():
    with pytest.raises(ValueError, match="not fitted yet"):
        gb.export_text(gb.DecisionTreeClassifier())
