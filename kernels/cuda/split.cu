// Split search. A block takes two siblings and some features, a warp one feature at a time: it
// takes the smaller sibling's histogram off the parent's, which leaves the larger one's, and scores
// every cut of both in both missing directions. A lane holds BINS_PER_LANE consecutive bins.
//
// Of equal scores the lowest (feature, bin, missing direction) wins, on every device.

#define BINS_PER_LANE (N_CODES / WARP)
// Best cut of one feature of one node, from the cells of this lane; the same in all lanes. left:
// the sums of its left side.
__device__ __forceinline__ Best scan_feature(
    const i64* cells, const int* counts, int n_bins, i64 total, i64 n_rows, const Growth& p,
    const Limits& limits, i64& left, i64& missing)
{
    const int lane = threadIdx.x & (WARP - 1), first = lane * BINS_PER_LANE;
    i64 prefix[BINS_PER_LANE], own_sum = 0;
    int count_prefix[BINS_PER_LANE], own_count = 0;
    missing = __shfl_sync(FULL_WARP, cells[0], 0);
    const int missing_count = COUNT_ROWS ? __shfl_sync(FULL_WARP, counts[0], 0) : 0;
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++) {
        if (first + k > 0) own_sum += cells[k];  // bin 0 is the missing value
        prefix[k] = own_sum;
        if (COUNT_ROWS) {
            if (first + k > 0) own_count += counts[k];
            count_prefix[k] = own_count;
        }
    }
    const i64 before = warp_inclusive_sum(own_sum) - own_sum;
    const int count_before = COUNT_ROWS ? warp_inclusive_sum(own_count) - own_count : 0;
    const bool any_missing = missing != 0 || missing_count != 0;
    Best best = {no_split(), 0};
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++) {
        const int bin = first + k;
        if (bin < 1 || bin > n_bins - (any_missing ? 0 : 1)) continue;
        const i64 sums = before + prefix[k];
        const int n_left = COUNT_ROWS ? count_before + count_prefix[k] : 0;
        if (!COUNT_ROWS || enough_rows(n_left, n_rows, p))
            best = better(best,
                Best{limited_cut_score(sums, total, p, limits, bin >= n_bins), 2 * bin});
        if (any_missing && bin < n_bins
            && (!COUNT_ROWS || enough_rows(n_left + missing_count, n_rows, p)))
            best = better(best,
                Best{limited_cut_score(sums + missing, total, p, limits, false), 2 * bin + 1});
    }
    best = warp_best(best);
    const int bin = best.key >> 1;
    i64 at_bin = 0;
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++)
        if (first + k == bin) at_bin = before + prefix[k];
    left = __shfl_sync(FULL_WARP, at_bin, bin / BINS_PER_LANE) + (best.key & 1 ? missing : 0);
    return best;
}

// The sums of all rows: of a sparse matrix the histogram has them, else they are those of any
// feature's cells.
__device__ __forceinline__ i64 sum_cells(const i64* cells) {
    const int lane = threadIdx.x & (WARP - 1);
    i64 sum = 0;
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++) sum += cells[lane * BINS_PER_LANE + k];
    return warp_sum(sum);
}

// The cell of the values that are not stored: what the others leave of the node's sum. A warp has
// the cells of a feature.
template <class T>
__device__ __forceinline__ void add_absent(T* cells, int absent, T total) {
    const int first = (threadIdx.x & (WARP - 1)) * BINS_PER_LANE;
    T others = 0;
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++)
        if (first + k != absent) others += cells[k];
    others = warp_sum(others);
#pragma unroll
    for (int k = 0; k < BINS_PER_LANE; k++)
        if (first + k == absent) cells[k] = total - others;
}

