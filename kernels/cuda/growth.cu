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
    int* forced_of_node,   // see choose
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
    if (FORCED) forced_of_node[0] = 0;
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

// Splits at the top of every tree: see kernels/cpu/forced.py. Only read if FORCED.
struct ForcedSplits {
    const int* splits;  // [n][4]: feature, last bin of the left side, splits of the children or -1
    int* of_node;       // [max_nodes]: that of each node, or -1; the first: also that of the level
    const u8* absent;   // [n_features], if X is sparse
};

// Scores with missing values right and left, whether there are some, and sums of bins and of them.
struct ForcedScore {
    double right, left;
    i64 sums, missing_sums;
    bool missing;
};

// A warp scores a forced split of a node.
__device__ __forceinline__ ForcedScore score_forced(
    const int* split, const Node& node, int id, const i64* pool, const int* count_pool,
    const u8* absent, const int* directions, const double* bounds, int n_features, const Growth& p)
{
    const int lane = threadIdx.x & (WARP - 1), feature = split[0], last = split[1];
    const int unstored = SPARSE ? absent[feature] : -1;
    const i64 at = ((i64)node.slot * histogram_features(n_features) + feature) * N_CODES;
    const i64 n_rows = node.end - node.begin;
    i64 left = 0, others = 0;
    int n_left = 0, n_others = 0;
    for (int bin = lane; bin < N_CODES; bin += WARP) {
        if (bin == unstored) continue;
        const bool goes_left = bin >= 1 && bin <= last;
        others += pool[at + bin];
        if (goes_left) left += pool[at + bin];
        if (COUNT_ROWS) {
            n_others += count_pool[at + bin];
            if (goes_left) n_left += count_pool[at + bin];
        }
    }
    left = warp_sum(left);
    others = warp_sum(others);
    n_left = warp_sum(n_left);
    n_others = warp_sum(n_others);
    i64 missing = unstored == 0 ? node.sums - others : pool[at];
    int n_missing = 0;
    if (COUNT_ROWS) n_missing = unstored == 0 ? (int)n_rows - n_others : count_pool[at];
    if (unstored >= 1 && unstored <= last) {
        left += node.sums - others;
        n_left += (int)n_rows - n_others;
    }
    const Limits limits = limits_of(directions, bounds, id, feature);
    ForcedScore out = {no_split(), no_split(), left, missing, missing != 0 || n_missing != 0};
    if (!COUNT_ROWS || (n_left >= p.min_samples_leaf && n_rows - n_left >= p.min_samples_leaf))
        out.right = limited_cut_score(left, node.sums, p, limits, false);
    n_left += n_missing;
    if (!out.missing) out.left = out.right;
    else if (!COUNT_ROWS
        || (n_left >= p.min_samples_leaf && n_rows - n_left >= p.min_samples_leaf))
        out.left = limited_cut_score(left + missing, node.sums, p, limits, false);
    return out;
}

// Put forced splits in the place of those that the scan has found. A warp takes a node.
__device__ __forceinline__ void enforce_pairs(
    const Node* nodes, const Pair* pairs, int n_pairs, Split* splits, int n_chunks,
    const i64* pool, const int* count_pool, const int* directions, const double* bounds,
    int n_features, const Growth& p, const ForcedSplits& forced)
{
    const int lane = threadIdx.x & (WARP - 1);
    for (int task = threadIdx.x / WARP; task < 2 * n_pairs; task += blockDim.x / WARP) {
        const int id = task & 1 ? pairs[task / 2].large : pairs[task / 2].small;
        const int k = id < 0 ? -1 : forced.of_node[id];
        if (k < 0) continue;
        const Node& node = nodes[id];
        const int* split = forced.splits + 4 * k;
        const ForcedScore found = score_forced(split, node, id, pool, count_pool, forced.absent,
            directions, bounds, n_features, p);
        if (lane != 0) continue;
        const bool missing_left = found.left > found.right;
        const double score = missing_left ? found.left : found.right;
        if (score == no_split()) {
            forced.of_node[id] = -1;
            continue;
        }
        Split out = {};
        out.gain = score - node_score(node.sums, p, bounds, id);
        out.left = found.sums + (found.missing && missing_left ? found.missing_sums : 0);
        out.feature = split[0];
        out.bin = split[1];
        out.missing_left = found.missing ? missing_left
            : hessian_of(found.sums) >= hessian_of(node.sums - found.sums);
        for (int r = 0; r < n_chunks; r++) splits[(i64)task * n_chunks + r] = out;
    }
    __syncthreads();
}

