// The bookkeeping of a growing tree, on the device: the host launches a fixed sequence of kernels
// and never waits.
//
// start_tree -> build -> scan -> [ choose -> count_lefts -> divide_nodes -> build -> scan ]
// for each step
//
// choose runs in one block, and so does what divide_nodes does besides moving rows; work is spread
// over the threads by node. All of it gives what kernels/cpu/growth.py gives: the nodes to split
// are listed by id, children are numbered in that order, ties go to the lowest id.

// The rule of every choice here: the higher gain, among equals the lower place.
__device__ __forceinline__ bool comes_first(
    double gain, int place, double other_gain, int other_place)
{
    return gain > other_gain || (gain == other_gain && place < other_place);
}

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) start_tree(
    const int* tree_rows,  // rows the tree is grown on, ascending
    const int* n_tree_rows,
    const int* features,
    Node* nodes, State* state, const Growth* growth, Pair* pairs, u64* ranks, int* built,
    int* built_tiles, int* free_slots, u8* masks,
    u8* used,              // [n_features]
    int* rows,             // [2][n_rows]
    i64* pool, int* count_pool, double* bounds,
    const double* weights, double* arrivals, const u64* groups_of_feature, u64* groups_of_node,
    int n_words,           // these five: see Draws
    int n_slots, int n_used, int n_features, int tile_rows, int masked)
{
    const int n = *n_tree_rows;
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x,
        stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = first; i < n; i += stride) rows[i] = tree_rows[i];
    // the root's histogram is in slot 0
    for (i64 c = first; c < (i64)histogram_features(n_features) * N_CODES; c += stride) {
        pool[c] = 0;
        if (COUNT_ROWS) count_pool[c] = 0;
    }
    // a stack: slot 0 is on top and taken
    for (i64 i = first; i < n_slots; i += stride) free_slots[i] = n_slots - 1 - (int)i;
    if (blockIdx.x != 0) return;
    for (int f = threadIdx.x; f < n_features; f += blockDim.x) used[f] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < n_used; j += blockDim.x) used[features[j]] = 1;
    if (masked && threadIdx.x < WARP)
        draw_columns(*growth, 0, 0, -1, -1, 0, masks, n_used,
            {features, weights, arrivals, groups_of_feature, groups_of_node, n_words});
    if (threadIdx.x != 0) return;
    if (CONSTRAINED) {  // the root's leaves may have any weight
        bounds[0] = no_split();
        bounds[1] = -no_split();
    }
    Node root = {};
    root.end = n;
    root.left = root.right = -1;
    root.open = 1;
    root.split.feature = -1;
    nodes[0] = root;
    ranks[0] = 0;
    State fresh = {};
    fresh.n_nodes = fresh.n_leaves = fresh.n_pairs = fresh.n_built = 1;
    fresh.n_free = n_slots - 1;
    *state = fresh;
    pairs[0].small = 0;
    pairs[0].large = -1;
    built[0] = 0;
    built_tiles[0] = 0;
    built_tiles[1] = tiles_of(n, tile_rows);
}

// A number for each node that grows with the gain of its split; 0: it cannot be split. Both zeros
// give the same one.
__device__ __forceinline__ u64 rank_of(const Growth& p, const Node& node) {
    if (node.split.feature < 0 || (p.order != SYMMETRIC && node.depth >= p.max_depth)) return 0;
    const u64 bits = (u64)__double_as_longlong(node.split.gain + 0.0), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}

