// Leaf values: fine fixed-point sums of the true gradients over each leaf's rows, and their
// addition to the raw scores.

extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) list_leaves(
    const Node* nodes, const State* state,
    int* leaves,       // [max_leaves]: nodes that are leaves, by id
    int* leaf_tiles,   // [max_leaves + 1]
    i64* sums,         // [max_nodes][n_values][2]: those of leaves become 0
    int n_values, int tile_rows)
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
            for (i64 s = 2 * (i64)i * n_values; s < 2 * (i64)(i + 1) * n_values; s++) sums[s] = 0;
        }
        n += total;
        n_tiles += all_tiles;
    }
    if (threadIdx.x == 0) leaf_tiles[n] = n_tiles;
}

// A row of blocks for each value of a leaf.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) sum_leaves(
    const int* rows, const Node* nodes, const State* state,
    const int* leaves, const int* leaf_tiles,
    const double* g, const double* h,  // [n_values][n_rows]
    const double* weight,  // not read if there are no weights
    const double* units,   // [n_values][2]: of the sums of gradients and of hessians
    i64* sums, i64 n_rows, int tile_rows, int weighted)
{
    const int value = blockIdx.y, n_values = gridDim.y;
    const double g_scale = 1.0 / units[2 * value], h_scale = 1.0 / units[2 * value + 1];
    g += value * n_rows;
    h += value * n_rows;
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
            i64* own = &sums[2 * ((i64)leaves[part.which] * n_values + value)];
            atomicAdd((u64*)&own[0], (u64)total_g);
            atomicAdd((u64*)&own[1], (u64)total_h);
        }
    }
}

// Sums of inner nodes: those of their children, from the deepest nodes up. The nodes are put in the
// order of their depth first, by counting.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) sum_children(
    const Node* nodes, const State* state,
    int* by_depth,   // [max_nodes], scratch: inner nodes
    int* depth_end,  // [max_leaves], scratch: where those of a depth end; a tree is no deeper
    i64* sums, int n_values)
{
    __shared__ int warp_sums[GROWTH_THREADS / WARP];
    const int n_nodes = state->n_nodes, n_leaves = state->n_leaves;
    for (int depth = threadIdx.x; depth < n_leaves; depth += blockDim.x) depth_end[depth] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n_nodes; i += blockDim.x)
        if (nodes[i].left >= 0) atomicAdd(&depth_end[nodes[i].depth], 1);
    __syncthreads();
    int n_before = 0, n_depths = 0;
    for (int start = 0; start < n_leaves; start += blockDim.x) {
        const int depth = start + threadIdx.x, n = depth < n_leaves ? depth_end[depth] : 0;
        int total, depths;
        const int before = block_exclusive_sum(n, warp_sums, total);
        block_exclusive_sum(n > 0 ? 1 : 0, warp_sums, depths);
        if (depth < n_leaves) depth_end[depth] = n_before + before;
        n_before += total;
        n_depths += depths;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_nodes; i += blockDim.x)
        if (nodes[i].left >= 0) by_depth[atomicAdd(&depth_end[nodes[i].depth], 1)] = i;
    for (int depth = n_depths - 1; depth >= 0; depth--) {
        __syncthreads();
        const int begin = depth > 0 ? depth_end[depth - 1] : 0, end = depth_end[depth];
        for (int k = begin + threadIdx.x; k < end; k += blockDim.x) {
            const int i = by_depth[k];
            const int width = 2 * n_values;
            const i64 *left = &sums[(i64)nodes[i].left * width],
                *right = &sums[(i64)nodes[i].right * width];
            for (int s = 0; s < width; s++) sums[(i64)i * width + s] = left[s] + right[s];
        }
    }
}

// Values of all nodes, and a copy of the tree to be fetched later.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) leaf_values(
    const Node* nodes, const State* state, const Growth* growth, const i64* sums,
    const double* units, double learning_rate,
    const double* bounds,  // [max_nodes][2], not read if nothing is constrained
    double* values,      // [max_nodes][n_values]
    Node* kept_nodes,    // [max_nodes] of this tree
    double* kept_values, double* kept_cover, int* kept_size, int n_values)
{
    const Growth p = *growth;
    const int first = blockIdx.x * blockDim.x + threadIdx.x, n_nodes = state->n_nodes;
    for (int i = first; i < n_nodes; i += gridDim.x * blockDim.x) {
        double total = 0.0;
        for (int k = 0; k < n_values; k++) {
            const i64 place = (i64)i * n_values + k;
            const double g = (double)sums[2 * place] * units[2 * k],
                h = (double)sums[2 * place + 1] * units[2 * k + 1];
            total += h;
            double weight = leaf_weight(g, h, p);
            if (CONSTRAINED) weight = within(weight, bounds[2 * i], bounds[2 * i + 1]);
            values[place] = learning_rate * weight;
            kept_values[place] = values[place];
        }
        kept_cover[i] = total / n_values;
        kept_nodes[i] = nodes[i];
    }
    if (first == 0) *kept_size = n_nodes;
}

// A row of blocks for each value of a leaf.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) add_leaf_values(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const double* values,
    double* raw,  // [n_values][n_rows]
    i64 n_rows, int tile_rows)
{
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        const double value = values[(i64)leaves[part.which] * gridDim.y + blockIdx.y];
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
            raw[blockIdx.y * n_rows + part.rows[i]] += value;
    }
}
