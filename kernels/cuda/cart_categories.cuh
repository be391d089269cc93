// How places are divided: all cuts of one order, or sets of categories. Twin of
// kernels/cpu/cart/cuts.py and categories.py.

// How cuts follow from the order: all up to one, one alone, every set.
#define PREFIXES 0
#define SINGLES 1
#define SUBSETS 2

struct Division {
    int kind;
    int m;       // places in the order, the missing value aside
    int n_cuts;
    int only;    // the only cut to look at, or -1
};

// Whether what has the k-th turn in the order is on the left. Behind the last cut come all of them.
__device__ __forceinline__ bool is_in_set(const Division& division, int cut, int k) {
    if (division.kind == PREFIXES) return k <= cut;
    if (division.kind == SINGLES) return k == cut || cut >= division.m;
    return ((cut + 1) >> k & 1) != 0 || cut + 1 >= 1 << (division.m - 1);
}

// Sum over the left side of a cut, missing values aside; sum_of(k): of what has the k-th turn, of
// prefixes that of all up to it.
template <class T, class Sums>
__device__ __forceinline__ T set_sum(const Division& division, int cut, const Sums& sum_of) {
    if (division.kind == PREFIXES) return sum_of(cut);
    T sum = 0;
    for (int k = 0; k < division.m; k++)
        if (is_in_set(division, cut, k)) sum += sum_of(k);
    return sum;
}

// Sum of a cell over the left side of a cut.
__device__ __forceinline__ i64 left_sum(
    const Work& work, const Division& division, int cut, bool missing_left, int c)
{
    const i64 sum = set_sum<i64>(division, cut, [&](int k) {
        return division.kind == PREFIXES ? work.prefix[(i64)c * work.cells.max_codes + k]
            : cell_sum(work.cells, c, work.order[k]);
    });
    return sum + (missing_left ? cell_sum(work.cells, c, 0) : 0);
}

// Its rows.
__device__ __forceinline__ int left_count(
    const Work& work, const Division& division, int cut, bool missing_left)
{
    const int count = set_sum<int>(division, cut, [&](int k) {
        return division.kind == PREFIXES ? work.prefix_count[k]
            : work.cells.counts[work.order[k]];
    });
    return count + (missing_left ? work.cells.counts[0] : 0);
}

__device__ __forceinline__ bool comes_later(const Work& work, int a, int b) {
    return work.key[a] > work.key[b] || (work.key[a] == work.key[b] && a > b);
}

// Orders two places; those behind the last one count as the greatest.
__device__ __forceinline__ void order_pair(const Work& work, int low, int high, int m) {
    if (high >= m) return;
    const int a = work.order[low], b = work.order[high];
    if (!comes_later(work, a, b)) return;
    work.order[low] = b;
    work.order[high] = a;
}

// Sorts the places by key, equal keys by place: a bitonic network. The halves of a stretch are
// sorted, mirrored pairs are ordered, and so are those at half the distance, and so on.
__device__ __forceinline__ void sort_order(const Work& work, int m) {
    for (int half = 1; half < m; half *= 2) {
        const int n_pairs = (m + 2 * half - 1) / (2 * half) * half;
        for (int i = threadIdx.x; i < n_pairs; i += blockDim.x) {
            const int begin = i / half * 2 * half, at = i % half;
            order_pair(work, begin + at, begin + 2 * half - 1 - at, m);
        }
        __syncthreads();
        for (int distance = half / 2; distance > 0; distance /= 2) {
            for (int i = threadIdx.x; i < n_pairs; i += blockDim.x) {
                const int low = i / distance * 2 * distance + i % distance;
                order_pair(work, low, low + distance, m);
            }
            __syncthreads();
        }
    }
}

// Whether a feature has so many categories that small ones could fit anything.
__device__ __forceinline__ bool has_rails(const Task& task) {
    return task.nominal && task.n_codes > MAX_EXHAUSTIVE + 1 && task.growth.splitter != RANDOM;
}

// Whether a cut leaves categories of few rows together, and one side has few categories.
__device__ __forceinline__ bool keeps_to_rails(
    const Task& task, const Work& work, const Division& division, int cut)
{
    const int m = division.m;
    if (division.kind == PREFIXES)
        return cut >= m - 1  // all values left, missing right
            || (work.key[work.order[cut]] != work.key[work.order[cut + 1]]
                && min(cut + 1, m - 1 - cut) <= task.growth.max_cat_threshold);
    bool here = false, there = false;
    for (int k = 0; k < m; k++) {
        if (work.cells.counts[work.order[k]] >= task.growth.min_data_per_category) continue;
        if (is_in_set(division, cut, k)) here = true;
        else there = true;
    }
    return !(here && there);
}

