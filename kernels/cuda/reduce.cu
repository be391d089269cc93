// Sums. Those of floats are in the one order of all devices: see kernels/cpu/gradients.py. A block
// of LANES threads takes SUM_BLOCK rows.

__device__ __forceinline__ double fold(double value, double* lanes) {
    lanes[threadIdx.x] = value;
    __syncthreads();
    for (int step = LANES / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) lanes[threadIdx.x] += lanes[threadIdx.x + step];
        __syncthreads();
    }
    const double sum = lanes[0];
    __syncthreads();  // lanes may be written again
    return sum;
}

// Weighted sums of |g| and h of each block of rows and output; a hessian below zero makes its sum
// NaN.
extern "C" __global__ void __launch_bounds__(LANES, 1) sum_gradients(
    const double* g, const double* h, const double* weight,
    double* blocks /* [n_blocks][n_outputs][2] */, i64 n_rows, int weighted)
{
    __shared__ double lanes[LANES];
    const i64 begin = (i64)blockIdx.x * SUM_BLOCK, end = min(begin + SUM_BLOCK, n_rows),
        output = blockIdx.y;
    double sum_g = 0.0, sum_h = 0.0;
    for (i64 i = begin + threadIdx.x; i < end; i += LANES) {
        const double w = weighted ? weight[i] : 1.0;
        sum_g += fabs(g[output * n_rows + i]) * w;
        const double own_h = h[output * n_rows + i];
        sum_h += (own_h >= 0.0 ? own_h : nan("")) * w;
    }
    sum_g = fold(sum_g, lanes);
    sum_h = fold(sum_h, lanes);
    if (threadIdx.x == 0) {
        blocks[2 * (blockIdx.x * gridDim.y + output)] = sum_g;
        blocks[2 * (blockIdx.x * gridDim.y + output) + 1] = sum_h;
    }
}

// Weighted sum of the rows' values and sum of the weights, of each block of rows.
extern "C" __global__ void __launch_bounds__(LANES, 1) sum_values(
    const double* values, const double* weight, double* blocks /* [n_blocks][1][2] */, i64 n_rows,
    int weighted)
{
    __shared__ double lanes[LANES];
    const i64 begin = (i64)blockIdx.x * SUM_BLOCK, end = min(begin + SUM_BLOCK, n_rows);
    double sum = 0.0, sum_w = 0.0;
    for (i64 i = begin + threadIdx.x; i < end; i += LANES) {
        const double w = weighted ? weight[i] : 1.0;
        sum += w * values[i];
        sum_w += w;
    }
    sum = fold(sum, lanes);
    sum_w = fold(sum_w, lanes);
    if (threadIdx.x == 0) {
        blocks[2 * blockIdx.x] = sum;
        blocks[2 * blockIdx.x + 1] = sum_w;
    }
}

// Add up the blocks: out[output][0..1].
extern "C" __global__ void __launch_bounds__(LANES, 1) sum_blocks(
    const double* blocks, double* out, int n_blocks)
{
    __shared__ double lanes[LANES];
    const int output = blockIdx.x, n_outputs = gridDim.x;
    for (int s = 0; s < 2; s++) {
        double sum = 0.0;
        for (int block = threadIdx.x; block < n_blocks; block += LANES)
            sum += blocks[2 * ((i64)block * n_outputs + output) + s];
        sum = fold(sum, lanes);
        if (threadIdx.x == 0) out[2 * output + s] = sum;
    }
}

// Sums of integers up to each place, in two steps: of tiles, then within them. grid: tiles x rows
// of the matrix.
extern "C" __global__ void __launch_bounds__(LANES, 1) sum_tiles(
    const i64* values,  // [gridDim.y][n]
    i64* tile_sums,     // [gridDim.y][gridDim.x]
    i64 n, int tile_rows)
{
    __shared__ i64 warp_sums[LANES / WARP];
    const i64* row = values + blockIdx.y * n;
    const i64 begin = (i64)blockIdx.x * tile_rows, end = min(begin + tile_rows, n);
    i64 sum = 0, total;
    for (i64 i = begin + threadIdx.x; i < end; i += LANES) sum += row[i];
    block_exclusive_sum(sum, warp_sums, total);
    if (threadIdx.x == 0) tile_sums[blockIdx.y * gridDim.x + blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(LANES, 1) sum_up_to(
    i64* values,  // [gridDim.y][n]: become sums
    const i64* tile_sums, i64 n, int tile_rows)
{
    __shared__ i64 warp_sums[LANES / WARP];
    i64* row = values + blockIdx.y * n;
    const i64* row_tiles = tile_sums + blockIdx.y * gridDim.x;
    i64 own = 0, before, total;
    for (int tile = threadIdx.x; tile < (int)blockIdx.x; tile += LANES) own += row_tiles[tile];
    block_exclusive_sum(own, warp_sums, before);
    const i64 begin = (i64)blockIdx.x * tile_rows, end = min(begin + tile_rows, n);
    for (i64 start = begin; start < end; start += LANES) {
        const i64 i = start + threadIdx.x;
        const i64 value = i < end ? row[i] : 0;
        const i64 inclusive = block_exclusive_sum(value, warp_sums, total) + value;
        if (i < end) row[i] = before + inclusive;
        before += total;
    }
}

// How many rows are in each bucket.
extern "C" __global__ void __launch_bounds__(LANES, 1) count_buckets(
    const short* buckets, i64* counts, i64 n_rows)
{
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x,
        stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = first; i < n_rows; i += stride) atomicAdd((u64*)counts + buckets[i], (u64)1);
}
