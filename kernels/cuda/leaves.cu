// Leaf values: fine fixed-point sums of the true gradients over each leaf's rows, and their
// addition to the raw scores.

extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) list_leaves(
    const Node* nodes, const State* state,
    int* leaves,       // [max_leaves]: nodes that are leaves, by id
    int* leaf_tiles,   // [max_leaves + 1]
    i64* sums,         // [max_leaves][2]
    int tile_rows)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    int n = 0, n_tiles = 0;
    for (int start = 0; start < state->n_nodes; start += blockDim.x) {
        const int i = start + threadIdx.x;
        const bool is_leaf = i < state->n_nodes && nodes[i].left < 0;
        int total, all_tiles;
        const int own_tiles = is_leaf ? tiles_of(nodes[i].end - nodes[i].begin, tile_rows) : 0;
        const int rank = block_exclusive_sum(is_leaf ? 1 : 0, warp_sums, total);
        const int before = block_exclusive_sum(own_tiles, warp_sums, all_tiles);
        if (is_leaf) {
            leaves[n + rank] = i;
            leaf_tiles[n + rank] = n_tiles + before;
            sums[2 * (n + rank)] = 0;
            sums[2 * (n + rank) + 1] = 0;
        }
        n += total;
        n_tiles += all_tiles;
    }
    if (threadIdx.x == 0) leaf_tiles[n] = n_tiles;
}

extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) sum_leaves(
    const int* rows, const Node* nodes, const State* state, const Growth* growth,
    const int* leaves, const int* leaf_tiles,
    const double* g, const double* h,
    const double* weight,  // not read if there are no weights
    i64* sums, i64 n_rows, int tile_rows, int weighted)
{
    const double g_scale = 1.0 / growth->fine_gradient_unit,
        h_scale = 1.0 / growth->fine_hessian_unit;
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        i64 total_g = 0, total_h = 0;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            const int row = part.rows[i];
            const double w = weighted ? weight[row] : 1.0;
            total_g += (i64)floor(g[row] * w * g_scale + 0.5);
            total_h += (i64)floor(h[row] * w * h_scale + 0.5);
        }
        total_g = warp_sum(total_g);
        total_h = warp_sum(total_h);
        if ((threadIdx.x & (WARP - 1)) == 0) {
            atomicAdd((u64*)&sums[2 * part.which], (u64)total_g);
            atomicAdd((u64*)&sums[2 * part.which + 1], (u64)total_h);
        }
    }
}

// Values of all nodes, and a copy of the tree to be fetched later. The rows of a node are those of
// the leaves within its stretch.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) leaf_values(
    const Node* nodes, const State* state, const Growth* growth, const int* leaves,
    const i64* sums, double learning_rate,
    double* values,      // [max_nodes]
    Node* kept_nodes,    // [max_nodes] of this tree
    double* kept_values, double* kept_cover, int* kept_size)
{
    const Growth p = *growth;
    const int n_nodes = state->n_nodes, n_leaves = state->n_leaves;
    for (int i = threadIdx.x; i < n_nodes; i += blockDim.x) {
        i64 total_g = 0, total_h = 0;
        for (int l = 0; l < n_leaves; l++) {
            const Node& leaf = nodes[leaves[l]];
            if (leaf.begin >= nodes[i].begin && leaf.end <= nodes[i].end) {
                total_g += sums[2 * l];
                total_h += sums[2 * l + 1];
            }
        }
        const double g = (double)total_g * p.fine_gradient_unit,
            h = (double)total_h * p.fine_hessian_unit;
        values[i] = learning_rate * leaf_weight(g, h, p);
        kept_values[i] = values[i];
        kept_cover[i] = h;
        kept_nodes[i] = nodes[i];
    }
    if (threadIdx.x == 0) *kept_size = n_nodes;
}

extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) add_leaf_values(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const double* values, double* raw,
    i64 n_rows, int tile_rows)
{
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        const double value = values[leaves[part.which]];
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
            raw[part.rows[i]] += value;
    }
}
