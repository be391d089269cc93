// Stable partition of the rows of all chosen nodes: lefts first, both sides in their order. Rows
// move from the buffer of the parent's depth to the other one. A tile is a stretch of one node's
// rows; count_lefts notes how many of each tile go left, scatter_rows adds up the tiles before its
// own and knows where to write.

#define PARTITION_WARPS (PARTITION_THREADS / WARP)

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) count_lefts(
    const u8* bins, const int* rows, const Node* nodes, const State* state, const int* chosen,
    const int* chosen_tiles,
    int* tile_lefts,  // [max_tiles]
    int* n_left,      // [max_open]
    i64 n_rows, int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    const int n_chosen = state->n_chosen, n_tiles = chosen_tiles[n_chosen];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_chosen, chosen, chosen_tiles, nodes, rows, n_rows,
            tile_rows);
        const Split split = part.node->split;
        int count = 0, total;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
            count += !goes_right(bins[bin_at(n_rows, part.rows[i], split.feature)], split);
        block_exclusive_sum(count, warp_sums, total);
        if (threadIdx.x == 0) {
            tile_lefts[tile] = total;
            atomicAdd(&n_left[part.which], total);
        }
    }
}

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) scatter_rows(
    const u8* bins, int* rows, const Node* nodes, const State* state, const int* chosen,
    const int* chosen_tiles, const int* tile_lefts,
    const int* n_left, const int* built, i64* pool, int* count_pool, i64 n_rows, int n_features,
    int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    const int n_chosen = state->n_chosen, n_tiles = chosen_tiles[n_chosen];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
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
            const bool left = mine && !goes_right(bins[bin_at(n_rows, row, split.feature)], split);
            int n_lefts;
            const int rank = block_exclusive_sum(left ? 1 : 0, warp_sums, n_lefts);
            if (left) target[left_at + rank] = row;
            else if (mine) target[right_at + threadIdx.x - rank] = row;
            left_at += n_lefts;
            right_at += min((i64)blockDim.x, part.end - start) - n_lefts;
        }
    }
    // histograms that the next kernel adds to start from zero
    const i64 slot_cells = (i64)n_features * N_CODES, n_cells = state->n_built * slot_cells;
    for (i64 c = (i64)blockIdx.x * blockDim.x + threadIdx.x; c < n_cells;
        c += (i64)gridDim.x * blockDim.x) {
        const i64 cell = nodes[built[c / slot_cells]].slot * slot_cells + c % slot_cells;
        pool[cell] = 0;
        if (COUNT_ROWS) count_pool[cell] = 0;
    }
}

// Row sampling is the same movement: a row is kept if its hash is below the limit, or all are if
// chance would keep none.
extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) count_drawn(
    const int* usable, int n, double limit, u32 key, int* tile_lefts, int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    for (i64 begin = (i64)blockIdx.x * tile_rows; begin < n; begin += (i64)gridDim.x * tile_rows) {
        const i64 end = min(begin + tile_rows, (i64)n);
        int count = 0, total;
        for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x)
            count += (double)hash32(key, usable[i]) < limit;
        block_exclusive_sum(count, warp_sums, total);
        if (threadIdx.x == 0) tile_lefts[begin / tile_rows] = total;
    }
}

extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 1) collect_drawn(
    const int* usable, int n, double limit, u32 key, const int* tile_lefts, int* out, int* n_out,
    int tile_rows)
{
    __shared__ int warp_sums[PARTITION_WARPS];
    const int n_tiles = tiles_of(n, tile_rows);
    int all = 0, n_drawn;
    for (int t = threadIdx.x; t < n_tiles; t += blockDim.x) all += tile_lefts[t];
    block_exclusive_sum(all, warp_sums, n_drawn);
    const bool keep_all = n_drawn == 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) *n_out = keep_all ? n : n_drawn;
    for (i64 begin = (i64)blockIdx.x * tile_rows; begin < n; begin += (i64)gridDim.x * tile_rows) {
        const i64 end = min(begin + tile_rows, (i64)n);
        int before = 0, at;
        for (int t = threadIdx.x; t < begin / tile_rows; t += blockDim.x) before += tile_lefts[t];
        block_exclusive_sum(before, warp_sums, at);
        if (keep_all) at = (int)begin;
        for (i64 start = begin; start < end; start += blockDim.x) {
            const i64 i = start + threadIdx.x;
            const bool kept = i < end && (keep_all || (double)hash32(key, usable[i]) < limit);
            int total;
            const int rank = block_exclusive_sum(kept ? 1 : 0, warp_sums, total);
            if (kept) out[at + rank] = usable[i];
            at += total;
        }
    }
}
