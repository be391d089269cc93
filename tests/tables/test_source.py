"""Where tables come from: files, pipes, standard input, packed or not."""

import gzip
import io
import os
import sys
import threading

import pytest
from table_files import read, same

from gpuboost.tables import open_table


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


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError):
        open_table("nowhere.csv")
