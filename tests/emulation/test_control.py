"""Modes, orders and counts of the emulated device."""

import importlib.util

import numpy as np
import pytest
from emulated_kernels import kernel

from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation import cupy_stand_in as cupy


def test_counts():
    control.counters.reset()
    control.kernel_counts.clear()
    with control.configure(mode="count"):
        kernel("copy16")(
            (1,),
            (64,),
            (
                cupy.zeros((64, 4), np.uint32).reshape(64, 4).view(np.dtype("V16")),
                cupy.empty(64, np.dtype("V16")),
            ),
        )
        kernel("strided")((1,), (64,), (cupy.zeros(512, np.int32), cupy.empty(64, np.int32)))
        kernel("histogram")(
            (2,), (64,), (cupy.zeros(1000, np.uint8), cupy.zeros(256, np.int32), np.int32(1000))
        )
    counts = control.kernel_counts
    assert counts["copy16"]["load_sectors"] == 64 * 16 // 32
    assert (
        counts["strided"]["load_sectors"] == 64
        and counts["strided"]["store_sectors"] == 64 * 4 // 32
    )
    assert counts["histogram"]["shared_atomics"] == 1000
    assert (
        counts["histogram"]["shared_atomic_passes"] == 1000
    )  # all rows in one bin: every lane waits for the others
    assert sum(control.counters.launches.values()) == 3


@pytest.mark.parametrize(("value", "late"), [(None, True), ("1", True), ("0", False), ("", False)])
def test_the_environment_says_whether_work_runs_late(monkeypatch, value, late):
    monkeypatch.setenv("GPUBOOST_EMULATE_SEED", "7")
    if value is None:
        monkeypatch.delenv("GPUBOOST_EMULATE_LATE", raising=False)
    else:
        monkeypatch.setenv("GPUBOOST_EMULATE_LATE", value)
    spec = importlib.util.spec_from_file_location("another_control", control.__file__)
    another = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(another)
    assert another.settings.late == late and another.settings.seed == 7


def test_whoever_asked_is_called_before_settings_change(monkeypatch):
    seen = []
    monkeypatch.setattr(
        control, "before_change", [lambda: seen.append(control.settings.cupy_version)]
    )
    before = control.settings.cupy_version
    with control.configure(cupy_version="13.0.0"):
        pass
    assert seen == [before, "13.0.0"]
