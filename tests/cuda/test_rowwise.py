"""Kernels with one thread per row."""

import numpy as np
import pytest

from gpuboost.kernels.cuda.rowwise import RowKernel, on_host, without_fma
from gpuboost.kernels.emulation import control, cupy_stand_in


def twice(v):
    return 2 * v


def double_into(i, x, out, offset):
    out[i] = twice(x[i]) + offset


@pytest.mark.parametrize("order", control.ORDERS)
@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_every_row_has_one_turn_in_any_order(monkeypatch, order, n):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    x = np.arange(300.0)
    there, result = cupy_stand_in.asarray(x), cupy_stand_in.zeros(300)
    with control.configure(order=order, seed=5):
        RowKernel(double_into)(n, there, result, np.float64(1))
    out = result.get()
    np.testing.assert_array_equal(out[:n], 2 * x[:n] + 1)
    assert not out[n:].any()


def test_functions_that_a_function_calls_are_compiled_with_it():
    compiled = on_host(double_into)
    out = np.zeros(1)
    compiled(0, np.array([3.0]), out, 0.5)
    assert out[0] == 6.5 and on_host(np.sqrt) is np.sqrt


def test_a_fused_addition_becomes_two_instructions():
    out = without_fma("\tfma.rn.f64 \t%fd3, %fd1, %fd2, 0d3FF0;\n")
    assert "fma" not in out
    assert "mul.rn.f64 %product, %fd1, %fd2;" in out
    assert "add.rn.f64 %fd3, %product, 0d3FF0;" in out
    assert "add.rn.ftz.f32 %f4, %product, %f3;" in without_fma("mad.rn.ftz.f32 %f4, %f1, %f2, %f3;")


@pytest.mark.parametrize(
    ("written", "rounded"),
    [
        ("add.f64 \t%fd4, %fd3, %fd1;", "add.rn.f64 \t%fd4, %fd3, %fd1;"),
        ("@%p1 mul.f32 %f4, %f3, %f1;", "@%p1 mul.rn.f32 %f4, %f3, %f1;"),
        ("sub.ftz.sat.f32 %f4, %f3, %f1;", "sub.rn.ftz.sat.f32 %f4, %f3, %f1;"),
        *(
            (as_it_is, as_it_is)
            for as_it_is in (
                "add.rn.f64 %fd4, %fd3, %fd1;",
                "add.rz.f64 %fd4, %fd3, %fd1;",
                "mul.lo.s64 %rd4, %rd3, %rd1;",
                "mad.lo.s32 %r4, %r3, %r1, %r2;",
                "add.s64 %rd4, %rd3, %rd1;",
                "atom.global.add.f64 %fd4, [%rd1], %fd1;",
                "red.global.add.f32 [%rd1], %f1;",
            )
        ),
    ],
)
def test_sums_and_products_of_floats_are_rounded(written, rounded):
    assert without_fma(written) == rounded
