"""The stand-in for CuPy: arrays, launches, graphs."""

import numpy as np
import pytest
from emulated_kernels import kernel

from gpuboost.kernels.emulation import cupy_stand_in as cupy


def test_writing_outside_an_array_is_noticed_in_fast_mode_too():
    with pytest.raises(RuntimeError, match="written outside"):
        kernel("outside")((1,), (64,), (cupy.empty(64, np.int32),))


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
    with pytest.raises(RuntimeError, match="shared memory"):
        kernel("scale")((1,), (8,), good, shared_mem=60_000)
    with pytest.raises(TypeError, match="device memory"):
        x + 1


def test_a_recorded_graph_replays():
    x = cupy.asarray(np.ones(8, np.float32))
    stream = cupy.cuda.Stream()
    with stream:
        stream.begin_capture()
        kernel("scale")((1,), (8,), (x, np.float32(3), np.int32(8)))
        with pytest.raises(RuntimeError, match="capturing"):
            cupy.empty(1)
        graph = stream.end_capture()
    assert x.get()[0] == 1
    graph.launch(stream)
    graph.launch(stream)
    assert x.get()[0] == 9
