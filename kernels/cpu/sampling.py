"""Random choices of rows and columns, from the hash of a counter: no state, no order."""

import numpy as np

from gpuboost.dtypes import SUM_BLOCK as BLOCK
from gpuboost.dtypes import SUM_LANES as LANES
from gpuboost.kernels.cpu._jit import atomic_add, helper, inlined, jitable, kernel, take_number
from gpuboost.kernels.cpu.draws import choose_first, choose_some
from gpuboost.kernels.cpu.gradients import add_up, fold
from gpuboost.scalar import sampling as formulas
from gpuboost.scalar.formulas import arrival, hash32
from gpuboost.scalar.sampling import N_BUCKETS

for _function in (
    formulas.bucket_of,
    formulas.steps_of,
    formulas.is_certain,
    formulas.share_kept,
    formulas.fill_plan,
    formulas.square_of,
    formulas.weighted_bucket,
    formulas.add_sizes,
    formulas.find_limit,
    formulas.times_of_row,
    formulas.scaled_hessian,
    formulas.keep_unit,
):
    jitable(_function)

#: A counter that is the number of no row: rows are numbered below 2**31.
NO_ROW = 0xFFFFFFFF


@kernel
def mix_key(seed, a, b, c):
    """A 32-bit key for one purpose, from the seed and up to three counters."""
    return hash32(hash32(hash32(np.uint32(seed), a), b), c)


@helper
def list_marked_rows(rows, marks, out):
    """The rows whose mark is 1; returns how many these are."""
    n = 0
    for i in range(rows.shape[0]):
        out[n] = rows[i]
        n += np.int64(marks[i])
    return n


@kernel
def draw_rows(
    counter,  # (1,) int64, INOUT
    usable,  # (n,) int32, IN: rows with weight
    fraction,
    key,
    out,  # (n,) int32, OUT: the rows of each block that are kept, from where the block begins
    n_kept,  # (n_blocks,) int64, OUT: how many rows of each block these are
):
    """Keep each row with the given probability."""
    limit = fraction * 4294967296.0
    is_kept = np.empty(BLOCK, np.uint8)
    block = take_number(counter)
    while block < n_kept.shape[0]:
        rows = usable[block * BLOCK : min((block + 1) * BLOCK, usable.shape[0])]
        for i in range(rows.shape[0]):  # vectorises, which the list does not
            is_kept[i] = np.float64(hash32(key, rows[i])) < limit
        n_kept[block] = list_marked_rows(rows, is_kept, out[block * BLOCK :])
        block = take_number(counter)


@kernel
def join_blocks(
    listed,  # (n,) int32, IN: the rows of each block that are kept, from where the block begins
    n_kept,  # (n_blocks,) int64, IN: how many rows of each block these are
    usable,  # (n,) int32, IN: rows with weight
    key,
    out,  # (n,) int32, OUT: the rows that are kept
):
    """List the rows that are kept, one row if there are none; returns how many there are."""
    n = 0
    for block in range(n_kept.shape[0]):
        begin = block * BLOCK
        of_block, target = listed[begin : begin + n_kept[block]], out[n : n + n_kept[block]]
        for i in range(of_block.shape[0]):
            target[i] = of_block[i]
        n += n_kept[block]
    if n == 0:
        out[0] = any_of(usable, key)
        n = 1
    return n


@helper
def any_of(usable, key):
    """One of the rows."""
    word = np.uint64(hash32(key, np.uint32(NO_ROW))) * np.uint64(usable.shape[0])
    return usable[word >> np.uint64(32)]


any_row = kernel(any_of.py_func)
begin_sample = kernel(formulas.begin_sample)


@inlined
def measure_rows(g, h, root, weight, scale, squares, buckets):
    """``measure_row`` for a block of rows; outputs outside, rows inside vectorise."""
    n = buckets.shape[0]
    for i in range(n):
        squares[i] = formulas.square_of(g[0, i], h[0, i], root)
    for k in range(1, g.shape[0]):
        g_, h_ = g[k], h[k]
        for i in range(n):
            squares[i] += formulas.square_of(g_[i], h_[i], root)
    if weight.shape[0] > 0:
        for i in range(n):
            buckets[i] = formulas.weighted_bucket(squares[i], weight[i], scale)
    else:
        for i in range(n):
            buckets[i] = formulas.bucket_of(squares[i] * (scale * scale))


@kernel
def count_sizes(
    counter,  # (1,) int64, INOUT
    g,  # (n_outputs, n_rows) float64, IN
    h,  # (n_outputs, n_rows) float64, IN
    root,
    weight,  # (n_rows,) float64 or (0,), IN
    sample,  # (1,) SAMPLE, IN
    buckets,  # (n_rows,) int16, OUT: of the rows' sizes
    counts,  # (2, N_BUCKETS + 1) int64, INOUT: rows of each bucket are added to the first line
):
    """Put the rows into buckets by the size of their gradients."""
    # neighbours are counted apart: adding to one count twice would wait for the first sum
    own = np.zeros((2, N_BUCKETS + 1), np.int32)
    n_rows, scale, squares = g.shape[1], sample[0].scale, np.empty(BLOCK)
    block = take_number(counter)
    while block * BLOCK < n_rows:
        begin, end = np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, n_rows))
        measure_rows(
            g[:, begin:end],
            h[:, begin:end],
            root,
            weight[begin:end],
            scale,
            squares,
            buckets[begin:end],
        )
        for i in range(begin, end):
            own[i & np.uint64(1), np.uint64(buckets[i])] += 1
        block = take_number(counter)
    for bucket in range(N_BUCKETS):
        n = np.int64(own[0, bucket]) + np.int64(own[1, bucket])
        if n != 0:
            atomic_add(counts, bucket, n)


