"""``gpuboost doctor``."""

import json
from pathlib import Path

import pytest

from gpuboost.cli import main
from gpuboost.doctor import full
from gpuboost.doctor.checks import FAILED, Check, Sizes
from gpuboost.doctor.worker import Item


def test_without_a_gpu(monkeypatch, capsys):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[ok] ") for line in lines)
    assert sum("cuda:" in line for line in lines) == 1 and lines[-1].startswith(
        "[ok] cuda: no NVIDIA driver, so training is on the CPU"
    )
    assert any(
        line.startswith("[ok] cpu threads: 1 and") and line.endswith("the model is one thread's")
        for line in lines
    )


def test_json(monkeypatch, capsys):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    assert main(["doctor", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["good"] and {"python", "packages", "cpu", "cuda"} <= {
        finding["name"] for finding in record["findings"]
    }


# --- everything


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A full run of two checks on the emulated device, in a folder of its own."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.chdir(tmp_path)
    items = [Item("operations", "metric rmse (identity)"), Item("comparison", "higgs-depth")]
    monkeypatch.setattr(full, "everything", lambda: items)
    monkeypatch.setattr(full, "EMULATED", Sizes(small=300, large=400, rates=300))
    return items


def test_full_writes_two_files(few, tmp_path, capsys):
    assert main(["doctor", "--full"]) == 0
    said = capsys.readouterr()
    assert "[ok] operations: 1 passed" in said.out and "[--] trainings: nothing was run" in said.out
    assert "[--] not run: comparison, higgs-depth: XGBoost: the CUDA device is emul" in said.out
    assert "written: gpuboost-doctor.json, gpuboost-doctor.html" in said.err
    record = json.loads((tmp_path / "gpuboost-doctor.json").read_text())
    assert record["budget"] == 600 and record["emulated"]
    assert (tmp_path / "gpuboost-doctor.html").read_text().startswith("<!DOCTYPE html>")


def test_full_with_a_failure(few, monkeypatch, capsys):
    failed = Check("operations", "metric rmse (identity)", FAILED, "other bits")
    monkeypatch.setattr(full.worker, "run_items", lambda *_, **__: iter([failed]))
    assert main(["doctor", "--full", "--out", "my/run.1", "--minutes", "5", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads(Path("my/run.1.json").read_text())
    assert Path("my/run.1.html").exists() and record["budget"] == 300


def test_full_interrupted(few, monkeypatch, capsys):
    def ctrl_c(*_, **__):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(full.worker, "run_items", ctrl_c)
    assert main(["doctor", "--full"]) == 130
    assert "what was known until then is written" in capsys.readouterr().err
    assert json.loads(Path("gpuboost-doctor.json").read_text())["complete"] is False


def test_full_without_a_gpu(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--full"]) == 0
    said = capsys.readouterr()
    assert "[ok] cuda: no NVIDIA driver" in said.out
    assert "--full needs a CUDA device, so no file was written: " in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "x"], "--out goes with --full"),
        (["--minutes", "3"], "--minutes goes with --full"),
    ],
)
def test_options_of_a_full_run(options, words, capsys):
    assert main(["doctor", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("minutes", ["0", "-1", "inf", "nan", "soon"])
def test_minutes_that_are_none(minutes, capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--full", "--minutes", minutes])
    assert f"must be minutes, above 0; got '{minutes}'" in capsys.readouterr().err
