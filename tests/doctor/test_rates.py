"""Times of kernels, and what the model says of them."""

import numpy as np
import pytest

from gpuboost.benchmarks import gpu_model
from gpuboost.benchmarks.gpu_model import Work
from gpuboost.doctor import rates
from gpuboost.doctor.checks import Sizes

A_GPU = {
    "name": "A GPU", "n_multiprocessors": 50, "memory_gib": 8.0, "clock_ghz": 2.0,
    "bandwidth": 400.0, "copy_bandwidth": 300.0,
}  # fmt: skip


def test_every_kernel_of_a_tree_is_timed(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.setattr(rates, "TREE", {"max_depth": 2})
    check = rates.run_rates(Sizes(small=1, large=1, rates=300))
    times = check.figures["microseconds"]
    assert {"build_histograms", "row_gradients", "quantize_nearest", "leaf_values"} <= set(times)
    assert min(times.values()) > 0
    assert check.figures["device"]["n_multiprocessors"] == 108
    assert check.figures["device"]["copy_bandwidth"] > 0
    assert check.detail.startswith("300 x 28, depth 2: ")


def test_the_estimate_is_for_this_device(monkeypatch):
    amounts = np.array([[1000.0, 4e6, 0.0]])
    work = Work(["scan"], amounts, 0 * amounts, 0 * amounts, (0.0, 0.0))
    monkeypatch.setattr(gpu_model, "work_of_tree", lambda options, n_features: work)
    check = rates.run_estimate(1000, A_GPU)
    assert check.figures["bound"] == {"scan": {"microseconds": 10.0, "by": "memory"}}
    assert check.detail == "0.01 ms on 50 multiprocessors at 2.00 GHz and 400 GB/s"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"bandwidth": 0.0}, "300 GB/s as a copy on the device shows"),
        ({"clock_ghz": 0.0}, "1.41 GHz (assumed)"),
        ({"name": "emulated"}, "an A100 (the emulated device has its size)"),
    ],
)
def test_a_device_that_does_not_say_how_fast_it_is(facts, words):
    assert words in rates.gpu_of(A_GPU | facts)[1]
