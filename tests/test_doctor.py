"""The report on an installation."""

from gpuboost import doctor


def test_without_a_gpu(monkeypatch, capsys):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    assert doctor.main() == 0
    assert "[ok] cpu: trains" in capsys.readouterr().out


def test_on_the_emulated_device(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert doctor.main() == 0
    assert "the model is the CPU's" in capsys.readouterr().out


def test_a_failing_device_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    train = doctor._train
    monkeypatch.setattr(doctor, "_train", lambda device: train("cpu") if device == "cpu" else 1 / 0)
    assert doctor.main() == 1
    assert "[!!] cuda training: ZeroDivisionError" in capsys.readouterr().out
