// What the cart*.cu files share: sums of the codes of a node's rows, scores of the sides of a cut,
// features that are drawn, and tiles of the rows of large nodes.
//
// A search looks at the features of its kind. What it fills for each of them is a FeatureCut;
// pick_splits in cart.cu takes the best of a node.

#define TREE_WARPS (TREE_THREADS / WARP)

// What a search says of a feature in a node: it is constant there; it has cuts; or the node is too
// light to be split at all.
enum { CONSTANT = 0, VARIES = 1, TOO_LIGHT = 2 };

// Kinds of features, by which searches know theirs.
enum { NUMBERS_IN_BINS = 0, NOMINAL = 1, OTHER_NUMBERS = 2 };

// --- the rows of a node

// The rows of a node, and what is known of them by their numbers.
struct NodeRows {
    const int* rows;
    int n;
    const i64* weight;
    const int* labels;  // [n_rows][n_outputs]: classes as channels, or ranks of the values
    const i64* values;  // [n_rows][n_outputs]: weight times target
    int n_outputs, with_classes;
};

__device__ __forceinline__ NodeRows rows_of(
    const OpenNode& node, i64 begin, i64 end, const int* rows, const i64* weights,
    const int* labels, const i64* values, i64 n_rows, int n_outputs, int with_classes)
{
    return {rows + begin, (int)(end - begin), weights + node.tree * n_rows, labels,
        with_classes ? values : values + node.tree * n_rows * n_outputs, n_outputs, with_classes};
}

// Large nodes are the first of a list. Their tiles, of tile_rows rows each, are numbered through;
// node.first_tile is the first of a node.
struct RowTile {
    int place;  // of the node in the list
    i64 begin, end;
};

__device__ __forceinline__ RowTile row_tile(
    int tile, const OpenNode* nodes, int n_large, int tile_rows)
{
    int low = 0, high = n_large;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (nodes[middle].first_tile <= tile) low = middle;
        else high = middle;
    }
    const i64 begin = nodes[low].begin + (i64)(tile - nodes[low].first_tile) * tile_rows;
    return {low, begin, min(begin + tile_rows, nodes[low].end)};
}

// The code of a feature in bytes, or in words of 32 bits.
__device__ __forceinline__ int code_at(const void* codes, int code_bytes, i64 at) {
    return code_bytes == 1 ? ((const u8*)codes)[at] : (int)((const u32*)codes)[at];
}

// --- sums

// Sums of the codes of rows in shared memory: 64 bits in two halves, as only 32-bit atomics are
// native there. A cell is the weight of a class; or for numbers, cell 0 is the weight and the
// others are values. Of many cells some are summed at a time.
struct Cells {
    int* counts;  // [max_codes]: rows; they are counted with the first cell
    u32* low;     // [n][max_codes]
    u32* high;    // [n][max_codes]
    int first, n, max_codes;  // cells first .. first + n - 1
};

// Cells from ``first`` on, at most ``room`` of n_cell, in 4 + 8 * room bytes for each code.
__device__ __forceinline__ Cells cells_at(
    void* memory, int first, int room, int n_cell, int max_codes)
{
    u32* const low = (u32*)memory + max_codes;
    const int n = min(room, n_cell - first);
    return {(int*)memory, low, low + n * max_codes, first, n, max_codes};
}

__device__ __forceinline__ void clear(const Cells& cells, int n_codes) {
    for (int c = 0; c < cells.n; c++)
        for (int i = threadIdx.x; i < n_codes; i += blockDim.x)
            cells.low[c * cells.max_codes + i] = cells.high[c * cells.max_codes + i] = 0;
    for (int i = threadIdx.x; i < n_codes && cells.first == 0; i += blockDim.x) cells.counts[i] = 0;
}

__device__ __forceinline__ void add_to_cell(const Cells& cells, int c, int code, i64 value) {
    const int at = c * cells.max_codes + code;
    const u32 low_word = (u32)value;
    const u32 before = atomicAdd(&cells.low[at], low_word);
    const u32 carry = before + low_word < low_word ? 1u : 0u;
    atomicAdd(&cells.high[at], (u32)((u64)value >> 32) + carry);
}