// Keys of categories by the means of cell c; those of few rows have one together.
__device__ __forceinline__ void set_keys(
    const Task& task, const Work& work, int m, int c, double node_weight)
{
    const TreeGrowth& p = task.growth;
    const bool rails = has_rails(task);
    const i64 least = rails ? p.min_data_per_category : 0;
    const double extra = rails ? p.cat_smooth * (node_weight / (double)task.rows.n) : 0.0;
    const double more = extra * (work.total[c] / node_weight);
    i64 rare_sum = 0, rare_weight = 0;
    for (int place = 1 + threadIdx.x; place <= m; place += blockDim.x) {
        const i64 sum = cell_sum(work.cells, c, place);
        i64 weight = 0;
        for (int w = 0; w < work.n_weights; w++) weight += cell_sum(work.cells, w, place);
        if (work.cells.counts[place] < least) {
            rare_sum += sum;
            rare_weight += weight;
        }
        const double mean = ((double)sum * unit_of(task, work, c) + more)
            / ((double)weight * p.weight_unit + extra);
        work.key[place] = mean == mean ? mean : -no_split();  // nothing there: behind all others
    }
    if (rails) {
        i64 sum, weight;
        block_exclusive_sum(rare_sum, work.warp_sums, sum);
        block_exclusive_sum(rare_weight, work.warp_sums, weight);
        const double mean = ((double)sum * unit_of(task, work, c) + more)
            / ((double)weight * p.weight_unit + extra);
        for (int place = 1 + threadIdx.x; place <= m && weight > 0; place += blockDim.x)
            if (work.cells.counts[place] < least) work.key[place] = mean;
    }
    __syncthreads();
}

// The way in which categories are divided at an attempt, whose order it sets. Without cuts there
// are no more attempts.
__device__ __forceinline__ Division divide_categories(
    const Task& task, const Work& work, int m, int attempt, double node_weight)
{
    const TreeGrowth& p = task.growth;
    const int n_channels = work.cells.n - work.first_channel;
    const bool two_or_numbers = task.rows.n_outputs == 1
        && (!task.rows.with_classes || n_channels == 2);
    if (p.splitter == RANDOM) {  // each category left or right by chance
        int n_left = 0;
        for (int start = 0; start < m; start += blockDim.x) {
            const int place = 1 + start + threadIdx.x;
            const bool is_left = place <= m && (hash32(task.key, (u32)work.code[place]) & 1u) != 0;
            if (place <= m) work.key[place] = is_left ? 0.0 : 1.0;
            n_left += __syncthreads_count(is_left);
        }
        sort_order(work, m);
        return {PREFIXES, m, attempt == 0 ? m - 1 : 0, min(max(n_left - 1, 0), m - 2)};
    }
    if (p.division == ONE_VS_REST) return {SINGLES, m, attempt == 0 ? m : 0, -1};
    if ((p.division == EXHAUSTIVE || (p.division == AUTOMATIC && !two_or_numbers))
        && m > 2 && m <= MAX_EXHAUSTIVE && !(has_rails(task) && p.division == AUTOMATIC))
        return {SUBSETS, m, attempt == 0 ? (1 << (m - 1)) - 1 : 0, -1};
    // by the mean, or by the share of each class in turn; of two classes one is enough
    const int channel = attempt + (two_or_numbers && task.rows.with_classes ? 1 : 0);
    if (channel >= n_channels) return {PREFIXES, m, 0, -1};
    set_keys(task, work, m, work.first_channel + channel, node_weight);
    sort_order(work, m);
    return {PREFIXES, m, m - 1, -1};
}

// The turn of each place in the order and, for cuts that follow it, the sums of all up to each.
__device__ __forceinline__ void follow_order(const Work& work, const Division& division) {
    const int m = division.m;
    for (int k = threadIdx.x; k < m; k += blockDim.x) work.turn[work.order[k]] = k;
    if (threadIdx.x == 0) work.turn[0] = m;
    __syncthreads();
    if (division.kind != PREFIXES) return;
    for (int start = 0; start < m; start += blockDim.x) {
        const int k = start + threadIdx.x, place = k < m ? work.order[k] : -1;
        for (int c = 0; c < work.cells.n; c++) {
            i64* const prefix = work.prefix + (i64)c * work.cells.max_codes;
            i64 all;
            const i64 sum = place >= 0 ? cell_sum(work.cells, c, place) : 0;
            const i64 before = block_exclusive_sum(sum, work.warp_sums, all)
                + (start > 0 ? prefix[start - 1] : 0);
            if (k < m) prefix[k] = before + sum;
        }
        int all;
        const int count = place >= 0 ? work.cells.counts[place] : 0;
        const int before = block_exclusive_sum(count, work.warp_counts, all)
            + (start > 0 ? work.prefix_count[start - 1] : 0);
        if (k < m) work.prefix_count[k] = before + count;
    }
    __syncthreads();
}

// The categories on the left of a cut as bits. Those that the node does not have are on the left,
// or not.
__device__ __forceinline__ void write_set(
    const Task& task, const Work& work, const Division& division, int cut, bool others_left,
    u32* words, int n_words)
{
    for (int w = threadIdx.x; w < n_words; w += blockDim.x) words[w] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < division.m; k += blockDim.x) {
        if (is_in_set(division, cut, k) == others_left) continue;
        const int code = work.code[work.order[k]];
        atomicOr(&words[code / 32], 1u << code % 32);
    }
    __syncthreads();
    for (int w = threadIdx.x; w < n_words && others_left; w += blockDim.x) {
        const int n_bits = task.n_codes - 32 * w;  // of the words from here on
        const u32 all = n_bits >= 32 ? FULL_WARP : n_bits > 0 ? (1u << n_bits) - 1u : 0u;
        words[w] = all & ~words[w] & (w == 0 ? ~1u : FULL_WARP);
    }
}
