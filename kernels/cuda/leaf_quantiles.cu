// Leaf values that follow from the residuals of the rows of a leaf: quantiles by counting. See
// gpuboost/scalar/selection.py, and kernels/cpu/leaf_quantiles.py for the same on the CPU.
//
// Residuals become keys, unsigned integers in the same order. Their digits of eight bits are
// counted from the highest on, each among the keys that begin like the one that is looked for.
// Weights are whole numbers, so that nothing depends on the order of rows.

constexpr int DIGITS = 256, DIGIT_BITS = 8;

__device__ __forceinline__ u64 key_of(double x) {
    const u64 bits = (u64)__double_as_longlong(x + 0.0), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}

__device__ __forceinline__ double value_of(u64 key) {
    const u64 sign = 1ull << 63;
    return __longlong_as_double((i64)(key & sign ? key & ~sign : ~key));
}

__device__ __forceinline__ bool is_reached(i64 so_far, i64 total, double level) {
    const double whole = (double)total;
    return so_far > 0 && (double)so_far >= level * whole - ROUNDING * whole;
}

__device__ __forceinline__ bool is_edge(i64 so_far, i64 total, double level) {
    const double whole = (double)total;
    return so_far < total && (double)so_far <= level * whole + ROUNDING * whole;
}

__device__ __forceinline__ double quantile_of(const KeySearch& search, double level) {
    const double value = value_of(search.key);
    if (!is_edge(search.upto, search.total, level)) return value;
    return 0.5 * value + 0.5 * value_of(search.next);
}

// The unit of sums of limited distances: 1 / the largest power of two up to MEAN_ROOM / total,
// within 2**-1000 and 2**1000.
__device__ __forceinline__ double unit_of_mean(double total) {
    if (!(total > 0.0)) return 1.0;
    double x = MEAN_ROOM / total;
    x = x > 1.0715086071862673e301 ? 1.0715086071862673e301 : x;
    x = x < 9.332636185032189e-302 ? 9.332636185032189e-302 : x;
    return 1.0 / __longlong_as_double(__double_as_longlong(x) & 0x7FF0000000000000ll);
}

// A block for each leaf, in turn.
extern "C" __global__ void __launch_bounds__(DIGITS, 1) begin_search(
    const State* state, KeySearch* searches, i64* counts /* [max_leaves][DIGITS] */)
{
    for (int leaf = blockIdx.x; leaf < state->n_leaves; leaf += gridDim.x) {
        counts[(i64)leaf * DIGITS + threadIdx.x] = 0;
        if (threadIdx.x == 0) searches[leaf] = {0, ~0ull, 0, 0, 0, 0};
    }
}

// Keys and weights of the rows, in the order of the leaves' rows.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) list_residuals(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const double* y, const double* raw,
    const double* weight, const double* factor,  // not read if there are none
    double unit,
    u64* keys,   // [n_rows]
    i64* steps,  // [n_rows], not written if all weights are 1
    KeySearch* searches, i64 n_rows, int tile_rows, int weighted, int counted, int absolute)
{
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        i64 total = 0;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            const int row = part.rows[i];
            const double residual = y[row] - raw[row];
            keys[i] = key_of(absolute ? fabs(residual) : residual);
            i64 step = 1;
            if (weighted || counted) {
                double w = weighted ? weight[row] : 1.0;
                w = counted ? w * factor[row] : w;
                step = (i64)floor(w / unit + 0.5);
                step = step > 0 ? step : 1;
                steps[i] = step;
            }
            total += step;
        }
        total = warp_sum(total);
        if ((threadIdx.x & (WARP - 1)) == 0 && total > 0)
            atomicAdd((u64*)&searches[part.which].total, (u64)total);
    }
}

// Weights of the keys that begin like the one that is looked for, by their next digit.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) count_digits(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const u64* keys, const i64* steps, const KeySearch* searches,
    i64* counts, i64 n_rows, int tile_rows, int weighted, int shift)
{
    __shared__ i64 own_counts[DIGITS];
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        for (int digit = threadIdx.x; digit < DIGITS; digit += blockDim.x) own_counts[digit] = 0;
        __syncthreads();
        const u64 known = searches[part.which].key;
        const bool first = shift + DIGIT_BITS == 64;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            const u64 key = keys[i];
            if (first || (key ^ known) >> (shift + DIGIT_BITS) == 0)
                atomicAdd((u64*)&own_counts[key >> shift & (DIGITS - 1)],
                    (u64)(weighted ? steps[i] : 1));
        }
        __syncthreads();
        for (int digit = threadIdx.x; digit < DIGITS; digit += blockDim.x)
            if (own_counts[digit] > 0)
                atomicAdd((u64*)&counts[(i64)part.which * DIGITS + digit],
                    (u64)own_counts[digit]);
        __syncthreads();  // counts may be cleared again
    }
}

