// Classical trees, a level of all trees of a batch at once: the best split of every node, and its
// rows divided. A block for each node. Twin of kernels/cpu/cart/ for features in bins. Sums are
// integers, the same in any order; scores are float64 with the CPU's operations.
//
// For each feature that the node draws
//
//     1. sums of each code   in shared memory: 64 bits in two halves, as only 32-bit atomics are
//                            native there
//     2. prefix sums         thread = code; code 0, the missing value, stays apart
//     3. scores of the cuts  thread = code; missing values right, and left
//     4. the best one        one warp, in the order of the CPU

#define TREE_WARPS (TREE_THREADS / WARP)
static_assert(TREE_THREADS >= N_CODES, "a thread for each code");

// Sums of the codes of a node's rows. A cell is the weight of a class; or for numbers, cell 0 is
// the weight and the others are values.
struct Cells {
    u32* low;     // [max_codes][n_cell]
    u32* high;    // [max_codes][n_cell]
    int* counts;  // [max_codes]: rows
    // cells of a code; the first of them that is a channel; how many add up to the weight
    int n_cell, first_channel, n_weights;
    double weight_unit, channel_unit;
};

__device__ __forceinline__ void clear(const Cells& cells, int n_codes) {
    for (int i = threadIdx.x; i < n_codes * cells.n_cell; i += blockDim.x)
        cells.low[i] = cells.high[i] = 0;
    for (int i = threadIdx.x; i < n_codes; i += blockDim.x) cells.counts[i] = 0;
}

__device__ __forceinline__ void add_to_cell(const Cells& cells, int code, int c, i64 value) {
    const int at = code * cells.n_cell + c;
    const u32 low_word = (u32)value;
    const u32 before = atomicAdd(&cells.low[at], low_word);
    const u32 carry = before + low_word < low_word ? 1u : 0u;
    atomicAdd(&cells.high[at], (u32)((u64)value >> 32) + carry);
}

__device__ __forceinline__ i64 cell_sum(const Cells& cells, int code, int c) {
    const int at = code * cells.n_cell + c;
    return (i64)((u64)cells.high[at] << 32 | cells.low[at]);
}

__device__ __forceinline__ void set_cell(const Cells& cells, int code, int c, i64 sum) {
    const int at = code * cells.n_cell + c;
    cells.low[at] = (u32)sum;
    cells.high[at] = (u32)((u64)sum >> 32);
}

// Sums of all codes up to one, with the missing value or without.
__device__ __forceinline__ double weight_up_to(const Cells& cells, int code, bool missing) {
    i64 sum = 0;
    for (int c = 0; c < cells.n_weights; c++)
        sum += cell_sum(cells, code, c) + (missing ? cell_sum(cells, 0, c) : 0);
    return (double)sum * cells.weight_unit;
}

__device__ __forceinline__ double channel_up_to(
    const Cells& cells, int code, bool missing, int channel)
{
    const int c = cells.first_channel + channel;
    return (double)(cell_sum(cells, code, c) + (missing ? cell_sum(cells, 0, c) : 0))
        * cells.channel_unit;
}

// The rows of a node, and what is known of them by their numbers.
struct NodeRows {
    const int* rows;
    int n;
    const i64* weight;
    const int* labels;  // [n_rows][n_outputs]: classes as channels, or ranks of the values
    const i64* values;  // [n_rows][n_outputs]: weight times target
    int n_outputs, with_classes;
};

__device__ __forceinline__ void add_row(
    const NodeRows& node_rows, int row, int code, const Cells& cells)
{
    const i64 weight = node_rows.weight[row];
    atomicAdd(&cells.counts[code], 1);
    if (node_rows.with_classes) {
        for (int o = 0; o < node_rows.n_outputs; o++)
            add_to_cell(cells, code, node_rows.labels[(i64)row * node_rows.n_outputs + o], weight);
    } else {
        add_to_cell(cells, code, 0, weight);
        for (int o = 0; o < node_rows.n_outputs; o++)
            add_to_cell(cells, code, 1 + o, node_rows.values[(i64)row * node_rows.n_outputs + o]);
    }
}

__device__ __forceinline__ double uniform(u32 key, u32 x) {
    return (double)hash32(key, x) * (1.0 / 4294967296.0);
}

