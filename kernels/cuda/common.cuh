// What .cu files share: types, packed sums, the twins of gpuboost/scalar/formulas.py, tiles of
// rows, scans over a block, and what happens to nodes of a growing tree.
//
// compiler.py puts in front of this file the constants (#define) and the records of
// gpuboost/dtypes.py as C structs. No #include anywhere: NVRTC needs no headers then, and the same
// text runs under emulation.
//
// Float code here must give the bits of its CPU twin: same operations in the same order, compiled
// with --fmad=false.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL_WARP 0xffffffffu
#define WARP 32

// A packed pair of sums, (gradient << 32) + hessian, is one 64-bit number here as on the CPU.
__device__ __forceinline__ int gradient_of(i64 packed) { return (int)(packed >> 32); }
__device__ __forceinline__ int hessian_of(i64 packed) { return (int)packed; }

// -infinity
__device__ __forceinline__ double no_split() {
    return __longlong_as_double((i64)0xfff0000000000000ull);
}

__device__ __forceinline__ u32 hash32(u32 key, u32 x) {
    x = x * 0x9E3779B1u + key;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x;
}

// Named so that it cannot be taken for the library's, whose last bit differs between machines.
__device__ __forceinline__ double natural_log(double x) {
    x = x < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : x;
    const i64 bits = __double_as_longlong(x);
    double exponent = (double)((bits >> 52) - 1022);
    double m = __longlong_as_double((bits & 0x000FFFFFFFFFFFFFll) | 0x3FE0000000000000ll);
    const bool small = m < SQRT_HALF;
    m = small ? m + m : m;
    exponent = small ? exponent - 1.0 : exponent;
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    const double f = 2.0 * s + 2.0 * s * (z * p);
    return exponent * LN2_HIGH + (exponent * LN2_LOW + f);
}

__device__ __forceinline__ double threshold_l1(double g, double alpha) {
    if (g > alpha) return g - alpha;
    if (g < -alpha) return g + alpha;
    return 0.0;
}

__device__ __forceinline__ double leaf_weight(double g, double h, const Growth& p) {
    const double d = h + p.reg_lambda;
    if (!(d > 0.0)) return 0.0;
    double w = -threshold_l1(g, p.reg_alpha) / d;
    if (p.max_delta_step > 0.0) {
        w = w > p.max_delta_step ? p.max_delta_step : w;
        w = w < -p.max_delta_step ? -p.max_delta_step : w;
    }
    return w;
}

__device__ __forceinline__ double leaf_score(double g, double h, const Growth& p) {
    const double w = leaf_weight(g, h, p);
    return -(2.0 * g * w + (h + p.reg_lambda) * w * w + 2.0 * p.reg_alpha * fabs(w));
}

__device__ __forceinline__ double packed_score(i64 sums, const Growth& p) {
    return leaf_score((double)gradient_of(sums) * p.gradient_unit,
        (double)hessian_of(sums) * p.hessian_unit, p);
}

// Gradients and hessians of both sides of a cut.
struct Sides {
    double gl, hl, gr, hr;
};

__device__ __forceinline__ Sides sides_of(i64 left, i64 total, const Growth& p) {
    const double gl = (double)gradient_of(left) * p.gradient_unit;
    const double hl = (double)hessian_of(left) * p.hessian_unit;
    return {gl, hl, (double)gradient_of(total) * p.gradient_unit - gl,
        (double)hessian_of(total) * p.hessian_unit - hl};
}

// A side without hessian is no side.
__device__ __forceinline__ bool heavy_enough(const Sides& s, const Growth& p) {
    const double least = fmax(p.min_child_weight, 0.5 * p.hessian_unit);
    return s.hl >= least && s.hr >= least;
}

// Score of both sides of a cut, or no_split() if a side is too light.
__device__ __forceinline__ double cut_score(i64 left, i64 total, const Growth& p) {
    const Sides s = sides_of(left, total, p);
    if (!heavy_enough(s, p)) return no_split();
    if (p.reg_alpha == 0.0 && p.max_delta_step == 0.0)
        return s.gl * s.gl / (s.hl + p.reg_lambda) + s.gr * s.gr / (s.hr + p.reg_lambda);
    return leaf_score(s.gl, s.hl, p) + leaf_score(s.gr, s.hr, p);
}

