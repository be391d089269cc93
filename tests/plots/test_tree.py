"""Trees as drawings."""

import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine

import gpuboost as gb
from gpuboost.plots.style import COLOURS


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
