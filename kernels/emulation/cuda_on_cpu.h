// CUDA C++ on the CPU: what a kernel's text needs to compile with g++. build.py puts it in front of
// the text.
//
// A CUDA thread is a fiber (runtime.cpp). Only one runs at a time, and it is left only at barriers
// and warp operations, so a plain read-modify-write is atomic here; check mode tells where the text
// needs an atomic and has none.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// --- keywords

#define __CUDA_ARCH__ 800
#define __global__
#define __device__ static
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("emulated_shared")))
#define __restrict__

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
#define EMULATED_VECTOR(type, name, alignment)                                                     \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                       \
    struct alignas(alignment) name##4 { type x, y, z, w; };                                        \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                        \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
EMULATED_VECTOR(int, int, 16)
EMULATED_VECTOR(unsigned, uint, 16)
EMULATED_VECTOR(float, float, 16)
EMULATED_VECTOR(double, double, 16)
EMULATED_VECTOR(long long, longlong, 16)
EMULATED_VECTOR(unsigned long long, ulonglong, 16)
EMULATED_VECTOR(unsigned char, uchar, 4)

// --- the runtime

namespace emulated {
typedef unsigned long long u64;

struct Thread;
struct Position { uint3 index; unsigned lane, warp; };
extern Position* here;  // of the running thread
extern uint3 block_index;
extern dim3 block_size, grid_size;

enum WarpOp { SYNC, BALLOT, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, MATCH };
int barrier(int predicate, int line);  // returns how many threads' predicates hold
int threads_at_barrier();
u64 warp(WarpOp op, unsigned mask, u64 value, int argument, int width, int line);
unsigned active_mask();
void* dynamic_shared();
void atomic_access(const void* address, unsigned size, void* where);
void read_access(const void* address, unsigned size, void* where);
[[noreturn]] void fail(const char* message, int line);

struct Argument { int size, is_pointer, is_float, element, is_const; };
const char* launch(
    void (*body)(void*), void* context, const unsigned* grid, const unsigned* block, size_t shared,
    const char* name);

template <class T> u64 to_bits(T value) {
    static_assert(sizeof(T) <= 8, "at most 8 bytes");
    u64 bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> T from_bits(u64 bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T> Argument describe() {
    typedef std::remove_pointer_t<T> Pointee;
    typedef std::conditional_t<std::is_void_v<Pointee>, char, Pointee> Element;
    typedef std::conditional_t<std::is_pointer_v<T>, Element, T> Number;
    return {(int)sizeof(T), std::is_pointer_v<T>,
        std::is_floating_point_v<std::remove_cv_t<Number>>, (int)sizeof(Element),
        std::is_const_v<Pointee>};
}

// Calls a kernel with arguments given by address, in each thread of the grid.
template <class... A> struct Kernel {
    struct Call { void (*kernel)(A...); void** arguments; };
    template <size_t... I>
    static const char* run(
        void (*kernel)(A...), const unsigned* grid, const unsigned* block, size_t shared,
        void** arguments, const char* name, std::index_sequence<I...>)
    {
        Call call{kernel, arguments};
        return launch([](void* context) __attribute__((no_sanitize("thread", "undefined"))) {
            Call* call = (Call*)context;
            call->kernel(*(A*)call->arguments[I]...);
        }, &call, grid, block, shared, name);
    }
};
template <class... A>
const char* run(
    void (*kernel)(A...), const unsigned* grid, const unsigned* block, size_t shared,
    void** arguments, const char* name)
{
    return Kernel<A...>::run(kernel, grid, block, shared, arguments, name,
        std::index_sequence_for<A...>());
}
template <class... A> int describe_all(void (*)(A...), Argument* out) {
    const Argument all[] = {describe<A>()..., Argument{}};
    memcpy(out, all, sizeof(Argument) * sizeof...(A));
    return sizeof...(A);
}
}  // namespace emulated

#define EMULATED_KERNEL(name)                                                                      \
    extern "C" const char* launch_##name(                                                          \
        const unsigned* grid, const unsigned* block, size_t shared, void** arguments)              \
    {                                                                                              \
        return emulated::run(name, grid, block, shared, arguments, #name);                         \
    }                                                                                              \
    extern "C" int describe_##name(emulated::Argument* out) {                                      \
        return emulated::describe_all(name, out);                                                  \
    }

#define threadIdx (emulated::here->index)
#define blockIdx emulated::block_index
#define blockDim emulated::block_size
#define gridDim emulated::grid_size
#define warpSize 32

// --- barriers and warps

#define __syncthreads() emulated::barrier(0, __LINE__)
#define __syncthreads_count(p) emulated::barrier((p) != 0, __LINE__)
#define __syncthreads_or(p) (emulated::barrier((p) != 0, __LINE__) > 0)
#define __syncthreads_and(p) \
    (emulated::barrier((p) != 0, __LINE__) == emulated::threads_at_barrier())
#define __syncwarp(...) \
    emulated::warp(emulated::SYNC, emulated_mask(__VA_ARGS__), 0, 0, 32, __LINE__)
static inline unsigned emulated_mask(unsigned mask = 0xffffffffu) { return mask; }
#define __ballot_sync(mask, p) \
    ((unsigned)emulated::warp(emulated::BALLOT, mask, (p) != 0, 0, 32, __LINE__))
#define __any_sync(mask, p) (__ballot_sync(mask, p) != 0)
#define __all_sync(mask, p) (__ballot_sync(mask, p) == (unsigned)(mask))
#define __activemask() emulated::active_mask()
template <class T>
static inline T emulated_shuffle(
    emulated::WarpOp op, unsigned mask, T value, int argument, int line, int width = 32)
{
    return emulated::from_bits<T>(
        emulated::warp(op, mask, emulated::to_bits(value), argument, width, line));
}
#define __shfl_sync(mask, value, lane, ...) \
    emulated_shuffle(emulated::SHUFFLE, mask, value, lane, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define __shfl_up_sync(mask, value, d, ...) \
    emulated_shuffle(emulated::SHUFFLE_UP, mask, value, d, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define __shfl_down_sync(mask, value, d, ...) \
    emulated_shuffle(emulated::SHUFFLE_DOWN, mask, value, d, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define __shfl_xor_sync(mask, value, d, ...) \
    emulated_shuffle(emulated::SHUFFLE_XOR, mask, value, d, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define __match_any_sync(mask, value) \
    ((unsigned)emulated::warp(emulated::MATCH, mask, emulated::to_bits(value), 0, 32, __LINE__))
static inline void __threadfence() {}
static inline void __threadfence_block() {}
#define __trap() emulated::fail("__trap()", __LINE__)

// --- atomics

#ifdef EMULATED_CHECKS
#define EMULATED_ATOMIC __attribute__((noinline, no_sanitize("thread")))
#define EMULATED_NOTE(address) \
    emulated::atomic_access(address, sizeof(*(address)), __builtin_return_address(0))
#else
#define EMULATED_ATOMIC inline
#define EMULATED_NOTE(address) ((void)0)
#endif
#define EMULATED_UPDATE(name, type, expression)                       \
    static EMULATED_ATOMIC type name(type* address, type value) {     \
        EMULATED_NOTE(address);                                       \
        const type old = *address;                                    \
        *address = expression;                                        \
        return old;                                                   \
    }
#define EMULATED_INTEGER_ATOMICS(type)                                \
    EMULATED_UPDATE(atomicAdd, type, old + value)                     \
    EMULATED_UPDATE(atomicExch, type, value)                          \
    EMULATED_UPDATE(atomicMin, type, value < old ? value : old)       \
    EMULATED_UPDATE(atomicMax, type, old < value ? value : old)       \
    EMULATED_UPDATE(atomicAnd, type, old & value)                     \
    EMULATED_UPDATE(atomicOr, type, old | value)                      \
    static EMULATED_ATOMIC type atomicCAS(type* address, type expected, type value) { \
        EMULATED_NOTE(address);                                       \
        const type old = *address;                                    \
        if (old == expected) *address = value;                        \
        return old;                                                   \
    }
EMULATED_INTEGER_ATOMICS(int)
EMULATED_INTEGER_ATOMICS(unsigned)
EMULATED_INTEGER_ATOMICS(unsigned long long)
EMULATED_UPDATE(atomicAdd, float, old + value)
EMULATED_UPDATE(atomicAdd, double, old + value)

// --- loads, bits, arithmetic

#ifdef EMULATED_CHECKS  // one access, whatever the compiler makes of the vector
template <class T> static EMULATED_ATOMIC T __ldg(const T* address) {
    emulated::read_access(address, sizeof(T), __builtin_return_address(0));
    return *address;
}
#else
template <class T> static inline T __ldg(const T* address) { return *address; }
#endif
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline long long __double_as_longlong(double x) {
    return emulated::from_bits<long long>(emulated::to_bits(x));
}
static inline double __longlong_as_double(long long x) {
    return emulated::from_bits<double>(emulated::to_bits(x));
}
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
template <class A, class B> static constexpr std::common_type_t<A, B> min(A a, B b) {
    return b < a ? b : a;
}
template <class A, class B> static constexpr std::common_type_t<A, B> max(A a, B b) {
    return a < b ? b : a;
}
