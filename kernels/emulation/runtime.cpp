// The emulated device: runs the threads of a block as fibers, and watches their memory accesses in
// check and count mode.
//
// Compiled together with the kernels' text into one library, but never instrumented itself.
#include "cuda_on_cpu.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
#include "fibers.h"

// borders of the static shared memory of all kernels (absent if none has any), and of this library
extern "C" {
extern char __start_emulated_shared[] __attribute__((weak)),
    __stop_emulated_shared[] __attribute__((weak));
extern char __ehdr_start, _end;
}

namespace emulated {

Position* here;
uint3 block_index;
dim3 block_size, grid_size;

enum ThreadState { NEW, READY, AT_BARRIER, IN_WARP, DONE };
enum Order { FORWARD, REVERSE, RANDOM };
const unsigned WARP = 32;

struct Thread {
    Position position;
    ThreadState state;
    fibers::Fiber fiber;
    WarpOp op;
    unsigned mask;
    u64 value, result;
    int argument, width, line;
    unsigned warp_epoch;  // warp operations it has taken part in
};

static std::vector<Thread> threads;
static std::vector<unsigned> turn;  // thread numbers in the order of their turns
static Thread* running;
static void (*kernel_body)(void*);
static void* kernel_context;
static const char* kernel_name;
static std::string failure;
static int order = FORWARD;
static u64 random_state = 1;
static unsigned n_done, n_at_barrier, barrier_epoch;
static int true_predicates, last_true_predicates, last_at_barrier;
static std::vector<char> dynamic_memory;
static char* dynamic_base;
static size_t dynamic_bytes;

static u64 random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void arrange(std::vector<unsigned>& numbers, unsigned n) {
    numbers.resize(n);
    for (unsigned i = 0; i < n; i++) numbers[i] = order == REVERSE ? n - 1 - i : i;
    if (order == RANDOM)
        for (unsigned i = n; i > 1; i--) std::swap(numbers[i - 1], numbers[random_number() % i]);
}

// --- threads

static void leave() { fibers::leave(running->fiber); }

static void enter() {
    kernel_body(kernel_context);
    running->state = DONE;
    n_done++;
    for (;;) leave();
}

static void resume(Thread& thread) {
    running = &thread;
    here = &thread.position;
    if (thread.state == NEW) fibers::create(thread.fiber, enter);
    thread.state = READY;
    fibers::resume(thread.fiber);
    if (thread.state == DONE) fibers::end(thread.fiber);
}

void fail(const char* message, int line) {
    if (failure.empty())
        failure = std::string(kernel_name) + ": " + message + " (line " + std::to_string(line)
            + ")";
    for (;;) leave();  // never resumed
}

// --- barriers and warps

int barrier(int predicate, int line) {
    running->state = AT_BARRIER;
    running->line = line;
    n_at_barrier++;
    true_predicates += predicate;
    leave();
    return last_true_predicates;
}

int threads_at_barrier() { return last_at_barrier; }

unsigned active_mask() {
    unsigned mask = 0;
    const unsigned first = running->position.warp * WARP;
    for (unsigned lane = 0; lane < WARP && first + lane < threads.size(); lane++)
        if (threads[first + lane].state != DONE) mask |= 1u << lane;
    return mask;
}

static void finish_warp_op(Thread* lanes, unsigned mask) {
    const WarpOp op = running->op;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Thread& self = lanes[lane];
        const int base = lane & ~(self.width - 1);
        int source = lane;
        if (op == SHUFFLE) source = base + (self.argument & (self.width - 1));
        if (op == SHUFFLE_UP && (int)lane - self.argument >= base) source = lane - self.argument;
        if (op == SHUFFLE_DOWN && (int)lane + self.argument < base + self.width)
            source = lane + self.argument;
        if (op == SHUFFLE_XOR) source = lane ^ self.argument;
        if (!(mask >> source & 1))
            fail("a shuffle reads a lane that does not take part", self.line);
        self.result = lanes[source].value;
        if (op == BALLOT || op == MATCH) {
            self.result = 0;
            for (unsigned other = 0; other < WARP; other++)
                if (mask >> other & 1
                    && (op == BALLOT ? lanes[other].value != 0 : lanes[other].value == self.value))
                    self.result |= 1u << other;
        }
    }
    for (unsigned lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1) {
            lanes[lane].state = READY;
            lanes[lane].warp_epoch++;
        }
}

