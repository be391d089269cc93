// The machine that runs translated kernels: threads are fibers, one runs at a time, and which one
// is next is up to the order. Linked to the generated text of a PTX module.
#include "machine.h"
#include "../fibers.h"
#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace ptx {

Thread* here;
u32 block_index[3], block_size[3], grid_size[3];
const u8* parameters;
u8* shared_memory;
u32 shared_bytes, dynamic_shared_bytes;
s64 patience;

namespace {

const u32 WARP = 32, N_BARRIERS = 16;
// Preempted order: blocks that run at the same time, basic blocks between two changes of the thread
// on average.
const u32 RESIDENT = 3, TURN = 8;

enum Order { FORWARD, REVERSE, RANDOM, PREEMPTED };
enum State { NEW, READY, AT_BARRIER, IN_WARP, DONE };

struct Member : Thread {
    State state;
    fibers::Fiber fiber;
    int line;  // where it waits
    u32 barrier;
    WarpOperation operation;
    u32 members, lane_argument, segment;
    u64 value;
    WarpResult result;
};

struct Barrier { u32 n_arrived, n_expected, n_true; int line; };

}  // namespace

struct Block {
    u32 index[3], n_done;
    std::vector<u8> shared;
    std::vector<Member> members;
    Barrier barriers[N_BARRIERS];
};

namespace {

// What Python says about a launch; spans are in ascending order.
struct Launch { u32 order, n_spans; u64 seed, limit; const Span* spans; };

Launch launch;
const Kernel* kernel;
s64 blocks_left;
std::vector<Member*> ready;
size_t first_ready;
std::string failure;
u64 random_state;

u64 random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

bool at_random() { return launch.order >= RANDOM; }

Member& me() { return *static_cast<Member*>(here); }

void make_ready(Member& member) {
    member.state = READY;
    ready.push_back(&member);
}

void leave() { fibers::leave(me().fiber); }

void enter() {
    kernel->body();
    me().state = DONE;
    here->block->n_done++;
    for (;;) leave();
}

void resume(Member& member) {
    here = &member;
    shared_memory = member.block->shared.data();
    memcpy(block_index, member.block->index, sizeof block_index);
    if (member.state == NEW) fibers::create(member.fiber, enter);
    member.state = READY;
    fibers::resume(member.fiber);
    if (member.state == DONE) fibers::end(member.fiber);
}

[[noreturn]] void fail_with(const std::string& message, int line) {
    char place[160];
    snprintf(place, sizeof place, " (PTX line %d, thread %u of block %u,%u,%u)", line,
        here->number, block_index[0], block_index[1], block_index[2]);
    if (failure.empty()) failure = message + place;
    for (;;) leave();  // never resumed
}

}  // namespace

void fail(const char* message, int line) { fail_with(message, line); }

// --- memory

void find_span(Span& span, u64 address, u32 size, int line) {
    const Span* end = launch.spans + launch.n_spans;
    const Span* after = std::upper_bound(launch.spans, end, address,
        [](u64 place, const Span& candidate) { return place < candidate.begin; });
    const Span* found = after > launch.spans && address < after[-1].end ? after - 1 : nullptr;
    for (u32 i = 0; i < ptx_n_variables && !found; i++)
        if (address >= ptx_variables[i].begin && address < ptx_variables[i].end)
            found = &ptx_variables[i];
    if (!found || address + size > found->end) {
        char message[100];
        snprintf(message, sizeof message, "an access of %u bytes at %#llx, outside every array",
            size, (unsigned long long)address);
        fail_with(message, line);
    }
    span = *found;
}

u64 clock_ticks() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000u + now.tv_nsec;
}

// --- turns

// After how many basic blocks the scheduler wants to be asked again.
static s64 next_patience() {
    return launch.order == PREEMPTED ? (s64)(random_number() % (2 * TURN)) : blocks_left;
}

void out_of_patience(int line) {
    if (blocks_left < 0 || launch.order != PREEMPTED)
        fail_with("a launch that does not end", line);
    patience = next_patience();
    blocks_left -= patience + 1;
    make_ready(me());
    leave();
}

