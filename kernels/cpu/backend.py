"""The CPU backend: numba kernels run by a team of threads."""

import numpy as np

from gpuboost.dtypes import HIST_STRIDE, NODE, PACKED, PAIR, PIECE, PROGRESS, ROW, SPLIT, SYMMETRIC
from gpuboost.kernels.cpu import binning, gradients, growth, leaves, predict, sampling
from gpuboost.kernels.cpu.partition import move_pieces, partition_pieces
from gpuboost.kernels.cpu.split import search_level, search_pairs
from gpuboost.kernels.cpu.threads import Team

#: Row-feature pairs below which a tree is grown by one thread in one call: it takes a few milliseconds (2026-11, AMD EPYC), and
#: waking a thread takes about 20 microseconds a stage.
SMALL_WORK = 1 << 19
#: Rows below which one thread goes over them alone.
SMALL_ROWS = 1 << 15
#: The same for a stage of growth, in row-feature pairs of a search or rows of a partition: about a nanosecond each.
SMALL_STAGE = 1 << 17
#: Features of one search task: 64 histograms are 128 KiB, which the second-level cache holds, and a row's 64 bins are a cache line.
RANGE_FEATURES = 64
#: Most memory for histograms of open nodes. Beyond it histograms are dropped and built again when needed: slower, same bits.
POOL_BYTES = 1 << 30
#: Rows up to which prediction walks the trees instead of binning the rows.
FEW_ROWS = 48


def _counter():
    return np.zeros(1, np.int64)