extern "C" __global__ void __launch_bounds__(SCAN_THREADS, 1) scan_pairs(
    Node* nodes,
    const Pair* pairs,
    const State* state,
    const Growth* growth,
    const int* features,  // [n_used]
    const int* n_bins,    // [n_features]
    // [2 * max_pairs][n_used]: features each child may use; not read if they may use all
    const u8* masks,
    i64* pool,
    int* count_pool,
    Split* best_splits,   // [2 * max_pairs][gridDim.y]
    const int* directions,  // [n_features], not read if nothing is constrained
    const double* bounds,   // [max_nodes][2], the same
    const double* due,    // [n_features], not read if PENALIZED is 0: what a feature costs
    const u8* absent,     // [n_features]: code of values that are not stored, if X is sparse
    const u8* is_categorical,  // [n_features], not read if nothing is: sets.cu tries their sets
    int n_used,
    int n_features,
    int chunk_features,   // features of a block
    int masked)
{
    __shared__ Best bests[2][SCAN_THREADS / WARP];
    __shared__ Split splits[2][SCAN_THREADS / WARP];
    const int which = blockIdx.x, warp = threadIdx.x / WARP, lane = threadIdx.x & (WARP - 1),
        n_warps = SCAN_THREADS / WARP;
    if (which >= state->n_pairs) return;
    const Growth p = *growth;
    const Pair pair = pairs[which];
    const bool is_root = pair.large < 0;
    const int first = blockIdx.y * chunk_features, end = min(first + chunk_features, n_used);
    const i64 slot_cells = (i64)histogram_features(n_features) * N_CODES;
    const int root_feature = SPARSE ? n_features : features[0];
    const int n_sides = is_root ? 1 : 2;
    i64 totals[2];
    totals[0] = is_root
        ? sum_cells(pool + (nodes[0].slot * slot_cells + (i64)root_feature * N_CODES))
        : nodes[pair.small].sums;
    totals[1] = is_root ? 0 : nodes[pair.large].sums;
    if (is_root && blockIdx.y == 0 && threadIdx.x == 0) nodes[0].sums = totals[0];
    Best best[2] = {{no_split(), 0}, {no_split(), 0}};
    Split split[2] = {};
    for (int j = first + warp; j < end; j += n_warps) {
        const int f = features[j];
        i64 cells[2][BINS_PER_LANE];
        int counts[2][BINS_PER_LANE] = {};
        const i64 at = (i64)f * N_CODES + lane * BINS_PER_LANE;
        const i64 small_at = nodes[pair.small].slot * slot_cells + at;
        const i64 large_at = is_root ? 0 : nodes[pair.large].slot * slot_cells + at;
#pragma unroll
        for (int k = 0; k < BINS_PER_LANE; k++) {
            cells[0][k] = pool[small_at + k];
            if (COUNT_ROWS) counts[0][k] = count_pool[small_at + k];
            if (is_root) continue;
            cells[1][k] = pool[large_at + k] - cells[0][k];
            pool[large_at + k] = cells[1][k];
            if (COUNT_ROWS) {
                counts[1][k] = count_pool[large_at + k] - counts[0][k];
                count_pool[large_at + k] = counts[1][k];
            }
        }
#if SPARSE
#pragma unroll
        for (int side = 0; side < 2; side++) {
            if (side >= n_sides) continue;
            const Node& node = nodes[side == 0 ? pair.small : pair.large];
            add_absent(cells[side], absent[f], totals[side]);
            if (COUNT_ROWS) add_absent(counts[side], absent[f], (int)(node.end - node.begin));
        }
#endif
#pragma unroll
        for (int side = 0; side < 2; side++) {  // a constant bound: the arrays stay in registers
            if (side >= n_sides || (CATEGORICAL && is_categorical[f])) continue;
            if (masked && masks[(i64)(2 * which + side) * n_used + j] == 0) continue;
            const int id = side == 0 ? pair.small : pair.large;
            const Node& node = nodes[id];
            i64 left, missing;
            Best of_feature = scan_feature(cells[side], counts[side], n_bins[f], totals[side],
                node.end - node.begin, p, limits_of(directions, bounds, id, f), left, missing);
            if (PENALIZED) of_feature.score -= due[f];
            // features ascend: the lowest of equals stays
            if (of_feature.score > best[side].score) {
                best[side] = of_feature;
                split[side].left = left;
                split[side].feature = f;
                split[side].bin = of_feature.key >> 1;
                // missing values that training has not seen go to the heavier side
                split[side].missing_left = missing == 0
                    ? hessian_of(left) >= hessian_of(totals[side] - left) : of_feature.key & 1;
            }
        }
    }
#pragma unroll
    for (int side = 0; side < 2; side++)
        if (lane == 0) {
            bests[side][warp] = best[side];
            splits[side][warp] = split[side];
        }
    __syncthreads();
    if (threadIdx.x >= n_sides) return;
    const int side = threadIdx.x;
    int winner = 0;
    for (int w = 1; w < n_warps; w++) {
        const double score = bests[side][w].score, top = bests[side][winner].score;
        if (score > top || (score == top && splits[side][w].feature < splits[side][winner].feature))
            winner = w;
    }
    const double score = bests[side][winner].score;
    const double gain = score
        - node_score(totals[side], p, bounds, side == 0 ? pair.small : pair.large);
    Split out = splits[side][winner];
    out.gain = gain;
    if (!(score > no_split() && gain > p.min_split_gain && gain > NOISE * fabs(score))) {
        out.gain = 0.0;
        out.feature = -1;
    }
    best_splits[(i64)(2 * which + side) * gridDim.y + blockIdx.y] = out;
}