static Member* next_ready() {
    if (first_ready == ready.size()) return nullptr;
    if (at_random()) {
        std::swap(ready[random_number() % ready.size()], ready.back());
        Member* chosen = ready.back();
        ready.pop_back();
        return chosen;
    }
    Member* chosen = ready[first_ready++];
    if (first_ready == ready.size()) {
        ready.clear();
        first_ready = 0;
    }
    return chosen;
}

// --- barriers

static void open_barrier(Block& block, u32 number, BarrierResult result) {
    Barrier& barrier = block.barriers[number];
    const u32 n = barrier.n_true, answer
        = result == HOW_MANY ? n : result == ANY ? n > 0 : n == barrier.n_arrived;
    barrier = Barrier{};
    const size_t size = block.members.size();
    for (size_t i = 0; i < size; i++) {
        Member& member = block.members[launch.order == REVERSE ? size - 1 - i : i];
        if (member.state != AT_BARRIER || member.barrier != number) continue;
        member.result.value = answer;
        make_ready(member);
    }
}

u32 barrier(u32 number, u32 n_threads, BarrierResult result, bool predicate, int line) {
    Member& self = me();
    Block& block = *self.block;
    if (number >= N_BARRIERS) fail("a barrier that is none of 0 to 15", line);
    if (n_threads % WARP || n_threads > block.members.size())
        fail("a barrier for a part of a warp, or for more threads than there are", line);
    Barrier& barrier = block.barriers[number];
    if (barrier.n_arrived == 0)
        barrier = {0, n_threads ? n_threads : (u32)block.members.size(), 0, line};
    if (barrier.line != line)
        fail_with("threads wait at different barriers, others at PTX line "
            + std::to_string(barrier.line), line);
    barrier.n_arrived++;
    barrier.n_true += predicate;
    self.state = AT_BARRIER;
    self.barrier = number;
    self.line = line;
    if (barrier.n_arrived == barrier.n_expected) open_barrier(block, number, result);
    leave();
    return self.result.value;
}

// --- warps

static u32 shuffle_source(const Member& self, int line, bool& within) {
    const int lane = self.lane, distance = self.lane_argument & 31, clamp = self.segment & 31,
        mask = self.segment >> 8 & 31, lowest = lane & mask, last = lowest | (clamp & ~mask);
    int source = lane;
    if (self.operation == SHUFFLE_UP) source = lane - distance;
    if (self.operation == SHUFFLE_DOWN) source = lane + distance;
    if (self.operation == SHUFFLE_XOR) source = lane ^ distance;
    if (self.operation == SHUFFLE_INDEX) source = lowest | (distance & ~mask);
    within = self.operation == SHUFFLE_UP ? source >= last : source <= last;
    return within ? source : lane;
}

static u32 reduced(WarpOperation operation, u32 a, u32 b) {
    switch (operation) {
    case SUM: return a + b;
    case MINIMUM: return std::min(a, b);
    case MAXIMUM: return std::max(a, b);
    case SIGNED_MINIMUM: return std::min((s32)a, (s32)b);
    case SIGNED_MAXIMUM: return std::max((s32)a, (s32)b);
    case AND: return a & b;
    case OR: return a | b;
    default: return a ^ b;
    }
}

// What the lanes of a mask have brought, and what each of them gets.
static void finish_warp_operation(Member* lanes, u32 members, WarpOperation operation, int line) {
    u32 ballot = 0, total = 0;
    bool first = true;
    for (u32 lane = 0; lane < WARP; lane++) {
        if (!(members >> lane & 1)) continue;
        const u32 value = (u32)lanes[lane].value;
        if (value) ballot |= 1u << lane;
        total = first ? value : reduced(operation, total, value);
        first = false;
    }
    for (u32 lane = 0; lane < WARP; lane++) {
        if (!(members >> lane & 1)) continue;
        Member& self = lanes[lane];
        u32 equal = 0;
        for (u32 other = 0; other < WARP; other++)
            if (members >> other & 1 && lanes[other].value == self.value) equal |= 1u << other;
        WarpResult& result = self.result;
        if (operation >= SHUFFLE_UP && operation <= SHUFFLE_INDEX) {
            const u32 source = shuffle_source(self, line, result.predicate);
            if (!(members >> source & 1))
                fail("a shuffle reads a lane that does not take part", line);
            result.value = (u32)lanes[source].value;
        } else if (operation == MATCH_ANY || operation == MATCH_ALL) {
            result.predicate = equal == members;
            result.value = operation == MATCH_ANY ? equal : result.predicate ? members : 0;
        } else if (operation >= SUM) {
            result.value = total;
        } else {
            result.value = ballot;
            result.predicate = operation == VOTE_ANY ? ballot != 0
                : operation == VOTE_ALL ? ballot == members : ballot == members || ballot == 0;
        }
    }
}

