"""How a model takes each column, for people."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from gpuboost import DecisionTreeRegressor

ROWS = 12
TABLE = pl.DataFrame(
    {
        "weight": np.arange(ROWS) / 4,
        "when": [dt.datetime(2020, 1, 1 + i) for i in range(ROWS)],
        "colour": ["red", "green", "blue"] * 4,
        "ripe": [True, False, None] * 4,
        "nothing": [None] * ROWS,
    }
)


@pytest.fixture(scope="module")
def features():
    return DecisionTreeRegressor(max_depth=2).fit(TABLE, np.arange(ROWS)).features_


def test_each_column_has_a_row(features):
    assert [(row.name, row.kind, row.levels) for row in features] == [
        ("weight", "number", None),
        ("when", "date", None),
        ("colour", "category (text)", 3),
        ("ripe", "true or false", None),
        ("nothing", "no value in training", None),
    ]
    assert len(features) == 5 and features[-1].name == "nothing"
    assert features["when"].taken == "seconds since 1970-01-01T00:00 UTC"
    assert features["colour"].missing.endswith("a new one is missing")
    with pytest.raises(KeyError):
        features["color"]


def test_it_is_a_table_to_read(features):
    lines = repr(features).splitlines()
    assert lines[0].split() == ["name", "kind", "levels", "taken", "missing"]
    assert "sets of categories: blue, green, red" in lines[3]
    page = features._repr_html_()
    assert page.count("<tr>") == 6 and "<td>colour</td>" in page


def test_wide_tables_and_many_categories_are_cut():
    x = np.arange(200.0).reshape(2, 100)
    many = DecisionTreeRegressor(categorical_features=[0]).fit(x.T, np.arange(100)).features_
    assert many[0].kind == "category (number)" and many[0].taken.endswith("...")
    wide = DecisionTreeRegressor().fit(x, [0, 1]).features_
    assert repr(wide).endswith("... and 40 more")
    new = DecisionTreeRegressor(unknown_category="error").fit(TABLE, np.arange(ROWS))
    assert new.features_["colour"].missing.endswith("a new one is an error")
