// Splits of every other kind: by sets of categories, by cuts by chance or in the middle of a cell,
// by the absolute error, over codes of any width. A block looks at one feature in one node; memory
// that is not shared, if it has to be, lets there be any number of codes, classes and outputs.

// Features that nodes of the round draw by their probabilities. A block for each node; one thread
// draws, in the order of the CPU: sums of floats depend on it.
extern "C" __global__ void __launch_bounds__(WARP, 1) draw_by_probability(
    const double* probability,  // [n_features]
    const OpenNode* nodes, const int* active, const int* n_active,
    FeatureCut* cuts,           // [n_nodes][n_slots][n_attempts]
    int* features,              // [gridDim.x][n_features], scratch
    int n_features, int first_slot, int n_slots, int n_attempts)
{
    int* const left = features + (i64)blockIdx.x * n_features;
    for (int i = blockIdx.x; i < *n_active; i += gridDim.x) {
        for (int f = threadIdx.x; f < n_features; f += blockDim.x) left[f] = f;
        __syncthreads();
        FeatureCut* const out = cuts + (i64)active[i] * n_slots * n_attempts;
        for (int k = 0; k < first_slot + n_slots && threadIdx.x == 0; k++) {
            double rest = 0.0;
            for (int j = k; j < n_features; j++) rest += probability[left[j]];
            double at = uniform(nodes[active[i]].key, 3u * k) * rest;
            int chosen = -1;
            for (int j = k; j < n_features; j++) {
                const double share = probability[left[j]];
                if (share > 0.0 && (chosen < 0 || at >= 0.0)) chosen = j;
                at -= share;
            }
            const int feature = chosen < 0 ? -1 : left[chosen];
            if (chosen >= 0) {
                left[chosen] = left[k];
                left[k] = feature;
            }
            for (int a = 0; a < n_attempts && k >= first_slot; a++) {
                FeatureCut cut = {};
                cut.score = no_split();
                cut.feature = feature;
                out[(k - first_slot) * n_attempts + a] = cut;
            }
        }
        __syncthreads();
    }
}

// Score of one side, whose cells have the sums sum_of(c).
template <class Sums>
__device__ __forceinline__ double side_score(
    const Task& task, const Work& work, const Sums& sum_of, double weight,
    const int* first_channel)
{
    const int criterion = task.growth.criterion;
    SideScore side = {};
    for (int o = 0; o < task.rows.n_outputs; o++) {
        for (int c = first_channel[o]; c < first_channel[o + 1]; c++)
            add_channel(criterion, sum_of(work.first_channel + c), weight, side);
        end_output(criterion, weight, side);
    }
    return score_of(criterion, weight, side);
}

// Score of a cut, or no_split() if a side is too light or has too few rows. The scores of the
// absolute error are there.
__device__ __forceinline__ double cut_score(
    const Task& task, const Work& work, const Division& division, int cut, bool missing_left,
    double weight, const int* first_channel)
{
    const auto sum = [&](int c) { return left_sum(work, division, cut, missing_left, c); };
    const double left_weight = weight_of(task, work, sum);
    const int n_left = left_count(work, division, cut, missing_left);
    if (!is_allowed(task.growth, left_weight, weight, n_left, task.rows.n)) return no_split();
    if (task.growth.criterion == ABSOLUTE) return work.scores[2 * cut + missing_left];
    const auto left = [&](int c) { return (double)sum(c) * unit_of(task, work, c); };
    const auto right = [&](int c) { return work.total[c] - left(c); };
    return side_score(task, work, left, left_weight, first_channel)
        + side_score(task, work, right, weight - left_weight, first_channel);
}

// Scores of the cuts of a division, into work.scores.
__device__ __forceinline__ void score_division(
    const Task& task, const Work& work, const Division& division, const Present& present,
    double weight, const int* first_channel)
{
    for (int i = threadIdx.x; i < 2 * division.n_cuts; i += blockDim.x) {
        const int cut = i / 2, missing_left = i % 2;
        const bool wanted = (present.has_missing || !missing_left)
            && (division.only < 0 || division.only == cut)
            && (!has_rails(task) || keeps_to_rails(task, work, division, cut));
        work.scores[i] = !wanted ? no_split()
            : cut_score(task, work, division, cut, missing_left != 0, weight, first_channel);
    }
    __syncthreads();
}