@kernel
def plan_sample(
    counts,  # (2, N_BUCKETS + 1) int64, INOUT: become sums up to each bucket
    n_wanted,
    n_top,
    by_size,
    sample,  # (1,) SAMPLE, INOUT
    plan,  # (2, N_BUCKETS + 1) float64, OUT
):
    """How likely rows of each bucket are kept, and how often they count then."""
    for bucket in range(N_BUCKETS):
        formulas.add_sizes(bucket, counts)
    for bucket in range(1, N_BUCKETS):
        counts[0, bucket] += counts[0, bucket - 1]
        counts[1, bucket] += counts[1, bucket - 1]
    for bucket in range(N_BUCKETS):
        formulas.find_limit(bucket, counts, n_wanted, n_top, by_size, sample)
    for bucket in range(N_BUCKETS + 1):
        formulas.fill_plan(bucket, by_size, sample, plan)


@kernel
def keep_rows(
    counter,  # (1,) int64, INOUT
    key,
    buckets,  # (n_rows,) int16, IN
    plan,  # (2, N_BUCKETS + 1) float64, IN
    g,  # (n_outputs, n_rows) float64, INOUT
    h,  # (n_outputs, n_rows) float64, INOUT
    weight,  # (n_rows,) float64 or (0,), IN
    factor,  # (n_rows,) float64, OUT: how often each row counts
    sums,  # (n_blocks, n_outputs, 2) float64, OUT: weighted sums of |g| and h
    listed,  # (n_rows,) int32, OUT: the rows of each block that are drawn, from where it begins
    n_kept,  # (n_blocks,) int64, OUT: how many rows of each block these are
):
    """Draw rows by their sizes, list them, and multiply their gradients by how often they count."""
    lanes = np.empty((2, LANES))
    block = take_number(counter)
    while block < sums.shape[0]:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, factor.shape[0])
        for i in range(np.uint64(begin), np.uint64(end)):
            factor[i] = formulas.times_of_row(i, key, np.uint64(buckets[i]), plan)
        times = factor[begin:end]
        n = 0
        for i in range(end - begin):
            listed[begin + n] = np.int32(begin + i)
            n += times[i] > 0.0
        n_kept[block] = n
        for k in range(g.shape[0]):
            g_, h_ = g[k, begin:end], h[k, begin:end]
            for i in range(end - begin):
                g_[i] *= times[i]
                h_[i] = formulas.scaled_hessian(h_[i], times[i])
            add_up(g_, h_, weight[begin:end], lanes, sums[block, k])
        block = take_number(counter)


@kernel
def list_drawn(
    counter,  # (1,) int64, INOUT
    key,
    buckets,  # (n_rows,) int16, IN
    plan,  # (2, N_BUCKETS + 1) float64, IN
    listed,  # (n_rows,) int32, OUT: the rows of each block that are drawn, from where it begins
    n_kept,  # (n_blocks,) int64, OUT: how many rows of each block these are
):
    """Draw rows by their sizes."""
    limit, word = np.empty(N_BUCKETS + 1, np.int64), np.empty(BLOCK, np.uint32)
    for bucket in range(N_BUCKETS + 1):
        limit[bucket] = np.int64(np.ceil(plan[0, bucket]))  # hashes are whole numbers
    block = take_number(counter)
    while block < n_kept.shape[0]:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, buckets.shape[0])
        of_block, target = buckets[begin:end], listed[begin:end]
        for i in range(of_block.shape[0]):  # vectorises, which the list does not
            word[i] = hash32(key, begin + i)
        n = np.uint64(0)
        for i in range(np.uint64(of_block.shape[0])):
            target[n] = np.int32(np.uint64(begin) + np.uint64(i))
            n += np.uint64(np.int64(word[i]) < limit[np.uint64(of_block[i])])
        n_kept[block] = np.int64(n)
        block = take_number(counter)


