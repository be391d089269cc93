"""The emulated device runs compiled kernels if the settings say so."""

import numpy as np
import pytest

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation import cupy_stand_in as cupy
from gpuboost.kernels.emulation.ptx import device

#: What it writes depends on who has compiled it, which a GPU does not show.
SOURCE = """
extern "C" __global__ void architecture(int* out, int n) {
    __shared__ int shared[64];
    shared[threadIdx.x] = __CUDA_ARCH__;
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = shared[63 - threadIdx.x];
}
extern "C" __global__ void outside(int* out) { out[threadIdx.x + 8] = 1; }
"""


def launch(name, out, *numbers, block=64):
    module = cupy.RawModule(code=SOURCE, options=("--std=c++17",))
    module.get_function(name)((1,), (block,), (out, *numbers))


def increased(i, x, by, out):
    out[i] = x[i] + by


@pytest.mark.parametrize("target", [("sm_75", "cu12"), ("sm_100", "cu13")])
def test_kernels_are_compiled_for_the_architecture_that_is_asked_for(target):
    before = device.launches.copy()
    out = cupy.zeros(64, np.int32)
    with control.configure(ptx=target[0], nvrtc=target[1], order="preempted"):
        assert cupy.cuda.Device().compute_capability == target[0].removeprefix("sm_")
        launch("architecture", out, np.int32(60))
        found = out.get()
    assert found.tolist() == [10 * int(target[0].removeprefix("sm_"))] * 60 + [0] * 4
    here = device.Target(int(target[0].removeprefix("sm_")), target[1])
    assert device.launches - before == {(here, "architecture"): 1}
    blocks = [b for (_, kernel, _), b in device.coverage().items() if kernel == "architecture"]
    assert any(all(b.values()) for b in blocks)


def test_without_the_setting_the_source_runs():
    before = device.launches.copy()
    out = cupy.zeros(64, np.int32)
    launch("architecture", out, np.int32(64))
    assert set(out.get()) == {800} and device.launches == before


@pytest.mark.parametrize("strided", [False, True])
def test_row_kernels(monkeypatch, strided):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x, out = cupy.asarray(np.arange(1200.0)), cupy.zeros(600)
    x = x[::2] if strided else x[:600]
    with control.configure(ptx="sm_90", order="random"):
        RowKernel(increased)(600, x, np.float64(0.5), out)
        found = out.get()
    np.testing.assert_array_equal(found, np.arange(600) * (2 if strided else 1) + 0.5)


def test_faults_are_errors_with_a_line():
    with (
        control.configure(ptx="sm_80"),
        pytest.raises(RuntimeError, match=r"outside: an access of 4 bytes .*PTX line [0-9]+"),
    ):
        out = cupy.empty(64, np.int32)
        launch("outside", out)
        out.get()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ptx": "sm_42"}, "ptx must be one of '', 'sm_70', .*; got 'sm_42'"),
        ({"nvrtc": "cu11"}, "nvrtc must be one of 'cu12', 'cu13'; got 'cu11'"),
        ({"order": "preempted"}, "order must be one of .*'random'; got 'preempted'"),
        ({"ptx": "sm_80", "mode": "check"}, "mode must be one of 'fast'; got 'check'"),
    ],
)
def test_settings_that_cannot_be_are_errors(changes, message):
    with pytest.raises(ValueError, match=message), control.configure(**changes):
        pass
