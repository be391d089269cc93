// What a translated kernel sees of the machine that runs it (machine.cpp): its thread, memory,
// barriers and warp instructions. Nothing of the C++ library is needed here, so that the text of a
// kernel compiles quickly.
#pragma once
#include "arithmetic.h"

namespace ptx {

struct Block;
struct Thread {
    u32 index[3], number, lane;  // number: within the block
    u64 garbage;  // odd; what stands in registers that nobody has written is made of it
    Block* block;
};
// What the generated code asks for all the time: of the running thread, its block and its launch.
extern Thread* here;
extern u32 block_index[3], block_size[3], grid_size[3];
extern const u8* parameters;
extern u8* shared_memory;
extern u32 shared_bytes, dynamic_shared_bytes;
// Basic blocks that may be entered until the scheduler wants to know.
extern s64 patience;

// Addresses of all kinds in one 64-bit number: no address of the process has such high bits.
const u64 SHARED_WINDOW = 1ull << 60, LOCAL_WINDOW = 2ull << 60, WINDOW_MASK = 7ull << 60;

// A piece of memory that a launch may use. Each instruction remembers the one it has used last.
struct Span { u64 begin, end; };
struct Local { u8* bytes; u32 size; };

void find_span(Span& span, u64 address, u32 size, int line);
void out_of_patience(int line);
u64 clock_ticks();

// --- blocks and registers

PTX_INLINE void enter_block(u8& hit, int line) {
    hit = 1;
    if (--patience < 0) out_of_patience(line);
}
PTX_INLINE u64 garbage_of(u64 factor) { return here->garbage * factor; }
PTX_INLINE void fill_local(u8* bytes, u32 size) {
    for (u32 i = 0; i < size; i++) bytes[i] = (u8)(garbage_of(2 * i + 1) >> 40);
}

// --- memory: every access is checked

PTX_INLINE void check_alignment(u64 address, u32 size, int line) {
    if (address & (size - 1)) fail("a misaligned access", line);
}
PTX_INLINE u8* global_at(Span& span, u64 address, u32 size, int line) {
    check_alignment(address, size, line);
    if (address < span.begin || address + size > span.end) find_span(span, address, size, line);
    return (u8*)address;
}
PTX_INLINE u8* shared_at(u64 address, u32 size, int line) {
    check_alignment(address, size, line);
    if (address + size > shared_bytes || address + size < size)
        fail("an access outside shared memory", line);
    return shared_memory + address;
}
PTX_INLINE u8* local_at(Local local, u64 address, u32 size, int line) {
    check_alignment(address, size, line);
    if (address + size > local.size || address + size < size)
        fail("an access outside local memory", line);
    return local.bytes + address;
}
inline u8* generic_at(Span& span, Local local, u64 address, u32 size, int line) {
    const u64 window = address & WINDOW_MASK;
    if (window == SHARED_WINDOW) return shared_at(address - SHARED_WINDOW, size, line);
    if (window == LOCAL_WINDOW) return local_at(local, address - LOCAL_WINDOW, size, line);
    return global_at(span, address, size, line);
}
inline const u8* parameter_at(u64 address, u32 size, u32 all, int line) {
    check_alignment(address, size, line);
    if (address + size > all || address + size < size)
        fail("an access outside the parameters", line);
    return parameters + address;
}
template <class T> PTX_INLINE T load(const u8* from) {
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    return value;
}
template <class T> PTX_INLINE void store(u8* to, T value) {
    __builtin_memcpy(to, &value, sizeof(T));
}
// One thread runs at a time and is left at no other place, so this is atomic.
template <class T, class Change> PTX_INLINE T update(u8* at, Change change) {
    const T old = load<T>(at);
    store<T>(at, change(old));
    return old;
}

// --- barriers and warps

enum BarrierResult { NO_RESULT, HOW_MANY, ALL, ANY };
u32 barrier(u32 number, u32 n_threads, BarrierResult result, bool predicate, int line);

enum WarpOperation { WARP_BARRIER, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, SHUFFLE_INDEX, BALLOT,
    VOTE_ALL, VOTE_ANY, VOTE_SAME, MATCH_ANY, MATCH_ALL, SUM, MINIMUM, MAXIMUM, SIGNED_MINIMUM,
    SIGNED_MAXIMUM, AND, OR, XOR };
struct WarpResult { u32 value; bool predicate; };
// `lane` and `segment` are those of a shuffle.
WarpResult warp(WarpOperation operation, u32 members, u64 value, u32 lane, u32 segment, int line);

// --- kernels, as the library lists them

struct Parameter { u32 offset, size; };
struct Kernel {
    const char* name;
    void (*body)();
    const Parameter* parameters;
    u32 n_parameters, parameter_bytes, max_threads, shared_bytes, n_blocks;
    u8* hits;  // by block: whether it has ever been entered
    const u32* lines;  // by block: where it begins
};

}  // namespace ptx

// Defined by the generated text.
#define PTX_EXPORT extern "C" __attribute__((visibility("default")))
PTX_EXPORT const ptx::Kernel ptx_kernels[];
PTX_EXPORT const u32 ptx_n_kernels;
extern "C" ptx::Span ptx_spans[];  // by instruction that needs one
extern "C" const u32 ptx_n_spans;
extern "C" const ptx::Span ptx_variables[];  // variables of the module in global memory
extern "C" const u32 ptx_n_variables;
