// Stable partition of the rows of all chosen nodes: lefts first, both sides in their order. Rows
// move from the buffer of the parent's depth to the other one. A tile is a stretch of one node's
// rows; count_lefts notes how many of each tile go left, divide_nodes adds up the tiles before its
// own and knows where to write. Meanwhile one of its blocks makes the children.

#define PARTITION_WARPS (PARTITION_THREADS / WARP)

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) count_lefts(
    const u8* bins, const int* rows, const Node* nodes, const State* state, const int* chosen,
    const int* chosen_tiles,
    int* tile_lefts,  // [max_tiles]
    int* n_left,      // [max_open]
    const int* free_slots, i64* pool, int* count_pool, i64 n_rows, int n_features, int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    const int n_chosen = state->n_chosen, n_tiles = chosen_tiles[n_chosen];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_chosen, chosen, chosen_tiles, nodes, rows, n_rows,
            tile_rows);
        const Split split = part.node->split;
        int count = 0, total;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
            count += !goes_right(code_at(bins, n_rows, part.rows[i], split.feature), split);
        block_exclusive_sum(count, warp_sums, total);
        if (threadIdx.x == 0) {
            tile_lefts[tile] = total;
            atomicAdd(&n_left[part.which], total);
        }
    }
    // the histograms that will be built start from zero: those on top of the stack
    const i64 slot_cells = (i64)histogram_features(n_features) * N_CODES,
        n_cells = state->n_built * slot_cells;
    for (i64 c = (i64)blockIdx.x * blockDim.x + threadIdx.x; c < n_cells;
        c += (i64)gridDim.x * blockDim.x) {
        const i64 slot = free_slots[state->n_free - 1 - c / slot_cells];
        const i64 cell = slot * slot_cells + c % slot_cells;
        pool[cell] = 0;
        if (COUNT_ROWS) count_pool[cell] = 0;
    }
}

// Make the children of the chosen nodes and list the histograms that are due. All threads of a
// block call it.
__device__ __forceinline__ void settle(
    Node* nodes, State* state, const Growth* growth, Pair* pairs, u64* ranks, const int* chosen,
    const int* n_left, int* free_slots, u8* masks, int* built, int* built_tiles,
    const int* n_bins, const int* directions, double* bounds, double* due, const int* forced_splits,
    int* forced_of_node, const Draws& draws,
    int n_used, int tile_rows, int masked, int* warp_sums)
{
    // the tree is finished, and choose has said that nothing is due
    if (state->n_chosen == 0) return;
    const Growth p = *growth;
    const State before = *state;
    int n_pairs = 0, n_tiles = 0;
    for (int start = 0; start < before.n_chosen; start += blockDim.x) {
        const int c = start + threadIdx.x;
        const bool mine = c < before.n_chosen;
        const bool goes_on = mine && !ends_here(p, before, nodes[chosen[c]]);
        int total, own_tiles = 0, all_tiles;
        const int number = n_pairs + block_exclusive_sum(goes_on ? 1 : 0, warp_sums, total);
        if (mine) {
            Node& parent = nodes[chosen[c]];
            const int left_id = before.n_nodes + 2 * c;
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
            ranks[left_id] = ranks[left_id + 1] = 0;
            if (CONSTRAINED) hand_down(directions, bounds, parent, chosen[c], n_bins, p);
            // paid: 0.0, by several nodes perhaps
            if (PENALIZED) atomicExch((u64*)&due[parent.split.feature], (u64)0);
            if (FORCED && p.order != SYMMETRIC) {
                const int k = forced_of_node[chosen[c]];
                forced_of_node[left_id] = k < 0 ? -1 : forced_splits[4 * k + 2];
                forced_of_node[left_id + 1] = k < 0 ? -1 : forced_splits[4 * k + 3];
            }
            if (goes_on) {
                const bool left_is_small = n_left[c] <= child.end - child.begin;
                const Pair pair = {left_is_small ? left_id : left_id + 1,
                    left_is_small ? left_id + 1 : left_id, 1};
                pairs[number] = pair;
                nodes[pair.large].slot = parent.slot;
                parent.slot = -1;
                // count_lefts has cleared it
                nodes[pair.small].slot = free_slots[before.n_free - 1 - number];
                built[number] = pair.small;
                own_tiles = tiles_of(nodes[pair.small].end - nodes[pair.small].begin, tile_rows);
            }
        }
        const int tiles_before = block_exclusive_sum(own_tiles, warp_sums, all_tiles);
        if (goes_on) built_tiles[number] = n_tiles + tiles_before;
        n_pairs += total;
        n_tiles += all_tiles;
    }
    if (masked)  // a warp for each child
        for (int child = threadIdx.x / WARP; child < 2 * n_pairs; child += blockDim.x / WARP) {
            const int id = child & 1 ? pairs[child / 2].large : pairs[child / 2].small;
            const int level = p.order == SYMMETRIC ? before.level : nodes[id].depth;
            const int parent = chosen[(id - before.n_nodes) / 2];
            draw_columns(p, level, id, parent, nodes[parent].split.feature, child, masks, n_used,
                draws);
        }
    // parents whose children are leaves still have a histogram; slots have been taken from the
    // stack before any goes back to it
    int n_free = before.n_free - n_pairs;
    for (int start = 0; start < before.n_chosen; start += blockDim.x) {
        const int c = start + threadIdx.x;
        close_nodes(c < before.n_chosen ? chosen[c] : -1, nodes, free_slots, n_free, warp_sums);
    }
    if (threadIdx.x == 0) {
        if (FORCED && p.order == SYMMETRIC && forced_of_node[0] >= 0)  // that of the next level
            forced_of_node[0] = forced_splits[4 * forced_of_node[0] + 2];
        built_tiles[n_pairs] = n_tiles;
        state->n_free = n_free;
        state->n_nodes = before.n_nodes + 2 * before.n_chosen;
        state->n_leaves = before.n_leaves + before.n_chosen;
    }
}

