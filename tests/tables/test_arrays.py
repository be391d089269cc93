"""Tables as arrays: NPZ and LIBSVM."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from table_files import read, same

from gpuboost.model.table_schema import TableSchema
from gpuboost.tables import (
    TableError,
    arrays,
    delimited,
    open_table,
    read_training,
    read_validation,
)


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


def test_libsvm_of_absurd_width_is_refused(write, monkeypatch):
    with pytest.raises(TableError, match="the highest index is 2,000,000,000; at most 4,194,304"):
        read(write("1 1:1\n0 2000000000:1\n", "t.libsvm"))
    monkeypatch.setattr(arrays, "MAX_DENSE_BYTES", 1 << 20)
    wide = write("1 1:1\n0 100000:1\n", "t.libsvm")
    with pytest.raises(TableError, match="2 rows of 100,000 columns would take"):
        read(wide)
    data = read_training(open_table(wide), "y", sparse=True)
    assert data.train.x.shape == (2, 100_000) and data.train.x.nnz == data.train.n_rows == 2


def test_libsvm_stays_sparse(frame, tmp_path, monkeypatch):
    """In many chunks, with rows held out and a column left out or used as weights."""
    monkeypatch.setattr(delimited, "CHUNK", 512)
    x = np.where(np.arange(2500).reshape(500, 5) % 3, 0.0, 1.0 + np.arange(500)[:, None])
    path = str(tmp_path / "t.svm")
    dump_svmlight_file(x, frame.y, path, zero_based=False)
    options = {"weight": "x2", "drop": ["x4"], "fraction": 0.3}
    dense, sparse = (
        read_training(open_table(path), "y", sparse=stays, **options) for stays in (False, True)
    )
    for part, expected in ((sparse.train, dense.train), (sparse.valid, dense.valid)):
        assert part.x.nnz == np.count_nonzero(expected.x)
        same(part.x.toarray(), expected.x)
        same(part.y, expected.y)
        same(part.weight, expected.weight)
    schema = TableSchema("y", "binary", sparse.columns)
    valid, _ = read_validation(open_table(path), schema, {}, [], sparse=True)
    same(valid.x.toarray(), x[:, [0, 2, 4]])
    as_text = read_training(open_table(path), "y", sparse=True, text=["x1"])
    assert isinstance(as_text.train.x, np.ndarray) and "x1" in as_text.text


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
