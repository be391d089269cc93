"""Writing tables in batches."""

import io
import os

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest

from gpuboost.tables import TableError
from gpuboost.tables.writing import open_writer, writable_format

READERS = {
    "t.csv": pd.read_csv,
    "t.tsv": lambda path: pd.read_csv(path, sep="\t"),
    "t.csv.gz": pd.read_csv,
    "t.parquet": pd.read_parquet,
    "t.arrow": lambda path: pyarrow.feather.read_table(path).to_pandas(),
}


@pytest.mark.parametrize("name", READERS)
def test_batches_read_back_as_one_table(name, tmp_path):
    path = tmp_path / name
    with open_writer(str(path)) as writer:
        for begin in (0, 3):
            text = [f"a{i}, b" for i in range(begin, begin + 3)]
            writer.write({"text": text, "x": np.arange(begin, begin + 3) / 8})
    frame = READERS[name](path)
    assert frame["x"].tolist() == [0, 0.125, 0.25, 0.375, 0.5, 0.625]
    assert frame["text"].tolist() == [f"a{i}, b" for i in range(6)]


@pytest.mark.parametrize("name", READERS)
def test_an_error_leaves_the_old_file(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="stop"), open_writer(str(path)) as writer:
        writer.write({"x": np.zeros(2)})
        raise ValueError("stop")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("t.npz", "npz is for reading only"),
        ("t.libsvm", "libsvm is for reading only"),
        ("t.parquet.gz", "parquet files are packed inside; leave .gz away"),
    ],
)
def test_formats_that_are_not_written(path, message):
    with pytest.raises(TableError, match=message):
        writable_format(path)


def test_standard_output_is_csv():
    assert writable_format("-") == "csv"


# --- formulas

CELLS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "＝1", "-5", "+1.5e3", "a=b", " =1", ""]  # noqa: RUF001
ESCAPED = ["'=1+1", "'+A1", "'-A1", "'@SUM(A1)", "'\tx", "'\rx", "'＝1", *CELLS[7:]]  # noqa: RUF001


def written(path, escape):
    with open_writer(str(path), escape) as writer:
        for _ in range(2):
            writer.write({"=id": pyarrow.array(CELLS), "n": -np.ones(len(CELLS))})
    frame = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", dtype={0: str})
    return writer, frame


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_formulas_are_written_as_they_are_and_counted(name, tmp_path):
    writer, frame = written(tmp_path / name, escape=False)
    assert frame["=id"].fillna("").tolist() == 2 * CELLS
    assert writer.n_formulas == 1 + 2 * 7


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_formulas_can_be_escaped_and_numbers_stay_numbers(name, tmp_path):
    _, frame = written(tmp_path / name, escape=True)
    assert frame["'=id"].fillna("").tolist() == 2 * ESCAPED
    assert frame["n"].tolist() == 2 * len(CELLS) * [-1]


def test_other_formats_have_no_formulas(tmp_path):
    with pytest.raises(TableError, match=r"--escape-formulas is for CSV and TSV"):
        writable_format("t.parquet", escape_formulas=True)


def test_a_terminal_shows_what_a_pipe_gets_as_it_is(monkeypatch):
    for terminal, text in ((True, r"é\x1b[2J\u202e"), (False, "é\x1b[2J\u202e")):
        stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal, raising=False)
        monkeypatch.setattr("sys.stdout", stream)
        with open_writer("-") as writer:
            writer.write({"a": ["é\x1b[2J\u202e"], "b": [1]})
        stream.flush()
        assert stream.buffer.getvalue().decode() == f'a,b\n"{text}",1\n'
