"""Findings about an installation."""

from types import SimpleNamespace

import pytest

from gpuboost import doctor
from gpuboost.cli import main


@pytest.mark.parametrize(
    ("version", "n_devices", "good", "extra"),
    [(12080, 1, False, "cuda12"), (13000, 2, False, "cuda13"), (12020, 0, True, "")],
)
def test_a_driver_whose_devices_cannot_be_used(monkeypatch, version, n_devices, good, extra):
    """A GPU that is there and lies idle is a defect; the advice fits the driver."""
    monkeypatch.setattr(doctor, "_driver", lambda: (version, n_devices))
    finding = doctor._no_cuda("CuPy cannot be imported")
    assert finding.good == good and f'pip install ".[{extra}' in finding.detail


def test_no_folder_for_compiled_kernels(monkeypatch):
    kernel = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr("gpuboost.kernels.cpu.binning.bin_matrix", kernel)
    finding = doctor._kernel_cache()
    assert not finding.good and "NUMBA_CACHE_DIR" in finding.detail


def test_on_the_emulated_device(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "[ok] cuda compiler: 7 files of kernels compile" in out
    assert out.count("the model is the CPU's") == 2
    assert (
        "[ok] cuda kernels: emulated, so the rates mean nothing: histogram" in out
        and "prediction" in out
        and "leaf_values" in out
    )


def test_another_model_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(doctor, "_train", lambda device, *place, n_jobs=None: (device, 1.0))
    monkeypatch.setattr(doctor, "_kernel_rates", lambda n_rows: ({}, {}))
    assert main(["doctor"]) == 1
    assert "NOT the CPU's\n     Check that driver" in capsys.readouterr().out


def test_a_failing_device_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    train = doctor._train
    monkeypatch.setattr(
        doctor, "_train", lambda device, *place, **more: train("cpu") if device == "cpu" else 1 / 0
    )
    assert main(["doctor"]) == 1
    assert "[!!] cuda: ZeroDivisionError" in capsys.readouterr().out