// The same for a level: its split is the first one then. One warp goes through the nodes.
__device__ __forceinline__ void enforce_level(
    const Node* nodes, int n_nodes, Split* splits, const i64* pool, const int* count_pool,
    const int* directions, const double* bounds, int n_features, const Growth& p,
    const ForcedSplits& forced)
{
    if (threadIdx.x < WARP && forced.of_node[0] >= 0) {
        const int* split = forced.splits + 4 * forced.of_node[0];
        double right_gain = 0.0, left_gain = 0.0;
        int n_right = 0, n_left = 0;
        bool any_missing = false;
        i64 left_hessian = 0, all_hessian = 0;
        for (int i = 0; i < n_nodes; i++) {
            const Node& node = nodes[i];
            if (!node.open) continue;
            const ForcedScore found = score_forced(split, node, i, pool, count_pool, forced.absent,
                directions, bounds, n_features, p);
            any_missing = any_missing || found.missing;
            left_hessian += hessian_of(found.sums);
            all_hessian += hessian_of(node.sums);
            const double parent = node_score(node.sums, p, bounds, i);
            if (found.right > no_split()) {
                n_right += 1;
                right_gain += found.right - parent;
            }
            if (found.left > no_split()) {
                n_left += 1;
                left_gain += found.left - parent;
            }
        }
        __syncwarp();
        if (threadIdx.x == 0) {
            const bool missing_left = n_right == 0 || (n_left > 0 && left_gain > right_gain);
            Split out = {};
            out.gain = missing_left ? left_gain : right_gain;
            out.feature = split[0];
            out.bin = split[1];
            out.missing_left = any_missing ? missing_left : 2 * left_hessian >= all_hessian;
            if (n_right + n_left == 0) forced.of_node[0] = -1;
            else splits[0] = out;
        }
    }
    __syncthreads();
}

// Each node takes the best of what the blocks of scan_pairs found for it.
__device__ __forceinline__ void adopt_pairs(
    Node* nodes, u64* ranks, const Pair* pairs, int n_pairs, const Split* splits, int n_chunks,
    const Growth& p, int* free_slots, int& n_free, int* warp_sums, const ForcedSplits& forced)
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
            // forced splits come first
            if (FORCED && ranks[id] != 0 && forced.of_node[id] >= 0) ranks[id] = ~0ull;
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
    int n_features, const Growth& p, int* free_slots, int& n_free, int* warp_sums,
    const ForcedSplits& forced)
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
        if (threadIdx.x == 0) winner = FORCED && forced.of_node[0] >= 0 ? 0 : best;
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
        for (int bin = lane; bin <= (CATEGORICAL ? N_CODES - 1 : split.bin); bin += WARP) {
            if (goes_right(bin, split)) continue;
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
    Node* nodes, State* state, const Growth* growth, const Pair* pairs, Split* splits,
    const int* n_bins, const i64* pool,
    const int* count_pool, int* free_slots,
    u64* ranks,         // [max_nodes]: see rank_of
    int* chosen,        // [max_open]
    int* chosen_tiles,  // [max_open + 1]: borders of their tiles
    int* n_left,        // [max_open]: rows that go left, counted by the next kernel
    const int* directions, const double* bounds,
    const int* forced_splits, int* forced_of_node, const u8* absent,  // see ForcedSplits
    int n_chunks, int n_used, int n_features, int tile_rows)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    const State before = *state;
    // the tree is finished: the step before had nothing to split
    if (before.level > 0 && before.n_chosen == 0) return;
    const Growth p = *growth;
    const int n_nodes = before.n_nodes;
    int n_free = before.n_free;
    const ForcedSplits forced = {forced_splits, forced_of_node, absent};
    if (FORCED && before.n_pairs > 0) {
        if (p.order == SYMMETRIC)
            enforce_level(nodes, n_nodes, splits, pool, count_pool, directions, bounds, n_features,
                p, forced);
        else
            enforce_pairs(nodes, pairs, before.n_pairs, splits, n_chunks, pool, count_pool,
                directions, bounds, n_features, p, forced);
    }
    if (before.n_pairs > 0) {
        if (p.order == SYMMETRIC)
            adopt_level(nodes, ranks, n_nodes, splits, n_used, n_bins, pool, count_pool, directions,
                bounds, n_features, p, free_slots, n_free, warp_sums, forced);
        else
            adopt_pairs(nodes, ranks, pairs, before.n_pairs, splits, n_chunks, p, free_slots,
                n_free, warp_sums, forced);
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
