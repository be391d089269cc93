"""Small kernels, right and wrong ones, for the tests of the emulated device."""

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
