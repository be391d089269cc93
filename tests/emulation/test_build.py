"""Compiled kernels compute what they do on a device, and checks see what is wrong."""

import numpy as np
import pytest
from emulated_kernels import kernel

from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation import cupy_stand_in as cupy


def device(values, dtype):
    return cupy.asarray(np.asarray(values, dtype))


@pytest.fixture(params=["fast", "check"])
def mode(request):
    return request.param


@pytest.mark.parametrize("order", control.ORDERS)
def test_correct_kernels(mode, order, rng):
    control.findings.clear()
    with control.configure(mode=mode, order=order, seed=3):
        bins = rng.integers(0, 256, 5000).astype(np.uint8)
        out = cupy.zeros(256, np.int32)
        kernel("histogram")((5,), (96,), (cupy.asarray(bins), out, np.int32(5000)))
        np.testing.assert_array_equal(out.get(), np.bincount(bins, minlength=256))
        values = rng.integers(0, 100, 256).astype(np.int32)
        sums = cupy.empty(256, np.int32)
        kernel("scan")((1,), (256,), (cupy.asarray(values), sums), shared_mem=32)
        np.testing.assert_array_equal(sums.get(), np.cumsum(values))
        ballots, wide = cupy.empty(32, np.uint32), cupy.empty(32, np.uint64)
        kernel("votes")((1,), (32,), (ballots, wide))
        assert set(ballots.get()) == {sum(1 << k for k in range(0, 32, 3))}
        np.testing.assert_array_equal(wide.get() >> np.uint64(40), np.arange(32) ^ 1)
        i, l, d, f = (cupy.zeros(2, t) for t in (np.int32, np.uint64, np.float64, np.float32))
        kernel("atomics")((3,), (40,), (i, l, d, f))
        assert (i.get().tolist(), l.get()[0] >> np.uint64(33), d.get()[0], f.get()[0]) == (
            [120, 39],
            120,
            60.0,
            60.0,
        )
        items = np.zeros(4, np.dtype([("value", np.float64), ("place", np.int32)], align=True))
        items["value"], items["place"] = 1.5, np.arange(4)
        out = cupy.empty(4, np.float64)
        kernel("items")((1,), (4,), (cupy.asarray(items), out))
        np.testing.assert_array_equal(out.get(), 1.5 * np.arange(4))
    assert control.findings == []


BROKEN = {
    "no_barrier": (
        (1,),
        (64,),
        lambda: (device(range(64), np.int32), cupy.empty(64, np.int32)),
        0,
        "race, shared",
    ),
    "no_last_barrier": (
        (1,),
        (64,),
        lambda: (device(range(4), np.int32), cupy.empty(256, np.int32)),
        0,
        "race, shared",
    ),
    "no_atomic": (
        (1,),
        (64,),
        lambda: (cupy.zeros(64, np.uint8), cupy.empty(256, np.int32)),
        0,
        "race, shared",
    ),
    "uninitialised": ((1,), (64,), lambda: (cupy.empty(64, np.int32),), 0, "uninitialised shared"),
    "outside": ((1,), (64,), lambda: (cupy.empty(64, np.int32),), 0, "out of bounds"),
    "between_blocks": ((2,), (64,), lambda: (cupy.empty(128, np.int32),), 0, "race, global"),
    "misaligned": (
        (1,),
        (4,),
        lambda: (cupy.zeros(16, np.int32), cupy.empty(4, np.uint64)),
        0,
        "misaligned",
    ),
    "too_little_shared": ((1,), (64,), lambda: (cupy.empty(64, np.int32),), 128, "out of bounds"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_check_mode_sees_what_is_wrong(name):
    grid, block, arguments, shared, expected = BROKEN[name]
    control.findings.clear()
    with control.configure(mode="check"):
        kernel(name)(grid, block, arguments(), shared_mem=shared)
    assert any(expected in text for text in control.findings), control.findings
    control.findings.clear()


@pytest.mark.parametrize(
    ("name", "text"),
    [("divergent", "barrier is reached by 16 of 32"), ("wrong_mask", "has returned|do not come")],
)
def test_threads_that_do_not_come_are_an_error(mode, name, text):
    with control.configure(mode=mode), pytest.raises(RuntimeError, match=text):
        kernel(name)((1,), (32,), (cupy.empty(64, np.int32),))
        cupy.cuda.Device().synchronize()
