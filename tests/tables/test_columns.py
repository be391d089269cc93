"""What the values of columns become: numbers, missing values, texts."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from table_files import read, same

from gpuboost.tables import TableError, delimited


@pytest.mark.parametrize("word", [w for w in delimited.MISSING if w])
def test_missing_values(write, word):
    same(read(write(f"a,y\n1,0\n{word},1\n,1\n")).train.x, [[1], [np.nan], [np.nan]])
    data = read(write(f"a,y\nx,0\n{word},1\n"))
    same(data.train.x, [[0], [np.nan]])


def test_truth_values_and_times(write):
    text = (
        "b,d,t,c,z,y\ntrue,1970-01-02,1970-01-01 "
        "00:00:01.5,00:01:00,1970-01-01T01:00:00Z,1\nFalse,2000-01-01,,,,2\n"
    )
    data = read(write(text))
    assert data.text == {}
    same(data.train.x, [[1, 86400, 1.5, 60, 3600], [0, 946684800, np.nan, np.nan, np.nan]])


def test_a_column_that_is_empty_throughout(write):
    data = read(write("a,b,y\n1,,0\n2,,1\n"))
    assert np.isnan(data.train.x[:, 1]).all()
    assert data.notes == ["no row has a value in b"]


def test_nested_columns_are_named(tmp_path):
    pa.feather.write_feather(
        pa.table({"a": [[1, 2], [3]], "y": [1, 2]}), str(tmp_path / "t.feather")
    )
    with pytest.raises(TableError, match="column 'a' has the type list.*--drop a"):
        read(str(tmp_path / "t.feather"))
    with pytest.raises(TableError, match="no column is left"):
        read(str(tmp_path / "t.feather"), drop=["a"])


def test_too_many_texts(write, monkeypatch):
    from gpuboost.tables import columns

    monkeypatch.setattr(columns, "MAX_TEXTS", 100)
    with pytest.raises(
        TableError, match="column 'name' has more than 100 distinct texts.*--drop name"
    ):
        read(write("name,y\n" + "".join(f"n{i},1\n" for i in range(200))))


def test_texts_that_are_nearly_all_different_are_worth_a_word(write):
    data = read(write("name,a,y\n" + "".join(f"n{i},1,1\n" for i in range(1000))))
    assert data.notes == [
        "column 'name' has 1,000 distinct texts in 1,000 rows; consider --drop name"
    ]