u64 warp(WarpOp op, unsigned mask, u64 value, int argument, int width, int line) {
    Thread* lanes = &threads[running->position.warp * WARP];
    const unsigned n_lanes = std::min<size_t>(WARP, threads.size() - running->position.warp * WARP);
    if (n_lanes < WARP) mask &= (1u << n_lanes) - 1;
    if (!(mask >> running->position.lane & 1))
        fail("a thread calls a warp operation whose mask leaves it out", line);
    running->op = op;
    running->mask = mask;
    running->value = value;
    running->argument = argument;
    running->width = width;
    running->line = line;
    running->state = IN_WARP;
    bool complete = true;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        if (mask >> lane & 1) {
            if (lanes[lane].state == DONE)
                fail("a warp operation waits for a thread that has returned", line);
            complete &= lanes[lane].state == IN_WARP && lanes[lane].mask == mask
                && lanes[lane].op == op;
        }
    if (complete) finish_warp_op(lanes, mask);
    else leave();
    return running->result;
}

void* dynamic_shared() { return dynamic_base; }

// --- accesses (check and count mode)

struct Finding { std::string kind, array; const void *where, *other; int line; };
static std::vector<Finding> findings;
static bool watching;
static bool checking, counting;

// What is known of a byte that threads share.
struct Byte {
    u64 stamp;  // launch (or block, for shared memory) that the rest belongs to
    const void *written_at, *read_at;
    unsigned writer, writer_epoch, writer_warp_epoch, reader, reader_epoch, reader_warp_epoch;
    bool written, written_atomically, read, read_by_many, read_by_blocks, known;
};
struct Region { const char *begin, *end; std::string name; bool shared; std::vector<Byte> bytes; };
static std::vector<Region> regions;
static Region* last_region;
static u64 serial, launch_stamp, block_stamp;

struct KernelCounts {
    u64 launches, threads, shared_atomics, shared_atomic_passes, global_atomics, load_sectors,
        load_bytes, store_sectors, store_bytes;
};
static std::map<std::string, KernelCounts> counts;
// one lane's part of a warp's access
struct Request { const void* where; unsigned warp, occurrence; u64 unit; };
static std::map<std::string, std::vector<Request>> loads, stores;  // by array
static std::vector<Request> shared_atomics;
static std::unordered_map<u64, unsigned> occurrences;

static void note(
    const char* kind, const Region* region, const void* where, const void* other, int line = 0)
{
    for (const Finding& f : findings)
        if (f.kind == kind && f.where == where && f.line == line) return;
    if (findings.size() < 100)
        findings.push_back({kind, region ? region->name : "", where, other, line});
}

static Region* region_of(const char* address) {
    if (last_region && address >= last_region->begin && address < last_region->end)
        return last_region;
    for (Region& region : regions)
        if (address >= region.begin && address < region.end) return last_region = &region;
    return nullptr;
}

// Thread numbers are unique in a launch: those of a block start here.
static unsigned first_thread_of_block;

static unsigned own_number() {
    return first_thread_of_block + (unsigned)(running - threads.data());
}
static bool in_this_block(unsigned thread) {
    return thread >= first_thread_of_block && thread < first_thread_of_block + threads.size();
}

// Whether an earlier access of a thread is ordered before what the running thread does now: by a
// barrier, or in a warp by a warp operation.
static bool in_order(unsigned thread, unsigned epoch, unsigned warp_epoch) {
    if (thread == own_number()) return true;
    if (!in_this_block(thread)) return false;
    if (epoch != barrier_epoch) return true;
    return (thread - first_thread_of_block) / WARP == running->position.warp
        && warp_epoch != running->warp_epoch;
}

enum AccessKind { READ, WRITE, ATOMIC };