class CpuBackend:
    """See ``gpuboost.backend.Backend``."""

    name = "cpu"

    def __init__(self, n_threads):
        self.team = Team(n_threads)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.team.__exit__(*exc)

    def _run_rows(self, n_rows, kernel, *args):
        """Run a kernel that shares out blocks of rows."""
        counter = _counter()
        if n_rows < SMALL_ROWS:
            kernel(counter, *args)
        else:
            self.team.run(lambda _: kernel(counter, *args))

    # --- binning

    def column_cuts(self, values, weight, max_bins):
        """Cuts of one column from its values (ascending, none missing) and their weights (None: all 1)."""
        distinct = np.empty(values.shape[0])
        total = np.empty(values.shape[0])
        n = binning.distinct_values(values, np.empty(0) if weight is None else weight, distinct, total)
        cuts = np.empty(max_bins - 1)
        return cuts[: binning.quantile_cuts(distinct[:n], total[:n], max_bins, cuts)].copy()

    def map_columns(self, n, job):
        """Call ``job(i)`` for i < n, shared out over the threads; for work that releases the interpreter lock itself."""
        todo = iter(range(n))
        self.team.run(lambda _: [job(i) for i in todo])

    def bin_matrix(self, x, cuts, n_cuts, by_rows):
        """Bins of ``x`` by columns, and by rows if asked: ``(columns, bins)``."""
        n_rows, n_features = x.shape
        columns = np.empty((n_features, n_rows), np.uint8)
        bins = np.empty(n_rows * n_features if by_rows else 0, np.uint8)
        self._run_rows(n_rows * n_features, binning.bin_matrix, x, cuts, n_cuts, columns, bins)
        return columns, bins

    # --- gradients

    def gradients(self, loss, y, raw, weight, g, h):
        """Gradients and hessians of all outputs into g and h; returns their weighted absolute sums, (n_outputs, 2)."""
        n_rows = y.shape[0]
        sums = np.empty((-(-n_rows // gradients.BLOCK), raw.shape[0], 2))
        kernel = gradients.compile_gradients(loss.grad_hess, loss.per_row)
        self._run_rows(n_rows, kernel, y, raw, weight, g, h, sums)
        total = np.empty((raw.shape[0], 2))
        gradients.sum_blocks(sums, total)
        return total

    def mean_of_rows(self, row_value, per_row, y, raw, weight):
        """Weighted mean of a metric's row function."""
        sums = np.empty((-(-y.shape[0] // gradients.BLOCK), 1, 2))
        self._run_rows(y.shape[0], gradients.compile_mean(row_value, per_row), y, raw, weight, sums)
        total = np.empty((1, 2))
        gradients.sum_blocks(sums, total)
        return float(total[0, 0] / total[0, 1])

    def quantize(self, g, h, weight, g_scale, h_scale, nearest, key, out):
        """Packed fixed-point gradients into ``out``."""
        self._run_rows(g.shape[0], gradients.quantize, g, h, weight, g_scale, h_scale, nearest, key, out)

    def fixed_point_sum(self, values, weight, scale):
        """Exact sum of values times weights, in steps of 1 / scale."""
        return int(gradients.fixed_point_sum(values, weight, scale))

    # --- sampling

    def mix_key(self, seed, a=0, b=0, c=0):
        """A key for one purpose."""
        return np.uint32(sampling.mix_key(seed, a, b, c))

    def draw_rows(self, usable, fraction, key, out):
        """Rows of one round into ``out``; returns how many."""
        return sampling.draw_rows(usable, fraction, key, out)

    def draw_features(self, n_wanted, key, allowed):
        """Features of one tree."""
        out = np.empty(allowed.shape[0], np.int32)
        return out[: sampling.draw_features(n_wanted, key, allowed, out)]

    # --- growth

    def make_grower(self, columns, bins, n_bins, limits):
        """A grower with buffers for every tree of a fit."""
        return CpuGrower(self.team, columns, bins, n_bins, limits)

    # --- prediction

    def add_trees(self, x, forest, first_tree, end_tree, out):
        """Add trees to the raw scores ``out`` (n_outputs, n_rows) of rows given as values."""
        if x.shape[0] <= FEW_ROWS:
            predict.predict_few(x, *forest.walk_arrays, first_tree, end_tree, forest.n_outputs, out)
            return
        cuts = forest.cut_table(x.dtype)
        self._run_rows(
            x.shape[0] * max(end_tree - first_tree, 1), predict.predict_blocks, x, forest.used_features, cuts, forest.n_cuts, first_tree,
            end_tree, forest.n_outputs, *forest.block_arrays(self), out,
        )  # fmt: skip

    def add_tree_binned(self, columns, tree, out):
        """Add one tree to the raw scores ``out`` (n_rows,) of rows binned as in training."""
        self._run_rows(columns.shape[1], predict.predict_binned, columns, 0, 1, 1, *tree.block_arrays(self), out[None, :])

    def list_splits(self, *args):
        """Write trees as lists of splits (see kernels/cpu/predict.py)."""
        predict.list_splits(*args)


class CpuGrower:
    """Grows trees over one binned matrix; owns the buffers they need."""

    def __init__(self, team, columns, bins, n_bins, limits):
        self.team = team
        self.columns, self.bins, self.n_bins = columns, bins, n_bins
        n_features, n_rows = columns.shape
        n_used = limits.tree_features
        max_nodes = 2 * limits.max_leaves - 1
        max_split = limits.max_open
        n_ranges = self._n_ranges(n_rows, n_used)
        # symmetric growth has few steps, so that calls from Python do not matter
        self.alone = n_rows * n_used < SMALL_WORK and limits.order != SYMMETRIC
        self.ranges = np.linspace(0, n_used, n_ranges + 1).astype(np.int64)
        width = int(np.diff(self.ranges).max())
        slot_cells = n_used * HIST_STRIDE
        self.count_rows = limits.count_rows
        slot_bytes = slot_cells * (12 if limits.count_rows else 8)
        n_slots = max_split if limits.order == SYMMETRIC else max(1, min(max_split, POOL_BYTES // slot_bytes))
        self.rows = np.empty(n_rows, ROW)
        self.scratch = np.empty(n_rows, ROW)
        self.progress = np.zeros(1, PROGRESS)
        self.nodes = np.empty(max_nodes, NODE)
        self.chosen = np.empty(max_split, np.int32)
        self.pieces = np.empty(max_split + n_rows // growth.PIECE_ROWS + 1, PIECE)
        self.pairs = np.empty(max_split, PAIR)
        self.masks = np.empty((2 * max_split, n_used if limits.sample_columns else 0), np.uint8)
        self.pool = np.empty((n_slots, slot_cells), PACKED)
        self.count_pool = np.empty((n_slots, slot_cells if limits.count_rows else 0), np.int32)
        self.free_slots = np.empty(n_slots, np.int32)
        self.found = np.empty((2 * max_split, n_ranges), SPLIT)
        self.spare = np.empty((team.size, 2, width * HIST_STRIDE), PACKED)
        self.spare_counts = np.empty((team.size, 2, width * HIST_STRIDE if limits.count_rows else 0), np.int32)

    def _n_ranges(self, n_rows, n_used):
        n_ranges = -(-n_used // RANGE_FEATURES)
        if n_rows * n_used >= SMALL_WORK:  # a multiple of the threads, unless tasks would become tiny
            n_ranges = -(-n_ranges // self.team.size) * self.team.size
            n_ranges = max(1, min(n_ranges, n_used // 4))
        return n_ranges

    def grow(self, rows, features, gh, params):
        """Grow one tree from packed gradients; returns its nodes. ``self.rows`` then holds the rows, leaf by leaf."""
        n = rows.shape[0]
        self.rows[:n] = rows
        own, scratch = self.rows[:n], self.scratch[:n]
        consecutive = features.shape[0] == self.n_bins.shape[0]
        data = (self.bins, self.n_bins.shape[0])
        search_args = (
            *data, features, consecutive, self.ranges, self.n_bins, own, gh, params, self.progress, self.nodes, self.pairs, self.masks,
            self.pool, self.count_pool, self.found,
        )  # fmt: skip
        if self.alone:
            growth.grow_alone(
                self.spare[0], self.spare_counts[0], *data, self.columns, features, consecutive, self.ranges, self.n_bins, own, scratch,
                gh, params, self.progress, self.nodes, self.chosen, self.pieces, self.pairs, self.masks, self.pool, self.count_pool,
                self.free_slots, self.found,
            )  # fmt: skip
        else:
            self._grow_together(own, scratch, gh, params, search_args)
        return self.nodes[: self.progress["n_nodes"][0]]

    def _grow_together(self, rows, scratch, gh, params, search_args):
        """``growth.grow_alone`` with each heavy stage run by the whole team."""
        state, nodes, pieces = self.progress, self.nodes, self.pieces
        symmetric = params["order"][0] == SYMMETRIC
        n_features = search_args[2].shape[0]
        search = search_level if symmetric else search_pairs
        growth.begin_tree(rows, gh, params, state, nodes, self.pairs, self.masks, self.free_slots)
        while True:
            if state["n_pairs"][0] > 0:
                counter = _counter()
                self._run(
                    int(state["n_due"][0]) * n_features,
                    lambda t, c=counter: search(c, self.spare[t], self.spare_counts[t], *search_args),
                )
                if symmetric:
                    growth.adopt_level(params, state, nodes, self.pool, self.count_pool, self.n_bins, self.free_slots, self.found)
                else:
                    growth.adopt_pairs(state, nodes, self.pairs, self.free_slots, self.found)
            if growth.choose(params, state, nodes, self.chosen, pieces) == 0:
                return
            n_rows = int(state["n_moving"][0])
            counter = _counter()
            self._run(
                n_rows, lambda _, c=counter: partition_pieces(c, self.columns, state, nodes, pieces, rows, scratch)
            )
            growth.settle(params, state, nodes, self.chosen, pieces, self.pairs, self.masks, self.free_slots)
            if state["n_pieces"][0] > state["n_chosen"][0]:  # a node of one piece is done already
                counter = _counter()
                self._run(n_rows, lambda _, c=counter: move_pieces(c, state, nodes, pieces, rows, scratch))

    def _run(self, work, job):
        """Run a stage; alone if waking the others would take longer. ``work`` is in units of about a nanosecond."""
        if work < SMALL_STAGE:
            job(0)
        else:
            self.team.run(job)

    def leaf_values(self, nodes, n_rows, g, h, weight, fine_scales, params, learning_rate):
        """Values of all nodes from fine sums of the true gradients, and their hessian sums."""
        sums = np.empty((nodes.shape[0], 2), np.int64)
        counter = _counter()
        args = (nodes, self.rows[:n_rows], g, h, weight, *fine_scales, sums)
        self._run(n_rows, lambda _: leaves.sum_leaves(counter, *args))
        values, cover = np.empty(nodes.shape[0]), np.empty(nodes.shape[0])
        leaves.leaf_values(nodes, sums, 1.0 / fine_scales[0], 1.0 / fine_scales[1], params, learning_rate, values, cover)
        return values, cover

    def add_leaf_values(self, nodes, n_rows, values, raw):
        """Add leaf values to the raw scores of the rows the tree was grown on."""
        counter = _counter()
        self._run(n_rows, lambda _: leaves.add_leaf_values(counter, nodes, self.rows[:n_rows], values, raw))
