"""Reading tables: formats, kinds of columns, streaming, and what is wrong with a file."""

import gzip
import io
import os
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from gpuboost.tables import TableError, delimited, open_table, read_training, read_validation
from gpuboost.tables.matrix import Growing
from gpuboost.tables.schema import TableSchema
from gpuboost.tables.target import settle_target


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 64)


def read(path, target="y", **options):
    table_options = {
        name: options.pop(name) for name in ("format", "delimiter", "header") if name in options
    }
    return read_training(open_table(path, **table_options), target, **options)


def same(a, b):
    np.testing.assert_array_equal(a, np.asarray(b, a.dtype))


# --- formats


@pytest.fixture
def frame(rng):
    x = rng.normal(size=(500, 3)).round(4)
    x[::7, 1] = np.nan
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": rng.integers(0, 2, 500), "c": x[:, 2]})


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


def test_arrow_streams_are_read_too(frame, tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table, max_chunksize=77)
    same(read(str(path)).train.x, frame[["a", "b", "c"]])


def test_libsvm_names_its_columns_by_index_and_fills_in_zeros(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 512)
    x = frame[["a", "b", "c"]].fillna(0.0).to_numpy().copy()
    x[:, 2] *= np.arange(500) > 400
    path = tmp_path / "t.svm"
    dump_svmlight_file(x, frame.y, str(path), zero_based=False)
    data = read(str(path))
    assert data.columns == ["x1", "x2", "x3"]
    same(data.train.x, x)
    same(data.train.y, frame.y)
    # a file whose rows have no value of x3 still is a table of the model
    path.write_text("1 1:2.5\n0 2:-1\n")
    schema = TableSchema("y", "binary", data.columns)
    same(read_validation(open_table(str(path)), schema, {}, [])[0].x, [[2.5, 0, 0], [0, -1, 0]])


def test_libsvm_of_absurd_width_is_refused_with_its_size(write):
    with pytest.raises(TableError, match=r"2 rows of 2,000,000,000 columns would take 30 GB"):
        from gpuboost.tables import arrays

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrays, "MAX_DENSE_BYTES", 1 << 30)
            read(write("1 1:1\n0 2000000000:1\n", "t.libsvm"))


def test_libsvm_that_is_none(write):
    with pytest.raises(TableError, match=r"not in LibSVM format .* between lines 1 and 3"):
        read(write("1 1:2\nhello world\n", "t.libsvm"))