// Symmetric growth: one split for all open nodes. A block takes one feature, a thread one bin;
// nodes are gone through in their order, as the sums of gains are floats.
extern "C" __global__ void __launch_bounds__(N_CODES, 1) scan_level(
    Node* nodes,
    const Pair* pairs,
    const State* state,
    const Growth* growth,
    const int* features,
    const int* n_bins,
    const u8* masks,
    i64* pool,
    int* count_pool,
    Split* best_splits,  // [n_used]
    const int* directions, const double* bounds, const double* due,  // as in scan_pairs
    const u8* absent,    // [n_features]: code of values that are not stored, if X is sparse
    const u8* is_categorical,  // as in scan_pairs
    int n_features,
    int masked)
{
    __shared__ i64 warp_sums[N_CODES / WARP];
    __shared__ int warp_counts[N_CODES / WARP];
    __shared__ Best warp_bests[N_CODES / WARP];
    __shared__ i64 missing_sums;
    __shared__ int missing_counts, any_missing, heavier_left;
    const int j = blockIdx.x, f = features[j], bin = threadIdx.x, last = n_bins[f];
    // the tree is finished; else at least one node is open, and its turn below is a barrier
    if (state->n_pairs == 0) return;
    const Growth p = *growth;
    const i64 slot_cells = (i64)histogram_features(n_features) * N_CODES,
        at = (i64)f * N_CODES + bin;
    for (int which = 0; which < state->n_pairs; which++) {
        if (pairs[which].large < 0) continue;
        const i64 small = nodes[pairs[which].small].slot * slot_cells + at,
            large = nodes[pairs[which].large].slot * slot_cells + at;
        pool[large] -= pool[small];
        if (COUNT_ROWS) count_pool[large] -= count_pool[small];
    }
    const bool is_root = state->n_nodes == 1;
#if SPARSE
    for (int i = 0; i < state->n_nodes; i++) {
        if (!nodes[i].open) continue;
        const i64 node_cells = nodes[i].slot * slot_cells, place = node_cells + at;
        const i64 all = is_root ? pool[node_cells + (i64)n_features * N_CODES] : nodes[i].sums;
        i64 others;
        block_exclusive_sum(bin == absent[f] ? 0 : pool[place], warp_sums, others);
        if (bin == absent[f]) pool[place] = all - others;
        if (COUNT_ROWS) {
            int other_rows;
            block_exclusive_sum(bin == absent[f] ? 0 : count_pool[place], warp_counts, other_rows);
            if (bin == absent[f])
                count_pool[place] = (int)(nodes[i].end - nodes[i].begin) - other_rows;
        }
    }
    __syncthreads();  // the cells of missing values may be among these
#endif
    if (bin == 0) {
        any_missing = 0;
        for (int i = 0; i < state->n_nodes; i++)
            if (nodes[i].open) {
                const i64 place = nodes[i].slot * slot_cells + at;
                if (pool[place] != 0 || (COUNT_ROWS && count_pool[place] != 0)) any_missing = 1;
            }
    }
    i64 root_sums = 0;
    if (is_root) {
        const i64* root_cells = pool + nodes[0].slot * slot_cells;
        if (SPARSE) {
            root_sums = root_cells[(i64)n_features * N_CODES];
        } else {
            const i64 cell = root_cells[(i64)features[0] * N_CODES + bin];
            block_exclusive_sum(cell, warp_sums, root_sums);
        }
        if (j == 0 && threadIdx.x == 0) nodes[0].sums = root_sums;
    }
    if (CATEGORICAL && is_categorical[f]) return;
    double gain[2] = {0.0, 0.0}, size = 0.0;
    i64 left_hessian = 0, all_hessian = 0;
    for (int i = 0; i < state->n_nodes; i++) {
        if (!nodes[i].open) continue;
        const i64 total = is_root ? root_sums : nodes[i].sums,
            n_rows = nodes[i].end - nodes[i].begin;
        const i64 place = nodes[i].slot * slot_cells + at;
        const i64 cell = pool[place];
        const int count = COUNT_ROWS ? count_pool[place] : 0;
        __syncthreads();  // the previous node's missing sums have been read
        if (bin == 0) {
            missing_sums = cell;
            missing_counts = count;
        }
        i64 all_sums;
        int all_counts, n_left = 0;
        const i64 left = block_exclusive_sum(bin == 0 ? 0 : cell, warp_sums, all_sums)
            + (bin == 0 ? 0 : cell);
        if (COUNT_ROWS)
            n_left = block_exclusive_sum(bin == 0 ? 0 : count, warp_counts, all_counts)
                + (bin == 0 ? 0 : count);
        const i64 missing = missing_sums;
        const int missing_count = missing_counts;
        const bool has_missing = missing != 0 || missing_count != 0;
        const double parent = node_score(total, p, bounds, i);
        const Limits limits = limits_of(directions, bounds, i, f);
        size += fabs(parent);
        left_hessian += hessian_of(left);
        all_hessian += hessian_of(total);
        if (bin >= 1 && bin <= last - (has_missing ? 0 : 1)) {
            double score = no_split();
            if (!COUNT_ROWS || enough_rows(n_left, n_rows, p))
                score = limited_cut_score(left, total, p, limits, bin >= last);
            if (score > no_split()) {  // a cut that this node may not take leaves it whole
                gain[0] += score - parent;
                // both directions are the same cut here
                if (!has_missing) gain[1] += score - parent;
            }
            if (has_missing && bin < last
                && (!COUNT_ROWS || enough_rows(n_left + missing_count, n_rows, p))) {
                const double other = limited_cut_score(left + missing, total, p, limits, false);
                if (other > no_split()) gain[1] += other - parent;
            }
        }
    }
    const bool missing_somewhere = any_missing;
    Best best = {no_split(), 0};
    if (bin >= 1 && bin <= last - (missing_somewhere ? 0 : 1)) best = Best{gain[0], 2 * bin};
    if (missing_somewhere && bin >= 1 && bin < last)
        best = better(best, Best{gain[1], 2 * bin + 1});
    best = warp_best(best);
    if ((threadIdx.x & (WARP - 1)) == 0) warp_bests[threadIdx.x / WARP] = best;
    __syncthreads();
    for (int w = 0; w < N_CODES / WARP; w++)
        best = better(best, Best{warp_bests[w].score, warp_bests[w].key});
    if (bin == best.key >> 1) heavier_left = 2 * left_hessian >= all_hessian;
    __syncthreads();
    if (threadIdx.x != 0) return;
    Split out = {};
    out.feature = -1;
    const bool allowed = !masked || masks[j] != 0;
    // the cost is due once: all nodes take the same split
    const double gain_of_level = PENALIZED ? best.score - due[f] : best.score;
    if (allowed && gain_of_level > 0.0 && gain_of_level > p.min_split_gain
        && gain_of_level > NOISE * (size + fabs(best.score))) {
        out.gain = gain_of_level;
        out.feature = f;
        out.bin = best.key >> 1;
        out.missing_left = missing_somewhere ? best.key & 1 : heavier_left;
    }
    best_splits[j] = out;
}
