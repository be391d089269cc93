// Search of sets of categories, which kernels/cpu/sets.py describes. A block goes through features
// with categories, and a thread is about one code: whether it is among those that sets are made of,
// and its place in their order. Then thread t is about two sets, the first t + 1 codes and the last
// t + 1; of few categories about one, the t-th of them.

#define N_WARPS (N_CODES / WARP)

struct Work {
    i64 cells[N_CODES];
    double keys[N_CODES];
    int counts[N_CODES];
    int order[N_CODES];  // the codes that sets are made of
    i64 warp_sums[N_WARPS];
    int warp_counts[N_WARPS];
    Best warp_bests[N_WARPS];
    u32 bits[N_WARPS];
};

// How sets are made of codes.
struct Order {
    int n;     // so many codes there are
    int most;  // so many of them at most are in a set; 0: each is a set of its own
    int rank;  // place of this thread's code; -1: it is in no set
};

__device__ __forceinline__ int count_sets(const Order& order) {
    return order.most == 0 ? order.n : 2 * order.most;
}

// The sets that thread t is about.
__device__ __forceinline__ bool has_first(const Order& order, int t) {
    return t < (order.most == 0 ? order.n : order.most);
}

__device__ __forceinline__ bool has_last(const Order& order, int t) { return t < order.most; }

// Whether a set, by its number, has this thread's code.
__device__ __forceinline__ bool is_in(const Order& order, int set) {
    if (order.rank < 0 || set > count_sets(order)) return false;
    if (order.most == 0) return order.rank == set - 1;
    return set <= order.most ? order.rank < set : order.rank >= order.n - (set - order.most);
}

__device__ __forceinline__ Order order_codes(
    i64 cell, int n_bins, i64 total, i64 n_rows, const Growth& p, Work& work)
{
    const int code = threadIdx.x;
    const bool present = code >= 1 && code <= n_bins && cell != 0;
    Order order = {0, 0, -1};
    int place = block_exclusive_sum(present ? 1 : 0, work.warp_counts, order.n);
    if (order.n <= p.max_cat_to_onehot) {
        if (present) {
            work.order[place] = code;
            order.rank = place;
        }
        __syncthreads();
        return order;
    }
    const i64 hessian = hessian_of(cell);
    const bool taken = present && hessian > 0
        && hessian * n_rows >= p.min_data_per_category * (i64)hessian_of(total);
    place = block_exclusive_sum(taken ? 1 : 0, work.warp_counts, order.n);
    double key = 0.0;
    if (taken) {
        key = (double)gradient_of(cell) * p.gradient_unit
            / ((double)hessian * p.hessian_unit + p.cat_smooth);
        work.keys[place] = key;
    }
    __syncthreads();
    if (taken) {
        int rank = 0;  // of equal keys the lower code is first
        for (int j = 0; j < order.n; j++)
            rank += work.keys[j] < key || (work.keys[j] == key && j < place);
        work.order[rank] = code;
        order.rank = rank;
    }
    order.most = min((order.n + 1) / 2, p.max_cat_threshold);
    __syncthreads();
    return order;
}

// Sums and rows of the sets that this thread is about.
struct SetSums {
    i64 first, last;
    int n_first, n_last;
};

__device__ __forceinline__ SetSums sum_sets(const Order& order, Work& work) {
    const int t = threadIdx.x;
    SetSums sums = {};
    int first = 0, last = 0;
    if (has_first(order, t)) first = work.order[t];
    if (has_last(order, t)) last = work.order[order.n - 1 - t];
    if (has_first(order, t)) {
        sums.first = work.cells[first];
        if (COUNT_ROWS) sums.n_first = work.counts[first];
    }
    if (order.most == 0) return sums;
    if (has_last(order, t)) {
        sums.last = work.cells[last];
        if (COUNT_ROWS) sums.n_last = work.counts[last];
    }
    i64 all;
    int n_all;
    sums.first += block_exclusive_sum(sums.first, work.warp_sums, all);
    sums.last += block_exclusive_sum(sums.last, work.warp_sums, all);
    if (COUNT_ROWS) {
        sums.n_first += block_exclusive_sum(sums.n_first, work.warp_counts, n_all);
        sums.n_last += block_exclusive_sum(sums.n_last, work.warp_counts, n_all);
    }
    return sums;
}

// What the rest of a search needs to know of a node.
struct Asked {
    i64 total, n_rows, missing;
    int missing_count;
    Limits limits;
};

__device__ __forceinline__ bool has_missing(const Asked& node) {
    return node.missing != 0 || node.missing_count != 0;
}

__device__ __forceinline__ double set_score(
    const Asked& node, i64 left, int n_left, const Growth& p)
{
    if (COUNT_ROWS && !enough_rows(n_left, node.n_rows, p)) return no_split();
    return limited_cut_score(left, node.total, p, node.limits, false);
}

__device__ __forceinline__ double score_with_missing(
    const Asked& node, i64 left, int n_left, const Growth& p)
{
    return set_score(node, left + node.missing, n_left + node.missing_count, p);
}