// The next digit of the key that is looked for. A block for each leaf, in turn.
extern "C" __global__ void __launch_bounds__(DIGITS, 1) choose_digit(
    const State* state, KeySearch* searches, i64* counts, double level, int shift)
{
    __shared__ i64 warp_sums[DIGITS / WARP];
    for (int leaf = blockIdx.x; leaf < state->n_leaves; leaf += gridDim.x) {
        const i64 total = searches[leaf].total, known = searches[leaf].before;
        const i64 own = counts[(i64)leaf * DIGITS + threadIdx.x];
        counts[(i64)leaf * DIGITS + threadIdx.x] = 0;
        i64 all;
        const i64 before = known + block_exclusive_sum(own, warp_sums, all);
        if (is_reached(before + own, total, level) && !is_reached(before, total, level)) {
            searches[leaf].key |= (u64)threadIdx.x << shift;
            searches[leaf].before = before;
            searches[leaf].upto = before + own;
        }
        __syncthreads();
    }
}

// Where a quantile is between two keys: the second one.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) find_next(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const u64* keys, KeySearch* searches, double level, i64 n_rows,
    int tile_rows)
{
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        const u64 key = searches[part.which].key;
        if (!is_edge(searches[part.which].upto, searches[part.which].total, level)) continue;
        u64 lowest = ~0ull;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
            lowest = keys[i] > key && keys[i] < lowest ? keys[i] : lowest;
        if (lowest != ~0ull) atomicMin(&searches[part.which].next, lowest);
    }
}

// Sums of the distances from the quantile, none farther than the limit.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) sum_distances(
    const int* rows, const Node* nodes, const State* state, const int* leaves,
    const int* leaf_tiles, const u64* keys, const i64* steps, KeySearch* searches, double level,
    double limit, i64 n_rows, int tile_rows, int weighted)
{
    const int n_leaves = state->n_leaves, n_tiles = leaf_tiles[n_leaves];
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const Tile part = find_tile(tile, n_leaves, leaves, leaf_tiles, nodes, rows, n_rows,
            tile_rows);
        // `away` is being added to: the rest is read alone
        const KeySearch* search = &searches[part.which];
        const KeySearch found = {search->key, search->next, 0, search->upto, search->total, 0};
        const double middle = quantile_of(found, level);
        const double scale = 1.0 / unit_of_mean(limit * (double)found.total);
        i64 away = 0;
        for (i64 i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
            double distance = value_of(keys[i]) - middle;
            distance = distance < -limit ? -limit : distance;
            distance = distance > limit ? limit : distance;
            away += (i64)floor(distance * (weighted ? (double)steps[i] : 1.0) * scale + 0.5);
        }
        away = warp_sum(away);
        if ((threadIdx.x & (WARP - 1)) == 0)
            atomicAdd((u64*)&searches[part.which].away, (u64)away);
    }
}

// The values of the leaves that have rows; a thread for each.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS, 1) value_leaves(
    const State* state, const Growth* growth, const int* leaves, const KeySearch* searches,
    double level, double limit, double learning_rate,
    double* values,  // [max_nodes][n_values]
    double* kept_values, int k, int n_values)
{
    const double most = growth->max_delta_step;
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int leaf = first; leaf < state->n_leaves; leaf += gridDim.x * blockDim.x) {
        const KeySearch search = searches[leaf];
        if (search.total == 0) continue;
        double value = quantile_of(search, level);
        if (limit > 0.0) {
            const double whole = (double)search.total;
            value += (double)search.away * unit_of_mean(limit * whole) / whole;
        }
        if (most > 0.0) {
            value = value > most ? most : value;
            value = value < -most ? -most : value;
        }
        const i64 place = (i64)leaves[leaf] * n_values + k;
        values[place] = learning_rate * value;
        kept_values[place] = values[place];
    }
}

// The quantile of the rows of the one leaf there is.
extern "C" __global__ void __launch_bounds__(WARP, 1) write_quantile(
    const KeySearch* searches, double level, double* out)
{
    if (threadIdx.x == 0) out[0] = quantile_of(searches[0], level);
}
