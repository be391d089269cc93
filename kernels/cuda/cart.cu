// Classical trees, many nodes of a batch of trees at once: the best split of every node over
// features in bins, and its rows divided. Twin of kernels/cpu/cart/. Sums are integers, the same in
// any order; scores are float64 with the CPU's operations.
//
// Nodes try features in rounds, some slots a round, until each has tried enough. In a round:
//
//     draw_features  which feature a node tries in each slot
//     sum_tiles      sums of the codes of large nodes: a block for each tile of rows, each feature
//     score_cuts     a block for each node and feature: sums of its codes, or those of its tiles;
//                    prefix sums and scores, thread = code; the best cut
//     pick_splits    a warp for each node: the best of its features, in the order of the CPU

static_assert(TREE_THREADS >= N_CODES, "a thread for each code");

// What nodes know before they try a feature: nothing, and whether their targets differ at all, for
// only then are they listed for the first round. A block for each tile of a large node, then one
// for each other node; most blocks see two targets that differ in their first rows.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) open_nodes(
    const int* rows,        // rows of all nodes of all trees
    const int* labels,      // [n_rows][n_outputs]
    const OpenNode* nodes,  // [n_nodes]: large ones first
    FoundSplit* splits,     // [n_nodes]
    int* searching,         // [n_nodes]: whether a node is in the list; 0 before
    int* active,            // nodes of the first round
    int* n_active,          // 0 before
    int n_outputs, int n_large, int n_tiles, int tile_rows)
{
    const int block = blockIdx.x, place = block - n_tiles + n_large;
    const RowTile part = block < n_tiles
        ? row_tile(block, nodes, n_large, tile_rows)
        : RowTile{place, nodes[place].begin, nodes[place].end};
    const i64 first = nodes[part.place].begin;
    if (threadIdx.x == 0 && part.begin == first) {
        FoundSplit none = {};
        none.feature = -1;
        splits[part.place] = none;
    }
    const i64 first_row = rows[first];
    bool found = false;
    for (i64 start = part.begin; start < part.end && !found; start += blockDim.x) {
        bool differs = false;
        if (start + threadIdx.x < part.end) {
            const i64 row = rows[start + threadIdx.x];
            for (int o = 0; o < n_outputs; o++)
                differs |= labels[row * n_outputs + o] != labels[first_row * n_outputs + o];
        }
        found = __syncthreads_or(differs);
    }
    if (threadIdx.x == 0 && found && atomicExch(&searching[part.place], 1) == 0)
        active[atomicAdd(n_active, 1)] = part.place;
}

// Which features the nodes of a round try. A warp for each node and slot.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) draw_features(
    const TreeGrowth* growth, const OpenNode* nodes, const int* active, const int* n_active,
    FeatureCut* cuts,  // [n_nodes][n_slots][n_attempts]
    int n_features, int first_slot, int n_slots, int n_attempts)
{
    const int n = *n_active * n_slots, step = gridDim.x * TREE_WARPS;
    for (int i = blockIdx.x * TREE_WARPS + threadIdx.x / WARP; i < n; i += step) {
        const int place = active[i / n_slots], k = first_slot + i % n_slots;
        const OpenNode node = nodes[place];
        FeatureCut cut = {};
        cut.score = no_split();
        cut.feature = growth[node.tree].max_features < n_features
            ? drawn_feature(node.key, k, n_features) : k;
        FeatureCut* out = cuts + ((i64)place * n_slots + i % n_slots) * n_attempts;
        for (int a = threadIdx.x & (WARP - 1); a < n_attempts; a += WARP) out[a] = cut;
    }
}

