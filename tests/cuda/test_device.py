"""Which device there is, and what is missing."""

import gc
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuboost import GPUBoostRegressor
from gpuboost.dtypes import NODE
from gpuboost.kernels.cuda.device import INSTALL, OLDEST_CUPY, cupy, emulated, memory, missing
from gpuboost.kernels.emulation import control, cupy_stand_in


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("yes", True), ("", False), ("0", False)]
)
def test_the_environment_asks_for_the_emulated_device(monkeypatch, value, expected):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", value)
    assert emulated() == expected


def test_the_emulated_device_has_a_stand_in_for_cupy(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert cupy() is cupy_stand_in


@pytest.mark.parametrize(
    ("n_devices", "index", "problem"),
    [
        (1, 0, None),
        (2, 1, None),
        (1, 1, "there is no device number 1: the driver reports 1 device"),
        (2, 5, "there is no device number 5: the driver reports 2 devices"),
        (0, 0, "the driver reports no CUDA device"),
    ],
)
def test_what_is_missing(monkeypatch, n_devices, index, problem):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    with control.configure(n_devices=n_devices):
        assert missing(index) == problem


@pytest.mark.parametrize("version", ["13.6.0", "9.0.0rc1", "14.0.0rc1", "14.2.0", "15.0.0"])
def test_a_cupy_that_refuses_records_is_too_old(monkeypatch, version):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    records = np.zeros(2, NODE)
    with control.configure(cupy_version=version):
        if int(version.split(".")[0]) >= 14:
            assert missing(0) is None and len(cupy().asarray(records)) == 2
            return
        with pytest.raises(ValueError, match="Unsupported dtype"):
            cupy().asarray(records)
        with pytest.raises(RuntimeError, match=rf"CuPy {version} is too old.*14\.0.*pip install"):
            GPUBoostRegressor(device="cuda").fit([[0.0], [1.0]], [0.0, 1.0])


def test_the_extras_ask_for_a_cupy_that_takes_records():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    floors = re.findall(r'"cupy-cuda1[23]x\[ctk\]>=([\d.]+)"', text)
    assert floors == [".".join(map(str, OLDEST_CUPY))] * 2


def test_memory_is_what_the_driver_has_free_and_the_pool_holds(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    gc.collect()  # what the errors of other tests hold
    before, total = memory(cupy().cuda.Device(0))
    taken = cupy().empty(1 << 20, np.uint8)
    # some bytes are lost where a block is cut
    assert 0 <= before - (1 << 20) - memory(cupy().cuda.Device(0))[0] <= 512
    del taken
    assert memory(cupy().cuda.Device(0)) == (before, total)


def test_without_cupy_the_words_say_what_to_install(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "0")
    monkeypatch.setitem(sys.modules, "cupy", None)
    problem = missing(0)
    assert problem.startswith("CuPy cannot be imported") and problem.endswith(INSTALL)


def test_what_is_installed_is_not_to_be_installed(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "0")
    (tmp_path / "cupy.py").write_text("raise ImportError('libcudart.so.12: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert missing(0) == (
        "CuPy is installed, but cannot be imported (libcudart.so.12: no such file)"
    )


def test_cupy_without_a_driver_is_no_device(monkeypatch):
    """As where this project is built; where there is a GPU, nothing is missing."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "0")
    problem = missing(0)
    assert problem is None or problem.startswith("no CUDA device answers")
