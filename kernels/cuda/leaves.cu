// Leaf values: fine fixed-point sums of the true gradients over each leaf's rows, and their
// addition to the raw scores.

extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) list_leaves(
    const Node* nodes, const State* state,
    int* leaves,       // [max_leaves]: nodes that are leaves, by id
    int* leaf_tiles,   // [max_leaves + 1]
    i64* sums,         // [max_nodes][2]: those of leaves become 0
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
            sums[2 * i] = 0;
            sums[2 * i + 1] = 0;
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
            const int leaf = leaves[part.which];
            atomicAdd((u64*)&sums[2 * leaf], (u64)total_g);
            atomicAdd((u64*)&sums[2 * leaf + 1], (u64)total_h);
        }
    }
}

// Sums of inner nodes: those of their children, from the deepest nodes up. The nodes are put in the
// order of their depth first, by counting.
extern "C" __global__ void __launch_bounds__(GROWTH_THREADS, 1) sum_children(
    const Node* nodes, const State* state,
    int* by_depth,   // [max_nodes], scratch: inner nodes
    int* depth_end,  // [max_leaves], scratch: where those of a depth end; a tree is no deeper
    i64* sums)
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
            const i64 *left = &sums[2 * nodes[i].left], *right = &sums[2 * nodes[i].right];
            sums[2 * i] = left[0] + right[0];
            sums[2 * i + 1] = left[1] + right[1];
        }
    }
}

// Values of all nodes, and a copy of the tree to be fetched later.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) leaf_values(
    const Node* nodes, const State* state, const Growth* growth, const i64* sums,
    double learning_rate,
    const double* bounds,  // [max_nodes][2], not read if nothing is constrained
    double* values,      // [max_nodes]
    Node* kept_nodes,    // [max_nodes] of this tree
    double* kept_values, double* kept_cover, int* kept_size)
{
    const Growth p = *growth;
    const int first = blockIdx.x * blockDim.x + threadIdx.x, n_nodes = state->n_nodes;
    for (int i = first; i < n_nodes; i += gridDim.x * blockDim.x) {
        const double g = (double)sums[2 * i] * p.fine_gradient_unit,
            h = (double)sums[2 * i + 1] * p.fine_hessian_unit;
        double weight = leaf_weight(g, h, p);
        if (CONSTRAINED) weight = within(weight, bounds[2 * i], bounds[2 * i + 1]);
        values[i] = learning_rate * weight;
        kept_values[i] = values[i];
        kept_cover[i] = h;
        kept_nodes[i] = nodes[i];
    }
    if (first == 0) *kept_size = n_nodes;
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
