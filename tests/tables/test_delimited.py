"""Tables as text: quotes, line ends, kinds of columns that are found while rows are read."""

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_files import read, same

from gpuboost.tables import TableError, delimited, open_table, read_training


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 64)


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


def test_without_a_header_and_with_another_delimiter(write):
    data = read(write("1;x;0\n2;y;1\n"), target="c2", delimiter=";", header=False)
    assert data.columns == ["c0", "c1"]
    same(data.train.x, [[1, 0], [2, 1]])


def test_nameless_columns_get_names(write):
    assert read(write(",a,y\n0,1,2\n")).columns == ["c0", "a"]


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


def test_lines_may_end_in_carriage_returns_alone(write, monkeypatch):
    rows = [f"{i},{i % 7}" for i in range(50)]
    expected = read(write("\n".join(["a,y", *rows])), "y")
    for size in (1 << 20, 8):
        monkeypatch.setattr(delimited, "CHUNK", size)
        for text in ("\r".join(["a,y", *rows]), "\r".join(["a,y", *rows, ""])):
            got = read(write(text), "y")
            np.testing.assert_array_equal(got.train.x, expected.train.x)
    with pytest.raises(TableError, match="line 3: expected 2 fields, found 1"):
        read(write("a,y\r1,2\r3\r"), "y")


def test_fields_may_be_long(write):
    long = "x" * 200_000
    limit = csv.field_size_limit()
    assert read(write(f"a,{long},y\n1,{long},1\n2,u,0\n"), "y").text == {long: ["u", long]}
    with pytest.raises(TableError, match="line 3: expected 3 fields, found 1"):
        read(write(f"a,b,y\n1,{long},1\n2\n"), "y")
    assert csv.field_size_limit() == limit
