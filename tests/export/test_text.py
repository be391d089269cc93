"""Trees as text."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris

import gpuboost as gb


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
    column = np.repeat(np.arange(150.0), 20)[:, None]
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


def test_unfitted():
    with pytest.raises(ValueError, match="not fitted yet"):
        gb.export_text(gb.DecisionTreeClassifier())
