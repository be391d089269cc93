"""Arrays on the emulated device: what CuPy has, refused what CuPy refuses, and run late."""

import numpy as np
import pytest

from gpuboost.kernels.emulation import cupy_stand_in as cupy


@pytest.fixture
def x():
    return cupy.asarray(np.arange(12.0).reshape(3, 4))


def test_forms(x):
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, len(x)) == ((3, 4), 2, 12, 8, 96, 3)
    assert x.flags.c_contiguous and not x.T.flags.c_contiguous and x.strides == (32, 8)
    np.testing.assert_array_equal(x.T.get(), np.arange(12.0).reshape(3, 4).T)
    np.testing.assert_array_equal(x.reshape(4, 3).get(), np.arange(12.0).reshape(4, 3))
    assert x.view(np.int64).dtype == np.int64 and x.device.id == 0
    with pytest.raises(NotImplementedError, match="does not copy"):
        x.T.reshape(12)


def test_parts_are_in_the_same_memory(x):
    x[1] = 7
    x[:, 0] = x[:, 3]
    row = x[2]
    assert isinstance(row, cupy.ndarray) and row.data.ptr == x.data.ptr + 64
    assert isinstance(x[0, 0], cupy.ndarray) and x[2, 1].item() == 9 and float(x[2, 1]) == 9.0
    assert [part.get().tolist() for part in x] == [[3, 1, 2, 3], [7] * 4, [11, 9, 10, 11]]
    with pytest.raises(NotImplementedError, match="indexing by arrays"):
        x[np.array([True, False, True])]


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ([1.0] * 12, TypeError, "Only numpy.ndarray"),
        (np.zeros((3, 4), np.float32), TypeError, "float32 array cannot be set to float64"),
        (np.zeros((4, 3)), ValueError, "Shape mismatch"),
    ],
)
def test_what_set_refuses(x, wrong, error, text):
    with pytest.raises(error, match=text):
        x.set(wrong)
    with pytest.raises(RuntimeError, match="non-contiguous"):
        x[:, ::2].set(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="with set"):
        x[0] = np.zeros(4)


def test_the_host_array_may_change_after_set(x):
    host = np.ones((3, 4))
    x.set(host)
    host[:] = 2
    assert (x.get() == 1).all()


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[s]"])
def test_what_has_no_place_on_a_device(dtype):
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cupy.asarray(np.zeros(3, dtype))


def test_nothing_becomes_a_host_array_in_silence(x):
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(x)
    for operation in (lambda: x + 1, lambda: 1 - x, lambda: x == x, lambda: -x, lambda: np.sum(x)):
        with pytest.raises(TypeError, match="device memory"):
            operation()
    with pytest.raises(NotImplementedError):
        x.get(blocking=False)


def test_sorting_copying_and_filling():
    x = cupy.asarray(np.array([[3.0, 1.0, 2.0], [0.0, np.nan, -1.0]]))
    order, same = x.argsort(axis=1), x.copy()
    x.sort(axis=1)
    np.testing.assert_array_equal(order.get(), [[1, 2, 0], [2, 0, 1]])
    np.testing.assert_array_equal(x.get(), [[1, 2, 3], [-1, 0, np.nan]])
    assert same.get()[0, 0] == 3 and same[0].astype(np.int8).get().tolist() == [3, 1, 2]
    x.fill(5)
    assert (x.get() == 5).all() and not cupy.zeros((2, 2)).get().any()


def test_arrays_of_nothing():
    nothing = cupy.asarray(np.empty((0, 3)))
    assert nothing.data.ptr == 0 and nothing.get().shape == (0, 3)
    nothing.fill(1)


def test_other_libraries():
    x = cupy.asarray(np.arange(6.0))[::-1]

    class Borrowed:
        __cuda_array_interface__ = x.__cuda_array_interface__

    borrowed = cupy.asarray(Borrowed())
    x.fill(2)
    assert (borrowed.get() == 2).all() and borrowed.__dlpack_device__() == (2, 0)


def test_devices():
    device = cupy.cuda.Device(0)
    with device:
        assert cupy.cuda.runtime.getDevice() == 0
    device.synchronize()
    assert device.attributes["MaxSharedMemoryPerBlock"] == 48 << 10 and len(device.mem_info) == 2
