// The bookkeeping of a growing tree, on the device: the host launches a fixed sequence of kernels
// and never waits.
//
// start_tree -> build -> scan -> [ choose -> count_lefts -> settle -> scatter -> build -> scan ]
// for each step
//
// choose and settle run in one block; work is spread over its threads by node. All of it gives what
// kernels/cpu/growth.py gives: the nodes to split are listed by id, children are numbered in that
// order, ties go to the lowest id.

// The rule of every choice here: the higher gain, among equals the lower place.
__device__ __forceinline__ bool comes_first(
    double gain, int place, double other_gain, int other_place)
{
    return gain > other_gain || (gain == other_gain && place < other_place);
}

// A selection of n_wanted of the marked entries, each equally likely, in place.
__device__ __forceinline__ void choose_some(u8* mask, int n, int n_wanted, u32 key) {
    int n_left = 0;
    for (int j = 0; j < n; j++) n_left += mask[j] != 0;
    for (int j = 0; j < n; j++) {
        if (mask[j] == 0) continue;
        mask[j] = 0;
        if ((double)hash32(key, j) * n_left < n_wanted * 4294967296.0) {
            mask[j] = 1;
            n_wanted--;
        }
        n_left--;
    }
}

// Features a child may use: some of the tree's for its level, some of those for itself.
__device__ __forceinline__ void draw_columns(
    const Growth& p, int level, int node, int child, u8* masks, int n_used)
{
    u8* mask = masks + (i64)child * n_used;
    for (int j = 0; j < n_used; j++) mask[j] = 1;
    choose_some(mask, n_used, p.level_features, hash32(p.column_key, 2 * level));
    if (p.node_features < p.level_features)
        choose_some(mask, n_used, p.node_features, hash32(p.column_key, 2 * node + 1));
}

extern "C" __global__ void start_tree(
    const int* tree_rows,  // rows the tree is grown on, ascending
    const int* n_tree_rows,
    const int* features,
    Node* nodes, State* state, const Growth* growth, Pair* pairs, int* built, int* built_tiles,
    int* free_slots, u8* masks,
    u8* used,              // [n_features]
    int* rows,             // [2][n_rows]
    i64* pool, int* count_pool,
    int n_slots, int n_used, int n_features, int tile_rows, int masked)
{
    const int n = *n_tree_rows;
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x,
        stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = first; i < n; i += stride) rows[i] = tree_rows[i];
    // the root's histogram is in slot 0
    for (i64 c = first; c < (i64)n_features * N_CODES; c += stride) {
        pool[c] = 0;
        if (COUNT_ROWS) count_pool[c] = 0;
    }
    // a stack: slot 0 is on top and taken
    for (i64 i = first; i < n_slots; i += stride) free_slots[i] = n_slots - 1 - (int)i;
    if (blockIdx.x != 0) return;
    for (int f = threadIdx.x; f < n_features; f += blockDim.x) used[f] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < n_used; j += blockDim.x) used[features[j]] = 1;
    if (threadIdx.x != 0) return;
    Node root = {};
    root.end = n;
    root.left = root.right = -1;
    root.open = 1;
    root.split.feature = -1;
    nodes[0] = root;
    State fresh = {};
    fresh.n_nodes = fresh.n_leaves = fresh.n_pairs = fresh.n_built = 1;
    fresh.n_free = n_slots - 1;
    *state = fresh;
    pairs[0].small = 0;
    pairs[0].large = -1;
    built[0] = 0;
    built_tiles[0] = 0;
    built_tiles[1] = tiles_of(n, tile_rows);
    if (masked) draw_columns(*growth, 0, 0, 0, masks, n_used);
}

// Whether the children of a chosen node stay leaves, whatever their rows.
__device__ __forceinline__ bool ends_here(const Growth& p, const State& state, const Node& node) {
    const int depth = p.order == SYMMETRIC ? state.level : node.depth + 1;
    return depth >= p.max_depth || state.n_leaves + state.n_chosen >= p.max_leaves;
}

__device__ __forceinline__ bool may_split(const Growth& p, const Node& node) {
    return node.open && node.split.feature >= 0
        && (p.order == SYMMETRIC || node.depth < p.max_depth);
}