// Sums of the codes of large nodes that search. A block for each tile, slot and range of cells.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) sum_tiles(
    const u8* codes,  // [n_features][n_rows]
    const int* n_codes, const u8* kinds, const int* rows, const i64* weights, const int* labels,
    const i64* values, const OpenNode* nodes, const int* searching, const FeatureCut* cuts,
    u64* sums,    // [n_large][n_slots][n_cell][max_codes]; 0 before
    int* counts,  // [n_large][n_slots][max_codes]; 0 before
    i64 n_rows, int n_outputs, int with_classes, int n_cell, int max_codes, int range_cells,
    int n_large, int tile_rows, int n_slots, int n_attempts)
{
    extern __shared__ double shared[];
    const RowTile tile = row_tile(blockIdx.x, nodes, n_large, tile_rows);
    const i64 pair = (i64)tile.place * n_slots + blockIdx.y;
    if (!searching[tile.place]) return;
    const int feature = cuts[pair * n_attempts].feature;
    if (feature < 0 || kinds[feature] != NUMBERS_IN_BINS) return;
    const int first = blockIdx.z * range_cells, n = n_codes[feature];
    const Cells cells = cells_at(shared, first, range_cells, n_cell, max_codes);
    const NodeRows node_rows = rows_of(nodes[tile.place], tile.begin, tile.end, rows, weights,
        labels, values, n_rows, n_outputs, with_classes);
    const u8* column = codes + feature * n_rows;
    clear(cells, n);
    __syncthreads();
    for (int i = threadIdx.x; i < node_rows.n; i += blockDim.x)
        add_row(node_rows, node_rows.rows[i], column[node_rows.rows[i]], cells);
    __syncthreads();
    for (int c = 0; c < cells.n; c++) {
        u64* const out = sums + (pair * n_cell + first + c) * max_codes;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            const i64 sum = cell_sum(cells, c, i);
            if (sum != 0) atomicAdd(&out[i], (u64)sum);
        }
    }
    for (int i = threadIdx.x; i < n && first == 0; i += blockDim.x)
        if (cells.counts[i] > 0) atomicAdd(&counts[pair * max_codes + i], cells.counts[i]);
}

// A range of the sums that sum_tiles has made.
__device__ __forceinline__ void load_sums(
    const u64* sums, const int* counts, i64 pair, int n_cell, int n_codes, const Cells& cells)
{
    for (int i = threadIdx.x; i < n_codes; i += blockDim.x) {
        for (int c = 0; c < cells.n; c++)
            set_cell(cells, c, i,
                (i64)sums[(pair * n_cell + cells.first + c) * cells.max_codes + i]);
        if (cells.first == 0) cells.counts[i] = counts[pair * cells.max_codes + i];
    }
}

// The codes of a feature that are present in a node, as the thread of a code sees them.
struct Presence {
    bool here;     // this code
    int place, n;  // of this code among those present; how many there are, the missing value aside
    int n_missing, n_left;  // rows; those up to this code
};

__device__ __forceinline__ Presence presence_of(const Cells& cells, int n_codes, int* warp_counts) {
    const int code = threadIdx.x;
    const int count = code > 0 && code < n_codes ? cells.counts[code] : 0;
    Presence out;
    out.here = count > 0;
    out.n_missing = cells.counts[0];
    out.place = block_exclusive_sum(count > 0 ? 1 : 0, warp_counts, out.n);
    int known;
    out.n_left = block_exclusive_sum(count, warp_counts, known) + count;
    return out;
}

// The place of the only cut that is tried, which lies at a threshold by chance. ends: of two.
__device__ __forceinline__ int drawn_cut(
    const Presence& codes, const double* lower, const double* upper, u32 key, int* ends,
    int* warp_counts, double& threshold)
{
    const int code = threadIdx.x;
    if (codes.here && codes.place == 0) ends[0] = code;
    if (codes.here && codes.place == codes.n - 1) ends[1] = code;
    __syncthreads();
    threshold = lower[ends[0]] + uniform(key, 1u) * (upper[ends[1]] - lower[ends[0]]);
    int n_below;
    block_exclusive_sum(codes.here && upper[code] <= threshold ? 1 : 0, warp_counts, n_below);
    return min(max(n_below - 1, 0), codes.n - 2);
}

