"""What a model remembers of the table that it was trained on."""

import numpy as np
import pandas as pd
import pytest

from gpuboost.model.table_schema import TableSchema


def test_columns_are_distinct():
    with pytest.raises(ValueError, match="must be distinct names"):
        TableSchema("price", "regression", ["name", "name"])


def test_features_of_a_frame():
    schema = TableSchema("price", "regression", ["name", "weight"])
    frame = pd.DataFrame({"weight": [150, 90], "more": [1, 2], "name": ["pear", "plum"]})
    pd.testing.assert_frame_equal(schema.features(frame), frame[["name", "weight"]])
    with pytest.raises(ValueError, match="frame lacks columns that the model needs: 'weight'"):
        schema.features(frame[["name"]])


@pytest.mark.parametrize("formats", [{"name": "no format"}, {"other": ".$"}, {"name": ""}])
def test_formats_belong_to_columns_and_are_known(formats):
    with pytest.raises(ValueError, match="format of column .* is not known"):
        TableSchema("price", "regression", ["name"], formats)
    assert TableSchema("price", "regression", ["name"], {"price": ".$", "name": "day.month.year"})


@pytest.mark.parametrize("dtype", [object, "string"])
def test_formatted_columns_of_a_frame_become_numbers(dtype):
    schema = TableSchema(
        "y", "regression", ["a", "price", "day"], {"price": ".$", "day": "day.month.year"}
    )
    frame = pd.DataFrame({"price": ["$5", None, "$1,234.50"], "day": ["2.1.1970"] * 3, "a": 1})
    columns = schema.features(frame.astype({"price": dtype}))
    assert list(columns) == schema.columns
    np.testing.assert_array_equal(columns.price, [5, np.nan, 1234.5])
    assert (columns.day == pd.Timestamp("1970-01-02")).all()
    assert schema.features(columns).equals(columns)
    with pytest.raises(ValueError, match="column 'price' must .* 1,234.5 \\$, .* got 'free'"):
        schema.features(frame.assign(price="free"))
