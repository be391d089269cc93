// One feature in one node, in the hands of a block: which of its codes are present, and their sums.
//
// A code that is present has a place: 0 for the missing value, 1, 2, ... in ascending order. A cut
// that is drawn by chance, or lies in the middle of a cell, needs no sums of single codes: its rows
// have place 0, 1 (left) or 2 (right). Twin of kernels/cpu/cart/codes.py and chance.py.

// What a block looks at.
struct Task {
    TreeGrowth growth;
    NodeRows rows;
    const void* columns;  // [n_features][n_rows]: codes
    int code_bytes;
    i64 column;           // where the feature's codes begin in columns
    int feature, n_codes;
    const double* lower;  // [n_codes]: lowest value of each code of the feature
    const double* upper;  // and highest
    bool nominal;
    u32 key;              // of what is drawn for the feature
    const Branch* branches;
    int place;            // of the node among them
};

// Memory of a block.
struct Work {
    Cells cells;          // of each place
    int first_channel;    // the first cell that is one
    int n_weights;        // cells that add up to the weight
    i64* prefix;          // [n_cell][n_places]: sums of the codes up to each in the order
    double* total;        // [n_cell]: of the node
    double* key;          // [n_places]: what places are ordered by
    double* scores;       // [n_cuts][2]: of each cut, missing values right and left; behind those
                          // of the cuts that there are, of the node before it is split
    int* prefix_count;    // [n_places]: rows
    int* code;            // [n_places]: code of each place
    int* place;           // [n_places]: place of each code
    int* order;           // [n_places]: places as they are divided
    int* turn;            // [n_places]: turn of each place in the order
    u32* marks;           // [n_places / 32, rounded up]: a bit for each code that is present
    i64* warp_sums;       // [TREE_WARPS], shared
    int* warp_counts;     // [TREE_WARPS], shared
    int* ends;            // [2], shared
};

template <class T>
__device__ __forceinline__ T* take(char*& at, i64 n) {
    T* const out = (T*)at;
    at += n * (i64)sizeof(T);
    return out;
}

// The parts of a block's memory; ``search_bytes`` in search.py says how much that is.
__device__ __forceinline__ Work work_at(
    char* at, const SearchSizes& sizes, const int* first_channel)
{
    const i64 n = sizes.n_places, n_cells = n * sizes.n_cell;
    Work work;
    work.first_channel = sizes.with_classes ? 0 : 1;
    work.n_weights = sizes.with_classes ? first_channel[1] : 1;
    work.prefix = take<i64>(at, n_cells);
    work.total = take<double>(at, sizes.n_cell);
    work.key = take<double>(at, n);
    work.scores = take<double>(at, 2 * sizes.n_cuts + 1);
    int* const counts = take<int>(at, n);
    u32 *const low = take<u32>(at, n_cells), *const high = take<u32>(at, n_cells);
    work.cells = {counts, low, high, 0, sizes.n_cell, sizes.n_places};
    work.prefix_count = take<int>(at, n);
    work.code = take<int>(at, n);
    work.place = take<int>(at, n);
    work.order = take<int>(at, n);
    work.turn = take<int>(at, n);
    work.marks = take<u32>(at, (n + 31) / 32);
    return work;
}

// What is known of the feature in the node.
struct Present {
    int m;                // codes with a value; of a drawn cut: sides that have one
    bool has_missing;
    bool has_cut;         // else all rows are on one side of the middle
    int border;           // of a drawn cut: codes up to this one go left; else -1
    double threshold;     // where it was drawn, or NaN
};

__device__ __forceinline__ int code_of(const Task& task, int row) {
    return code_at(task.columns, task.code_bytes, task.column + row);
}

__device__ __forceinline__ int place_of(const Work& work, const Present& present, int code) {
    if (present.border < 0) return work.place[code];
    return code == 0 ? 0 : code <= present.border ? 1 : 2;
}

// What one step of a cell's sum stands for.
__device__ __forceinline__ double unit_of(const Task& task, const Work& work, int c) {
    return task.rows.with_classes || c < work.first_channel
        ? task.growth.weight_unit : task.growth.value_unit;
}

// The least and the greatest of what all threads have, into lowest and highest.
__device__ __forceinline__ void block_ends(int& lowest, int& highest, int* ends) {
    if (threadIdx.x == 0) {
        ends[0] = lowest;
        ends[1] = highest;
    }
    __syncthreads();
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        lowest = min(lowest, __shfl_xor_sync(FULL_WARP, lowest, distance));
        highest = max(highest, __shfl_xor_sync(FULL_WARP, highest, distance));
    }
    if ((threadIdx.x & (WARP - 1)) == 0) {
        atomicMin(&ends[0], lowest);
        atomicMax(&ends[1], highest);
    }
    __syncthreads();
    lowest = ends[0];
    highest = ends[1];
    __syncthreads();  // ends may be written again
}

// Middle of the node's cell along the feature: it lies between the splits above the node, or the
// ends of the data.
__device__ __forceinline__ double cell_middle(const Task& task) {
    double low = task.lower[1], high = task.upper[task.n_codes - 1];
    bool low_known = false, high_known = false;
    for (int at = task.place; task.branches[at].above >= 0; at = task.branches[at].above) {
        const Branch branch = task.branches[at];
        if (branch.feature != task.feature) continue;
        if (branch.is_left && !high_known) high = branch.threshold;
        if (!branch.is_left && !low_known) low = branch.threshold;
        high_known |= branch.is_left != 0;
        low_known |= branch.is_left == 0;
    }
    return low + 0.5 * (high - low);
}