// What the cuts of a feature of a node keep to: see kernels/cpu/rules.py. CONSTRAINED: whether the
// fit has such rules; without them none of this is in the machine code.
struct Limits {
    double direction, low, high;
};

__device__ __forceinline__ Limits limits_of(
    const int* directions, const double* bounds, int node, int feature)
{
    if (!CONSTRAINED) return {};
    return {(double)directions[feature], bounds[2 * node], bounds[2 * node + 1]};
}

__device__ __forceinline__ double within(double value, double low, double high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

__device__ __forceinline__ double score_at(double g, double h, double weight, const Growth& p) {
    return -(weight * (2.0 * g + (h + p.reg_lambda) * weight)
        + 2.0 * p.reg_alpha * fabs(weight));
}

__device__ __forceinline__ double weight_within(i64 sums, const Growth& p, double low, double high)
{
    return within(leaf_weight((double)gradient_of(sums) * p.gradient_unit,
        (double)hessian_of(sums) * p.hessian_unit, p), low, high);
}

// What a node scores as a leaf.
__device__ __forceinline__ double node_score(
    i64 sums, const Growth& p, const double* bounds, int node)
{
    if (!CONSTRAINED) return packed_score(sums, p);
    const double g = (double)gradient_of(sums) * p.gradient_unit,
        h = (double)hessian_of(sums) * p.hessian_unit;
    return score_at(g, h, weight_within(sums, p, bounds[2 * node], bounds[2 * node + 1]), p);
}

// cut_score of leaves whose weights have limits; sides out of order are no cut. The cut behind the
// last value is free.
__device__ __forceinline__ double limited_cut_score(
    i64 left, i64 total, const Growth& p, const Limits& limits, bool is_free)
{
    if (!CONSTRAINED) return cut_score(left, total, p);
    const Sides s = sides_of(left, total, p);
    if (!heavy_enough(s, p)) return no_split();
    const double wl = within(leaf_weight(s.gl, s.hl, p), limits.low, limits.high);
    const double wr = within(leaf_weight(s.gr, s.hr, p), limits.low, limits.high);
    if (!is_free && !(limits.direction * (wr - wl) >= 0.0)) return no_split();
    return score_at(s.gl, s.hl, wl, p) + score_at(s.gr, s.hr, wr, p);
}

// Give the children of a node their bounds.
__device__ __forceinline__ void hand_down(
    const int* directions, double* bounds, const Node& parent, int parent_id, const int* n_bins,
    const Growth& p)
{
    const double low = bounds[2 * parent_id], high = bounds[2 * parent_id + 1];
    double *left = bounds + 2 * parent.left, *right = bounds + 2 * parent.right;
    left[0] = right[0] = low;
    left[1] = right[1] = high;
    const Split& split = parent.split;
    const int direction = directions[split.feature];
    if (direction == 0 || split.bin >= n_bins[split.feature]) return;
    const double middle = 0.5 * (weight_within(split.left, p, low, high)
        + weight_within(parent.sums - split.left, p, low, high));
    left[direction > 0 ? 1 : 0] = middle;
    right[direction > 0 ? 0 : 1] = middle;
}

// The codes of a sparse matrix in one buffer: where the entries of each row begin (i64), the
// entries (u32: feature * N_CODES + code, ascending within a row), and the code of the values that
// each feature does not store (u8).
struct Entries {
    const i64* begin;
    const u32* of_rows;
    const u8* absent;
};

__device__ __forceinline__ Entries entries_of(const u8* codes, i64 n_rows) {
    const i64* begin = (const i64*)codes;
    const u32* of_rows = (const u32*)(begin + n_rows + 1);
    return {begin, of_rows, (const u8*)(of_rows + begin[n_rows])};
}

// The code of (row, feature): a binary search among the row's entries.
__device__ __forceinline__ u8 sparse_code_at(
    const u8* codes, i64 n_rows, i64 row, int feature)
{
    const Entries entries = entries_of(codes, n_rows);
    const i64 end = entries.begin[row + 1];
    const u32 first = (u32)feature * N_CODES;
    i64 low = entries.begin[row], high = end;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (entries.of_rows[middle] < first) low = middle + 1;
        else high = middle;
    }
    if (low < end && entries.of_rows[low] - first < N_CODES) return entries.of_rows[low] - first;
    return entries.absent[feature];
}

