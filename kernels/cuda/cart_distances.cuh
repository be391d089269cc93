// The absolute error: scores of cuts are sums of distances from the weighted median. Twin of
// kernels/cpu/cart/distances.py.
//
// A node's rows also stand in the order of their targets. They are cut into chunks; the weights and
// values of each chunk are summed by the turn that a row's code has in the order of the cuts, and
// added up over turns and chunks. A thread then finds the median of a side of a cut: first the
// chunk, by bisection, then the target, row by row. All rows of one target count to the chunk in
// which the first of them stands. Where chunks begin changes nothing.

struct Chunks {
    i64* sums;   // [n][m + 2][2]: weight and value; behind those of the turns, of missing values
                 // and of all others
    int n, size, m;
};

// A node's rows by one output's target.
struct Ranked {
    const int* rows;        // ascending by target
    const int* rank;        // [n_rows][n_outputs]: of this output
    const i64* value;       // [n_rows][n_outputs]
    const i64* weight;
    const double* targets;  // [n_ranks][n_outputs]: in units of value / weight
    int n, n_outputs;
};

__device__ __forceinline__ int rank_at(const Ranked& node, int i) {
    return node.rank[(i64)node.rows[i] * node.n_outputs];
}

// The chunk of the i-th row: that of the first row with its target.
__device__ __forceinline__ int chunk_of(const Ranked& node, int size, int i) {
    const int chunk = i / size, rank = rank_at(node, i);
    if (chunk == 0 || rank_at(node, chunk * size - 1) != rank) return chunk;
    int low = 0, high = chunk * size - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (rank_at(node, middle) < rank) low = middle + 1;
        else high = middle;
    }
    return low / size;
}

// Sums of the chunks. turn_of(row): m for missing values.
template <class Turn>
__device__ __forceinline__ Chunks sum_chunks(
    const Ranked& node, int m, bool prefixes, const Turn& turn_of, i64* memory, int n_cells)
{
    const int most = max(n_cells / (2 * (m + 2)), 1);
    const int size = max(max((node.n + most - 1) / most, (int)sqrt((double)node.n)), 1);
    const Chunks out = {memory, (node.n + size - 1) / size, size, m};
    const int width = 2 * (m + 2);
    for (int i = threadIdx.x; i < out.n * width; i += blockDim.x) out.sums[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < node.n; i += blockDim.x) {
        const int row = node.rows[i];
        i64* const sums = out.sums + chunk_of(node, size, i) * width + 2 * turn_of(row);
        atomicAdd((u64*)&sums[0], (u64)node.weight[row]);
        atomicAdd((u64*)&sums[1], (u64)node.value[(i64)row * node.n_outputs]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * out.n; i += blockDim.x) {
        i64* const sums = out.sums + i / 2 * width + i % 2;
        i64 known = 0;
        for (int k = 0; k < m; k++) {
            known += sums[2 * k];
            if (prefixes) sums[2 * k] = known;
        }
        sums[2 * (m + 1)] = known;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        i64 sum = 0;
        for (int chunk = 0; chunk < out.n; chunk++)
            out.sums[chunk * width + i] = sum += out.sums[chunk * width + i];
    }
    __syncthreads();
    return out;
}

// Sum of weight times distance from the weighted median. up_to(chunk, 0 or 1): weight or value of
// the side's rows in all chunks up to one; is_in(row): whether a row is on the side.
template <class Sums, class Side>
__device__ __forceinline__ double distance_from_median(
    const Ranked& node, const Chunks& chunks, const Sums& up_to, const Side& is_in)
{
    const i64 weight = up_to(chunks.n - 1, 0), value = up_to(chunks.n - 1, 1);
    int low = 0, high = chunks.n - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (2 * up_to(middle, 0) < weight) low = middle + 1;
        else high = middle;
    }
    // sums of what is below a target, and up to it
    i64 weight_below = low > 0 ? up_to(low - 1, 0) : 0, weight_here = weight_below;
    i64 value_below = low > 0 ? up_to(low - 1, 1) : 0, value_here = value_below;
    const int begin = low * chunks.size, end = min(begin + chunks.size, node.n);
    const int before = begin > 0 ? rank_at(node, begin - 1) : -1;
    int rank = before;
    for (int i = begin; i < end; i++) {
        const int row = node.rows[i], here = node.rank[(i64)row * node.n_outputs];
        if (here == before) continue;
        if (here != rank) {
            rank = here;
            weight_below = weight_here;
            value_below = value_here;
        }
        if (!is_in(row)) continue;
        weight_here += node.weight[row];
        value_here += node.value[(i64)row * node.n_outputs];
        if (2 * weight_here >= weight) break;
    }
    const double median = node.targets[(i64)rank * node.n_outputs];
    return median * (2.0 * (double)weight_below - (double)weight)
        - (2.0 * (double)value_below - (double)value);
}

// Which rows a distance is of.
enum { LEFT = 0, RIGHT = 1, WHOLE = 2 };

// Adds one output to the scores of the cuts that are looked at, and to the one behind them, which
// is that of the node before it is split.
template <class Turn>
__device__ __forceinline__ void add_distances(
    const Ranked& node, const Division& division, bool has_missing, const Turn& turn_of,
    double unit, i64* memory, int n_cells, double* scores)
{
    const int m = division.m, width = 2 * (m + 2);
    const Chunks chunks = sum_chunks(
        node, m, division.kind == PREFIXES, turn_of, memory, n_cells);
    for (int i = threadIdx.x; i <= 2 * division.n_cuts; i += blockDim.x) {
        const int cut = i / 2, missing_left = i % 2;
        const bool whole = cut == division.n_cuts;
        if (!whole && ((missing_left && !has_missing)
            || (division.only >= 0 && division.only != cut)))
            continue;
        for (int side = whole ? WHOLE : LEFT; side <= (whole ? WHOLE : RIGHT); side++) {
            const auto up_to = [&](int chunk, int which) {
                const i64* const sums = chunks.sums + chunk * width + which;
                const i64 all = sums[2 * m] + sums[2 * (m + 1)];
                if (side == WHOLE) return all;
                const i64 left = set_sum<i64>(division, cut, [&](int k) { return sums[2 * k]; })
                    + (missing_left ? sums[2 * m] : 0);
                return side == LEFT ? left : all - left;
            };
            const auto is_in = [&](int row) {
                if (side == WHOLE) return true;
                const int turn = turn_of(row);
                const bool left = turn == m ? missing_left != 0 : is_in_set(division, cut, turn);
                return left == (side == LEFT);
            };
            scores[i] -= distance_from_median(node, chunks, up_to, is_in) * unit;
        }
    }
    __syncthreads();  // the memory may be used again
}