WarpResult warp(WarpOperation operation, u32 members, u64 value, u32 lane, u32 segment, int line) {
    Member& self = me();
    std::vector<Member>& all = self.block->members;
    const u32 first = self.number / WARP * WARP, n_lanes = std::min<u32>(WARP, all.size() - first);
    Member* lanes = &all[first];
    members &= ~0u >> (WARP - n_lanes);  // lanes that do not exist are not waited for
    if (!(members >> self.lane & 1)) fail("a lane is not in the mask of its warp operation", line);
    self.operation = operation;
    self.members = members;
    self.value = value;
    self.lane_argument = lane;
    self.segment = segment;
    self.line = line;
    self.state = IN_WARP;
    bool complete = true;
    for (u32 i = 0; i < n_lanes; i++) {
        if (!(members >> i & 1)) continue;
        if (lanes[i].state == DONE)
            fail("a warp operation waits for a lane that has returned", line);
        complete &= lanes[i].state == IN_WARP && lanes[i].line == line
            && lanes[i].members == members;
    }
    if (complete) {
        finish_warp_operation(lanes, members, operation, line);
        for (u32 i = 0; i < n_lanes; i++) {
            const u32 k = launch.order == REVERSE ? n_lanes - 1 - i : i;
            if (members >> k & 1) make_ready(lanes[k]);
        }
    }
    leave();
    return self.result;
}

// --- rounding

template <class T> T rounded(Rounding mode, Operation what, T a, T b, T c) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    volatile T x = a, y = b, z = c, result;
    fesetround(modes[mode]);
    switch (what) {
    case ADD: result = x + y; break;
    case SUBTRACT: result = x - y; break;
    case MULTIPLY: result = x * y; break;
    case DIVIDE: result = x / y; break;
    case ROOT: result = square_root(x); break;
    default: result = fused(x, y, z);
    }
    fesetround(FE_TONEAREST);
    return result;
}
template f32 rounded(Rounding, Operation, f32, f32, f32);
template f64 rounded(Rounding, Operation, f64, f64, f64);

template <class To, class From> To converted(Rounding mode, From a) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    volatile From x = a;
    fesetround(modes[mode]);
    volatile To result = (To)x;
    fesetround(FE_TONEAREST);
    return result;
}
template f32 converted(Rounding, f64);
template f32 converted(Rounding, s64);
template f32 converted(Rounding, u64);
template f64 converted(Rounding, s64);
template f64 converted(Rounding, u64);

// --- a launch

static void prepare(Block& block, u64 number) {
    block.index[0] = number % grid_size[0];
    block.index[1] = number / grid_size[0] % grid_size[1];
    block.index[2] = number / grid_size[0] / grid_size[1];
    block.n_done = 0;
    for (Barrier& barrier : block.barriers) barrier = Barrier{};
    u64 noise = random_number();
    for (u32 i = 0; i < shared_bytes; i++, noise = noise << 9 | noise >> 55)
        block.shared[i] = (u8)noise;
    const size_t n = block.members.size();
    for (size_t k = 0; k < n; k++) {
        const u32 i = launch.order == REVERSE ? n - 1 - k : k;
        Member& member = block.members[i];
        member.index[0] = i % block_size[0];
        member.index[1] = i / block_size[0] % block_size[1];
        member.index[2] = i / block_size[0] / block_size[1];
        member.number = i;
        member.lane = i % WARP;
        member.garbage = random_number() | 1;
        member.block = &block;
        member.line = 0;
        make_ready(member);
        member.state = NEW;
    }
}