static void check_byte(Region& region, Byte& byte, AccessKind kind, const void* where) {
    const u64 now = region.shared ? block_stamp : launch_stamp;
    if (byte.stamp != now) {
        byte = Byte{};
        byte.stamp = now;
    }
    const unsigned number = own_number();
    if (region.shared && kind != WRITE && !byte.known)
        note("uninitialised shared memory", &region, where, nullptr);
    if (byte.written && !(kind == ATOMIC && byte.written_atomically)
        && !in_order(byte.writer, byte.writer_epoch, byte.writer_warp_epoch))
        note("race", &region, where, byte.written_at);
    if (kind == READ) {
        byte.read_by_blocks |= byte.read && !in_this_block(byte.reader);
        byte.read_by_many = byte.read && byte.reader_epoch == barrier_epoch
            && (byte.reader != number || byte.read_by_many);
        byte.read = true;
        byte.reader = number;
        byte.reader_epoch = barrier_epoch;
        byte.reader_warp_epoch = running->warp_epoch;
        byte.read_at = where;
        return;
    }
    if (byte.read
        && (byte.read_by_blocks
            || !in_order(byte.reader, byte.reader_epoch, byte.reader_warp_epoch)
            || (byte.read_by_many && byte.reader == number && byte.reader_epoch == barrier_epoch)))
        note("race", &region, where, byte.read_at);
    byte.written = byte.known = true;
    byte.written_atomically = kind == ATOMIC;
    byte.read = byte.read_by_many = false;
    byte.writer = number;
    byte.writer_epoch = barrier_epoch;
    byte.writer_warp_epoch = running->warp_epoch;
    byte.written_at = where;
}

static unsigned occurrence_of(const void* where) {
    return occurrences[(u64)where * 4096 + (running - threads.data())]++;
}

static void count_access(
    const Region& region, const char* address, unsigned size, AccessKind kind, const void* where)
{
    KernelCounts& sums = counts[kernel_name];
    if (kind == ATOMIC) {
        (region.shared ? sums.shared_atomics : sums.global_atomics)++;
        if (region.shared)
            shared_atomics.push_back({where, running->position.warp, occurrence_of(where),
                (u64)(address - region.begin) / 4 % 32});
        return;
    }
    if (region.shared) return;
    const unsigned occurrence = occurrence_of(where);
    std::vector<Request>& requests = (kind == READ ? loads : stores)[region.name];
    for (u64 sector = (u64)address / 32; sector <= ((u64)address + size - 1) / 32; sector++)
        requests.push_back({where, running->position.warp, occurrence, sector});
    (kind == READ ? sums.load_bytes : sums.store_bytes) += size;
}

static void access(const void* pointer, unsigned size, AccessKind kind, const void* where) {
    if (!watching) return;
    const char* address = (const char*)pointer;
    const char* stack = running->fiber.stack;
    if (address >= stack && address < stack + fibers::STACK_BYTES) return;
    // threadIdx
    if (address >= (const char*)threads.data()
        && address < (const char*)(threads.data() + threads.size()))
        return;
    Region* region = region_of(address);
    if (!region) {
        if (address >= &__ehdr_start && address < &_end) return;  // constants
        if (checking) note("out of bounds", nullptr, where, nullptr);
        return;
    }
    if (address + size > region->end && checking)
        return note("out of bounds", region, where, nullptr);
    if (counting) count_access(*region, address, size, kind, where);
    if (!checking) return;
    if (region->bytes.empty()) region->bytes.resize(region->end - region->begin);
    const size_t first = address - region->begin;
    for (unsigned k = 0; k < size; k++) check_byte(*region, region->bytes[first + k], kind, where);
}

void atomic_access(const void* address, unsigned size, void* where) {
    access(address, size, ATOMIC, where);
}
void read_access(const void* address, unsigned size, void* where) {
    access(address, size, READ, where);
}

static u64 distinct(std::vector<Request>& requests) {
    std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
        return std::tie(a.where, a.warp, a.occurrence, a.unit)
            < std::tie(b.where, b.warp, b.occurrence, b.unit);
    });
    u64 n = 0;
    for (size_t i = 0; i < requests.size(); i++) {
        const Request &a = requests[i], &b = requests[i ? i - 1 : 0];
        n += i == 0 || a.where != b.where || a.warp != b.warp || a.occurrence != b.occurrence
            || a.unit != b.unit;
    }
    requests.clear();
    return n;
}