// Each node takes the best of what the blocks of scan_pairs found for it.
__device__ __forceinline__ void adopt_pairs(
    Node* nodes, u64* ranks, const Pair* pairs, int n_pairs, const Split* splits, int n_chunks,
    const Growth& p, int* free_slots, int& n_free, int* warp_sums)
{
    const int n_tasks = 2 * n_pairs;
    for (int start = 0; start < n_tasks; start += blockDim.x) {
        const int task = start + threadIdx.x;
        int id = -1;
        if (task < n_tasks) id = task & 1 ? pairs[task / 2].large : pairs[task / 2].small;
        if (id >= 0) {
            int best = 0;
            for (int r = 1; r < n_chunks; r++)
                if (splits[(i64)task * n_chunks + r].gain
                    > splits[(i64)task * n_chunks + best].gain)
                    best = r;
            nodes[id].split = splits[(i64)task * n_chunks + best];
            ranks[id] = rank_of(p, nodes[id]);
            if (nodes[id].split.feature >= 0) id = -1;
        }
        close_nodes(id, nodes, free_slots, n_free, warp_sums);
    }
}

// All open nodes take the level's split; a node it would leave with too small a side stays whole
// and is asked again. A warp takes a node.
__device__ __forceinline__ void adopt_level(
    Node* nodes, u64* ranks, int n_nodes, const Split* splits, int n_used, const int* n_bins,
    const i64* pool, const int* count_pool, const int* directions, const double* bounds,
    int n_features, const Growth& p, int* free_slots, int& n_free, int* warp_sums)
{
    __shared__ int winner;
    if (threadIdx.x < WARP) {
        int best = threadIdx.x < n_used ? (int)threadIdx.x : 0;
        for (int j = threadIdx.x + WARP; j < n_used; j += WARP)
            if (splits[j].gain > splits[best].gain) best = j;
        for (int distance = WARP / 2; distance > 0; distance /= 2) {
            const int other = __shfl_xor_sync(FULL_WARP, best, distance);
            if (comes_first(splits[other].gain, other, splits[best].gain, best)) best = other;
        }
        if (threadIdx.x == 0) winner = best;
    }
    __syncthreads();
    const Split split = splits[winner];
    const int lane = threadIdx.x & (WARP - 1);
    if (split.feature < 0) {
        for (int start = 0; start < n_nodes; start += blockDim.x) {
            const int i = start + threadIdx.x;
            const bool closes = i < n_nodes && nodes[i].open;
            if (closes) ranks[i] = 0;
            close_nodes(closes ? i : -1, nodes, free_slots, n_free, warp_sums);
        }
        return;
    }
    for (int i = threadIdx.x / WARP; i < n_nodes; i += blockDim.x / WARP) {
        if (!nodes[i].open) continue;
        const i64 at = ((i64)nodes[i].slot * histogram_features(n_features)
            + split.feature) * N_CODES;
        i64 left = 0;
        int n_left = 0;
        for (int bin = lane; bin <= split.bin; bin += WARP) {
            if (bin == 0 && !split.missing_left) continue;
            left += pool[at + bin];
            if (COUNT_ROWS) n_left += count_pool[at + bin];
        }
        left = warp_sum(left);
        if (COUNT_ROWS) n_left = warp_sum(n_left);
        if (lane != 0) continue;
        Node& node = nodes[i];
        node.split = split;
        node.split.feature = -1;
        const bool no_missing_here = pool[at] == 0;
        double score = limited_cut_score(left, node.sums, p,
            limits_of(directions, bounds, i, split.feature), split.bin >= n_bins[split.feature]);
        if (COUNT_ROWS
            && !(n_left >= p.min_samples_leaf
                && node.end - node.begin - n_left >= p.min_samples_leaf))
            score = no_split();
        // "all values left" does not divide a node without missing values
        if (score > no_split() && !(split.bin == n_bins[split.feature] && no_missing_here)) {
            node.split.gain = score - node_score(node.sums, p, bounds, i);
            node.split.left = left;
            node.split.feature = split.feature;
        }
        ranks[i] = rank_of(p, node);
    }
}