// The code of (row, feature) of the matrix in use. A dense one has its features in groups of
// GROUP_FEATURES, a group's rows one after another.
__device__ __forceinline__ u8 code_at(const u8* codes, i64 n_rows, i64 row, int feature) {
    if (SPARSE) return sparse_code_at(codes, n_rows, row, feature);
    return codes[(feature / GROUP_FEATURES * n_rows + row) * GROUP_FEATURES
        + feature % GROUP_FEATURES];
}

// Features that have cells in a histogram: those of the matrix, and of a sparse one another, whose
// first cell has the sum of all rows.
__device__ __forceinline__ int histogram_features(int n_features) { return n_features + SPARSE; }

// CATEGORICAL: whether splits may be sets of codes; without categories there are none.
__device__ __forceinline__ bool goes_right(u8 bin, const Split& split) {
#if CATEGORICAL
    if (split.kind == IN_SET) {  // words are chosen, not indexed: they stay in registers
        const u64 low = bin & 64 ? split.set[1] : split.set[0];
        const u64 high = bin & 64 ? split.set[3] : split.set[2];
        return !((bin & 128 ? high : low) >> (bin & 63) & 1);
    }
#endif
    const u8 shift = split.missing_left ? 0 : 1;
    return (u8)(bin - shift) > (u8)(split.bin - shift);
}

// The i-th of n + 1 ascending borders at or below x: which node a tile belongs to.
__device__ __forceinline__ int last_at_or_below(const int* borders, int n, int x) {
    int low = 0, high = n;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (borders[middle] <= x) low = middle;
        else high = middle;
    }
    return low;
}

__device__ __forceinline__ int tiles_of(i64 n, int tile_rows) {
    return (int)((n + tile_rows - 1) / tile_rows);
}

// A stretch of the rows of one node. Tiles are numbered through the nodes of a list, whose borders
// say where each node's begin.
struct Tile {
    int which;        // place of the node in the list
    const Node* node;
    // the node's rows are begin..end of this buffer: there is one for each parity of the depth
    const int* rows;
    i64 begin, end;
};

__device__ __forceinline__ Tile tile_of(
    int tile, int which, const int* list, const int* borders, const Node* nodes, const int* rows,
    i64 n_rows, int tile_rows)
{
    const Node* node = &nodes[list[which]];
    const i64 begin = node->begin + (i64)(tile - borders[which]) * tile_rows;
    return {which, node, rows + (node->depth & 1) * n_rows, begin,
        min(begin + tile_rows, node->end)};
}

__device__ __forceinline__ Tile find_tile(
    int tile, int n_nodes, const int* list, const int* borders, const Node* nodes, const int* rows,
    i64 n_rows, int tile_rows)
{
    return tile_of(tile, last_at_or_below(borders, n_nodes, tile), list, borders, nodes, rows,
        n_rows, tile_rows);
}

template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T x) {
    for (int distance = 1; distance < WARP; distance *= 2) {
        const T other = __shfl_up_sync(FULL_WARP, x, distance);
        if ((threadIdx.x & (WARP - 1)) >= distance) x += other;
    }
    return x;
}

template <class T>
__device__ __forceinline__ T warp_sum(T x) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

