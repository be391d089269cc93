"""Single operations on both devices."""

import numpy as np
import pytest

from gpuboost.doctor import operations
from gpuboost.doctor.checks import FAILED, PASSED, Sizes
from gpuboost.doctor.operations import OPERATIONS, difference, run_operation
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.objectives.metrics import ROW_METRICS

SIZES = Sizes(small=300, large=700, rates=300)


@pytest.mark.parametrize(
    "name",
    [
        "cuts of columns", "bins of values", "gradients, squared_error",
        "gradients, log_loss, weighted", "metric rmse (identity)", "rows drawn",
    ],
)  # fmt: skip
def test_an_operation_on_the_emulated_device(monkeypatch, name):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    check = run_operation(name, SIZES)
    assert check.state == PASSED and check.detail.endswith("values, the same bits")


def test_every_loss_and_metric_is_among_them():
    assert {f"gradients, {name}" for name in OBJECTIVES} <= set(OPERATIONS)
    assert {f"metric {metric.name} ({metric.reads})" for metric in ROW_METRICS} <= set(OPERATIONS)


def test_other_bits_are_a_failure(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    values = {"cpu": np.array([1.0, 2.0]), "cuda": np.array([1.0, np.nextafter(2.0, 3.0)])}
    monkeypatch.setitem(
        operations.OPERATIONS, "sums", lambda backend, n: {"sums": values[backend.name]}
    )
    check = run_operation("sums", SIZES)
    assert check.state == FAILED
    assert check.detail == (
        "sums differs in 1 of 2 values, first in number 1: 2.0000000000000004 instead of 2.0"
    )


def test_arrays_differ_by_bits_and_shape():
    nan = np.array([[np.nan, 0.0]])
    assert difference(nan, nan.copy(), "a") == ""
    assert "number 1: -0.0 instead of 0.0" in difference(nan, nan * [1, -1], "a")
    assert "shape (2, 1) instead of (1, 2)" in difference(nan, nan.T, "a")