// The place of the highest rank, the lowest among equals; -1 if all are 0.
__device__ __forceinline__ int highest(const u64* ranks, int n) {
    __shared__ u64 best_ranks[GROWTH_THREADS / WARP];
    __shared__ int best_places[GROWTH_THREADS / WARP];
    u64 best = 0;
    int at = -1;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (ranks[i] > best) {
            best = ranks[i];
            at = i;
        }
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const u64 other = __shfl_xor_sync(FULL_WARP, best, distance);
        const int other_at = __shfl_xor_sync(FULL_WARP, at, distance);
        if (other > best || (other == best && other_at < at)) {
            best = other;
            at = other_at;
        }
    }
    if ((threadIdx.x & (WARP - 1)) == 0) {
        best_ranks[threadIdx.x / WARP] = best;
        best_places[threadIdx.x / WARP] = at;
    }
    __syncthreads();
    for (int w = 0; w < GROWTH_THREADS / WARP; w++)
        if (best_ranks[w] > best || (best_ranks[w] == best && best_places[w] < at)) {
            best = best_ranks[w];
            at = best_places[w];
        }
    return at;
}

#define DIGITS 256
static_assert(GROWTH_THREADS == DIGITS, "a thread counts the ranks with one value of a digit");

// The n_wanted-th highest rank, or a number between it and the next one; n_wanted becomes how many
// of those that are equal to it are wanted. A digit of eight bits at a time, from the highest on:
// its count tells which value the wanted rank has there.
__device__ __forceinline__ u64 nth_highest(
    const u64* ranks, int n, int& n_wanted, int* warp_sums)
{
    __shared__ int counts[DIGITS];
    __shared__ int digit, n_higher, n_equal;
    const int own = DIGITS - 1 - threadIdx.x;  // the digit's value that this thread is about
    u64 found = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            const u64 rank = ranks[i];
            if (rank != 0 && (shift == 56 || (rank ^ found) >> (shift + 8) == 0))
                atomicAdd(&counts[rank >> shift & (DIGITS - 1)], 1);
        }
        __syncthreads();
        const int count = counts[own];
        int total;
        const int before = block_exclusive_sum(count, warp_sums, total);
        if (before < n_wanted && n_wanted <= before + count) {
            digit = own;
            n_higher = before;
            n_equal = count;
        }
        __syncthreads();
        found |= (u64)digit << shift;
        n_wanted -= n_higher;
        if (n_equal == n_wanted) break;  // all that begin with these digits
    }
    return found;
}