// The cut behind a code, with missing values right and left: weights up to this code, of missing
// values, and of the node. The left side of code 0, which has no cut, is the whole node.
struct CutWeights {
    i64 own, missing, whole;
};

__device__ __forceinline__ double left_weight_of(
    const CutWeights& cut, int missing_left, double unit)
{
    return (double)(cut.own + (missing_left ? cut.missing : 0)) * unit;
}

// Sums of one cell, added to both sides: sides[0] and [1] are left ones, [2] and [3] right ones,
// with missing values right and left. output: which the cell belongs to.
__device__ __forceinline__ void add_cell(
    const TreeGrowth& p, const Cells& cells, int c, int n_codes, const int* first_channel,
    int with_classes, bool wanted, i64* warp_sums, int& output, CutWeights& cut, SideScore* sides)
{
    const int code = threadIdx.x, channel = cells.first + c - (with_classes ? 0 : 1);
    const i64 missing = cell_sum(cells, c, 0);
    const i64 here = code > 0 && code < n_codes ? cell_sum(cells, c, code) : 0;
    i64 known;
    const i64 before = block_exclusive_sum(here, warp_sums, known);
    const i64 own = code == 0 ? known + missing : before + here;
    if (with_classes ? channel < first_channel[1] : channel < 0) {
        cut.own += own;
        cut.missing += code == 0 ? 0 : missing;
        cut.whole += known + missing;
    }
    if (channel < 0) return;
    const bool ends_output = channel + 1 == first_channel[output + 1];
    output += ends_output;
    if (!wanted) return;
    const double unit = with_classes ? p.weight_unit : p.value_unit;
#pragma unroll 1
    for (int s = 0; s < 4; s++) {  // one copy of the logarithm
        const bool missing_left = s & 1, is_right = s & 2;
        double sum = (double)(own + (missing_left && code > 0 ? missing : 0)) * unit;
        double weight = left_weight_of(cut, missing_left, p.weight_unit);
        if (is_right) {
            sum = (double)(known + missing) * unit - sum;
            weight = (double)cut.whole * p.weight_unit - weight;
        }
        add_channel(p.criterion, sum, weight, sides[s]);
        if (ends_output) end_output(p.criterion, weight, sides[s]);
    }
}