// The best of what the threads have found; the same in all of them.
__device__ __forceinline__ Best block_best(Best best, Work& work) {
    best = warp_best(best);
    if ((threadIdx.x & (WARP - 1)) == 0) work.warp_bests[threadIdx.x / WARP] = best;
    __syncthreads();
    for (int w = 0; w < N_WARPS; w++)
        best = better(best, Best{work.warp_bests[w].score, work.warp_bests[w].key});
    return best;
}

// Fill the record of a split whose left side has the codes of the threads that say so. Thread 0 is
// the missing value's.
__device__ __forceinline__ void write_split(
    bool is_left, double gain, i64 left, int feature, Split* split, Work& work)
{
    const u32 bits = __ballot_sync(FULL_WARP, is_left);
    if ((threadIdx.x & (WARP - 1)) == 0) work.bits[threadIdx.x / WARP] = bits;
    __syncthreads();
    if (threadIdx.x != 0) return;
    Split out = {};
    for (int w = 0; w < SET_WORDS; w++)
        out.set[w] = (u64)work.bits[2 * w + 1] << WARP | work.bits[2 * w];
    out.gain = gain;
    out.left = left;
    out.feature = feature;
    out.missing_left = is_left;
    out.kind = IN_SET;
    *split = out;
}

// Of one child of a pair and some features; what scan_pairs has found among the numbers of these is
// replaced if a set is better.
extern "C" __global__ void __launch_bounds__(N_CODES, 1) scan_sets(
    const Node* nodes,
    const Pair* pairs,
    const State* state,
    const Growth* growth,
    const int* features,  // [n_used]
    const int* n_bins,    // [n_features]
    const u8* masks,      // [2 * max_pairs][n_used]: features each child may use
    const i64* pool,
    const int* count_pool,
    Split* best_splits,   // [2 * max_pairs][gridDim.y]
    const int* directions, const double* bounds, const double* due,  // as in scan_pairs
    const u8* is_categorical,  // [n_features]
    int n_used,
    int n_features,
    int chunk_features,   // features of a block
    int masked)
{
    __shared__ Work work;
    const int child = blockIdx.x, code = threadIdx.x;
    if (child / 2 >= state->n_pairs) return;
    const int id = child & 1 ? pairs[child / 2].large : pairs[child / 2].small;
    if (id < 0) return;
    const Growth p = *growth;
    const i64 total = nodes[id].sums, n_rows = nodes[id].end - nodes[id].begin,
        node_cells = nodes[id].slot * (i64)histogram_features(n_features) * N_CODES;
    const double parent = node_score(total, p, bounds, id);
    Split* found = &best_splits[(i64)child * gridDim.y + blockIdx.y];
    double best_gain = found->gain;
    int best_feature = found->feature;
    const int begin = blockIdx.y * chunk_features, end = min(begin + chunk_features, n_used);
    for (int j = begin; j < end; j++) {
        const int f = features[j];
        if (!is_categorical[f] || (masked && masks[(i64)child * n_used + j] == 0)) continue;
        __syncthreads();  // the cells of the feature before, and what was found, have been read
        const i64 place = node_cells + (i64)f * N_CODES + code;
        const i64 cell = pool[place];
        work.cells[code] = cell;
        if (COUNT_ROWS) work.counts[code] = count_pool[place];
        const Order order = order_codes(cell, n_bins[f], total, n_rows, p, work);
        const SetSums sums = sum_sets(order, work);
        const Asked node = {total, n_rows, work.cells[0], COUNT_ROWS ? work.counts[0] : 0,
            limits_of(directions, bounds, id, f)};
        const int first = code + 1, last = order.most + code + 1;
        Best best = {no_split(), 0};
        if (has_first(order, code))
            best = better(best, Best{set_score(node, sums.first, sums.n_first, p), 2 * first});
        if (has_last(order, code))
            best = better(best, Best{set_score(node, sums.last, sums.n_last, p), 2 * last});
        if (has_missing(node)) {
            if (has_first(order, code))
                best = better(best,
                    Best{score_with_missing(node, sums.first, sums.n_first, p), 2 * first + 1});
            if (has_last(order, code))
                best = better(best,
                    Best{score_with_missing(node, sums.last, sums.n_last, p), 2 * last + 1});
            if (code == 0)  // missing values alone
                best = better(best,
                    Best{score_with_missing(node, 0, 0, p), 2 * (count_sets(order) + 1)});
        }
        best = block_best(best, work);
        if (PENALIZED) best.score -= due[f];
        const double gain = best.score - parent;
        if (!(best.score > no_split() && gain > p.min_split_gain && gain > NOISE * fabs(best.score)
                && (gain > best_gain || (gain == best_gain && f < best_feature))))
            continue;
        best_gain = gain;
        best_feature = f;
        const int set = best.key >> 1;
        bool is_left = code == 0 ? best.key & 1 || set > count_sets(order) : is_in(order, set);
        i64 left;
        block_exclusive_sum(is_left ? cell : 0, work.warp_sums, left);
        // missing values that training has not seen go to the heavier side
        if (code == 0 && cell == 0) is_left = hessian_of(left) >= hessian_of(total - left);
        write_split(is_left, gain, left, f, found, work);
    }
}

