"""``gpuboost doctor``."""

import json

from gpuboost.cli import main


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