__device__ __forceinline__ int drawn_place(u32 key, int k, int n) {
    return k + (int)(uniform(key, 3u * k) * (double)(n - k));
}

// The k-th feature that a node draws. The CPU brings a random one of the places from k on to place
// k, k = 0, 1, ...; here the swaps are followed backwards, which needs no memory. All lanes of a
// warp must call it.
__device__ __forceinline__ int drawn_feature(u32 key, int k, int n) {
    const int lane = threadIdx.x & (WARP - 1);
    int place = drawn_place(key, k, n);
    for (int last = k - 1; last >= 0; last -= WARP) {
        const int swap = last - lane, partner = swap >= 0 ? drawn_place(key, swap, n) : -1;
        int end = last + 1;
        for (;;) {
            const u32 hits = __ballot_sync(FULL_WARP, swap < end && partner == place);
            if (hits == 0) break;
            // the latest swap that brought something to this place
            end = place = last - (__ffs((int)hits) - 1);
        }
    }
    return place;
}

__device__ __forceinline__ double x_log_x(double x) {
    return x > 0.0 ? x * natural_log(x) * LOG2_E : 0.0;
}

// Score of one side from its sums by channel.
template <class Sums>
__device__ __forceinline__ double side_score(
    int criterion, const Sums& sum_of, double weight, const int* first_channel, int n_outputs)
{
    double score = 0.0;
    if (criterion == SQUARES) {
        for (int c = 0; c < first_channel[n_outputs]; c++) {
            const double sum = sum_of(c);
            score += sum * sum;
        }
        return score / weight;
    }
    for (int o = 0; o < n_outputs; o++) {
        double top = 0.0;
        for (int c = first_channel[o]; c < first_channel[o + 1]; c++) {
            const double sum = sum_of(c);
            if (criterion == ENTROPY) {
                score += x_log_x(sum);
            } else if (criterion == POISSON) {
                if (!(sum > 0.0)) return no_split();  // a mean of 0 has no Poisson deviance
                score += sum * natural_log(sum / weight);
            } else {
                top = fmax(top, sum);
            }
        }
        score += top;
        if (criterion == ENTROPY) score -= x_log_x(weight);
    }
    return score;
}

// Score of the cut behind a code, or no_split() if a side is too light or has too few rows. count:
// rows on the left.
__device__ __forceinline__ double tree_cut_score(
    const TreeGrowth& p, const Cells& cells, int code, bool missing_left, int count, int n,
    const double* total, double weight,
    const int* first_channel, int n_outputs)
{
    const double least = fmax(p.min_weight_leaf, 0.5 * p.weight_unit);
    const double left_weight = weight_up_to(cells, code, missing_left);
    if (!(left_weight >= least && weight - left_weight >= least && count >= p.min_samples_leaf
        && n - count >= p.min_samples_leaf))
        return no_split();
    const auto left = [&](int c) { return channel_up_to(cells, code, missing_left, c); };
    const auto right = [&](int c) {
        return total[cells.first_channel + c] - channel_up_to(cells, code, missing_left, c);
    };
    return side_score(p.criterion, left, left_weight, first_channel, n_outputs) +
           side_score(p.criterion, right, weight - left_weight, first_channel, n_outputs);
}

// The best cut of a feature against the best of those before; one warp. scores: of each code,
// missing values right and left.
__device__ __forceinline__ void keep_best(
    const double* scores, int n_codes, int feature, double threshold, const Cells& cells,
    double weight, FoundSplit& best)
{
    const int lane = threadIdx.x & (WARP - 1);
    double score = no_split();
    int best_place = -1;
    for (int start = 0; start < 2 * n_codes; start += WARP) {
        const double mine = start + lane < 2 * n_codes ? scores[start + lane] : no_split();
        for (;;) {  // the first that is better, the first after it that is better still, ...
            const u32 hits = __ballot_sync(
                FULL_WARP,
                mine > no_split() && (best_place < 0 || mine > score + TIE * fabs(score)));
            if (hits == 0) break;
            best_place = start + __ffs((int)hits) - 1;
            score = __shfl_sync(FULL_WARP, mine, best_place - start);
        }
    }
    if (lane > 0 || best_place < 0) return;
    const double margin = TIE * fabs(best.gain);
    const bool better = best.feature < 0 || score > best.gain + margin
        || (feature < best.feature && score >= best.gain - margin);
    if (!better) return;
    const int code = best_place / 2;
    int next = code + 1;
    while (next < n_codes && cells.counts[next] == 0) next++;
    const double left_weight = weight_up_to(cells, code, false);
    best.gain = score;
    best.threshold = threshold;
    best.feature = feature;
    best.code = code;
    best.next_code = next < n_codes ? next : 0;
    // the heavier side if none is missing
    best.missing_left = cells.counts[0] > 0 ? best_place % 2 : left_weight >= weight - left_weight;
}

extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) find_splits(
    const u8* codes,           // [n_features][n_rows]
    const int* n_codes,        // [n_features]
    const i64* first_code,     // [n_features]: where a feature's codes begin in lower and upper
    const double* lower,       // lowest value of each code
    const double* upper,       // and highest
    const int* rows,           // rows of all nodes of all trees
    const i64* weights,        // [n_trees][n_rows]
    const int* labels,         // [n_rows][n_outputs]
    const i64* values,         // [n_trees][n_rows][n_outputs]; unused for classes
    const int* first_channel,  // [n_outputs + 1]
    const TreeGrowth* growth,  // [n_trees]
    const OpenNode* nodes,     // [n_nodes]
    FoundSplit* splits,        // [n_nodes]
    i64 n_rows, int n_features, int n_outputs, int n_cell, int max_codes, int with_classes)
{
    extern __shared__ double shared[];
    __shared__ FoundSplit best;
    __shared__ i64 warp_sums[TREE_WARPS];
    __shared__ int warp_counts[TREE_WARPS], ends[2];
    double* const scores = shared;                 // [max_codes][2]
    double* const total = scores + 2 * max_codes;  // [n_cell]
    u32* const low = (u32*)(total + n_cell);
    const OpenNode node = nodes[blockIdx.x];
    const TreeGrowth p = growth[node.tree];
    const NodeRows node_rows = {
        rows + node.begin, (int)(node.end - node.begin), weights + node.tree * n_rows, labels,
        with_classes ? values : values + node.tree * n_rows * n_outputs, n_outputs, with_classes};
    const Cells cells = {
        low, low + max_codes * n_cell, (int*)(low + 2 * max_codes * n_cell), n_cell,
        with_classes ? 0 : 1, with_classes ? first_channel[1] : 1, p.weight_unit,
        with_classes ? p.weight_unit : p.value_unit};
    const int code = threadIdx.x;

    // the whole node: threads take the part of codes, so that they seldom meet in a cell
    clear(cells, max_codes);
    __syncthreads();
    bool differs = false;
    for (int i = threadIdx.x; i < node_rows.n; i += blockDim.x) {
        add_row(node_rows, node_rows.rows[i], code % max_codes, cells);
        for (int o = 0; o < n_outputs; o++)
            differs |= labels[(i64)node_rows.rows[i] * n_outputs + o]
                != labels[(i64)node_rows.rows[0] * n_outputs + o];
    }
    const bool mixed = __syncthreads_or(differs);
    i64 whole = 0;
    for (int c = 0; c < n_cell; c++) {
        i64 all;
        block_exclusive_sum(code < max_codes ? cell_sum(cells, code, c) : 0, warp_sums, all);
        if (c < cells.n_weights) whole += all;
        if (threadIdx.x == 0)
            total[c] = (double)all
                * (c < cells.first_channel ? cells.weight_unit : cells.channel_unit);
    }
    const double weight = (double)whole * p.weight_unit;
    if (threadIdx.x == 0) {
        best = {};
        best.feature = -1;
    }

    int n_tried = 0;
    for (int k = 0; k < n_features && mixed && weight >= 2.0 * p.min_weight_leaf; k++) {
        const int feature =
            p.max_features < n_features ? drawn_feature(node.key, k, n_features) : k;
        const int n = n_codes[feature];
        const u8* column = codes + feature * n_rows;
        clear(cells, n);
        __syncthreads();
        for (int i = threadIdx.x; i < node_rows.n; i += blockDim.x)
            add_row(node_rows, node_rows.rows[i], column[node_rows.rows[i]], cells);
        __syncthreads();
        const bool present = code > 0 && code < n && cells.counts[code] > 0;
        const int n_missing = cells.counts[0];
        int n_present;
        const int place = block_exclusive_sum(present ? 1 : 0, warp_counts, n_present);
        if (n_present + (n_missing > 0) < 2) continue;  // constant
        n_tried++;
        int only = -1;  // place of the only cut to look at
        double threshold = __longlong_as_double(0x7ff8000000000000ll);  // NaN
        if (p.splitter == RANDOM && n_present > 1) {
            if (present && place == 0) ends[0] = code;
            if (present && place == n_present - 1) ends[1] = code;
            __syncthreads();
            const double *least = lower + first_code[feature], *most = upper + first_code[feature];
            threshold = least[ends[0]]
                + uniform(hash32(node.key, 3u * feature + 2u), 1u)
                    * (most[ends[1]] - least[ends[0]]);
            int n_below;
            block_exclusive_sum(present && most[code] <= threshold ? 1 : 0, warp_counts, n_below);
            only = min(max(n_below - 1, 0), n_present - 2);
        }
        for (int c = 0; c < n_cell; c++) {
            i64 all;
            const i64 sum = present ? cell_sum(cells, code, c) : 0;
            const i64 before = block_exclusive_sum(sum, warp_sums, all);
            if (present) set_cell(cells, code, c, before + sum);
        }
        const int count = present ? cells.counts[code] : 0;
        int n_known;
        const int n_left = block_exclusive_sum(count, warp_counts, n_known) + count;
        if (code < n) {
            const bool is_cut = present && (only < 0 || place == only);
            for (int missing_left = 0; missing_left < 2; missing_left++) {
                const bool wanted = is_cut && (missing_left == 0 || n_missing > 0);
                scores[2 * code + missing_left] = !wanted ? no_split() : tree_cut_score(
                    p, cells, code, missing_left != 0, n_left + missing_left * n_missing,
                    node_rows.n, total, weight, first_channel, n_outputs);
            }
        }
        __syncthreads();
        if (threadIdx.x < WARP) keep_best(scores, n, feature, threshold, cells, weight, best);
        __syncthreads();
        if (n_tried >= p.max_features && best.feature >= 0) break;
    }

    if (threadIdx.x > 0) return;
    FoundSplit out = best;  // others may still be looking at best
    if (out.feature >= 0) {
        const auto all = [&](int c) { return total[cells.first_channel + c]; };
        const double gain = out.gain
            - side_score(p.criterion, all, weight, first_channel, n_outputs);
        if (p.min_gain > 0.0 && gain < p.min_gain) out.feature = -1;
        out.gain = fmax(gain, 0.0);
    }
    splits[blockIdx.x] = out;
}