// The best cut of a division, or -1, and whether its left side is the heavier one.
struct Best {
    int cut;
    bool heavier_left;
};

// The best cut of a division, into its record. One warp; the first lane knows it.
__device__ __forceinline__ Best keep_best(
    const Task& task, const Work& work, const Division& division, const Present& present,
    double weight, FeatureCut& out)
{
    double score;
    const int best = first_best(work.scores, 2 * division.n_cuts, score);
    const int cut = best < 0 ? -1 : best / 2;
    if (threadIdx.x > 0 || cut < 0) return {cut, false};
    const bool missing_left = best % 2 != 0;
    const double left_weight = weight_of(
        task, work, [&](int c) { return left_sum(work, division, cut, missing_left, c); });
    const bool heavier_left = left_weight >= weight - left_weight;
    out.score = score;
    out.node_score = work.scores[2 * division.n_cuts];
    out.threshold = task.nominal ? 0.0 : present.threshold;
    // the heavier side if none is missing
    out.missing_left = present.has_missing ? missing_left : heavier_left;
    out.n_left = left_count(work, division, cut, missing_left);
    out.code = task.nominal ? -1 : work.code[cut + 1];
    out.next_code = task.nominal || cut + 1 >= present.m ? 0 : work.code[cut + 2];
    return {cut, heavier_left};
}

// What a block says of one feature in one node: a cut for each way in which its codes are divided.
template <class Ranks>
__device__ __forceinline__ void search_feature(
    const Task& task, const Work& work, const SearchSizes& sizes, const int* first_channel,
    const Ranks& ranked, i64* chunks, Best* best, int n_attempts, FeatureCut* cuts,
    u64* cut_sets)
{
    const TreeGrowth& p = task.growth;
    const bool drawn = !task.nominal && p.splitter != BEST;
    const Present present = drawn ? sum_sides(task, work) : sum_codes(task, work);
    if (present.m + present.has_missing < 2) return;  // constant
    if (threadIdx.x == 0) cuts[0].state = VARIES;
    if (!present.has_cut) return;
    const double weight = sum_node(task, work, present.m);
    if (weight < 2.0 * p.min_weight_leaf) {
        if (threadIdx.x == 0) cuts[0].state = TOO_LIGHT;
        return;
    }
    for (int attempt = 0; attempt < n_attempts; attempt++) {
        for (int k = threadIdx.x; k < present.m; k += blockDim.x) work.order[k] = k + 1;
        __syncthreads();
        Division division = task.nominal ? divide_categories(task, work, present.m, attempt, weight)
            : Division{PREFIXES, present.m, present.m - 1, drawn && present.m > 1 ? 0 : -1};
        if (division.n_cuts == 0 && (attempt > 0 || !present.has_missing)) break;
        if (present.has_missing && division.only < 0)
            division.n_cuts++;  // all values left, missing right
        follow_order(work, division);
        if (p.criterion == ABSOLUTE) {
            for (int i = threadIdx.x; i <= 2 * division.n_cuts; i += blockDim.x)
                work.scores[i] = 0.0;
            const auto turn_of = [&](int row) {
                return work.turn[place_of(work, present, code_of(task, row))];
            };
            for (int o = 0; o < task.rows.n_outputs; o++)
                add_distances(ranked(o), division, present.has_missing, turn_of, p.value_unit,
                    chunks, sizes.n_chunk_cells, work.scores);
        } else if (threadIdx.x == 0) {
            work.scores[2 * division.n_cuts] = side_score(
                task, work, [&](int c) { return work.total[c]; }, weight, first_channel);
        }
        score_division(task, work, division, present, weight, first_channel);
        if (threadIdx.x < WARP) {
            const Best kept = keep_best(task, work, division, present, weight, cuts[attempt]);
            if (threadIdx.x == 0) *best = kept;
        }
        __syncthreads();
        if (!task.nominal) break;
        u32* const set = (u32*)(cut_sets + (i64)attempt * sizes.set_words);
        if (best->cut >= 0)
            write_set(task, work, division, best->cut, best->heavier_left, set,
                2 * sizes.set_words);
        __syncthreads();
    }
}

