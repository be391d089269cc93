"""Launches: arguments are checked, kernels write within their arrays, graphs replay."""

import numpy as np
import pytest
from emulated_kernels import kernel

from gpuboost.kernels.emulation import control, launches, work
from gpuboost.kernels.emulation import cupy_stand_in as cupy


def test_writing_outside_an_array_is_noticed_in_fast_mode_too():
    out = cupy.empty(64, np.int32)
    kernel("outside")((1,), (64,), (out,))
    with pytest.raises(RuntimeError, match="written outside"):
        cupy.cuda.Stream.null.synchronize()


def test_arguments_are_checked():
    x = cupy.zeros(8, np.float32)
    good = (x, np.float32(2), np.int32(8))
    kernel("scale")((1,), (8,), good)
    for bad, text in [
        ((x, 2.0, np.int32(8)), "not a numpy scalar"),
        ((x, np.float64(2), np.int32(8)), "float64 for a floating-point parameter of 4 bytes"),
        ((x, np.float32(2), np.int64(8)), "int64 for a integer parameter of 4 bytes"),
        ((x, np.float32(2)), "takes 3 arguments"),
        ((np.zeros(8, np.float32), *good[1:]), "a host array"),
        ((cupy.zeros(8, np.float64), *good[1:]), "items of 8 bytes"),
        ((cupy.zeros((8, 2), np.float32)[:, 0], *good[1:]), "not contiguous"),
    ]:
        with pytest.raises(TypeError, match=text):
            kernel("scale")((1,), (8,), bad)
    for grid, block in (([1], (8,)), ((1,), 8)):
        with pytest.raises(TypeError, match="Expected tuple"):
            kernel("scale")(grid, block, good)
    with pytest.raises(TypeError, match="Expected tuple"):
        cupy.RawModule(code="", options=["--std=c++17"])
    with pytest.raises(RuntimeError, match="shared memory"):
        kernel("scale")((1,), (8,), good, shared_mem=60_000)


def test_a_recorded_graph_replays():
    x = cupy.asarray(np.ones(8, np.float32))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        kernel("scale")((1,), (8,), (x, np.float32(3), np.int32(8)))
        with pytest.raises(RuntimeError, match="capturing"):
            cupy.empty(1)
        graph = stream.end_capture()
    assert x.get()[0] == 1
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert x.get()[0] == 9


def test_a_kernel_that_is_not_there():
    with pytest.raises(RuntimeError, match="CUDA_ERROR_NOT_FOUND: no kernel is called nobody"):
        kernel("nobody")((1,), (1,), ())


def test_a_pointer_to_const_is_read_only():
    """Two streams may read the same array at the same time, and no third may write it."""
    x = cupy.asarray(np.zeros(512, np.int32))
    outs = [cupy.empty(64, np.int32) for _ in range(2)]
    cupy.cuda.Stream.null.synchronize()
    others = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    for out, stream in zip(outs, others, strict=True):
        with stream:
            kernel("strided")((1,), (64,), (x, out))
    with pytest.raises(work.HazardError, match="a fill on the default .* may still read it"):
        x.fill(0)
    control.hazards.clear()


def test_bodies_with_one_thread_a_row():
    x, seen = cupy.asarray(np.arange(4.0)), []

    def run(arguments, spans):
        values, factor = arguments
        seen.append(values.copy())
        values *= factor

    launches.launch_rows("double", (x, np.float64(2)), run)
    assert seen == []
    np.testing.assert_array_equal(x.get(), [0, 2, 4, 6])
    np.testing.assert_array_equal(seen[0], np.arange(4.0))
    for wrong in (np.zeros(2), 3.0):
        with pytest.raises(TypeError, match="neither device memory nor a numpy scalar"):
            launches.launch_rows("double", (wrong, np.float64(2)), run)
