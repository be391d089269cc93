"""The report on an installation."""

from gpuboost import doctor
from gpuboost.cli import main


def test_without_a_gpu(monkeypatch, capsys):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    assert main(["doctor"]) == 0
    assert "[ok] cpu: trains" in capsys.readouterr().out


def test_on_the_emulated_device(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.count("the model is the CPU's") == 2
    assert "[ok] cuda kernels: emulated, so the rates mean nothing: histogram" in out and "prediction" in out


def test_another_model_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(doctor, "_train", lambda device, *place: (device, 1.0))
    monkeypatch.setattr(doctor, "_kernel_rates", lambda n_rows: {})
    assert main(["doctor"]) == 1
    assert "NOT the CPU's\n     Check that driver" in capsys.readouterr().out


def test_a_failing_device_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    train = doctor._train
    monkeypatch.setattr(doctor, "_train", lambda device, *place: train("cpu") if device == "cpu" else 1 / 0)
    assert main(["doctor"]) == 1
    assert "[!!] cuda training: ZeroDivisionError" in capsys.readouterr().out