// Who waits for what, when nobody can go on.
static std::string deadlock(const Block& block) {
    std::map<std::pair<State, int>, u32> waiting;
    for (const Member& member : block.members)
        waiting[{member.state, member.state == DONE ? 0 : member.line}]++;
    std::string text = "threads wait for others that do not come:";
    for (const auto& [place, n] : waiting) {
        text += (text.back() == ':' ? " " : ", ") + std::to_string(n);
        if (place.first == DONE) text += " have returned";
        else
            text += std::string(
                        place.first == AT_BARRIER ? " at a barrier" : " in a warp operation")
                + " (PTX line " + std::to_string(place.second) + ")";
    }
    char index[60];
    snprintf(index, sizeof index, " (block %u,%u,%u of %zu threads)", block.index[0],
        block.index[1], block.index[2], block.members.size());
    return text + index;
}

static void run_until_nobody_can(std::vector<Block>& blocks, size_t n) {
    while (failure.empty()) {
        Member* member = next_ready();
        if (!member) break;
        resume(*member);
    }
    for (size_t i = 0; i < n && failure.empty(); i++)
        if (blocks[i].n_done < blocks[i].members.size()) failure = deadlock(blocks[i]);
    if (failure.empty()) return;
    for (size_t i = 0; i < n; i++)
        for (Member& member : blocks[i].members)
            if (member.state != NEW && member.state != DONE) fibers::end(member.fiber);
}

static void run_grid(u32 n_threads) {
    const u64 n_blocks = (u64)grid_size[0] * grid_size[1] * grid_size[2];
    std::vector<u64> numbers(n_blocks);
    for (u64 i = 0; i < n_blocks; i++) numbers[i] = launch.order == REVERSE ? n_blocks - 1 - i : i;
    if (at_random())
        for (u64 i = n_blocks; i > 1; i--) std::swap(numbers[i - 1], numbers[random_number() % i]);
    std::vector<Block> blocks(launch.order == PREEMPTED ? RESIDENT : 1);
    for (Block& block : blocks) {
        block.members.resize(n_threads);
        block.shared.resize(shared_bytes);
    }
    for (u64 done = 0; done < n_blocks && failure.empty(); done += blocks.size()) {
        const size_t n = std::min<u64>(blocks.size(), n_blocks - done);
        ready.clear();
        first_ready = 0;
        for (size_t i = 0; i < n; i++) prepare(blocks[i], numbers[done + i]);
        run_until_nobody_can(blocks, n);
    }
}

static const char* run(
    u32 number, const u32* grid, const u32* block, u32 dynamic_bytes, const u8* arguments,
    const Launch* how)
{
    kernel = &ptx_kernels[number];
    launch = *how;
    random_state = launch.seed * 0x9E3779B97F4A7C15ull | 1;
    for (int i = 0; i < 8; i++) random_number();
    failure.clear();
    memcpy(grid_size, grid, sizeof grid_size);
    memcpy(block_size, block, sizeof block_size);
    memset(ptx_spans, 0, sizeof(Span) * ptx_n_spans);
    parameters = arguments;
    dynamic_shared_bytes = dynamic_bytes;
    shared_bytes = kernel->shared_bytes + dynamic_bytes;
    const u32 n_threads = block[0] * block[1] * block[2];
    if (n_threads == 0 || n_threads > 1024 || block[2] > 64) return "a block of that size";
    if (kernel->max_threads && n_threads > kernel->max_threads)
        return "more threads in a block than the kernel is compiled for";
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[1] > 65535 || grid[2] > 65535)
        return "a grid of that size";
    blocks_left = launch.limit;
    patience = next_patience();
    run_grid(n_threads);
    return failure.empty() ? nullptr : failure.c_str();
}

}  // namespace ptx

PTX_EXPORT const char* ptx_run(
    u32 kernel, const u32* grid, const u32* block, u32 dynamic_bytes, const u8* arguments,
    const ptx::Launch* how)
{
    return ptx::run(kernel, grid, block, dynamic_bytes, arguments, how);
}