// The best cut of each feature in bins that a node of the round tries.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) score_cuts(
    const u8* codes, const int* n_codes,
    const i64* first_code,  // [n_features]: where a feature's codes begin in lower and upper
    const double* lower,    // lowest value of each code
    const double* upper,    // and highest
    const u8* kinds,        // [n_features]
    const int* rows,
    const i64* weights,        // [n_trees][n_rows]
    const int* labels,         // [n_rows][n_outputs]
    const i64* values,         // [n_trees][n_rows][n_outputs]; unused for classes
    const int* first_channel,  // [n_outputs + 1]
    const TreeGrowth* growth,  // [n_trees]
    const OpenNode* nodes, const int* active, const int* n_active, FeatureCut* cuts,
    const u64* sums, const int* counts,  // of large nodes
    i64 n_rows, int n_outputs, int with_classes, int n_cell, int max_codes, int range_cells,
    int n_large, int n_slots, int n_attempts)
{
    extern __shared__ double shared[];
    __shared__ i64 warp_sums[TREE_WARPS];
    __shared__ int warp_counts[TREE_WARPS], ends[2], best_place;
    __shared__ double best_score;
    // sides of each code's cut, [max_codes][4]; scores, [max_codes][2]; counts, and then cells
    SideScore* const sides = (SideScore*)shared + 4 * threadIdx.x;
    double* const scores = shared + 8 * max_codes;
    int* const counts_of_codes = (int*)(scores + 2 * max_codes);
    const int code = threadIdx.x, n_pairs = *n_active * n_slots;
    for (int i = blockIdx.x; i < n_pairs; i += gridDim.x) {
        const int place = active[i / n_slots];
        const i64 pair = (i64)place * n_slots + i % n_slots;
        FeatureCut& cut = cuts[pair * n_attempts];
        const int feature = cut.feature;
        if (feature < 0 || kinds[feature] != NUMBERS_IN_BINS) continue;
        const int n = n_codes[feature];
        const u8* column = codes + feature * n_rows;
        const OpenNode node = nodes[place];
        const TreeGrowth& p = growth[node.tree];
        const NodeRows node_rows = rows_of(node, node.begin, node.end, rows, weights, labels,
            values, n_rows, n_outputs, with_classes);
        Presence seen;
        CutWeights cut_weights = {};
        bool is_cut = false;
        int output = 0;
        for (int s = 0; s < 4 && code < max_codes; s++) sides[s] = {};
        double threshold = __longlong_as_double(0x7ff8000000000000ll);  // NaN
        for (int first = 0; first < n_cell; first += range_cells) {
            const Cells cells = cells_at(counts_of_codes, first, range_cells, n_cell, max_codes);
            if (place < n_large) {
                load_sums(sums, counts, pair, n_cell, n, cells);
            } else {
                clear(cells, n);
                __syncthreads();
                for (int r = threadIdx.x; r < node_rows.n; r += blockDim.x)
                    add_row(node_rows, node_rows.rows[r], column[node_rows.rows[r]], cells);
            }
            __syncthreads();
            if (first == 0) {
                seen = presence_of(cells, n, warp_counts);
                if (seen.n + (seen.n_missing > 0) < 2) break;
                is_cut = seen.here;
                if (p.splitter == RANDOM && seen.n > 1)
                    is_cut &= seen.place == drawn_cut(seen, lower + first_code[feature],
                        upper + first_code[feature], hash32(node.key, 3u * feature + 2u), ends,
                        warp_counts, threshold);
            }
            for (int c = 0; c < cells.n; c++)
                add_cell(p, cells, c, n, first_channel, with_classes, is_cut || code == 0,
                    warp_sums, output, cut_weights, sides);
        }
        if (seen.n + (seen.n_missing > 0) < 2) continue;  // constant
        const double weight = (double)cut_weights.whole * p.weight_unit;
        if (code < n) {
#pragma unroll
            for (int m = 0; m < 2; m++) {
                const double left_weight = left_weight_of(cut_weights, m, p.weight_unit);
                const bool allowed = is_cut && (m == 0 || seen.n_missing > 0)
                    && is_allowed(p, left_weight, weight, seen.n_left + m * seen.n_missing,
                        node_rows.n);
                scores[2 * code + m] = !allowed ? no_split()
                    : score_of(p.criterion, left_weight, sides[m])
                        + score_of(p.criterion, weight - left_weight, sides[2 + m]);
            }
        }
        __syncthreads();
        if (threadIdx.x < WARP) {
            double score;
            const int best = first_best(scores, 2 * n, score);
            if (threadIdx.x == 0) {
                best_place = best;
                best_score = score;
            }
        }
        __syncthreads();
        if (code == 0) {
            cut.state = weight < 2.0 * p.min_weight_leaf ? TOO_LIGHT : VARIES;
            cut.node_score = score_of(p.criterion, weight, sides[0]);
        }
        if (best_place >= 0 && code == best_place / 2) {
            const double left_weight = left_weight_of(cut_weights, 0, p.weight_unit);
            int next = code + 1;
            while (next < n && counts_of_codes[next] == 0) next++;
            cut.score = best_score;
            cut.threshold = threshold;
            cut.code = code;
            cut.next_code = next < n ? next : 0;
            // the heavier side if none is missing
            cut.missing_left =
                seen.n_missing > 0 ? best_place % 2 : left_weight >= weight - left_weight;
            cut.n_left = seen.n_left + (cut.missing_left ? seen.n_missing : 0);
        }
        __syncthreads();
    }
}

