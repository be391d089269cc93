"""The estimate of what trees cost on GPUs: what is counted, and what is made of it."""

import re
import sys

import numpy as np
import ptx_cases
import pytest

from gpuboost.benchmarks import gpu_model
from gpuboost.benchmarks.gpu_model import GPUS, Cost, Gpu, Work, estimate, work_of_tree
from gpuboost.benchmarks.timing import RESULTS

#: A launch with blocks, bytes and passes of shared atomics for each row, and one without.
WORK = Work(
    ["build", "choose"],
    np.array([[0.0, 0.0, 0.0], [1.0, 6000.0, 0.0]]),
    np.array([[0.01, 40.0, 8.0], [0.0, 0.0, 0.0]]),
    np.array([[0.0, 1000.0, 0.0], [0.0, 0.0, 0.0]]),
    (1e6, 80.0),
)


def test_the_longest_of_memory_atomics_and_launch():
    slow_memory = Gpu(10, 1.0, 100.0, 8)
    costs = estimate(WORK, 100_000, slow_memory)
    # 4 MB and 10 kB at 100 GB/s; a block alone has a tenth of that
    assert costs["build"].bound == "shared atomics"
    assert costs["build"].total == pytest.approx(100_000 * 8 / 10 / 1e3)
    assert costs["choose"].total == gpu_model.LAUNCH_US and costs["choose"].bound == "launch"
    fast_atomics = Gpu(10, 100.0, 100.0, 8)
    assert estimate(WORK, 100_000, fast_atomics)["build"].total == pytest.approx(40.1)
    few_blocks = estimate(WORK, 100, Gpu(10, 100.0, 100.0, 8))["build"]
    assert few_blocks.total == pytest.approx((4000 + 10_000) / 100 * 10 / 1e3)
    assert WORK.memory_gib(10_000_000) == pytest.approx((1e6 + 8e8) / 2**30)


def test_launches_of_a_kernel_are_added_up_by_what_bounds_them():
    twice = Work(
        ["a", "a"], np.array([[9.0, 0, 0], [9.0, 9e5, 0]]), *2 * [np.zeros((2, 3))], (0, 0)
    )
    cost = estimate(twice, 1, Gpu(1, 1.0, 100.0, 8))["a"]
    assert cost.microseconds == {"launch": 1.3, "memory": 9.0}
    assert gpu_model.summed_up({"a": cost}) == "0.0103 (`a` 100 %, memory)"
    assert gpu_model.milliseconds({"a": cost, "b": Cost({"launch": 1.0})}) == pytest.approx(0.0113)


def test_the_counts_of_a_tree(monkeypatch):
    """On the emulated device: a full tree, whose work follows the rows where it should."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    work = work_of_tree({"max_depth": 2}, n_features=4, sample=1024)
    by_name = dict(zip(work.kernels, zip(work.fixed, work.by_row, strict=True), strict=True))
    n_steps = 2
    assert work.kernels.count("build_histograms") == work.kernels.count("scan_pairs") == n_steps
    assert work.kernels.count("choose") == n_steps and work.kernels.count("row_gradients") == 1
    assert by_name["row_gradients"][1][1] == pytest.approx(32.0)
    # 16 bytes of bins and 8 of gradients of half of the rows at least
    first = work.kernels.index("build_histograms")
    assert 20 < work.by_row[first, 1] < 80
    assert work.by_row[first, 2] > 0
    assert by_name["choose"][1][1] == 0.0
    assert 50 < work.memory[1] < 150
    assert estimate(work, 10**9, GPUS["A100"])["build_histograms"].bound != "launch"


def test_the_counts_of_a_forest(monkeypatch):
    """With small tiles, so that all nodes are large: as many launches a level as with many rows."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(gpu_model, "FOREST_DEPTH", 2)
    monkeypatch.setattr(gpu_model, "SAMPLE_TREES", 1)
    work = gpu_model.work_of_forest(1024)
    n_rounds = 4  # of 5, 5, 10 and 8 features
    assert work.kernels.count("open_nodes") == 2
    assert work.kernels.count("sum_tiles") == work.kernels.count("score_cuts") == 2 * n_rounds
    assert work.kernels.count("scatter_tiles") == 2
    costs = estimate(work, 10**8, GPUS["A100"])
    assert costs["sum_tiles"].bound != "launch" and costs["draw_features"].bound == "launch"


def test_launches_that_depend_on_the_rows_are_refused(monkeypatch):
    kernels = iter([["a"], ["a", "b"], ["a"]])
    monkeypatch.setattr(gpu_model, "_counted", lambda *_: (next(kernels), np.zeros((1, 3)), 0))
    with pytest.raises(RuntimeError, match="the launches depend on the number of rows"):
        work_of_tree({"max_depth": 2})


def test_tables(monkeypatch, tmp_path, capsys):
    """All of them, from work that is known."""
    monkeypatch.setattr(gpu_model, "work_of_tree", lambda *_: WORK)
    monkeypatch.setattr(gpu_model, "work_of_forest", lambda: WORK)
    monkeypatch.setattr(gpu_model, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["gpu_model", "--tables"])
    gpu_model.main()
    text = (tmp_path / "gpu-model.md").read_text()
    assert text.startswith("**These are estimates. Nothing below was measured on a GPU**")
    assert "| 100,000,000 | depth 8 | 2 |" in text and "80 bytes a row, so 7.5 GiB" in text
    assert "which fits A10G (24 GB), A100 (40 GB), H100 (80 GB)" in text
    assert "GBM-perf" in text and "| 3.7 |" in text
    assert str(tmp_path) in capsys.readouterr().out


def test_the_page_knows_the_kernels_that_there_are():
    """Of a step five launches, eleven of gradients and of a tree's beginning and end."""
    text = (RESULTS / "gpu-model.md").read_text()
    named = set(re.findall(r"\(`(\w+)`", text))
    assert named and named <= ptx_cases.kernels() | {"copies"}
    for options in gpu_model.TREES:
        n_steps = options.get("max_depth") or options["max_leaves"] - 1
        name = gpu_model.tree_name(options)
        assert text.count(f"| {name} | {5 * n_steps + 11} |") == len(gpu_model.TABLE_ROWS)


def test_one_tree(monkeypatch, capsys):
    monkeypatch.setattr(gpu_model, "work_of_tree", lambda *_: WORK)
    monkeypatch.setattr(sys, "argv", ["gpu_model", "--rows", "5000", "--leaves", "9"])
    gpu_model.main()
    said = capsys.readouterr().out
    assert said.startswith("ESTIMATE, nothing was measured on a GPU: one tree (9 leaves) on 5,000")
    assert "2 launches" in said and "choose" in said
