"""Findings about an installation."""

from types import SimpleNamespace

import pytest

from gpuboost.cli import main
from gpuboost.doctor import installation
from gpuboost.kernels.cuda.compiler import FILES


@pytest.mark.parametrize(
    ("version", "n_devices", "good", "extra"),
    [(12080, 1, False, "cuda12"), (13000, 2, False, "cuda13"), (12020, 0, True, "")],
)
def test_a_driver_whose_devices_cannot_be_used(monkeypatch, version, n_devices, good, extra):
    """A GPU that is there and lies idle is a defect; the advice fits the driver."""
    monkeypatch.setattr(installation, "_driver", lambda: (version, n_devices))
    monkeypatch.setattr(installation, "_version", lambda name: None)
    finding = installation._no_cuda("CuPy cannot be imported")
    assert finding.good == good and f'pip install ".[{extra}' in finding.detail


@pytest.mark.parametrize(
    ("packages", "said", "unsaid"),
    [
        ((), 'pip install ".[cuda12]"', "uninstall"),
        (("numba-cuda",), 'pip install ".[cuda12]"', "uninstall"),
        (("cupy", "numba-cuda"), 'What ".[cuda12]" installs is there', "pip install"),
        (("cupy-cuda12x", "numba-cuda"), 'What ".[cuda12]" installs is there', "pip install"),
        (
            ("cupy-cuda13x", "numba-cuda"),
            "pip uninstall cupy-cuda13x, then pip install",
            "is there",
        ),
    ],
)
def test_only_what_is_not_there_is_to_be_installed(monkeypatch, packages, said, unsaid):
    monkeypatch.setattr(installation, "_driver", lambda: (12080, 1))
    monkeypatch.setattr(installation, "_version", lambda name: "1" if name in packages else None)
    detail = installation._no_cuda("no kernel image").detail
    assert said in detail and unsaid not in detail


@pytest.mark.parametrize("installed", [False, True])
def test_without_a_driver_nothing_is_to_be_installed_that_is_there(monkeypatch, installed):
    monkeypatch.setattr(installation, "_driver", lambda: None)
    monkeypatch.setattr(installation, "_version", lambda name: "1" if installed else None)
    finding = installation._no_cuda("no device")
    assert finding.good and ("pip install" in finding.detail) == (not installed)


def test_no_folder_for_compiled_kernels(monkeypatch):
    kernel = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr("gpuboost.kernels.cpu.binning.bin_matrix", kernel)
    finding = installation._kernel_cache()
    assert not finding.good and "NUMBA_CACHE_DIR" in finding.detail


def test_on_the_emulated_device(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"[ok] cuda compiler: {len(FILES)} files of kernels compile" in out
    assert out.count("the model is the CPU's") == 2
    assert (
        "[ok] cuda kernels: emulated, so the rates mean nothing: histogram" in out
        and "prediction" in out
        and "leaf_values" in out
    )


def test_another_model_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(installation, "_train", lambda device, *place, n_jobs=None: (device, 1.0))
    monkeypatch.setattr(installation, "_kernel_rates", lambda n_rows: ({}, {}))
    assert main(["doctor"]) == 1
    assert "NOT the CPU's\n     Check that driver" in capsys.readouterr().out


def test_a_failing_device_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    train = installation._train
    monkeypatch.setattr(
        installation,
        "_train",
        lambda device, *place, **more: train("cpu") if device == "cpu" else 1 / 0,
    )
    assert main(["doctor"]) == 1
    assert "[!!] cuda: ZeroDivisionError" in capsys.readouterr().out
