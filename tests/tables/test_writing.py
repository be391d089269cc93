"""Writing tables in batches."""

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
