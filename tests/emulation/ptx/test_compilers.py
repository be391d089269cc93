"""NVIDIA's compilers, called as CuPy and numba.cuda do."""

import numba
import pytest

from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.kernels.emulation.ptx import compilers

SOURCE = (
    'extern "C" __global__ void scaled(float* x, float by) '
    "{ x[threadIdx.x] = x[threadIdx.x] * by + 1.0f; }"
)


def doubled(i, x, out):
    out[i] = 2.0 * x[i]


@pytest.mark.parametrize("version", compilers.NVRTC)
def test_options_are_those_of_cupy_and_the_callers(version):
    ptx = compilers.compile_ptx(version, SOURCE, 80, ("--fmad=false",))
    assert ".target sm_80" in ptx and "scaled" in ptx
    assert "mul.rn.ftz.f32" in ptx and "add.rn.ftz.f32" in ptx  # CuPy's -ftz=true, our --fmad=false
    assert "fma.rn.ftz.f32" in compilers.compile_ptx(version, SOURCE, 80, ())
    cubin, log = compilers.compile_cubin(version, SOURCE, 80, ())
    assert cubin.startswith(b"\x7fELF") and "registers" in log


def test_a_row_kernel_without_a_device():
    array = numba.types.Array(numba.float64, 1, "C")
    ptx, name = compilers.compile_row_kernel(RowKernel(doubled), (array, array), 90)
    assert ".target sm_90" in ptx and f".entry {name}(" in ptx


def test_errors_say_what_is_wrong():
    with pytest.raises(AssertionError, match="identifier .*missing.* is undefined"):
        compilers.compile_ptx("cu12", "__global__ void k() { missing(); }", 80, ())
    with pytest.raises(RuntimeError, match="nvidia/lib/none.so is missing: the test extra"):
        compilers.in_wheel("lib/none.so")