// The best of the features that the nodes of a round have tried, against those of the rounds
// before; a warp for each node. Nodes that have tried too few are listed for the next round.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) pick_splits(
    const TreeGrowth* growth, const OpenNode* nodes, const int* active, const int* n_active,
    const FeatureCut* cuts,
    const u64* cut_sets,  // [n_nodes][n_slots][n_attempts][set_words]
    FoundSplit* splits,
    u64* split_sets,  // [n_nodes][set_words]
    int* searching, int* next_active, int* n_next_active, int n_slots, int n_attempts,
    int set_words, int is_last)
{
    const int lane = threadIdx.x & (WARP - 1), n = n_slots * n_attempts;
    const int i = blockIdx.x * TREE_WARPS + threadIdx.x / WARP;
    if (i >= *n_active) return;
    const int place = active[i];
    const TreeGrowth p = growth[nodes[place].tree];
    const FeatureCut* tried = cuts + (i64)place * n;
    FoundSplit best = {};  // whole in the first lane alone, which writes it
    if (lane == 0) best = splits[place];
    best.gain = __shfl_sync(FULL_WARP, best.gain, 0);
    best.feature = __shfl_sync(FULL_WARP, best.feature, 0);
    best.n_tried = __shfl_sync(FULL_WARP, best.n_tried, 0);
    bool open = !is_last;
    bool going = true;
    int kept = -1;
    for (int start = 0; start < n && going; start += WARP) {
        FeatureCut mine = {};
        if (start + lane < n) mine = tried[start + lane];
        for (int k = 0; k < min(WARP, n - start) && going; k++) {
            const double score = __shfl_sync(FULL_WARP, mine.score, k);
            const int feature = __shfl_sync(FULL_WARP, mine.feature, k);
            const int state = __shfl_sync(FULL_WARP, mine.state, k);
            const double margin = TIE * fabs(best.gain);
            if (score > no_split()
                && (best.feature < 0 || score > best.gain + margin
                    || (feature < best.feature && score >= best.gain - margin)))
            {
                kept = start + k;
                best.gain = score;
                best.feature = feature;
            }
            best.n_tried += state == VARIES;
            const bool enough = (start + k + 1) % n_attempts == 0
                && best.n_tried >= p.max_features && best.feature >= 0;
            if (feature < 0 || state == TOO_LIGHT || enough) going = open = false;
        }
    }
    if (kept >= 0)
        for (int w = lane; w < set_words; w += WARP)
            split_sets[(i64)place * set_words + w] =
                cut_sets[((i64)place * n + kept) * set_words + w]
                | (w == 0 && tried[kept].missing_left ? 1ull : 0ull);
    if (lane > 0) return;
    if (kept >= 0) {
        best.node_score = tried[kept].node_score;
        best.threshold = tried[kept].threshold;
        best.code = tried[kept].code;
        best.next_code = tried[kept].next_code;
        best.n_left = tried[kept].n_left;
        best.missing_left = tried[kept].missing_left;
    }
    if (open) {
        next_active[atomicAdd(n_next_active, 1)] = place;
    } else {
        searching[place] = 0;
        if (best.feature >= 0) {
            const double gain = best.gain - best.node_score;
            if (p.min_gain > 0.0 && gain < p.min_gain) best.feature = -1;
            best.gain = fmax(gain, 0.0);
        }
    }
    splits[place] = best;
}

// --- rows

// Divisions are nodes whose splits were found in the step before; large ones come first.

__device__ __forceinline__ bool goes_left(const FoundSplit& split, const u64* set, int code) {
    if (split.code < 0) return set[code / 64] >> code % 64 & 1;
    return code <= split.code && (code > 0 || split.missing_left);
}