// How many of the feature's codes, all that have a value, lie at or below a threshold.
__device__ __forceinline__ int codes_at_or_below(const Task& task, double threshold) {
    int low = 0, high = task.n_codes - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (task.upper[1 + middle] <= threshold) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Draws a cut, and sums the rows on both sides of it. Many copies of the sums, so that threads
// seldom meet in a cell, are added up in the end.
__device__ __forceinline__ Present sum_sides(const Task& task, const Work& work) {
    int lowest = task.n_codes, highest = 0;
    for (int i = threadIdx.x; i < task.rows.n; i += blockDim.x) {
        const int code = code_of(task, task.rows.rows[i]);
        if (code > 0) lowest = min(lowest, code);
        highest = max(highest, code);
    }
    block_ends(lowest, highest, work.ends);
    Present out = {0, true, true, highest, __longlong_as_double(0x7ff8000000000000ll)};
    if (highest == 0) return out;  // all are missing
    out.m = lowest < highest ? 2 : 1;
    if (out.m == 2) {
        out.threshold = task.growth.splitter == MIDPOINT ? cell_middle(task)
            : task.lower[lowest]
                + uniform(task.key, 1u) * (task.upper[highest] - task.lower[lowest]);
        out.border = codes_at_or_below(task, out.threshold);
        // all rows may be on one side of the middle
        out.has_cut = task.growth.splitter != MIDPOINT
            || (out.border >= lowest && out.border < highest);
        if (!out.has_cut) return out;
        out.border = min(max(out.border, lowest), highest - 1);
    }
    const int n_copies = work.cells.max_codes / 3;
    const int first_place = 3 * (threadIdx.x % n_copies);
    clear(work.cells, 3 * n_copies);
    __syncthreads();
    int last = 0, next = task.n_codes;
    for (int i = threadIdx.x; i < task.rows.n; i += blockDim.x) {
        const int row = task.rows.rows[i], code = code_of(task, row);
        if (code > out.border) next = min(next, code);
        else last = max(last, code);
        add_row(task.rows, row, first_place + place_of(work, out, code), work.cells);
    }
    block_ends(next, last, work.ends);
    for (int i = threadIdx.x; i < 3 * work.cells.n; i += blockDim.x) {
        i64 sum = 0;
        for (int copy = 0; copy < n_copies; copy++)
            sum += cell_sum(work.cells, i / 3, 3 * copy + i % 3);
        set_cell(work.cells, i / 3, i % 3, sum);
    }
    for (int place = threadIdx.x; place < 3; place += blockDim.x) {
        int count = 0;
        for (int copy = 0; copy < n_copies; copy++) count += work.cells.counts[3 * copy + place];
        work.cells.counts[place] = count;
        work.code[place] = place == 0 ? 0 : place == 1 ? last : next;
    }
    __syncthreads();
    out.has_missing = work.cells.counts[0] > 0;
    return out;
}

// Gives the codes that are present their places, and sums the rows of each.
__device__ __forceinline__ Present sum_codes(const Task& task, const Work& work) {
    const int n_words = (task.n_codes + 31) / 32;
    for (int w = threadIdx.x; w < n_words; w += blockDim.x) work.marks[w] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < task.rows.n; i += blockDim.x) {
        const int code = code_of(task, task.rows.rows[i]);
        atomicOr(&work.marks[code / 32], 1u << code % 32);
    }
    __syncthreads();
    int m = 0;
    for (int start = 0; start < n_words; start += blockDim.x) {
        const int w = start + threadIdx.x;
        u32 marks = w < n_words ? work.marks[w] : 0u;
        if (w == 0) marks &= ~1u;
        int n_here;
        int place = 1 + m + block_exclusive_sum(__popc(marks), work.warp_counts, n_here);
        for (; marks != 0; marks &= marks - 1) {
            const int code = 32 * w + __ffs((int)marks) - 1;
            work.code[place] = code;
            work.place[code] = place++;
        }
        m += n_here;
    }
    if (threadIdx.x == 0) work.code[0] = work.place[0] = 0;
    clear(work.cells, m + 1);
    __syncthreads();
    for (int i = threadIdx.x; i < task.rows.n; i += blockDim.x) {
        const int row = task.rows.rows[i];
        add_row(task.rows, row, work.place[code_of(task, row)], work.cells);
    }
    __syncthreads();
    return {m, work.cells.counts[0] > 0, true, -1, __longlong_as_double(0x7ff8000000000000ll)};
}

// Sums over the node, from those of its places; returns its weight.
__device__ __forceinline__ double sum_node(const Task& task, const Work& work, int m) {
    for (int c = 0; c < work.cells.n; c++) {
        i64 sum = 0, all;
        for (int place = threadIdx.x; place <= m; place += blockDim.x)
            sum += cell_sum(work.cells, c, place);
        block_exclusive_sum(sum, work.warp_sums, all);
        if (threadIdx.x == 0) work.total[c] = (double)all * unit_of(task, work, c);
    }
    __syncthreads();
    double weight = 0.0;
    for (int c = 0; c < work.n_weights; c++) weight += work.total[c];  // exact
    return weight;
}

// Weight of what has the sum sum_of(c) in each cell.
template <class Sums>
__device__ __forceinline__ double weight_of(
    const Task& task, const Work& work, const Sums& sum_of)
{
    i64 sum = 0;
    for (int c = 0; c < work.n_weights; c++) sum += sum_of(c);
    return (double)sum * task.growth.weight_unit;
}