// How often the shared memory has to be gone through: for each warp's atomic, the most lanes that
// meet in one bank.
static u64 passes(std::vector<Request>& requests) {
    std::map<std::tuple<const void*, unsigned, unsigned>, std::vector<unsigned>> banks;
    for (const Request& r : requests) {
        std::vector<unsigned>& by_unit = banks[{r.where, r.warp, r.occurrence}];
        by_unit.resize(32);
        by_unit[r.unit]++;
    }
    requests.clear();
    u64 n = 0;
    for (const auto& entry : banks)
        n += *std::max_element(entry.second.begin(), entry.second.end());
    return n;
}

static void count_block() {
    KernelCounts& sums = counts[kernel_name];
    sums.threads += threads.size();
    for (auto& entry : loads) {
        const u64 n = distinct(entry.second);
        sums.load_sectors += n;
        if (entry.first != "global memory")
            counts[std::string(kernel_name) + ":" + entry.first].load_sectors += n;
    }
    for (auto& entry : stores) sums.store_sectors += distinct(entry.second);
    sums.shared_atomic_passes += passes(shared_atomics);
    occurrences.clear();
}

// --- a launch

static void run_block() {
    n_done = n_at_barrier = 0;
    true_predicates = 0;
    barrier_epoch++;
    arrange(turn, threads.size());
    while (n_done < threads.size() && failure.empty()) {
        bool ran = false;
        for (unsigned number : turn) {
            Thread& thread = threads[number];
            if (thread.state != NEW && thread.state != READY) continue;
            resume(thread);
            ran = true;
            if (!failure.empty()) return;
        }
        if (ran) continue;
        if (n_at_barrier > 0 && n_at_barrier + n_done == threads.size()) {
            last_true_predicates = true_predicates;
            last_at_barrier = n_at_barrier;
            n_at_barrier = 0;
            true_predicates = 0;
            barrier_epoch++;
            int at = -1;
            for (Thread& thread : threads)
                if (thread.state == AT_BARRIER) {
                    if (at >= 0 && thread.line != at)
                        failure = std::string(kernel_name)
                            + ": threads wait at different barriers (lines " + std::to_string(at)
                            + " and " + std::to_string(thread.line) + ")";
                    at = thread.line;
                    thread.state = READY;
                }
            if (last_at_barrier < (int)threads.size() && failure.empty())
                failure = std::string(kernel_name) + ": a barrier is reached by "
                    + std::to_string(last_at_barrier) + " of " + std::to_string(threads.size())
                    + " threads (line " + std::to_string(at) + ")";
            continue;
        }
        for (Thread& thread : threads)
            if (thread.state == IN_WARP && failure.empty())
                failure = std::string(kernel_name)
                    + ": a warp operation waits for threads that do not come (line "
                    + std::to_string(thread.line) + ")";
        if (failure.empty()) failure = std::string(kernel_name) + ": threads wait for each other";
    }
}

const char* launch(
    void (*body)(void*), void* context, const unsigned* grid, const unsigned* block, size_t shared,
    const char* name)
{
    static std::string message;
    kernel_body = body;
    kernel_context = context;
    kernel_name = name;
    failure.clear();
    grid_size = {grid[0], grid[1], grid[2]};
    block_size = {block[0], block[1], block[2]};
    const unsigned n_threads = block[0] * block[1] * block[2],
        n_blocks = grid[0] * grid[1] * grid[2];
    if (n_threads == 0 || n_threads > 1024) return "a block has 1 to 1024 threads";
    threads.resize(n_threads);
    dynamic_bytes = shared;
    dynamic_memory.resize(shared + 512);
    dynamic_base = (char*)(((uintptr_t)dynamic_memory.data() + 255) / 256 * 256);
    watching = checking || counting;
    if (watching) {
        regions.erase(
            std::remove_if(
                regions.begin(), regions.end(), [](const Region& r) { return r.shared; }),
            regions.end());
        regions.push_back({dynamic_base, dynamic_base + shared, "dynamic shared memory", true, {}});
        if (__start_emulated_shared)
            regions.push_back({__start_emulated_shared, __stop_emulated_shared, "shared memory",
                true, {}});
        last_region = nullptr;
    }
    launch_stamp = ++serial;
    if (counting) counts[name].launches++;
    std::vector<unsigned> blocks;
    arrange(blocks, n_blocks);
    for (unsigned number : blocks) {
        block_index = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
        first_thread_of_block = number * n_threads;
        block_stamp = ++serial;  // shared memory is new in each block
        for (unsigned i = 0; i < n_threads; i++) {
            Thread& thread = threads[i];
            thread.position = {{i % block[0], i / block[0] % block[1], i / block[0] / block[1]},
                i % WARP, i / WARP};
            thread.state = NEW;
            thread.warp_epoch = 0;
        }
        memset(dynamic_base, 0xA7, shared);  // what a block finds in shared memory is garbage
        if (__start_emulated_shared)
            memset(__start_emulated_shared, 0xA7, __stop_emulated_shared - __start_emulated_shared);
        run_block();
        if (!failure.empty()) {
            for (Thread& thread : threads)
                if (thread.state != NEW && thread.state != DONE) fibers::end(thread.fiber);
            break;
        }
        if (counting) count_block();
    }
    watching = false;
    if (failure.empty()) return nullptr;
    message = failure;
    return message.c_str();
}

}  // namespace emulated