// How many rows of each tile of a large node go left.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) count_tile_lefts(
    const void* codes, int code_bytes, const int* rows, const OpenNode* divisions,
    const FoundSplit* splits, const u64* split_sets,
    int* tile_lefts,  // [n_tiles]
    i64 n_rows, int n_large, int tile_rows, int set_words)
{
    __shared__ int warp_counts[TREE_WARPS];
    const RowTile tile = row_tile(blockIdx.x, divisions, n_large, tile_rows);
    const int found = divisions[tile.place].split;
    const FoundSplit split = splits[found];
    const u64* set = split_sets + (i64)found * set_words;
    int count = 0, total;
    for (i64 i = tile.begin + threadIdx.x; i < tile.end; i += blockDim.x)
        count += goes_left(
            split, set, code_at(codes, code_bytes, split.feature * n_rows + rows[i]));
    block_exclusive_sum(count, warp_counts, total);
    if (threadIdx.x == 0) tile_lefts[blockIdx.x] = total;
}

// Rows of a stretch, lefts and rights to where they belong, both in their order.
__device__ __forceinline__ void move_rows(
    const void* codes, int code_bytes, i64 n_rows, const FoundSplit& split, const u64* set,
    const int* rows, i64 begin, i64 end, int* lefts, i64& left_at, int* rights, i64 right_at,
    int* warp_counts)
{
    for (i64 start = begin; start < end; start += blockDim.x) {
        const i64 i = start + threadIdx.x;
        const bool mine = i < end;
        const int row = mine ? rows[i] : 0;
        const bool left = mine
            && goes_left(split, set, code_at(codes, code_bytes, split.feature * n_rows + row));
        int n_lefts;
        const int rank = block_exclusive_sum(left ? 1 : 0, warp_counts, n_lefts);
        if (left) lefts[left_at + rank] = row;
        else if (mine) rights[right_at + threadIdx.x - rank] = row;
        left_at += n_lefts;
        right_at += min((i64)blockDim.x, end - start) - n_lefts;
    }
}

// Rows of large nodes into the scratch buffer, lefts first.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) scatter_tiles(
    const void* codes, int code_bytes, const int* rows, int* scratch, const OpenNode* divisions,
    const FoundSplit* splits, const u64* split_sets, const int* tile_lefts, i64 n_rows,
    int n_large, int tile_rows, int set_words)
{
    __shared__ int warp_counts[TREE_WARPS];
    const RowTile tile = row_tile(blockIdx.x, divisions, n_large, tile_rows);
    const OpenNode node = divisions[tile.place];
    int lefts = 0, lefts_before;
    for (int t = node.first_tile + threadIdx.x; t < blockIdx.x; t += blockDim.x)
        lefts += tile_lefts[t];
    block_exclusive_sum(lefts, warp_counts, lefts_before);
    i64 left_at = node.begin + lefts_before;
    const i64 right_at = tile.begin + splits[node.split].n_left - lefts_before;
    move_rows(codes, code_bytes, n_rows, splits[node.split],
        split_sets + (i64)node.split * set_words, rows, tile.begin, tile.end, scratch, left_at,
        scratch, right_at, warp_counts);
}

// Rows of large nodes back from the scratch buffer, and those of the others divided: lefts move
// towards the front in place, rights through the scratch buffer. The rows of a chunk are read
// before any of them is written.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) divide_rows(
    const void* codes, int code_bytes, int* rows, int* scratch, const OpenNode* divisions,
    const FoundSplit* splits, const u64* split_sets, i64 n_rows, int n_large, int n_tiles,
    int tile_rows, int set_words)
{
    __shared__ int warp_counts[TREE_WARPS];
    const int block = blockIdx.x;
    if (block < n_tiles) {
        const RowTile tile = row_tile(block, divisions, n_large, tile_rows);
        for (i64 i = tile.begin + threadIdx.x; i < tile.end; i += blockDim.x) rows[i] = scratch[i];
        return;
    }
    const OpenNode node = divisions[block - n_tiles + n_large];
    i64 left_at = node.begin;
    move_rows(codes, code_bytes, n_rows, splits[node.split],
        split_sets + (i64)node.split * set_words, rows, node.begin, node.end, rows, left_at,
        scratch, node.begin, warp_counts);
    __syncthreads();
    for (i64 i = threadIdx.x; i < node.end - left_at; i += blockDim.x)
        rows[left_at + i] = scratch[node.begin + i];
}