def test_npz_in_fortran_order_and_with_other_names(tmp_path, rng):
    x = np.asfortranarray(rng.normal(size=(50, 3)))
    np.savez(tmp_path / "t.npz", data=x, label=np.arange(50), w=np.ones(50))
    data = read(str(tmp_path / "t.npz"), target="label", weight="w")
    assert data.columns == ["c0", "c1", "c2"]
    same(data.train.x, x)
    same(data.train.weight, np.ones(50))


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([[object()]]), y=[1])
    with pytest.raises(TableError, match="pickle"):
        read(str(tmp_path / "t.npz"))


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_columns_that_float32_holds_stay_small(dtype, tmp_path):
    frame = pd.DataFrame(
        {"a": np.arange(10).astype(dtype), "t": list("abcdefghij"), "y": np.arange(10.0)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    data = read(str(tmp_path / "t.parquet"))
    assert data.train.x.dtype == np.float32
    same(data.train.x[:, 1], np.arange(10))


def test_standard_input(monkeypatch):
    class Pipe:
        buffer = io.BytesIO(b"a,y\n1,2\n3,4\n")

    monkeypatch.setattr(sys, "stdin", Pipe())
    same(read("-").train.x, [[1], [3]])


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a,y\n1,2\n3,4\n",))
    writer.start()
    same(read(str(path)).train.x, [[1], [3]])
    writer.join()


def test_standard_input_may_be_packed(monkeypatch):
    class Pipe:
        buffer = io.BytesIO(gzip.compress(b"a,y\n1,2\n3,4\n"))

    monkeypatch.setattr(sys, "stdin", Pipe())
    same(read("-").train.x, [[1], [3]])


# --- CSV as it is found


def test_quotes_line_ends_and_marks(write):
    text = '\ufeff"a","b ""x""",y\r\n1.5,"two\r\nlines, and a comma",0\r\n-2e3,"say ""hi""",1\r\n'
    data = read(write(text))
    assert data.columns == ["a", 'b "x"']
    assert data.text == {'b "x"': ['say "hi"', "two\r\nlines, and a comma"]}
    same(data.train.x, [[1.5, 1], [-2000, 0]])


def test_chunks_end_between_rows_also_inside_of_quotes(write, small_chunks):
    rows = [f'{i},"line {i % 3}\nand ""{i % 2}""",{i % 5}' for i in range(200)]
    data = read(write("a,b,y\n" + "\n".join(rows)))
    same(data.train.x[:, 0], np.arange(200))
    assert len(data.text["b"]) == 6


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


def test_without_a_header_and_with_another_delimiter(write):
    data = read(write("1;x;0\n2;y;1\n"), target="c2", delimiter=";", header=False)
    assert data.columns == ["c0", "c1"]
    same(data.train.x, [[1, 0], [2, 1]])


def test_nameless_columns_get_names(write):
    assert read(write(",a,y\n0,1,2\n")).columns == ["c0", "a"]


# --- columns whose kind shows late


def late(values, first=200):
    return "a,y\n" + "".join(f"{i},0\n" for i in range(first)) + "".join(f"{v},1\n" for v in values)


def test_whole_numbers_become_fractions(write, small_chunks):
    same(read(write(late(["0.5"]))).train.x[-1], [0.5])


def test_numbers_become_text(write, small_chunks):
    data = read(write(late(["none of it", "7"])))
    assert len(data.text["a"]) == 201
    assert data.train.x[-1, 0] == sorted([*map(str, range(200)), "none of it"]).index("7")
    assert data.notes == [
        "column 'a' has numbers and texts, and is read as text: line 202 has 'none of it'"
    ]


def test_several_columns_become_text_in_one_more_reading(write, small_chunks, monkeypatch):
    path = write("a,b,y\n" + "1,2,0\n" * 100 + "x,2,1\n" + "1,2,0\n" * 100 + "1,z,1\n")
    table = open_table(path)
    n_readings, batches = 0, table.batches

    def counted(*args):
        nonlocal n_readings
        n_readings += 1
        return batches(*args)

    table.batches = counted
    assert read_training(table, "y").text == {"a": ["1", "x"], "b": ["2", "z"]}
    assert n_readings == 2


@pytest.mark.parametrize(
    ("late", "expected"),
    [("3", 3.0), ("true", 1.0), ("1970-01-02", 86400.0), ("red", 0.0)],
    ids=["number", "truth", "date", "text"],
)
def test_empty_columns_become_anything(write, small_chunks, late, expected):
    data = read(write("a,b,y\n" + "1,,0\n" * 100 + f"1,{late},1\n"))
    same(data.train.x[[0, -1], 1], [np.nan, expected])


def test_the_kinds_do_not_depend_on_the_chunks(write, monkeypatch):
    text = (
        "a,b,c,y\n"
        + "".join(f"{i % 3},,{'true' if i < 50 else 'x'},{i % 2}\n" for i in range(100))
        + "1.5,007,x,1\n2,8x,x,0\n"
    )
    results = []
    for size in (32, 64, 1 << 20):
        monkeypatch.setattr(delimited, "CHUNK", size)
        results.append(read(write(text)))
    for result in results[1:]:
        assert result.text == results[0].text
        same(result.train.x, results[0].train.x)
    assert results[0].text == {"b": ["007", "8x"], "c": ["true", "x"]}


# --- what is wrong


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "the file is empty"),
        ("t.csv", "\n\n", "no lines with content"),
        ("t.csv", "a,b,y\n", "has a header but no rows"),
        ("t.csv", "a,b,y\n1,2,3\n4,5\n", r"t.csv, line 3: expected 3 fields, found 2$"),
        (
            "t.csv",
            'a,b,y\n"1\n2",2,3\n4,5,6,7\n',
            r"t.csv, line 4: expected 3 fields, found 4 \(quote fields that contain the "
            r"delimiter\)",
        ),
        ("t.csv", "a;b;y\n1;2;3\n", r"one column only, 'a;b;y'; does --delimiter ';' help"),
        ("t.tsv", "a,b,y\n1,2,3\n", r"does --delimiter ',' help"),
        ("t.csv", "a,b,a\n1,2,3\n", "columns 1 and 3 have the same name, 'a'"),
        (
            "t.csv",
            "a,b,Y\n1,2,3\n",
            r"no target column 'y' \(did you mean 'Y'\?\)|no target column 'y'; the columns "
            r"are a, b, Y",
        ),
        ("t.csv", b"a,y\n\xff\xfe,1\n", "column 'a' is not UTF-8 text"),
        ("t.csv", "a,y\n1,2\n".encode("utf-16"), "UTF-16"),
        ("t.csv", "a,y\n1,\n2,NA\n", "no row has a value of the target 'y'"),
        ("t.csv", "y\n1\n", "no column is left as a feature"),
        ("t.csv.gz", gzip.compress(b"a,y\n" + b"1,2\n" * 10000)[:-30], "damaged or cut short"),
        ("t.csv.gz", b"a,y\n1,2\n", "the name ends in .gz, but the content is not gzip"),
        ("t.parquet", b"PAR1 but no more", "damaged, or of another format"),
        ("t.arrow", b"ARROW1 but no more", "damaged, or of another format"),
        ("t.npz", b"PK but no more", "NPZ file is damaged"),
        ("t.parquet.gz", b"x", "must not be packed again"),
        ("t.doc", b"x", "no format is known for this name"),
    ],
)
def test_files_that_cannot_be_read_say_why(write, name, text, message):
    with pytest.raises(TableError, match=message):
        read(write(text, name))


