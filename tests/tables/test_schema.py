"""How the columns of a table become features."""

import json

import numpy as np
import pandas as pd
import pytest

from gpuboost.tables.schema import TableSchema

SCHEMA = TableSchema("price", "regression", ["name", "weight"], {"name": ["apple", "pear"]})


def test_a_schema_comes_back_from_json():
    assert TableSchema.from_json(json.loads(json.dumps(SCHEMA.to_json()))) == SCHEMA


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "ranking"}, "no valid target and task"),
        ({"target": 3}, "no valid target and task"),
        ({"columns": ["name", "name"]}, "must be distinct names"),
        ({"columns": "name"}, "must be distinct names"),
        ({"text": {"name": ["pear", "apple"]}}, "must be ascending texts"),
        ({"text": {"colour": ["red"]}}, "must be ascending texts, and the column a feature"),
        ({"more": 1}, "must have target, task, columns and text"),
    ],
)
def test_json_that_is_no_schema(change, message):
    with pytest.raises(ValueError, match=message):
        TableSchema.from_json(SCHEMA.to_json() | change)


def test_features_of_a_frame():
    frame = pd.DataFrame({"weight": [150, 90], "more": [1, 2], "name": ["pear", "plum"]})
    features = SCHEMA.features(frame)
    assert list(features.columns) == ["name", "weight"]
    np.testing.assert_array_equal(features["name"], [1.0, np.nan])
    with pytest.raises(ValueError, match="frame lacks columns that the model needs: 'weight'"):
        SCHEMA.features(frame[["name"]])