// Sum of x over the threads before this one; total: over all. All threads of the block must call
// it; warp_sums has an entry per warp.
template <class T>
__device__ __forceinline__ T block_exclusive_sum(T x, T* warp_sums, T& total) {
    const int lane = threadIdx.x & (WARP - 1), warp = threadIdx.x / WARP,
        n_warps = blockDim.x / WARP;
    const T inclusive = warp_inclusive_sum(x);
    if (lane == WARP - 1) warp_sums[warp] = inclusive;
    __syncthreads();
    T before = 0, all = 0;
    for (int w = 0; w < n_warps; w++) {
        const T sum = warp_sums[w];
        if (w < warp) before += sum;
        all += sum;
    }
    total = all;
    __syncthreads();  // warp_sums may be written again
    return before + inclusive - x;
}

// A selection of n_wanted of the marked entries, each equally likely, in place. A warp takes 32
// entries at a time. Whether one is kept depends on how many were kept before it: all lanes guess,
// and guess again until that changes nothing. The lowest lane that was wrong is right after each
// turn, and mostly one or two turns are enough.
__device__ __forceinline__ void choose_some(u8* mask, int n, int n_wanted, u32 key) {
    const int lane = threadIdx.x & (WARP - 1);
    const u32 below = (1u << lane) - 1;
    int n_left = 0;
    for (int j = lane; j < n; j += WARP) n_left += mask[j] != 0;
    n_left = warp_sum(n_left);
    for (int start = 0; start < n; start += WARP) {
        const int j = start + lane;
        const bool marked = j < n && mask[j] != 0;
        const u32 all = __ballot_sync(FULL_WARP, marked);
        const double share = (double)hash32(key, j) * (n_left - __popc(all & below));
        u32 kept = 0, guess;
        do {
            guess = kept;
            const double wanted = (n_wanted - __popc(guess & below)) * 4294967296.0;
            kept = __ballot_sync(FULL_WARP, marked && share < wanted);
        } while (kept != guess);
        if (j < n) mask[j] = kept >> lane & 1;
        n_wanted -= __popc(kept);
        n_left -= __popc(all);
    }
}

// How many marked entries have arrived; by a warp, whose lanes have the entries that they marked.
__device__ __forceinline__ int count_until(
    const u8* mask, const double* arrivals, int n, double limit)
{
    int count = 0;
    for (int j = threadIdx.x & (WARP - 1); j < n; j += WARP)
        count += mask[j] != 0 && arrivals[j] <= limit;
    return warp_sum(count);
}

// Keep the n_wanted marked entries that arrive first, of equal ones the lowest; by a warp.
__device__ __forceinline__ void choose_first(
    u8* mask, const double* arrivals, int n, int n_wanted)
{
    const int lane = threadIdx.x & (WARP - 1);
    const u32 below = (1u << lane) - 1;
    double last = 0.0;
    int n_marked = 0;
    for (int j = lane; j < n; j += WARP)
        if (mask[j] != 0) {
            n_marked += 1;
            last = fmax(last, arrivals[j]);
        }
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        last = fmax(last, __shfl_xor_sync(FULL_WARP, last, distance));
    if (warp_sum(n_marked) <= n_wanted) return;
    double low = -1.0, high = last;  // too few have arrived by the one, enough by the other
    while (true) {
        const double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high) break;
        const int n_there = count_until(mask, arrivals, n, middle);
        if (n_there >= n_wanted) high = middle;
        else low = middle;
        if (n_there == n_wanted) break;
    }
    int room = n_wanted - count_until(mask, arrivals, n, low);
    for (int start = 0; start < n; start += WARP) {
        const int j = start + lane;
        const bool marked = j < n && mask[j] != 0;
        const bool early = marked && arrivals[j] <= low;
        const bool next = marked && !early && arrivals[j] <= high;
        const u32 all = __ballot_sync(FULL_WARP, next);
        if (j < n) mask[j] = early || (next && __popc(all & below) < room);
        room -= __popc(all);
    }
}

// A random time: see gpuboost/scalar/formulas.py.
__device__ __forceinline__ double arrival(u32 word, double weight) {
    return -natural_log(((double)word + 0.5) * 2.3283064365386963e-10) / weight;
}