// Nodes that stay leaves give their histograms back. All threads call it, with a node each or -1;
// each keeps n_free for itself. Nodes and slots are there for other threads after the next barrier.
__device__ __forceinline__ void close_nodes(
    int id, Node* nodes, int* free_slots, int& n_free, int* warp_sums)
{
    const bool gives = id >= 0 && nodes[id].slot >= 0;
    int total;
    const int rank = block_exclusive_sum(gives ? 1 : 0, warp_sums, total);
    if (gives) free_slots[n_free + rank] = nodes[id].slot;
    if (id >= 0) {
        nodes[id].open = 0;
        nodes[id].slot = -1;
    }
    n_free += total;
}

// Each node takes the best of what the blocks of scan_pairs found for it.
__device__ __forceinline__ void adopt_pairs(
    Node* nodes, const Pair* pairs, int n_pairs, const Split* splits, int n_chunks, int* free_slots,
    int& n_free, int* warp_sums)
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
            if (nodes[id].split.feature >= 0) id = -1;
        }
        close_nodes(id, nodes, free_slots, n_free, warp_sums);
    }
}

// All open nodes take the level's split; a node it would leave with too small a side stays whole
// and is asked again. A warp takes a node.
__device__ __forceinline__ void adopt_level(
    Node* nodes, int n_nodes, const Split* splits, int n_used, const int* n_bins, const i64* pool,
    const int* count_pool, int n_features,
    const Growth& p, int* free_slots, int& n_free, int* warp_sums)
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
            close_nodes(i < n_nodes && nodes[i].open ? i : -1, nodes, free_slots, n_free,
                warp_sums);
        }
        return;
    }
    for (int i = threadIdx.x / WARP; i < n_nodes; i += blockDim.x / WARP) {
        if (!nodes[i].open) continue;
        const i64 at = ((i64)nodes[i].slot * n_features + split.feature) * N_CODES;
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
        // "all values left" does not divide such a node
        if (split.bin == n_bins[split.feature] && no_missing_here) continue;
        double score = cut_score(left, node.sums, p);
        if (COUNT_ROWS
            && !(n_left >= p.min_samples_leaf
                && node.end - node.begin - n_left >= p.min_samples_leaf))
            score = no_split();
        if (score > no_split()) {
            node.split.gain = score - packed_score(node.sums, p);
            node.split.left = left;
            node.split.feature = split.feature;
        }
    }
}

// Note the splits that were found and choose the nodes to split in this step.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) choose(
    Node* nodes, State* state, const Growth* growth, const Pair* pairs, const Split* splits,
    const int* n_bins, const i64* pool,
    const int* count_pool, int* free_slots,
    int* candidates,    // [max_nodes], scratch
    int* chosen,        // [max_open]
    int* chosen_tiles,  // [max_open + 1]: borders of their tiles
    int* n_left,        // [max_open]: rows that go left, counted by the next kernel
    int n_chunks, int n_used, int n_features, int tile_rows)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    const Growth p = *growth;
    const State before = *state;
    const int n_nodes = before.n_nodes;
    int n_free = before.n_free;
    if (before.n_pairs > 0) {
        if (p.order == SYMMETRIC)
            adopt_level(nodes, n_nodes, splits, n_used, n_bins, pool, count_pool, n_features, p,
                free_slots, n_free, warp_sums);
        else
            adopt_pairs(nodes, pairs, before.n_pairs, splits, n_chunks, free_slots, n_free,
                warp_sums);
    }
    __syncthreads();
    int room = p.max_leaves - before.n_leaves;
    if (p.order == LEAFWISE) room = min(room, p.leaves_per_step);
    int n = 0;
    if (before.level < p.max_steps)
        for (int start = 0; start < n_nodes; start += blockDim.x) {
            const int i = start + threadIdx.x;
            const bool fits = i < n_nodes && may_split(p, nodes[i]);
            int total;
            const int rank = block_exclusive_sum(fits ? 1 : 0, warp_sums, total);
            if (fits) candidates[n + rank] = i;
            n += total;
        }
    __syncthreads();
    int n_chosen = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        const int c = start + threadIdx.x;
        bool kept = c < n;
        if (kept && n > room) {  // keep those of highest gain, the lower id among equals
            const double gain = nodes[candidates[c]].split.gain;
            int n_better = 0;
            for (int other = 0; other < n; other++)
                n_better += comes_first(nodes[candidates[other]].split.gain, other, gain, c);
            kept = n_better < room;
        }
        int total;
        const int rank = block_exclusive_sum(kept ? 1 : 0, warp_sums, total);
        if (kept) chosen[n_chosen + rank] = candidates[c];
        n_chosen += total;
    }
    __syncthreads();
    int n_tiles = 0;
    for (int start = 0; start < n_chosen; start += blockDim.x) {
        const int c = start + threadIdx.x;
        int node_tiles = 0, total;
        if (c < n_chosen) {
            node_tiles = tiles_of(nodes[chosen[c]].end - nodes[chosen[c]].begin, tile_rows);
            n_left[c] = 0;
        }
        const int before = block_exclusive_sum(node_tiles, warp_sums, total);
        if (c < n_chosen) chosen_tiles[c] = n_tiles + before;
        n_tiles += total;
    }
    if (threadIdx.x == 0) {
        chosen_tiles[n_chosen] = n_tiles;
        state->n_chosen = n_chosen;
        state->n_free = n_free;
        state->level = before.level + 1;
        state->n_pairs = 0;
        state->n_built = 0;
    }
}

