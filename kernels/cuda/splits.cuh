// What the searches of split.cu and sets.cu share.

// 2**-40: gains below this part of the score are the rounding error of a subtraction
#define NOISE 9.094947017729282e-13

struct Best {
    double score;
    int key;  // (bin << 1) + missing_left; of a set its number in place of the bin
};

__device__ __forceinline__ Best better(Best a, Best b) {
    return b.score > a.score || (b.score == a.score && b.key < a.key) ? b : a;
}

__device__ __forceinline__ Best warp_best(Best best) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const Best other = {__shfl_xor_sync(FULL_WARP, best.score, distance),
            __shfl_xor_sync(FULL_WARP, best.key, distance)};
        best = better(best, other);
    }
    return best;
}

__device__ __forceinline__ bool enough_rows(int n_left, i64 n, const Growth& p) {
    return n_left >= p.min_samples_leaf && n - n_left >= p.min_samples_leaf;
}