// Symmetric growth: a block takes one feature; nodes are gone through in their order, as the sums
// of gains are floats. One order of the codes is for all nodes.
extern "C" __global__ void __launch_bounds__(N_CODES, 1) scan_level_sets(
    const Node* nodes,
    const State* state,
    const Growth* growth,
    const int* features,
    const int* n_bins,
    const u8* masks,
    const i64* pool,
    const int* count_pool,
    Split* best_splits,  // [n_used]
    const int* directions, const double* bounds, const double* due,  // as in scan_pairs
    const u8* is_categorical,
    int n_features,
    int masked)
{
    __shared__ Work work;
    __shared__ int any_missing;
    const int j = blockIdx.x, f = features[j], code = threadIdx.x;
    if (!is_categorical[f] || state->n_pairs == 0) return;
    const Growth p = *growth;
    const i64 slot_cells = (i64)histogram_features(n_features) * N_CODES,
        at = (i64)f * N_CODES + code;
    i64 level_cell = 0, level_total = 0, level_rows = 0;
    bool missing_here = false;
    for (int i = 0; i < state->n_nodes; i++) {
        if (!nodes[i].open) continue;
        const i64 place = nodes[i].slot * slot_cells + at;
        level_cell += pool[place];
        level_total += nodes[i].sums;
        level_rows += nodes[i].end - nodes[i].begin;
        missing_here |= pool[place] != 0 || (COUNT_ROWS && count_pool[place] != 0);
    }
    if (code == 0) any_missing = missing_here;
    const Order order = order_codes(level_cell, n_bins[f], level_total, level_rows, p, work);
    const bool missing_somewhere = any_missing;
    // of the first codes, the last codes and missing values alone; missing values right, and left
    double gain_first[2] = {0.0, 0.0}, gain_last[2] = {0.0, 0.0}, gain_missing = 0.0, size = 0.0;
    for (int i = 0; i < state->n_nodes; i++) {
        if (!nodes[i].open) continue;
        const i64 place = nodes[i].slot * slot_cells + at;
        __syncthreads();  // the cells of the node before have been read
        work.cells[code] = pool[place];
        if (COUNT_ROWS) work.counts[code] = count_pool[place];
        __syncthreads();
        const SetSums sums = sum_sets(order, work);
        const Asked node = {nodes[i].sums, nodes[i].end - nodes[i].begin, work.cells[0],
            COUNT_ROWS ? work.counts[0] : 0, limits_of(directions, bounds, i, f)};
        const double parent = node_score(node.total, p, bounds, i);
        size += fabs(parent);
        // a set that this node may not take leaves it whole; without missing values both directions
        // are the same
        for (int side = 0; side < 2; side++) {
            if (!(side == 0 ? has_first(order, code) : has_last(order, code))) continue;
            const i64 left = side == 0 ? sums.first : sums.last;
            const int n_left = side == 0 ? sums.n_first : sums.n_last;
            double* gain = side == 0 ? gain_first : gain_last;
            const double score = set_score(node, left, n_left, p);
            if (score > no_split()) gain[0] += score - parent;
            const double other
                = has_missing(node) ? score_with_missing(node, left, n_left, p) : score;
            if (other > no_split()) gain[1] += other - parent;
        }
        if (code == 0 && has_missing(node)) {
            const double score = score_with_missing(node, 0, 0, p);
            if (score > no_split()) gain_missing += score - parent;
        }
    }
    const int first = code + 1, last = order.most + code + 1;
    Best best = {no_split(), 0};
    if (has_first(order, code)) best = better(best, Best{gain_first[0], 2 * first});
    if (has_last(order, code)) best = better(best, Best{gain_last[0], 2 * last});
    if (missing_somewhere) {
        if (has_first(order, code)) best = better(best, Best{gain_first[1], 2 * first + 1});
        if (has_last(order, code)) best = better(best, Best{gain_last[1], 2 * last + 1});
        if (code == 0) best = better(best, Best{gain_missing, 2 * (count_sets(order) + 1)});
    }
    best = block_best(best, work);
    const int set = best.key >> 1;
    bool is_left = code == 0 ? best.key & 1 || set > count_sets(order) : is_in(order, set);
    i64 left;
    block_exclusive_sum(is_left && code != 0 ? level_cell : 0, work.warp_sums, left);
    if (code == 0 && !missing_somewhere)
        is_left = 2 * (i64)hessian_of(left) >= (i64)hessian_of(level_total);
    const bool allowed = !masked || masks[j] != 0;
    // the cost is due once: all nodes take the same split
    const double gain = PENALIZED ? best.score - due[f] : best.score;
    const bool found = allowed && gain > 0.0 && gain > p.min_split_gain
        && gain > NOISE * (size + fabs(best.score));
    write_split(is_left, found ? gain : 0.0, 0, found ? f : -1, &best_splits[j], work);
}
