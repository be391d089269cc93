// Histograms of a sparse matrix. Only what is stored is added; the search puts what is not stored
// in its place (add_absent in split.cu).

// A warp goes through the entries of a row and adds to cells in global memory. A cell belongs to
// one feature, so that rows meet in it as often as they store the same code.
extern "C" __global__ void __launch_bounds__(HISTOGRAM_THREADS, 2) build_sparse_histograms(
    const u8* codes, const int* rows, const i64* gh, const Node* nodes, const int* built,
    const int* built_tiles, const State* state, i64* pool, int* count_pool, i64 n_rows,
    int n_features, int tile_rows)
{
    const int n_built = state->n_built, n_tiles = built_tiles[n_built];
    const int warp = threadIdx.x / WARP, n_warps = blockDim.x / WARP;
    const Entries entries = entries_of(codes, n_rows);
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_built, built, built_tiles, nodes, rows, n_rows,
            tile_rows);
        const i64 base = (i64)part.node->slot * histogram_features(n_features) * N_CODES;
        i64 total = 0;
        for (i64 i = part.begin + warp; i < part.end; i += n_warps) {
            const int row = part.rows[i];
            const i64 value = gh[row], end = entries.begin[row + 1];
            total += value;
            for (i64 e = entries.begin[row] + (threadIdx.x & (WARP - 1)); e < end; e += WARP) {
                atomicAdd((u64*)&pool[base + entries.of_rows[e]], (u64)value);
                if (COUNT_ROWS) atomicAdd(&count_pool[base + entries.of_rows[e]], 1);
            }
        }
        if ((threadIdx.x & (WARP - 1)) == 0 && total != 0)
            atomicAdd((u64*)&pool[base + (i64)n_features * N_CODES], (u64)total);
    }
}
