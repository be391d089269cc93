"""The emulated device runs correct kernels right in any order.

And its check mode sees what is wrong with the others.
"""

import numpy as np
import pytest

from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation import cupy_stand_in as cupy

KERNELS = r"""
struct Item { double value; int place; };

extern "C" __global__ void histogram(const unsigned char* bins, int* out, int n) {
    __shared__ int cells[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) cells[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&cells[bins[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], cells[i]);
}

extern "C" __global__ void scan(const int* in, int* out) {
    extern __shared__ int warps[];
    int x = in[threadIdx.x];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, x, d);
        if (lane >= d) x += other;
    }
    if (lane == 31) warps[warp] = x;
    __syncthreads();
    for (int w = 0; w < warp; w++) x += warps[w];
    out[threadIdx.x] = x;
}

extern "C" __global__ void votes(unsigned* out, unsigned long long* wide) {
    out[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x % 3 == 0);
    const int group = threadIdx.x / 8;
    if (__match_any_sync(0xffffffffu, group) != 0xffu << 8 * group) out[threadIdx.x] = 0;
    wide[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (unsigned long long)threadIdx.x << 40, 1);
}

extern "C" __global__ void atomics(int* i, unsigned long long* l, double* d, float* f) {
    atomicAdd(i, 1);
    atomicAdd(l, 1ull << 33);
    atomicAdd(d, 0.5);
    atomicAdd(f, 0.5f);
    atomicMax(&i[1], (int)threadIdx.x);
}

extern "C" __global__ void items(const Item* in, double* out) { out[threadIdx.x] = in[threadIdx.x].value * in[threadIdx.x].place; }
extern "C" __global__ void copy16(const uint4* in, uint4* out) { out[threadIdx.x] = __ldg(&in[threadIdx.x]); }
extern "C" __global__ void strided(const int* in, int* out) { out[threadIdx.x] = in[8 * threadIdx.x]; }
extern "C" __global__ void scale(float* x, float by, int n) { if (threadIdx.x < n) x[threadIdx.x] *= by; }

extern "C" __global__ void no_barrier(const int* in, int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void no_last_barrier(const int* in, int* out) {
    __shared__ int s;
    for (int k = 0; k < 4; k++) {
        if (threadIdx.x == 0) s = in[k];
        __syncthreads();
        out[64 * k + threadIdx.x] = s;
    }
}
extern "C" __global__ void no_atomic(const unsigned char* bins, int* out) {
    __shared__ int s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    __syncthreads();
    s[bins[threadIdx.x]] += 1;
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = s[i];
}
extern "C" __global__ void uninitialised(int* out) {
    __shared__ int s[64];
    atomicAdd(&s[threadIdx.x], 1);
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void outside(int* out) { out[threadIdx.x + 8] = 1; }
extern "C" __global__ void divergent(int* out) { if (threadIdx.x < 16) __syncthreads(); out[threadIdx.x] = 1; }
extern "C" __global__ void wrong_mask(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
}
extern "C" __global__ void between_blocks(int* out) {
    if (blockIdx.x == 0) out[threadIdx.x] = 7;
    else out[64 + threadIdx.x] = out[threadIdx.x];
}
extern "C" __global__ void misaligned(const int* in, uint2* out) { out[threadIdx.x] = *(const uint2*)(in + 1 + 2 * threadIdx.x); }
extern "C" __global__ void too_little_shared(int* out) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}
"""


def kernel(name):
    return cupy.RawModule(code=KERNELS).get_function(name)


def device(values, dtype):
    return cupy.asarray(np.asarray(values, dtype))


@pytest.fixture(params=["fast", "check"])
def mode(request):
    return request.param


@pytest.mark.parametrize("order", control.ORDERS)
def test_correct_kernels(mode, order, rng):
    control.clear_reports()
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
    assert control.reports() == []


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
    control.clear_reports()
    with control.configure(mode="check"):
        kernel(name)(grid, block, arguments(), shared_mem=shared)
    assert any(expected in text for text in control.reports()), control.reports()
    control.clear_reports()


@pytest.mark.parametrize(
    ("name", "text"),
    [("divergent", "barrier is reached by 16 of 32"), ("wrong_mask", "has returned|do not come")],
)
def test_threads_that_do_not_come_are_an_error(mode, name, text):
    with control.configure(mode=mode), pytest.raises(RuntimeError, match=text):
        kernel(name)((1,), (32,), (cupy.empty(64, np.int32),))


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
    x = cupy.full(8, 1, np.float32)
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


def test_counts():
    control.counters.reset()
    control.clear_kernel_counts()
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
    counts = control.kernel_counts()
    assert counts["copy16"]["load_sectors"] == 64 * 16 // 32
    assert (
        counts["strided"]["load_sectors"] == 64
        and counts["strided"]["store_sectors"] == 64 * 4 // 32
    )
    assert counts["histogram"]["shared_atomics"] == 1000
    assert (
        counts["histogram"]["shared_atomic_passes"] == 1000
    )  # all rows in one bin: every lane waits for the others
    assert control.counters.n_launches == 3
