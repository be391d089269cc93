"""From a table to the matrix that a model is trained on."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from table_files import read, same

from gpuboost.model.table_schema import TableSchema
from gpuboost.tables import TableError, delimited, open_table, read_validation
from gpuboost.tables.matrix import Growing

WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False, compression="gzip"),
    "t.csv.zst": lambda frame, path: path.write_bytes(
        pa.compress(frame.to_csv(index=False).encode(), "zstd", asbytes=True)
    ),
    "t.csv.bz2": lambda frame, path: frame.to_csv(path, index=False, compression="bz2"),
    "t.parquet": lambda frame, path: frame.to_parquet(path, row_group_size=100),
    "t.arrow": lambda frame, path: frame.to_feather(path, compression="zstd"),
    "t.feather": lambda frame, path: frame.to_feather(path, chunksize=64),
    "t.npz": lambda frame, path: np.savez_compressed(
        path, X=frame[["a", "b", "c"]], y=frame.y, feature_names=["a", "b", "c"]
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_matrix(name, frame, tmp_path):
    path = tmp_path / name
    WRITERS[name](frame, path)
    data = read(str(path))
    assert data.columns == ["a", "b", "c"]
    same(data.train.x, frame[["a", "b", "c"]])
    same(data.train.y, frame.y)


def test_rows_without_a_target_are_left_out(write):
    data = read(write("a,y,w\n1,0,1\n2,,1\n3,1,2\n"), weight="w")
    same(data.train.x, [[1], [3]])
    same(data.train.weight, [1, 2])
    assert data.n_without_target == 1


def test_held_out_rows_depend_on_their_number_alone(write, tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(2000.0), "y": np.arange(2000.0) % 7})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    whole = read(str(tmp_path / "t.parquet"), fraction=0.25, seed=3)
    monkeypatch.setattr(delimited, "CHUNK", 100)
    chunked = read(str(tmp_path / "t.csv"), fraction=0.25, seed=3)
    same(whole.valid.x, chunked.valid.x)
    same(whole.train.y, chunked.train.y)
    assert 400 < len(whole.valid.x) < 600
    assert sorted([*whole.train.x[:, 0], *whole.valid.x[:, 0]]) == list(range(2000))


def test_growing_without_knowing_the_end():
    rows = Growing((3,), "float64")
    for i in range(100):
        rows.next(7, fraction=(i + 1) / 200 if i < 50 else 0.0)[:] = i
    same(rows.finish(), np.repeat(np.arange(100.0), 7)[:, None].repeat(3, axis=1))


def test_another_table_for_the_same_model(write):
    data = read(write("a,t,y\n1,x,no\n2,z,yes\n"))
    schema = TableSchema("y", "binary", data.columns)
    path = write("y,t,more,a\nyes,x,5,1\nno,new,5,\n")
    part, notes = read_validation(open_table(path), schema, data.text, data.target_values)
    same(part.x, [[1, 0], [np.nan, np.nan]])
    same(part.y, [1, 0])
    assert notes == [
        "column 't': 1 rows have a text that training has not seen, such as 'new'; it counts "
        "as missing"
    ]
    with pytest.raises(TableError, match="a class that the training data does not have: 'maybe'"):
        read_validation(
            open_table(write("y,t,a\nmaybe,x,1\n")), schema, data.text, data.target_values
        )
    with pytest.raises(
        TableError, match="column 'a' must hold numbers, as it did in training; line 3 has 'much'"
    ):
        read_validation(
            open_table(write("y,t,a\nyes,x,1\nyes,x,much\n")), schema, data.text, data.target_values
        )
