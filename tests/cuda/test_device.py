"""Which device there is, and what is missing."""

import sys

import pytest

from gpuboost.kernels.cuda.device import INSTALL, cupy, emulated, missing
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