using namespace emulated;

// --- what Python calls

extern "C" {
void emulated_configure(int new_order, unsigned long long seed, int check, int count) {
    order = new_order;
    random_state = seed * 2654435761u + 88172645463325252ull;
    checking = check;
    counting = count;
}
void emulated_forget_arrays() { regions.clear(); last_region = nullptr; }
void emulated_know_array(const char* begin, size_t bytes, const char* name) {
    regions.push_back({begin, begin + bytes, name, false, {}});
}
int emulated_n_findings() { return findings.size(); }
void emulated_finding(
    int i, const char** kind, const char** array, size_t* where, size_t* other, int* line)
{
    const Finding& f = findings[i];
    *kind = f.kind.c_str();
    *array = f.array.c_str();
    // an offset in this library, for addr2line
    *where = f.where ? (const char*)f.where - &__ehdr_start : 0;
    *other = f.other ? (const char*)f.other - &__ehdr_start : 0;
    *line = f.line;
}
void emulated_clear_findings() { findings.clear(); }
int emulated_n_counts() { return counts.size(); }
void emulated_counts(int i, const char** name, unsigned long long* out) {
    auto entry = std::next(counts.begin(), i);
    *name = entry->first.c_str();
    memcpy(out, &entry->second, sizeof(KernelCounts));
}
void emulated_clear_counts() { counts.clear(); }

#ifdef EMULATED_CHECKS
// The compiler calls these before every access of the kernels' text (-fsanitize=thread), and after
// undefined behaviour.
#define EMULATED_HOOKS(size)                                                                       \
    void __tsan_read##size(void* p) { access(p, size, READ, __builtin_return_address(0)); }        \
    void __tsan_write##size(void* p) { access(p, size, WRITE, __builtin_return_address(0)); }      \
    void __tsan_unaligned_read##size(void* p) {                                                    \
        access(p, size, READ, __builtin_return_address(0));                                        \
    }                                                                                              \
    void __tsan_unaligned_write##size(void* p) {                                                   \
        access(p, size, WRITE, __builtin_return_address(0));                                       \
    }
EMULATED_HOOKS(1) EMULATED_HOOKS(2) EMULATED_HOOKS(4) EMULATED_HOOKS(8) EMULATED_HOOKS(16)
void __tsan_read_range(void* p, size_t n) { access(p, n, READ, __builtin_return_address(0)); }
void __tsan_write_range(void* p, size_t n) { access(p, n, WRITE, __builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
struct Place { const char* file; unsigned line, column; };
static void undefined(const char* kind, void* data) {
    note(kind, nullptr, nullptr, nullptr, ((Place*)data)->line);
}
void __ubsan_handle_shift_out_of_bounds(void* data, void*, void*) {
    undefined("shift out of bounds", data);
}
void __ubsan_handle_type_mismatch_v1(void* data, void*) { undefined("misaligned access", data); }
void __ubsan_handle_out_of_bounds(void* data, void*) { undefined("index out of bounds", data); }
void __ubsan_handle_float_cast_overflow(void* data, void*) {
    undefined("float does not fit the integer", data);
}
void __ubsan_handle_divrem_overflow(void* data, void*, void*) {
    undefined("division by zero", data);
}
#endif
}