// Make the children of the chosen nodes and list the histograms that are due.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) settle(
    Node* nodes, State* state, const Growth* growth, Pair* pairs, const int* chosen,
    const int* n_left, int* free_slots, u8* masks,
    int* built, int* built_tiles, int n_used, int tile_rows, int masked)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    const Growth p = *growth;
    const State before = *state;
    // the tree is finished, and choose has said that nothing is due
    if (before.n_chosen == 0) return;
    int n_free = before.n_free, n_pairs = 0, n_tiles = 0;
    for (int start = 0; start < before.n_chosen; start += blockDim.x) {
        const int c = start + threadIdx.x;
        const bool mine = c < before.n_chosen;
        bool goes_on = false;
        int left_id = 0, ended = -1;
        if (mine) {
            Node& parent = nodes[chosen[c]];
            goes_on = !ends_here(p, before, parent);
            left_id = before.n_nodes + 2 * c;
            parent.left = left_id;
            parent.right = left_id + 1;
            parent.open = 0;
            Node child = {};
            child.depth = parent.depth + 1;
            child.left = child.right = child.slot = -1;
            child.open = goes_on;
            child.split.feature = -1;
            child.sums = parent.split.left;
            child.begin = parent.begin;
            child.end = parent.begin + n_left[c];
            nodes[left_id] = child;
            child.sums = parent.sums - parent.split.left;
            child.begin = child.end;
            child.end = parent.end;
            nodes[left_id + 1] = child;
            if (!goes_on) ended = chosen[c];
        }
        close_nodes(ended, nodes, free_slots, n_free, warp_sums);
        int total, rank = block_exclusive_sum(goes_on ? 1 : 0, warp_sums, total);
        int own_tiles = 0, all_tiles;
        if (goes_on) {
            Node& parent = nodes[chosen[c]];
            const bool left_is_small = nodes[left_id].end - nodes[left_id].begin
                <= nodes[left_id + 1].end - nodes[left_id + 1].begin;
            const Pair pair = {left_is_small ? left_id : left_id + 1,
                left_is_small ? left_id + 1 : left_id, 1};
            pairs[n_pairs + rank] = pair;
            nodes[pair.large].slot = parent.slot;
            parent.slot = -1;
            nodes[pair.small].slot = free_slots[n_free - 1 - rank];
            built[n_pairs + rank] = pair.small;
            own_tiles = tiles_of(nodes[pair.small].end - nodes[pair.small].begin, tile_rows);
            if (masked) {
                const int level = p.order == SYMMETRIC ? before.level : parent.depth + 1;
                draw_columns(p, level, pair.small, 2 * (n_pairs + rank), masks, n_used);
                draw_columns(p, level, pair.large, 2 * (n_pairs + rank) + 1, masks, n_used);
            }
        }
        const int tiles_before = block_exclusive_sum(own_tiles, warp_sums, all_tiles);
        if (goes_on) built_tiles[n_pairs + rank] = n_tiles + tiles_before;
        n_pairs += total;
        n_tiles += all_tiles;
        n_free -= total;
    }
    if (threadIdx.x == 0) {
        built_tiles[n_pairs] = n_tiles;
        state->n_free = n_free;
        state->n_pairs = n_pairs;
        state->n_built = n_pairs;
        state->n_nodes = before.n_nodes + 2 * before.n_chosen;
        state->n_leaves = before.n_leaves + before.n_chosen;
    }
}

// Features of one tree, ascending; one thread.
extern "C" __global__ void draw_features(
    const Growth* growth, int* out, u8* mask, int n_features, int n_wanted)
{
    for (int f = 0; f < n_features; f++) mask[f] = 1;
    choose_some(mask, n_features, n_wanted, growth->column_key ^ 1u);
    int n = 0;
    for (int f = 0; f < n_features; f++)
        if (mask[f]) out[n++] = f;
}
