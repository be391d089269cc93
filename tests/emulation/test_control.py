"""Modes, orders and counts of the emulated device."""

import numpy as np
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