__device__ __forceinline__ i64 cell_sum(const Cells& cells, int c, int code) {
    const int at = c * cells.max_codes + code;
    return (i64)((u64)cells.high[at] << 32 | cells.low[at]);
}

__device__ __forceinline__ void set_cell(const Cells& cells, int c, int code, i64 sum) {
    const int at = c * cells.max_codes + code;
    cells.low[at] = (u32)sum;
    cells.high[at] = (u32)((u64)sum >> 32);
}

// Add a row to those of its cells that are summed now.
__device__ __forceinline__ void add_row(
    const NodeRows& node_rows, int row, int code, const Cells& cells)
{
    const i64 weight = node_rows.weight[row], at = (i64)row * node_rows.n_outputs;
    if (cells.first == 0) atomicAdd(&cells.counts[code], 1);
    if (node_rows.with_classes) {
        for (int o = 0; o < node_rows.n_outputs; o++) {
            const int c = node_rows.labels[at + o] - cells.first;
            if (c >= 0 && c < cells.n) add_to_cell(cells, c, code, weight);
        }
    } else {
        if (cells.first == 0) add_to_cell(cells, 0, code, weight);
        for (int c = max(1 - cells.first, 0); c < cells.n; c++)
            add_to_cell(cells, c, code, node_rows.values[at + cells.first + c - 1]);
    }
}

// --- scores

__device__ __forceinline__ double x_log_x(double x) {
    return x > 0.0 ? x * natural_log(x) * LOG2_E : 0.0;
}

// The score of one side of a cut, to which its channels are added in their order.
struct SideScore {
    double score, top;
};

// What a channel adds to the score, misclassification aside.
__device__ __forceinline__ double channel_score(int criterion, double sum, double weight) {
    if (criterion == SQUARES) return sum * sum;
    if (criterion != POISSON) return x_log_x(sum);
    // a mean of 0 has no Poisson deviance
    return sum > 0.0 ? sum * natural_log(sum / weight) : no_split();
}

__device__ __forceinline__ void add_channel(
    int criterion, double sum, double weight, SideScore& side)
{
    if (criterion == MISCLASSIFICATION) side.top = fmax(side.top, sum);
    else side.score += channel_score(criterion, sum, weight);
}

// What there is to be done when all channels of an output have been added.
__device__ __forceinline__ void end_output(int criterion, double weight, SideScore& side) {
    if (criterion == MISCLASSIFICATION) side.score += side.top;
    if (criterion == ENTROPY) side.score -= x_log_x(weight);
    side.top = 0.0;
}

__device__ __forceinline__ double score_of(int criterion, double weight, const SideScore& side) {
    return criterion == SQUARES ? side.score / weight : side.score;
}

// Whether both sides of a cut are heavy enough and have enough rows.
__device__ __forceinline__ bool is_allowed(
    const TreeGrowth& p, double left_weight, double weight, int n_left, int n)
{
    const double least = fmax(p.min_weight_leaf, 0.5 * p.weight_unit);
    return left_weight >= least && weight - left_weight >= least && n_left >= p.min_samples_leaf
        && n - n_left >= p.min_samples_leaf;
}

// The place of the best of n scores in the order of the CPU: the first that is better, the first
// after it that is better still, ...; -1: there is none. All lanes of a warp must call it.
__device__ __forceinline__ int first_best(const double* scores, int n, double& score) {
    const int lane = threadIdx.x & (WARP - 1);
    int best = -1;
    score = no_split();
    for (int start = 0; start < n; start += WARP) {
        const double mine = start + lane < n ? scores[start + lane] : no_split();
        for (;;) {
            const u32 hits = __ballot_sync(FULL_WARP,
                mine > no_split() && (best < 0 || mine > score + TIE * fabs(score)));
            if (hits == 0) break;
            best = start + __ffs((int)hits) - 1;
            score = __shfl_sync(FULL_WARP, mine, best - start);
        }
    }
    return best;
}

// --- chance

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