@kernel
def take_drawn(
    counter,  # (1,) int64, INOUT
    listed,  # (n_rows,) int32, IN: the rows of each block that are drawn, from where it begins
    begins,  # (n_blocks + 1,) int64, IN: their places among all rows that are drawn
    buckets,  # (n_rows,) int16, IN
    plan,  # (2, N_BUCKETS + 1) float64, IN
    g,  # (n_outputs, n_rows) float64, IN
    h,  # (n_outputs, n_rows) float64, IN
    weight,  # (n_rows,) float64 or (0,), IN
    rows,  # (n,) int32, OUT: all rows that are drawn
    drawn_g,  # (n_outputs, n) float64, OUT: times how often each row counts
    drawn_h,  # (n_outputs, n) float64, OUT: likewise
    drawn_weight,  # (n,) float64 or (0,), OUT
    sums,  # (n_blocks, n_outputs, 2) float64, OUT: weighted sums of |drawn_g| and drawn_h
):
    """The rows that are drawn, and what belongs to them."""
    times, lanes = np.empty(BLOCK), np.empty((2, LANES))
    weighted = weight.shape[0] > 0
    block = take_number(counter)
    while block < sums.shape[0]:
        begin, end = begins[block], begins[block + 1]
        own, target = listed[block * BLOCK : block * BLOCK + end - begin], rows[begin:end]
        for i in range(own.shape[0]):
            row = np.uint64(own[i])
            target[i] = own[i]
            times[i] = plan[1, np.uint64(buckets[row])]
            if weighted:
                drawn_weight[begin + i] = weight[row]
        for k in range(g.shape[0]):
            g_, h_, out_g, out_h = g[k], h[k], drawn_g[k, begin:end], drawn_h[k, begin:end]
            g_lanes, h_lanes = lanes[0], lanes[1]
            for lane in range(LANES):
                g_lanes[lane], h_lanes[lane] = 0.0, 0.0
            for i in range(own.shape[0]):
                row = np.uint64(own[i])
                one_g, one_h = g_[row] * times[i], formulas.scaled_hessian(h_[row], times[i])
                w, lane = weight[row] if weighted else 1.0, row % np.uint64(LANES)
                out_g[i], out_h[i] = one_g, one_h
                # the sums of all rows, as the others add 0: see ``add_up``
                g_lanes[lane] += abs(one_g) * w
                h_lanes[lane] += one_h * w
            sums[block, k, 0], sums[block, k, 1] = fold(g_lanes), fold(h_lanes)
        block = take_number(counter)


@kernel
def keep_units(
    counter,  # (1,) int64, INOUT
    key,
    units,  # (n_rows,) int32, IN: rows with the same number are drawn together
    shares,  # (n_rows,) float64, IN: probability of each row
    factor,  # (n_rows,) float64, OUT: 1 for rows that are drawn, else 0
):
    """Draw units of rows."""
    n_rows = factor.shape[0]
    block = take_number(counter)
    while block * BLOCK < n_rows:
        for i in range(block * BLOCK, min((block + 1) * BLOCK, n_rows)):
            formulas.keep_unit(i, key, units, shares, factor)
        block = take_number(counter)


@kernel
def list_kept(
    counter,  # (1,) int64, INOUT
    usable,  # (n,) int32, IN: rows with weight
    factor,  # (n_rows,) float64, IN: 0 for rows that are not drawn
    out,  # (n,) int32, OUT: the rows of each block that are drawn, from where the block begins
    n_kept,  # (n_blocks,) int64, OUT: how many rows of each block these are
):
    """List the rows that are drawn."""
    block = take_number(counter)
    while block < n_kept.shape[0]:
        begin, end = block * BLOCK, min((block + 1) * BLOCK, usable.shape[0])
        n = begin
        for i in range(begin, end):
            out[n] = usable[i]
            n += factor[np.uint64(usable[i])] > 0.0
        n_kept[block] = n - begin
        block = take_number(counter)


@kernel
def draw_bag(
    n_draws,
    key,
    out,  # (n_rows,) int32, OUT: how often each row is drawn
):
    """Draw rows with replacement; the i-th draw depends on the key and i alone.

    It is hashed twice: numbers hashed once under two keys may be the same sequence, begun at
    another place."""
    n_rows = np.uint64(out.shape[0])
    for i in range(n_rows):
        out[i] = 0
    for i in range(np.uint64(n_draws)):
        out[(np.uint64(hash32(key, hash32(key, i))) * n_rows) >> np.uint64(32)] += 1


@kernel
def draw_features(
    growth,  # (1,) GROWTH, IN
    n_features,
    out,  # (n_wanted,) int32, OUT
):
    """The features a tree may use, ascending."""
    allowed = np.ones(n_features, np.uint8)
    choose_some(allowed, out.shape[0], growth[0].column_key ^ np.uint32(1), allowed)
    list_marked(allowed, out)


@kernel
def draw_weighted_features(
    growth,  # (1,) GROWTH, IN
    weights,  # (n_features,) float64, IN: 0: never; infinite: always
    out,  # (n_wanted,) int32, OUT: no more of them than weights above 0
):
    """The features a tree may use, drawn by weights; ascending."""
    n_features = weights.shape[0]
    allowed, arrivals = np.empty(n_features, np.uint8), np.empty(n_features)
    key = growth[0].column_key ^ np.uint32(1)
    for f in range(n_features):
        allowed[f] = weights[f] > 0.0
        arrivals[f] = arrival(hash32(key, f), weights[f])
    choose_first(allowed, arrivals, out.shape[0])
    list_marked(allowed, out)


@helper
def list_marked(marks, out):
    """Numbers of the marked entries, ascending."""
    n = 0
    for f in range(marks.shape[0]):
        if marks[f] != 0:
            out[n] = f
            n += 1
