"""From a table to the matrix that a model is trained on."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from table_files import read, same

from gpuboost.model.table_schema import TableSchema
from gpuboost.tables import TableError, delimited, open_table, read_training, read_validation
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


# --- numbers and dates as people write them


def dressed(write, lines, target="y", **options):
    """What a table with a column c is read as."""
    path = write("c;y\n" + "".join(f"{line};{i % 2}\n" for i, line in enumerate(lines)))
    table = open_table(path, delimiter=";")
    table.decimal_comma = options.pop("decimal_comma", False)
    return read_training(table, target, **options)


@pytest.mark.parametrize(
    ("lines", "form", "numbers"),
    [
        (["$803.41", "", "$1,234.50", "($5)", "7"], ".$", [803.41, np.nan, 1234.5, -5, 7]),
        (["3,5", "1.234,5", "-1"], ",", [3.5, 1234.5, -1]),
        (["12%", "7.5 %"], ".%", [12, 7.5]),
        (["1,234", "5", "1,234.5"], ".", [1234, 5, 1234.5]),
        (["31/12/1970", "1/2/1970"], "day/month/year", [364 * 86400, 31 * 86400]),
        (["2 Jan 1970", "NA", "1 Jan 1970 1:00"], "day monthname year", [86400, np.nan, 3600]),
    ],
)
def test_columns_of_formatted_values_are_numbers(write, lines, form, numbers):
    data = dressed(write, lines)
    np.testing.assert_array_equal(data.train.x[:, 0], numbers)
    assert data.formats == {"c": form} and data.text == {}
    assert len(data.notes) == 1 and repr(next(filter(None, lines))) in data.notes[0]


@pytest.mark.parametrize(
    "lines",
    [
        ["$5", "room 7"],
        ["$5", "€5"],
        ["12%", "12"],
        ["31/12/1970", "12/31/1970"],
        ["31/12/1970", "5"],
        ["007", "8x"],
    ],
)
def test_columns_of_several_kinds_stay_text(write, lines):
    data = dressed(write, lines)
    assert data.text == {"c": sorted(lines)} and data.formats == {}


def test_what_no_value_tells_is_said(write):
    assert (
        "'1,234' is 1234; no value tells that it is not 1.234 "
        in dressed(write, ["1,234"]).notes[0]
    )
    data = dressed(write, ["1,234"], decimal_comma=True)
    assert data.train.x.tolist() == [[1.234]] and "it is not 1234 " in data.notes[0]
    note = dressed(write, ["1/2/2024"]).notes[0]
    assert "'1/2/2024' is 2024-01-02; no value tells that it is not 2024-02-01 " in note
    assert "no value tells" not in dressed(write, ["1,234", "1,234,567"]).notes[0]


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        (100 * ["1/2/1970"] + ["13/1/1970"], "day/month/year"),
        (100 * ["1,234"] + ["1,5"], ","),
        (100 * ["5"] + ["$5"] + 100 * ["6"], ".$"),
        (100 * ["1.5"] + ["1,234.5"], "."),
        (100 * [""] + ["$5"], ".$"),
        (100 * ["$5"] + ["x"], None),
    ],
)
def test_a_later_row_decides(write, lines, form, monkeypatch):
    monkeypatch.setattr("gpuboost.tables.delimited.CHUNK", 64)
    data = dressed(write, lines)
    assert data.formats == ({"c": form} if form else {})
    assert len(data.train.x) == len(lines)
    if form is None:
        assert data.text == {"c": ["$5", "x"]}


def test_a_column_can_be_kept_as_text(write):
    assert dressed(write, ["$5", "$7"], text=["c"]).text == {"c": ["$5", "$7"]}
    assert dressed(write, ["5", "7"], text=["c"]).text == {"c": ["5", "7"]}


def test_typed_tables_say_what_is_text(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"zip": ["5", "7"], "price": ["$5", "7"], "y": [0, 1]}).to_parquet(path)
    data = read_training(open_table(str(path)), "y")
    assert data.text == {"zip": ["5", "7"]} and data.formats == {"price": ".$"}


# --- labels


@pytest.mark.parametrize(
    ("task", "kind", "values"),
    [
        ("auto", "text", ["01", "1"]),
        ("multiclass", "text", ["01", "1"]),
        ("regression", "number", []),
    ],
)
def test_labels_keep_their_zeros(write, task, kind, values):
    data = read_training(open_table(write("a,y\n1,01\n2,1\n3,\n4,1\n")), "y", task=task)
    assert (data.target_kind, data.target_values) == (kind, values)
    assert data.train.y.tolist() == ([0, 1, 1] if values else [1, 1, 1])


def test_labels_without_such_zeros_are_numbers(write):
    for labels in ("0,10, 2", "0.5,-0.25,1e3", "NA,1,0"):
        path = write("a,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels.split(","))))
        assert read_training(open_table(path), "y").target_kind == "number"


def test_labels_of_classes_are_not_converted(write):
    rows = "".join(f"{i},${i % 2}.00\n" for i in range(20))
    for task, values in (("auto", []), ("binary", ["$0.00", "$1.00"])):
        data = read_training(open_table(write("a,y\n" + rows)), "y", task=task)
        assert data.target_values == values


def test_a_table_to_validate_on_is_read_in_the_same_format(write):
    data = dressed(write, ["1,5", "2,5"])
    schema = TableSchema("y", "binary", data.columns, data.formats)
    part, _ = read_validation(open_table(write('y,c\n0,"1,234"\n')), schema, {}, [])
    assert part.x.tolist() == [[1.234]]
    with pytest.raises(TableError, match=r"column 'c' must .* written 1.234,5; row 2 has '1.5.3'"):
        read_validation(open_table(write("y,c\n0,7\n1,1.5.3\n")), schema, {}, [])


def test_weights_may_be_formatted(write):
    path = write("a,w,y\n1,$2,0\n2,$1.50,1\n")
    data = read_training(open_table(path), "y", weight="w")
    assert data.train.weight.tolist() == [2, 1.5] and data.formats == {} and len(data.notes) == 1
    schema = TableSchema("y", "binary", data.columns, data.formats)
    part, _ = read_validation(open_table(path), schema, {}, [], weight="w")
    assert part.weight.tolist() == [2, 1.5]
    path = write("a,w,y\n1,$2,0\n2,much,1\n")
    with pytest.raises(TableError, match="weights, 'w', must hold numbers in one format"):
        read_validation(open_table(path), schema, {}, [], weight="w")
