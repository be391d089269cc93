"""Machine code of row kernels, and the cache of it."""

import collections
import importlib
import logging
import os
import subprocess
import sys
import types
from pathlib import Path

import compiling
import numba
import numpy as np
import pytest

from gpuboost.cached_files import kept
from gpuboost.kernels.cuda import cubins, rowwise

REAL, WHOLE = numba.types.float64, numba.types.int64
SIGNATURE = (numba.types.Array(REAL, 1, "C"), REAL)
ELF = b"\x7fELF"


def scaled_by(factor):
    def scale(i, x, offset):
        x[i] = factor * x[i] + offset

    return rowwise.RowKernel(scale)


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """An empty cache, a compiler that needs no device, and warnings that were not yet given."""
    monkeypatch.setenv("GPUBOOST_CACHE_DIR", str(tmp_path))
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    here = types.SimpleNamespace(compute_capability=(8, 0))
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: here)
    for said in (cubins.say_that_nothing_is_kept, cubins.say_that_the_driver_compiles):
        said.cache_clear()


@pytest.fixture
def calls(monkeypatch):
    """How often numba and the linker were called."""
    compiler = importlib.import_module("numba.cuda")
    counts = {"compiled": 0, "linked": 0}

    def counted(name, function):
        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(compiler, "compile_ptx", counted("compiled", compiler.compile_ptx))
    monkeypatch.setattr(cubins, "link", counted("linked", cubins.link))
    return counts


def files(tmp_path):
    return sorted((tmp_path / "cubins").iterdir())


def test_code_is_machine_code_for_the_architecture_and_kept(calls, tmp_path):
    code, name = cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0))
    assert code.startswith(ELF) and name in compiling.sass(code)
    assert cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0)) == (code, name)
    assert calls == {"compiled": 1, "linked": 1} and len(files(tmp_path)) == 1
    # another number, another architecture, another type
    other, _ = cubins.code_of(scaled_by(3.0), SIGNATURE, (8, 0))
    newer, _ = cubins.code_of(scaled_by(2.0), SIGNATURE, (9, 0))
    cubins.code_of(scaled_by(2.0), (SIGNATURE[0], WHOLE), (8, 0))
    assert len({code, other, newer}) == 3
    assert calls == {"compiled": 4, "linked": 4} and len(files(tmp_path)) == 4


SECOND_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
import test_cubins
from gpuboost.kernels.cuda import cubins, rowwise

def refuse(*args):
    raise AssertionError("compiled again")

rowwise.RowKernel.ptx = cubins.link = refuse
code, name = cubins.code_of(test_cubins.scaled_by(2.0), test_cubins.SIGNATURE, (8, 0))
sys.stdout.buffer.write(name.encode() + b" " + code)
"""


def test_a_second_process_compiles_nothing(tmp_path):
    code, name = cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0))
    done = subprocess.run(
        [sys.executable, "-c", SECOND_PROCESS, str(Path(__file__).parent)],
        capture_output=True,
        env={**os.environ, "GPUBOOST_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == name.encode() + b" " + code


FILES_OF_ALL = """
import sys
sys.path[:0] = sys.argv[1:]
import test_cubins
print(*test_cubins.files_of_all(), sep="\\n")
"""


def files_of_all():
    """Where the code of each row kernel of the library is kept."""
    import test_compiler

    return [
        str(cubins._file_of(kernel, compiling.signature_of(arguments), (8, 0)))
        for kernel, arguments in test_compiler.row_kernels().values()
    ]


def test_another_process_finds_the_code_of_every_row_kernel(tmp_path):
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", FILES_OF_ALL, *folders],
        capture_output=True,
        text=True,
        env={**os.environ, "GPUBOOST_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    files = files_of_all()
    assert done.stdout.splitlines() == files and "None" not in files
    assert len(set(files)) > 50


def test_a_damaged_file_is_made_again(calls, tmp_path):
    cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0))
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + b"x" + whole[41:]):
        file.write_bytes(damaged)
        code, name = cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0))
        assert code.startswith(ELF) and kept(file) == name.encode() + b"\n" + code
    assert calls == {"compiled": 4, "linked": 4}


Pair = collections.namedtuple("Pair", ["first", "second"])


def test_what_cannot_be_told_apart_is_not_kept(calls, tmp_path):
    def body(i, x, offset):  # reads a class, which may mean anything in the next process
        pair = Pair(x[i], offset)
        x[i] = pair.first + pair.second

    for _ in range(2):
        code, _ = cubins.code_of(rowwise.RowKernel(body), SIGNATURE, (8, 0))
        assert code.startswith(ELF)
    assert calls == {"compiled": 2, "linked": 2} and list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_said_once(caplog, monkeypatch, tmp_path):
    (tmp_path / "cubins").write_text("a file is in the way")
    with caplog.at_level(logging.WARNING, "gpuboost"):
        for factor in (2.0, 3.0):
            assert cubins.code_of(scaled_by(factor), SIGNATURE, (8, 0))[0].startswith(ELF)
    assert [r.message for r in caplog.records if "GPUBOOST_CACHE_DIR" in r.message] == [
        caplog.records[0].message
    ]


@pytest.mark.parametrize("why", ["there is no linker", "the linker refuses the PTX"])
def test_without_a_linker_the_driver_gets_ptx_and_the_log_says_so(caplog, monkeypatch, why):
    if why == "there is no linker":

        def find():
            raise cubins.CannotLink("nvJitLink is not there")

        monkeypatch.setattr(cubins, "find_linker", find)
    else:
        written = rowwise.RowKernel.ptx
        monkeypatch.setattr(
            rowwise.RowKernel,
            "ptx",
            lambda *args: (written(*args)[0].replace(".version ", ".version 9"), "name"),
        )
    with caplog.at_level(logging.WARNING, "gpuboost"):
        for _ in range(2):
            code, name = cubins.code_of(scaled_by(2.0), SIGNATURE, (8, 0))
            assert b".entry" in code and isinstance(name, str)
    (line,) = caplog.records
    assert "go to the driver as PTX" in line.message and "nvJitLink" in line.message


def test_a_launch_loads_the_code_once(monkeypatch):
    loaded = []

    class Module:
        def load(self, code):
            loaded.append(code)

        def get_function(self, name):
            return lambda grid, block, args: launches.append((name, grid, block, args))

    class Device:
        id, compute_capability = 0, "80"

    class Array(np.ndarray):
        __cuda_array_interface__ = {}

    launches = []
    stand_in = types.SimpleNamespace(
        cuda=types.SimpleNamespace(Device=Device, function=types.SimpleNamespace(Module=Module))
    )
    monkeypatch.setattr(rowwise, "cupy", lambda: stand_in)
    monkeypatch.setattr(rowwise, "emulated", lambda: False)
    kernel, x = scaled_by(2.0), np.zeros(700).view(Array)
    for _ in range(2):
        kernel(700, x, np.float64(1))
    (code,) = loaded
    assert code.startswith(ELF) and launches[0][0] in compiling.sass(code)
    assert [launch[1:3] for launch in launches] == [((3,), (256,))] * 2