// The first block makes the children, the others move the rows. They read what the first one leaves
// as it is: where the chosen nodes begin and end, their depth and split.
extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) divide_nodes(
    const u8* bins, int* rows, Node* nodes, State* state, const Growth* growth, Pair* pairs,
    u64* ranks, const int* chosen, const int* chosen_tiles, const int* tile_lefts,
    const int* n_left, int* free_slots, u8* masks, int* built, int* built_tiles,
    const int* n_bins, const int* directions, double* bounds,
    double* due,  // [n_features], as in scan_pairs
    const int* forced_splits, int* forced_of_node,  // see ForcedSplits in growth.cu
    const int* features, const double* weights, double* arrivals, const u64* groups_of_feature,
    u64* groups_of_node, int n_words,  // these six: see Draws
    i64 n_rows, int n_used, int tile_rows, int masked)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    if (blockIdx.x == 0) {
        settle(nodes, state, growth, pairs, ranks, chosen, n_left, free_slots, masks, built,
            built_tiles, n_bins, directions, bounds, due, forced_splits, forced_of_node,
            {features, weights, arrivals, groups_of_feature, groups_of_node, n_words}, n_used,
            tile_rows, masked, warp_sums);
        return;
    }
    const int n_chosen = state->n_chosen, n_tiles = chosen_tiles[n_chosen];
    for (int tile = blockIdx.x - 1; tile < n_tiles; tile += gridDim.x - 1) {
        const Tile part = find_tile(tile, n_chosen, chosen, chosen_tiles, nodes, rows, n_rows,
            tile_rows);
        const Split split = part.node->split;
        int* target = rows + ((part.node->depth + 1) & 1) * n_rows;
        int lefts = 0, lefts_before;
        for (int t = chosen_tiles[part.which] + threadIdx.x; t < tile; t += blockDim.x)
            lefts += tile_lefts[t];
        block_exclusive_sum(lefts, warp_sums, lefts_before);
        i64 left_at = part.node->begin + lefts_before;
        i64 right_at = part.begin + n_left[part.which] - lefts_before;
        for (i64 start = part.begin; start < part.end; start += blockDim.x) {
            const i64 i = start + threadIdx.x;
            const bool mine = i < part.end;
            const int row = mine ? part.rows[i] : 0;
            const bool left = mine && !goes_right(code_at(bins, n_rows, row, split.feature), split);
            int n_lefts;
            const int rank = block_exclusive_sum(left ? 1 : 0, warp_sums, n_lefts);
            if (left) target[left_at + rank] = row;
            else if (mine) target[right_at + threadIdx.x - rank] = row;
            left_at += n_lefts;
            right_at += min((i64)blockDim.x, part.end - start) - n_lefts;
        }
    }
}

// Row sampling is the same movement: a row is kept if its hash is below the limit, or if it counts
// (factor, which is read if ``counted``); and one row if chance would keep none (its draw is hashed
// under 0xFFFFFFFF, the number of no row).
__device__ __forceinline__ bool is_drawn(
    int row, double limit, u32 key, const double* factor, int counted)
{
    return counted ? factor[row] > 0.0 : (double)hash32(key, row) < limit;
}

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) count_drawn(
    const int* usable, int n, double limit, u32 key, const double* factor, int counted,
    int* tile_lefts, int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    for (i64 begin = (i64)blockIdx.x * tile_rows; begin < n; begin += (i64)gridDim.x * tile_rows) {
        const i64 end = min(begin + tile_rows, (i64)n);
        int count = 0, total;
        for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x)
            count += is_drawn(usable[i], limit, key, factor, counted);
        block_exclusive_sum(count, warp_sums, total);
        if (threadIdx.x == 0) tile_lefts[begin / tile_rows] = total;
    }
}

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) collect_drawn(
    const int* usable, int n, double limit, u32 key, double* factor, int counted,
    const int* tile_lefts, int* out, int* n_out, int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    const int n_tiles = tiles_of(n, tile_rows);
    int all = 0, n_drawn;
    for (int t = threadIdx.x; t < n_tiles; t += blockDim.x) all += tile_lefts[t];
    block_exclusive_sum(all, warp_sums, n_drawn);
    if (n_drawn == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            const int row = usable[((u64)hash32(key, 0xFFFFFFFFu) * (u64)n) >> 32];
            *n_out = 1;
            out[0] = row;
            if (counted) factor[row] = 1.0;
        }
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *n_out = n_drawn;
    for (i64 begin = (i64)blockIdx.x * tile_rows; begin < n; begin += (i64)gridDim.x * tile_rows) {
        const i64 end = min(begin + tile_rows, (i64)n);
        int before = 0, at;
        for (int t = threadIdx.x; t < begin / tile_rows; t += blockDim.x) before += tile_lefts[t];
        block_exclusive_sum(before, warp_sums, at);
        for (i64 start = begin; start < end; start += blockDim.x) {
            const i64 i = start + threadIdx.x;
            const bool kept = i < end && is_drawn(usable[i], limit, key, factor, counted);
            int total;
            const int rank = block_exclusive_sum(kept ? 1 : 0, warp_sums, total);
            if (kept) out[at + rank] = usable[i];
            at += total;
        }
    }
}