// What draws of features for levels and nodes go by besides their number: see kernels/cpu/draws.py.
// Only read if the fit has WEIGHTED or GROUPED features.
struct Draws {
    const int* features;    // [n_used]: those of the tree
    const double* weights;  // [n_features]
    double* arrivals;       // [2 * max_pairs][n_used]
    const u64* of_feature;  // [n_features][n_words]: groups of each feature
    u64* of_node;           // [max_nodes][n_words]: of each node, or of each level
    int n_words;
};

__device__ __forceinline__ void draw(
    u8* mask, int child, int n_used, int n_wanted, u32 key, const Draws& draws)
{
    if (!WEIGHTED) {
        choose_some(mask, n_used, n_wanted, key);
        return;
    }
    double* arrivals = draws.arrivals + (i64)child * n_used;
    for (int j = threadIdx.x & (WARP - 1); j < n_used; j += WARP)
        arrivals[j] = arrival(hash32(key, j), draws.weights[draws.features[j]]);
    choose_first(mask, arrivals, n_used, n_wanted);
}

// Drop the features that no group of a path holds: one that ends with a split on a feature, under a
// node or level that stands in the given row. Returns how many are left, and notes the groups of
// the child in its own row if there is one.
__device__ __forceinline__ int keep_allowed(
    u8* mask, int n_used, const Draws& draws, int parent_row, int feature, int row)
{
    const int lane = threadIdx.x & (WARP - 1), n_words = draws.n_words;
    const u64* before = draws.of_node + (i64)parent_row * n_words;
    const u64* last = draws.of_feature + (i64)feature * n_words;
    int n = 0;
    for (int j = lane; j < n_used; j += WARP) {
        const u64* own = draws.of_feature + (i64)draws.features[j] * n_words;
        u64 shared = 0;
        for (int w = 0; w < n_words; w++) shared |= own[w] & before[w] & last[w];
        if (shared == 0) mask[j] = 0;
        n += mask[j] != 0;
    }
    if (row >= 0)
        for (int w = lane; w < n_words; w += WARP)
            draws.of_node[(i64)row * n_words + w] = before[w] & last[w];
    return warp_sum(n);
}

// Features a child may use: some of the tree's for its level, some of those for itself. By a warp.
// parent: its node, -1 for the root; feature: of the split above.
__device__ __forceinline__ void draw_columns(
    const Growth& p, int level, int node, int parent, int feature, int child, u8* masks, int n_used,
    const Draws& draws)
{
    u8* mask = masks + (i64)child * n_used;
    for (int j = threadIdx.x & (WARP - 1); j < n_used; j += WARP) mask[j] = 1;
    draw(mask, child, n_used, p.level_features, hash32(p.column_key, 2 * level), draws);
    int n_wanted = p.node_features;
    if (GROUPED) {
        i64 n_allowed = p.level_features;
        if (parent < 0)  // every group holds the empty path
            for (int w = threadIdx.x & (WARP - 1); w < draws.n_words; w += WARP)
                draws.of_node[w] = ~0ull;
        else if (p.order == SYMMETRIC)  // all children of the level have one path
            n_allowed = keep_allowed(mask, n_used, draws, level - 1, feature,
                child == 0 ? level : -1);
        else
            n_allowed = keep_allowed(mask, n_used, draws, parent, feature, node);
        const i64 n_all = p.level_features;
        n_wanted = max(1, (int)((2 * n_wanted * n_allowed + n_all) / (2 * n_all)));
    }
    if (p.node_features < p.level_features)
        draw(mask, child, n_used, n_wanted, hash32(p.column_key, 2 * node + 1), draws);
}

// Whether the children of a chosen node stay leaves, whatever their rows.
__device__ __forceinline__ bool ends_here(const Growth& p, const State& state, const Node& node) {
    const int depth = p.order == SYMMETRIC ? state.level : node.depth + 1;
    return depth >= p.max_depth || state.n_leaves + state.n_chosen >= p.max_leaves;
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
