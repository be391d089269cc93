"""The benchmarks of single stages run, and check what they time against a reference."""

import importlib
import sys

import pytest

SMALL = {
    "bench_histogram": ("--rows", "800", "--features", "4"),
    "bench_partition": ("--rows", "800"),
    "bench_predict": ("--rows", "300", "--trees", "3", "--depth", "3"),
    "bench_split": ("--nodes", "4", "--features", "4"),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_of_one_stage_says_what_it_costs(name, monkeypatch, capsys):
    module = importlib.import_module(f"gpuboost.benchmarks.kernels.{name}")
    monkeypatch.setattr(sys, "argv", [name, *SMALL[name], "--repeats", "1"])
    module.main()
    assert "checked against the reference" in capsys.readouterr().out