def test_a_ragged_line_far_down_is_found(write, small_chunks):
    with pytest.raises(TableError, match="line 1002: expected 2 fields, found 1"):
        read(write("a,y\n" + "1,2\n" * 1000 + "oops\n" + "1,2\n" * 1000))


def test_a_line_that_never_ends(write, monkeypatch, small_chunks):
    monkeypatch.setattr(delimited, "MAX_LINE", 1000)
    with pytest.raises(TableError, match="is a quote missing"):
        read(write('a,y\n"' + "1,2\n" * 1000))


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError):
        open_table("nowhere.csv")


def test_missing_columns_name_the_nearest(write):
    with pytest.raises(
        TableError,
        match=r"no target column 'prise' \(did you mean 'price'\?\); the columns are size, price",
    ):
        read(write("size,price\n1,2\n"), target="prise")


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


# --- rows


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


# --- the task


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["no", "yes"] * 5, "binary"),
        (["true", "false"] * 5, "binary"),
        ([0, 1], "binary"),
        ([0, 1, 2] * 10, "multiclass"),
        ([0, 1, 2], "regression"),
        (list(range(21)) * 20, "regression"),
        ([0.5, 1.5] * 50, "regression"),
    ],
)
def test_the_task_follows_from_the_target(write, values, task):
    target = settle_target(read(write("a,y\n" + "".join(f"1,{v}\n" for v in values))), "y")
    assert target.task == task
    if target.classes is not None:
        written = [str(label).lower() for label in target.classes[target.train]]
        assert written == [str(v) for v in values]


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ("aab", "regression", "regression needs numbers"),
        ("abc", "binary", "needs two classes"),
        ("aaa", "auto", "has only one value, a"),
    ],
)
def test_tasks_that_a_target_does_not_fit(write, values, task, message):
    with pytest.raises(TableError, match=message):
        settle_target(read(write("x,y\n" + "".join(f"1,{v}\n" for v in values))), "y", task)


# --- any frame

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=64)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda text: text not in delimited.MISSING
)


@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_frame_written_by_pandas_reads_back(data, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", data.draw(st.sampled_from([16, 100, 1 << 20])))
    n = data.draw(st.integers(1, 30))
    kinds = data.draw(
        st.lists(st.sampled_from(["float", "int", "bool", "text"]), min_size=1, max_size=4)
    )
    values = {
        "float": NUMBERS,
        "int": st.integers(-(2**53), 2**53),
        "bool": st.booleans(),
        "text": st.one_of(st.none(), TEXTS),
    }
    frame = pd.DataFrame(
        {
            f"c{i}": pd.Series(data.draw(st.lists(values[kind], min_size=n, max_size=n)))
            for i, kind in enumerate(kinds)
        }
        | {"y": 1.0}
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    result = read(str(path))
    for i, (name, kind) in enumerate(zip(result.columns, kinds, strict=True)):
        column = result.train.x[:, i]
        if name in result.text:
            texts = np.array([*result.text[name], None], dtype=object)[
                np.where(np.isnan(column), -1, column).astype(int)
            ]
            expected = [None if v is None or v != v else str(v) for v in frame[name]]
            assert kind == "text" and texts.tolist() == expected
        elif kind == "text":  # texts that happen to be numbers, or none at all
            same(
                column, [float("nan") if v is None or v != v else as_number(v) for v in frame[name]]
            )
        else:
            same(column, frame[name].astype(float))


def as_number(text):
    return (
        {"true": 1.0, "false": 0.0}.get(text.lower())
        if text.lower() in ("true", "false")
        else float(text)
    )