// The best cuts of features of other kinds that the nodes of a round try. Blocks take one node and
// slot after another.
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 2) search_features(
    const void* codes,         // [n_features][n_rows]
    const int* n_codes,        // [n_features]
    const i64* first_code,     // [n_features]: where a feature's codes begin in lower and upper
    const double* lower, const double* upper, const u8* kinds,
    const int* rows,           // rows of all nodes of all trees
    const int* ranked_rows,    // [n_outputs][n_batch_rows]: those of each node by targets
    const i64* weights,        // [n_trees][n_rows]
    const int* labels,         // [n_rows][n_outputs]
    const i64* values,         // [n_trees][n_rows][n_outputs]; unused for classes
    const double* targets,     // [n_trees][n_ranks][n_outputs]: of the absolute error
    const int* first_channel,  // [n_outputs + 1]
    const TreeGrowth* growth,  // [n_trees]
    const Branch* branches,    // of nodes by their numbers: the splits above them
    const OpenNode* nodes, const int* active, const int* n_active,
    FeatureCut* cuts,          // [n_nodes][n_slots][n_attempts]
    u64* cut_sets,             // [n_nodes][n_slots][n_attempts][set_words]
    char* memory,              // [gridDim.x][block_bytes], unless it is shared
    i64* chunks,               // [gridDim.x][n_chunk_cells]
    const SearchSizes* all_sizes, i64 n_batch_rows, int n_slots, int n_attempts)
{
    extern __shared__ double shared[];
    __shared__ i64 warp_sums[TREE_WARPS];
    __shared__ int warp_counts[TREE_WARPS], ends[2];
    __shared__ Best best;
    __shared__ SearchSizes sizes;
    __shared__ Task task;
    __shared__ Work work;
    if (threadIdx.x == 0) {
        sizes = *all_sizes;
        work = work_at(
            sizes.in_shared ? (char*)shared : memory + blockIdx.x * sizes.block_bytes, sizes,
            first_channel);
        work.warp_sums = warp_sums;
        work.warp_counts = warp_counts;
        work.ends = ends;
    }
    for (int i = blockIdx.x; i < *n_active * n_slots; i += gridDim.x) {
        const i64 pair = (i64)active[i / n_slots] * n_slots + i % n_slots;
        const int feature = cuts[pair * n_attempts].feature;
        if (feature < 0 || kinds[feature] == NUMBERS_IN_BINS) continue;
        const OpenNode node = nodes[active[i / n_slots]];
        if (threadIdx.x == 0) {
            const i64 first = first_code[feature];
            task = {
                growth[node.tree],
                rows_of(node, node.begin, node.end, rows, weights, labels, values, sizes.n_rows,
                    sizes.n_outputs, sizes.with_classes),
                codes, sizes.code_bytes, feature * sizes.n_rows, feature, n_codes[feature],
                lower + first, upper + first, kinds[feature] == NOMINAL,
                hash32(node.key, 3u * feature + 2u), branches, node.number};
        }
        __syncthreads();
        const auto ranked = [&](int o) -> Ranked {
            return {ranked_rows + o * n_batch_rows + node.begin, task.rows.labels + o,
                task.rows.values + o, task.rows.weight,
                targets + (i64)node.tree * sizes.n_ranks * sizes.n_outputs + o, task.rows.n,
                sizes.n_outputs};
        };
        search_feature(task, work, sizes, first_channel, ranked,
            chunks + blockIdx.x * (i64)sizes.n_chunk_cells, &best, n_attempts,
            cuts + pair * n_attempts, cut_sets + pair * n_attempts * sizes.set_words);
        __syncthreads();
    }
}