// Rows of each node with a split, lefts first, both sides in their order. Lefts move towards the
// front in place, rights through the scratch buffer: a chunk's rows are read before any of them is
// written.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 1) divide_rows(
    const u8* codes, int* rows, int* scratch, const OpenNode* nodes, FoundSplit* splits, i64 n_rows)
{
    __shared__ int warp_counts[TREE_WARPS];
    const FoundSplit split = splits[blockIdx.x];
    if (split.feature < 0) return;
    const OpenNode node = nodes[blockIdx.x];
    const u8* column = codes + split.feature * n_rows;
    i64 left_at = node.begin, right_at = node.begin;
    for (i64 start = node.begin; start < node.end; start += blockDim.x) {
        const i64 i = start + threadIdx.x;
        const bool mine = i < node.end;
        const int row = mine ? rows[i] : 0;
        const int code = column[row];
        const bool left = mine && code <= split.code && (code > 0 || split.missing_left);
        int n_lefts;
        const int rank = block_exclusive_sum(left ? 1 : 0, warp_counts, n_lefts);
        if (left) rows[left_at + rank] = row;
        else if (mine) scratch[right_at + threadIdx.x - rank] = row;
        left_at += n_lefts;
        right_at += min((i64)blockDim.x, node.end - start) - n_lefts;
    }
    __syncthreads();
    for (i64 i = threadIdx.x; i < node.end - left_at; i += blockDim.x)
        rows[left_at + i] = scratch[node.begin + i];
    if (threadIdx.x == 0) splits[blockIdx.x].n_left = (int)(left_at - node.begin);
}