// Note the splits that were found and choose the nodes to split in this step.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) choose(
    Node* nodes, State* state, const Growth* growth, const Pair* pairs, const Split* splits,
    const int* n_bins, const i64* pool,
    const int* count_pool, int* free_slots,
    u64* ranks,         // [max_nodes]: see rank_of
    int* chosen,        // [max_open]
    int* chosen_tiles,  // [max_open + 1]: borders of their tiles
    int* n_left,        // [max_open]: rows that go left, counted by the next kernel
    const int* directions, const double* bounds,
    int n_chunks, int n_used, int n_features, int tile_rows)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    const State before = *state;
    // the tree is finished: the step before had nothing to split
    if (before.level > 0 && before.n_chosen == 0) return;
    const Growth p = *growth;
    const int n_nodes = before.n_nodes;
    int n_free = before.n_free;
    if (before.n_pairs > 0) {
        if (p.order == SYMMETRIC)
            adopt_level(nodes, ranks, n_nodes, splits, n_used, n_bins, pool, count_pool, directions,
                bounds, n_features, p, free_slots, n_free, warp_sums);
        else
            adopt_pairs(nodes, ranks, pairs, before.n_pairs, splits, n_chunks, p, free_slots,
                n_free, warp_sums);
    }
    __syncthreads();
    int room = p.max_leaves - before.n_leaves;
    if (p.order == LEAFWISE) room = min(room, p.leaves_per_step);
    if (before.level >= p.max_steps) room = 0;
    int n_chosen = 0;
    if (room == 1) {
        const int best = highest(ranks, n_nodes);
        n_chosen = best >= 0;
        if (n_chosen == 1 && threadIdx.x == 0) chosen[0] = best;
    } else if (room > 1) {
        int n = 0, n_candidates;
        for (int i = threadIdx.x; i < n_nodes; i += blockDim.x) n += ranks[i] != 0;
        block_exclusive_sum(n, warp_sums, n_candidates);
        // those above the lowest rank that is chosen, and the lowest nodes of those that have it
        u64 lowest = 0;
        int n_of_lowest = room, n_seen = 0;
        if (n_candidates > room) lowest = nth_highest(ranks, n_nodes, n_of_lowest, warp_sums);
        for (int start = 0; start < n_nodes; start += blockDim.x) {
            const int i = start + threadIdx.x;
            const u64 rank = i < n_nodes ? ranks[i] : 0;
            const bool is_lowest = rank != 0 && rank == lowest;
            int total;
            const int place = block_exclusive_sum(is_lowest ? 1 : 0, warp_sums, total);
            const bool kept = rank > lowest || (is_lowest && n_seen + place < n_of_lowest);
            n_seen += total;
            const int at = block_exclusive_sum(kept ? 1 : 0, warp_sums, total);
            if (kept) chosen[n_chosen + at] = i;
            n_chosen += total;
        }
    }
    __syncthreads();
    State after = before;
    after.n_chosen = n_chosen;
    after.n_free = n_free;
    after.level = before.level + 1;
    after.n_pairs = 0;
    int n_tiles = 0;
    for (int start = 0; start < n_chosen; start += blockDim.x) {
        const int c = start + threadIdx.x;
        int node_tiles = 0, total, n_going_on;
        bool goes_on = false;
        if (c < n_chosen) {
            const Node& node = nodes[chosen[c]];
            node_tiles = tiles_of(node.end - node.begin, tile_rows);
            goes_on = !ends_here(p, after, node);
            n_left[c] = 0;
            ranks[chosen[c]] = 0;
        }
        const int tiles_before = block_exclusive_sum(node_tiles, warp_sums, total);
        block_exclusive_sum(goes_on ? 1 : 0, warp_sums, n_going_on);
        if (c < n_chosen) chosen_tiles[c] = n_tiles + tiles_before;
        n_tiles += total;
        after.n_pairs += n_going_on;
    }
    after.n_built = after.n_pairs;
    if (threadIdx.x == 0) {
        chosen_tiles[n_chosen] = n_tiles;
        *state = after;
    }
}

// Numbers of the marked features, ascending; one warp, whose lanes have those that they marked.
__device__ __forceinline__ void list_marked(const u8* mask, int n_features, int* out) {
    const int lane = threadIdx.x;
    int n = 0;
    for (int start = 0; start < n_features; start += WARP) {
        const int f = start + lane;
        const u32 kept = __ballot_sync(FULL_WARP, f < n_features && mask[f] != 0);
        if (kept >> lane & 1) out[n + __popc(kept & ((1u << lane) - 1))] = f;
        n += __popc(kept);
    }
}

// Features of one tree, ascending; one warp.
extern "C" __global__ void __launch_bounds__(WARP, 1) draw_features(
    const Growth* growth, int* out, u8* mask, int n_features, int n_wanted)
{
    for (int f = threadIdx.x; f < n_features; f += WARP) mask[f] = 1;
    choose_some(mask, n_features, n_wanted, growth->column_key ^ 1u);
    list_marked(mask, n_features, out);
}

// The same by weights: 0 means never, infinite always.
extern "C" __global__ void __launch_bounds__(WARP, 1) draw_weighted_features(
    const Growth* growth, const double* weights, int* out, u8* mask, double* arrivals,
    int n_features, int n_wanted)
{
    const u32 key = growth->column_key ^ 1u;
    for (int f = threadIdx.x; f < n_features; f += WARP) {
        mask[f] = weights[f] > 0.0;
        arrivals[f] = arrival(hash32(key, f), weights[f]);
    }
    choose_first(mask, arrivals, n_features, n_wanted);
    list_marked(mask, n_features, out);
}
