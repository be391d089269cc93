// Histograms of all nodes of a step in one launch.
//
//   bins      [group][row][GROUP_FEATURES] bytes: a thread loads the bins of its row's group in one
//             4, 8 or 16 byte load, a warp reads one stretch when rows follow each other (the root)
//   grid      x: persistent blocks, each with an equal stretch of the tiles of all nodes;
//             y: groups of features
//   shared    two 32-bit sums for each feature of the group and bin (three if rows are counted):
//             only 32-bit integer atomics are native in shared memory
//   flush     when a block comes to another node: one 64-bit global addition a cell, as both sums
//             in one number

// The cells of the group in shared memory: gradients, hessians, and counts if wanted,
// GROUP_FEATURES * N_CODES each.
#define GROUP_CELLS (GROUP_FEATURES * N_CODES)
static_assert(GROUP_CELLS % HISTOGRAM_THREADS == 0,
    "a thread clears the cells that it flushes, so that no barrier is needed between");

struct alignas(GROUP_FEATURES) GroupBins {
    u8 bin[GROUP_FEATURES];
};

__device__ __forceinline__ void clear_cells(int* cells) {
    for (int c = threadIdx.x; c < GROUP_CELLS * (2 + COUNT_ROWS); c += blockDim.x) cells[c] = 0;
}

__device__ __forceinline__ void flush_cells(
    const int* cells, int group, int n_features, int slot, i64* pool, int* count_pool)
{
    const i64 base = ((i64)slot * n_features + group * GROUP_FEATURES) * N_CODES;
    const int group_cells = min(GROUP_FEATURES, n_features - group * GROUP_FEATURES) * N_CODES;
    for (int c = threadIdx.x; c < group_cells; c += blockDim.x) {
        const i64 sums = cells[c] * 4294967296ll + cells[GROUP_CELLS + c];
        if (sums != 0) atomicAdd((u64*)&pool[base + c], (u64)sums);
        if (COUNT_ROWS && cells[2 * GROUP_CELLS + c] != 0)
            atomicAdd(&count_pool[base + c], cells[2 * GROUP_CELLS + c]);
    }
}

// One word of four bins. Lanes start with different features of the word, so that rows alike meet
// in fewer banks.
__device__ __forceinline__ void add_word(u32 word, int first, u32 used, int g, int h, int* cells) {
    const int lane = threadIdx.x & 3;
    for (int k = 0; k < 4; k++) {
        const int place = (k + lane) & 3;
        if (used >> (first + place) & 1) {
            const int c = (first + place) * N_CODES + (word >> (8 * place) & 255);
            atomicAdd(&cells[c], g);
            atomicAdd(&cells[GROUP_CELLS + c], h);
            if (COUNT_ROWS) atomicAdd(&cells[2 * GROUP_CELLS + c], 1);
        }
    }
}

__device__ __forceinline__ u32 used_in_group(const u8* used, int group, int n_features) {
    u32 mask = 0;
    for (int k = 0; k < GROUP_FEATURES; k++) {
        const int f = group * GROUP_FEATURES + k;
        if (f < n_features && used[f]) mask |= 1u << k;
    }
    return mask;
}

extern "C" __global__ void __launch_bounds__(HISTOGRAM_THREADS, 2) build_histograms(
    const u8* bins,          // [n_groups][n_rows][GROUP_FEATURES]
    // [2][n_rows]: the rows of a node are in the buffer of its depth's parity
    const int* rows,
    const i64* gh,           // [n_rows]
    const u8* used,          // [n_features]: features of this tree
    const Node* nodes,
    const int* built,        // nodes to build
    const int* built_tiles,  // [n_built + 1]: borders of their tiles
    const State* state,
    i64* pool,               // [n_slots][n_features][N_CODES], zero where nodes are built
    int* count_pool,
    i64 n_rows,
    int n_features,
    int tile_rows)
{
    extern __shared__ int cells[];
    const int n_built = state->n_built;
    // some thousands, times as many blocks: 32 bits hold it, and 64-bit division is slow
    const u32 n_tiles = built_tiles[n_built];
    const int first_tile = n_tiles * blockIdx.x / gridDim.x,
        end_tile = n_tiles * (blockIdx.x + 1) / gridDim.x;
    if (first_tile == end_tile) return;
    const int group = blockIdx.y;
    const u32 mask = used_in_group(used, group, n_features);
    if (mask == 0) return;
    const GroupBins* group_bins = (const GroupBins*)bins + group * n_rows;
    int which = last_at_or_below(built_tiles, n_built, first_tile);
    clear_cells(cells);
    __syncthreads();
    for (int tile = first_tile; tile < end_tile; tile++) {
        if (tile == built_tiles[which + 1]) {
            __syncthreads();
            flush_cells(cells, group, n_features, nodes[built[which]].slot, pool, count_pool);
            clear_cells(cells);
            __syncthreads();
            which++;
        }
        const Tile part = tile_of(tile, which, built, built_tiles, nodes, rows, n_rows, tile_rows);
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            const int row = part.rows[i];
            const i64 pair = gh[row];
            const int g = gradient_of(pair), h = hessian_of(pair);
#if GROUP_FEATURES == 16
            const uint4 words = __ldg((const uint4*)&group_bins[row]);
            add_word(words.x, 0, mask, g, h, cells);
            add_word(words.y, 4, mask, g, h, cells);
            add_word(words.z, 8, mask, g, h, cells);
            add_word(words.w, 12, mask, g, h, cells);
#elif GROUP_FEATURES == 8
            const uint2 words = __ldg((const uint2*)&group_bins[row]);
            add_word(words.x, 0, mask, g, h, cells);
            add_word(words.y, 4, mask, g, h, cells);
#else
            add_word(__ldg((const u32*)&group_bins[row]), 0, mask, g, h, cells);
#endif
        }
    }
    __syncthreads();
    flush_cells(cells, group, n_features, nodes[built[which]].slot, pool, count_pool);
}

// The same without shared memory, for devices whose shared memory does not hold one word's
// features.
extern "C" __global__ void __launch_bounds__(HISTOGRAM_THREADS, 2) build_histograms_global(
    const u8* bins, const int* rows, const i64* gh, const u8* used, const Node* nodes,
    const int* built, const int* built_tiles,
    const State* state, i64* pool, int* count_pool, i64 n_rows, int n_features, int tile_rows)
{
    const int n_built = state->n_built, n_tiles = built_tiles[n_built], group = blockIdx.y;
    const u32 mask = used_in_group(used, group, n_features);
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_built, built, built_tiles, nodes, rows, n_rows,
            tile_rows);
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            const int row = part.rows[i];
            for (int k = 0; k < GROUP_FEATURES; k++) {
                if (mask >> k & 1) {
                    const int f = group * GROUP_FEATURES + k;
                    const i64 c = ((i64)part.node->slot * n_features + f) * N_CODES
                        + code_at(bins, n_rows, row, f);
                    atomicAdd((u64*)&pool[c], (u64)gh[row]);
                    if (COUNT_ROWS) atomicAdd(&count_pool[c], 1);
                }
            }
        }
    }
}
