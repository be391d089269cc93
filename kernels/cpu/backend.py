"""The CPU backend: numba kernels run by a team of threads."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuboost.dtypes import (
    ABSOLUTE,
    CHUNK,
    FINE,
    HIST_STRIDE,
    LABEL_SPLIT,
    MAX_VALUE_BINS,
    NODE,
    PACKED,
    PAIR,
    PIECE,
    PROGRESS,
    ROW,
    SAMPLE,
    SET_NODE,
    SET_SPLIT,
    SET_WORDS,
    SPLIT,
    SYMMETRIC,
    TREE_BEST,
    TREE_NODE,
    TREE_PROGRESS,
)
from gpuboost.exchange import (
    BoostedTree,
    ClassicalGrower,
    DeviceArray,
    Drawn,
    EnsembleLike,
    FeatureMatrix,
    GradientSample,
    Grower,
    GrownTree,
    GrowthLimits,
    HostArray,
    LinkLike,
    MetricLike,
    ObjectiveLike,
    QuotientLike,
    ScoreLike,
    SparseRows,
    SplitRules,
    TreeJob,
)
from gpuboost.kernels.cpu import (
    binning,
    gradients,
    histogram,
    leaf_targets,
    leaves,
    picked,
    predict,
    projection,
    sampling,
    sparse,
    target_statistics,
)
from gpuboost.kernels.cpu.cart import describe, levels
from gpuboost.kernels.cpu.cart import predict as cart_predict
from gpuboost.kernels.cpu.cart.categories import MAX_EXHAUSTIVE
from gpuboost.kernels.cpu.cart.grow import grow_tree
from gpuboost.kernels.cpu.cart.records import Coded, Distances, Targets, Work
from gpuboost.kernels.cpu.columns import SparseColumns
from gpuboost.kernels.cpu.draws import make_groups, make_weights
from gpuboost.kernels.cpu.forced import make_forced
from gpuboost.kernels.cpu.frontier import make_frontier
from gpuboost.kernels.cpu.growth import N_OF_TREE, Stages, assist, grow
from gpuboost.kernels.cpu.rules import make_rules
from gpuboost.kernels.cpu.sharing import CONTROL_SIZE, FINISHED, N_THREADS, STAGE
from gpuboost.kernels.cpu.threads import Team
from gpuboost.scalar.area import area_and_pairs
from gpuboost.scalar.sampling import N_BUCKETS

#: Row-feature pairs below which a tree is grown by one thread: it takes a millisecond or two
#: (2026-11, AMD EPYC), and waking another thread may take a tenth of one.
SMALL_WORK = 1 << 19
#: Row-feature pairs after which growth returns to Python for a moment: about a quarter of a second.
BUDGET = 1 << 28
#: The same for classical trees, which take longer for a pair: some hundredths of a second, as all
#: threads are waited for.
TREE_BUDGET = 1 << 23
#: Features of one building task: 64 histograms are 128 KiB, which the second-level cache holds, and
#: a row's 64 bins are a cache line.
RANGE_FEATURES = 64
#: Most memory for histograms of open nodes. Beyond it histograms are dropped and built again when
#: needed: slower, same bits.
POOL_BYTES = 1 << 30
#: The share of the rows up to which a tree's rows are copied together.
MOST_PICKED = 0.5
#: Rows up to which prediction walks the trees instead of binning the rows.
FEW_ROWS = 48
#: Boosted trees that are handed out together: turning records into arrays takes 10 us a tree one by
#: one, and 4 us together (63 nodes, 2026-11).
KEPT_TREES = 16
#: No row is left out.
NO_BAGS = np.empty((0, 0), np.uint8)


class CpuBackend:
    """See ``gpuboost.backend.HostBackend``."""

    name = "cpu"
    rounds_unchecked = 32  # a look takes as long as the gradients of 1,000 rows

    def __init__(self, n_threads: int) -> None:
        self.team = Team(n_threads)

    def __enter__(self) -> "CpuBackend":
        return self

    def __exit__(self, *exc: object) -> None:
        self.team.__exit__(*exc)

    @property
    def host(self) -> "CpuBackend":
        """The backend for work on host arrays."""
        return self

    # --- arrays

    def put(self, host: HostArray) -> DeviceArray:
        """A host array where the kernels want it: as it is."""
        return host

    def to_host(self, array: DeviceArray) -> HostArray:
        """The other way round."""
        return array

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """An array to be filled."""
        return np.empty(shape, dtype)

    def take_rows(self, x: DeviceArray, rows: HostArray) -> DeviceArray:
        """Some rows of a matrix, given by their numbers."""
        return x[rows]

    # --- binning

    def share_out(self, n: int, job: Callable[[int], None]) -> None:
        """Call ``job(i)`` for i < n, shared out over the threads.

        For work that releases the interpreter lock itself.
        """
        todo = iter(range(n))

        def work(_: int) -> None:
            try:
                for i in todo:
                    self.team.check()
                    job(i)
            finally:
                for _ in todo:  # after an error or Ctrl-C no thread begins another job
                    pass

        self.team.run(work)

    def find_cuts(
        self, x: DeviceArray, weight: HostArray, rows: HostArray | None, max_values: int
    ) -> list[HostArray]:
        """Cuts of each column, from some rows (None: all)."""
        cuts = [np.empty(0)] * x.shape[1]

        def cut_column(f: int) -> None:
            cuts[f] = binning.column_cuts(x[:, f], weight, rows, max_values)

        self.share_out(x.shape[1], cut_column)
        return cuts

    def bin_matrix(
        self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray, by_rows: bool
    ) -> tuple[DeviceArray, DeviceArray]:
        """Bins of ``x`` by columns, and by rows if asked: ``(columns, bins)``."""
        n_rows, n_features = x.shape
        columns = np.empty((n_features, n_rows), np.uint8)
        bins = np.zeros(n_rows * n_features + histogram.PADDING if by_rows else 0, np.uint8)
        self.team.run_kernel(
            n_rows * n_features, binning.bin_matrix, x, cuts, n_cuts, columns, bins
        )
        return columns, bins

    def bin_columns(self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray) -> DeviceArray:
        """Bins by columns, (n_features, n_rows) uint8."""
        return self.bin_matrix(x, cuts, n_cuts, by_rows=False)[0]

    def find_sparse_cuts(
        self, x: SparseRows, weight: HostArray, rows: HostArray | None, max_values: int
    ) -> list[HostArray]:
        """Cuts of each column of a sparse matrix."""
        from scipy.sparse import csr_array  # not with the library: dense matrices do not need it

        by_columns = csr_array((x.data, x.column, x.begin), shape=x.shape).tocsc()
        begin, row, data = by_columns.indptr, by_columns.indices, by_columns.data
        share = weight if weight.size else np.ones(len(x))
        sampled = None
        if rows is not None:
            sampled = np.zeros(len(x), np.bool_)
            sampled[rows] = True
        cuts = [np.empty(0)] * x.n_features

        def cut_column(f: int) -> None:
            stored = slice(begin[f], begin[f + 1])
            column = data[stored], row[stored], weight
            some = sparse.column_cuts(*column, sampled, some_share, x.absent, max_values)
            # if there are few values all rows are looked at: none must be missed then
            cuts[f] = (
                sparse.column_cuts(*column, None, all_shares, x.absent, max_values)
                if sampled is not None and len(some) < max_values - 1
                else some
            )

        all_shares = float(share.sum())
        some_share = all_shares if rows is None else float(share[rows].sum())
        self.share_out(x.n_features, cut_column)
        return cuts

    def bin_sparse(self, x: SparseRows, cuts: list[HostArray]) -> DeviceArray:
        """Codes of the stored values of a sparse matrix."""
        n_cells = np.array([len(of_column) + 2 for of_column in cuts], np.int64)
        return self.code_sparse(x, cuts, np.concatenate([[0], np.cumsum(n_cells)]))

    def code_sparse(self, x: SparseRows, cuts: list[HostArray], first: HostArray) -> Any:
        """The codes, in which those of each feature begin with ``first``."""
        entries = np.empty(x.size, np.uint32)
        cut_begin = np.concatenate([[0], np.cumsum([len(of_column) for of_column in cuts])])
        all_cuts = np.concatenate([np.empty(0), *cuts])
        self.team.run_kernel(
            x.size, sparse.code_entries, x.begin, x.column, x.data, all_cuts,
            cut_begin.astype(np.int64), first, entries,
        )  # fmt: skip
        absent = [0 if np.isnan(x.absent) else 1 + np.searchsorted(of, 0.0) for of in cuts]
        return SparseColumns(x.begin, entries, first, np.array(absent, np.uint8))

    def ordered_sums(
        self,
        order: HostArray,
        level: HostArray,
        weight: HostArray,
        target: HostArray,
        level_weight: HostArray,
        level_sum: HostArray,
        weight_before: HostArray,
        sum_before: HostArray,
    ) -> None:
        """Sums of fixed-point weights and targets by level, all and before each row, in place."""
        target_statistics.ordered_sums(
            order, level, weight, target, level_weight, level_sum, weight_before, sum_before
        )

    def code_borders(
        self, x: DeviceArray, weight: HostArray, columns: DeviceArray, n_codes: HostArray
    ) -> tuple[HostArray, HostArray]:
        """Lowest and highest value of each code but 0 of each column, (n_features, 255)."""
        lower, upper = np.empty((2, len(n_codes), MAX_VALUE_BINS))
        used = np.flatnonzero(weight > 0)

        def of_column(f: int) -> None:
            column, codes, n = x[:, f], columns[f], n_codes[f] - 1
            if len(used) < len(weight):
                column, codes = column[used], codes[used]
            binning.code_borders(column, codes, lower[f, :n], upper[f, :n])

        self.share_out(len(n_codes), of_column)
        return lower, upper

    # --- gradients

    def gradients(
        self,
        objective: ObjectiveLike,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        arrays: DeviceArray,
        groups: tuple[DeviceArray, DeviceArray] | None,
        g: DeviceArray,
        h: DeviceArray,
        sums: DeviceArray,
    ) -> None:
        """Gradients and hessians of all outputs into g and h, their weighted sums into ``sums``.

        The sums of |g| and h are not finite if a gradient is not, or if a hessian is below zero or
        not finite.
        """
        n_rows, n_arrays, run = y.shape[0], arrays.shape[0], self.team.run_kernel
        blocks = np.empty((-(-n_rows // gradients.BLOCK), raw.shape[0], 2))
        extra = arrays, objective.values
        if groups is None:
            kernel = gradients.compile_gradients(objective.grad_hess, objective.joint, n_arrays)
            run(n_rows, kernel, y, raw, weight, *extra, g, h, blocks)
        else:
            kernel = gradients.compile_group_gradients(objective.grad_hess, n_arrays)
            run(n_rows, kernel, y, raw, *groups, *extra, g, h)
            run(n_rows, gradients.sum_gradients, g, h, weight, blocks)
        gradients.sum_blocks(blocks, sums)

    def begin_tree(
        self,
        split_sums: DeviceArray,
        sums: DeviceArray,
        rooms: tuple[float, float],
        keys: tuple[np.uint32, np.uint32],
        growth: DeviceArray,
        fine_units: DeviceArray,
    ) -> None:
        """Scales and keys of the next tree."""
        gradients.begin_tree(split_sums, sums, *rooms, *keys, growth, fine_units)

    def project(
        self,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        factors: DeviceArray,
        key: np.uint32,
        out_g: DeviceArray,
        out_h: DeviceArray,
        sums: DeviceArray,
    ) -> None:
        """One gradient and hessian of each row, and their weighted sums, from all outputs."""
        blocks = np.empty((-(-g.shape[1] // gradients.BLOCK), 1, 2))
        given = g, h, weight, factors, key
        self.team.run_kernel(g.size, gradients.project, *given, out_g, out_h, blocks)
        gradients.sum_blocks(blocks, sums)

    def mean_of_rows(
        self,
        metric: MetricLike,
        scale: float,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        arrays: DeviceArray,
    ) -> ScoreLike:
        """Weighted mean of a metric's row function."""
        blocks = np.empty((-(-y.shape[0] // gradients.BLOCK), 1, 2))
        self.team.run_kernel(
            y.shape[0],
            gradients.compile_mean(metric.row_value, metric.per_row, metric.n_arrays),
            y,
            raw,
            weight,
            float(scale),
            arrays,
            metric.parameters,
            blocks,
        )
        total = np.empty((1, 2))
        gradients.sum_blocks(blocks, total)
        return metric.score(total[0, 0], total[0, 1])

    def area_under_curve(
        self, metric: QuotientLike, y: DeviceArray, raw: DeviceArray, weight: DeviceArray
    ) -> ScoreLike:
        """Area under the ROC curve of the first output, a metric of two sums."""
        return metric.score(*area_and_pairs(y, raw[0], weight))

    def quantize(
        self,
        rows: DeviceArray,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        growth: DeviceArray,
        nearest: bool,
        out: DeviceArray,
    ) -> DeviceArray:
        """Packed fixed-point gradients, in the beginning of ``out``."""
        n = g.shape[0]
        of = rows if n < out.shape[0] else rows[:0]
        self.team.run_kernel(n, gradients.quantize, of, g, h, weight, growth, nearest, out[:n])
        return out[:n]

    def fixed_point_sum(self, values: HostArray, weight: HostArray, scale: float) -> int:
        """Exact sum of values times weights, in steps of 1 / scale."""
        return int(gradients.fixed_point_sum(values, weight, scale))

    # --- sampling

    def mix_key(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> np.uint32:
        """A key for one purpose."""
        return np.uint32(sampling.mix_key(seed, a, b, c))

    def draw_rows(
        self, usable: DeviceArray, fraction: float, key: np.uint32, out: DeviceArray
    ) -> DeviceArray:
        """Rows of one round."""
        listed, n_kept = self._list_of(usable)
        self.team.run_kernel(len(usable), sampling.draw_rows, usable, fraction, key, listed, n_kept)
        return out[: sampling.join_blocks(listed, n_kept, usable, key, out)]

    def _list_of(self, usable: HostArray) -> tuple[HostArray, HostArray]:
        """Room for lists of rows by blocks, and for their lengths."""
        return np.empty_like(usable), np.empty(-(-len(usable) // gradients.BLOCK), np.int64)

    def draw_by_gradient(
        self,
        usable: DeviceArray,
        how: GradientSample,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        sums: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> Drawn:
        """Rows of one round, drawn by the size of their gradients."""
        n_rows, run = g.shape[1], self.team.run_kernel
        sample, buckets = np.zeros(1, SAMPLE), np.empty(n_rows, np.int16)
        counts, plan = np.zeros((2, N_BUCKETS + 1), np.int64), np.empty((2, N_BUCKETS + 1))
        blocks = np.empty((-(-n_rows // gradients.BLOCK), g.shape[0], 2))
        listed, n_kept = np.empty(n_rows, ROW), np.empty(len(blocks), np.int64)
        sampling.begin_sample(sums, how.root, float(len(usable)), sample)
        run(n_rows, sampling.count_sizes, g, h, how.root, weight, sample, buckets, counts)
        sampling.plan_sample(counts, how.n_wanted, how.n_top, how.by_size, sample, plan)
        if how.apart:
            run(n_rows, sampling.list_drawn, key, buckets, plan, listed, n_kept)
            begins = np.concatenate([[0], np.cumsum(n_kept)])
            n, n_outputs = int(begins[-1]), g.shape[0]
            if n == 0:
                rows = np.array([sampling.any_row(usable, key)], ROW)
                nothing = np.zeros((n_outputs, 1))
                sums[:] = np.where(np.isfinite(sums), 0.0, sums)
                return Drawn(rows, nothing, nothing, weight[rows] if weight.size else weight)
            apart = Drawn(
                np.empty(n, ROW),
                np.empty((n_outputs, n)),
                np.empty((n_outputs, n)),
                np.empty(n if weight.size else 0),
            )
            given = listed, begins, buckets, plan, g, h, weight
            run(n_rows, sampling.take_drawn, *given, *apart, blocks)
            whole = sums.copy()
            gradients.sum_blocks(blocks, sums)
            # what is wrong with a row that is not drawn is found all the same
            np.copyto(sums, whole, where=~np.isfinite(whole))
            return apart
        drawn = blocks, listed, n_kept
        run(n_rows, sampling.keep_rows, key, buckets, plan, g, h, weight, factor, *drawn)
        gradients.sum_blocks(blocks, sums)
        return Drawn(self._joined(listed, n_kept, usable, key, factor, out), g, h, weight)

    def draw_units(
        self,
        usable: DeviceArray,
        units: DeviceArray,
        shares: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> DeviceArray:
        """Rows of one round, drawn with all rows of their unit."""
        self.team.run_kernel(len(units), sampling.keep_units, key, units, shares, factor)
        listed, n_kept = self._list_of(usable)
        self.team.run_kernel(len(usable), sampling.list_kept, usable, factor, listed, n_kept)
        return self._joined(listed, n_kept, usable, key, factor, out)

    def _joined(
        self,
        listed: HostArray,
        n_kept: HostArray,
        usable: HostArray,
        key: np.uint32,
        factor: HostArray,
        out: HostArray,
    ) -> HostArray:
        """The rows whose factor is not 0; one of them, which gets one, if there are none."""
        rows = out[: sampling.join_blocks(listed, n_kept, usable, key, out)]
        if len(rows) == 1 and factor[rows[0]] == 0:
            factor[rows] = 1.0
        return rows

    def draw_bag(self, n_rows: int, n_draws: int, key: np.uint32) -> HostArray:
        """How often each row is drawn in ``n_draws`` draws with replacement."""
        out = np.empty(n_rows, np.int32)
        sampling.draw_bag(n_draws, key, out)
        return out

    def draw_features(
        self,
        n_features: int,
        growth: DeviceArray,
        out: DeviceArray,
        weights: DeviceArray | None = None,
    ) -> None:
        """Features of one tree, each alike or by weights."""
        if weights is None:
            sampling.draw_features(growth, n_features, out)
        else:
            sampling.draw_weighted_features(growth, weights, out)

    # --- growth

    def make_grower(
        self, binned: FeatureMatrix, limits: GrowthLimits, rules: SplitRules | None = None
    ) -> Grower:
        """A grower with buffers for every tree of a fit."""
        return CpuGrower(self.team, binned, limits, rules)

    def make_tree_grower(
        self, coded: FeatureMatrix, probability: HostArray, first_channel: HostArray, n_ranks: int
    ) -> ClassicalGrower:
        """A grower of classical trees with buffers for one of them at a time.

        Each thread takes one of its own.
        """
        return CpuTreeGrower(self.team, coded, probability, first_channel, n_ranks)

    def trees_at_once(self, n_rows: int, n_outputs: int) -> int:
        """How many classical trees a grower grows together.

        Here each thread has a grower and a tree.
        """
        return 1

    # --- prediction

    def find_leaves(self, x: DeviceArray, ensemble: EnsembleLike) -> DeviceArray:
        """The leaf that each tree has for each row, (n_rows, n_trees) int32."""
        begin, nodes, _, first_set, sets = ensemble.walk_arrays
        out = np.empty((x.shape[0], len(begin) - 1), np.int32)
        self.team.run_kernel(
            out.size, cart_predict.find_leaves, x, begin, nodes, first_set, sets, out
        )
        return out

    def leaf_quantiles(
        self,
        leaves: HostArray,
        arrays: tuple[HostArray, ...],
        rank: HostArray,
        targets: HostArray,
        quantiles: HostArray,
        out: HostArray,
    ) -> None:
        """Quantiles of the targets that share leaves with each row, into ``out``.

        ``arrays`` as ``gpuboost.model.leaf_targets`` keeps them.
        """
        self.team.run_kernel(
            leaves.size, leaf_targets.leaf_quantiles, leaves, *arrays, rank, targets, quantiles, out
        )

    def project_tree(
        self,
        x: HostArray,
        ensemble: EnsembleLike,
        tree: int,
        ignored: int,
        weight: HostArray,
        y: HostArray,
        out: HostArray,
    ) -> None:
        """What a tree that ignores a feature (-1: none) says of the rows of weight 0.

        It is computed from the targets of the other rows, and written into ``out``.
        """
        begin, nodes, _, first_set, sets = ensemble.walk_arrays
        nodes = nodes[begin[tree] : begin[tree + 1]]
        sets = sets[first_set[tree] : first_set[tree + 1]]
        projection.project_tree(x, nodes, sets, ignored, weight, y, out)

    def add_trees(
        self,
        x: DeviceArray,
        ensemble: EnsembleLike,
        first_tree: int,
        end_tree: int,
        out: DeviceArray,
    ) -> None:
        """Add trees to ``out``, which ``base_scores`` has made for these rows."""
        if not ensemble.by_blocks:
            self.add_unseen(x, ensemble, first_tree, end_tree, NO_BAGS, out)
        elif x.shape[0] <= FEW_ROWS:
            arrays = *ensemble.walk_arrays, ensemble.tree_weights
            predict.predict_few(x, *arrays, first_tree, end_tree, out)
        else:
            self.team.run_kernel(
                x.shape[0] * max(end_tree - first_tree, 1), predict.predict_blocks, x,
                ensemble.used_features, ensemble.cut_table(x.dtype), ensemble.n_cuts, first_tree,
                end_tree, out.shape[0], *ensemble.block_arrays(predict.list_splits), out,
            )  # fmt: skip

    def add_unseen(
        self,
        x: DeviceArray,
        ensemble: EnsembleLike,
        first_tree: int,
        end_tree: int,
        in_bag: HostArray,
        out: DeviceArray,
    ) -> None:
        """Add each tree to the scores of the rows that are not in its bag."""
        self.team.run_kernel(
            x.shape[0] * (end_tree - first_tree), cart_predict.sum_values, x,
            *ensemble.walk_arrays, ensemble.tree_weights, first_tree, end_tree, in_bag, out.T,
        )  # fmt: skip

    def medians(
        self, x: DeviceArray, ensemble: EnsembleLike, first_tree: int, end_tree: int
    ) -> DeviceArray:
        """Medians of what the first first_tree + 1, ..., end_tree trees say of each row."""
        out = np.empty((end_tree - first_tree, x.shape[0]))
        self.team.run_kernel(
            x.shape[0] * end_tree, cart_predict.tree_medians, x, *ensemble.walk_arrays,
            ensemble.tree_weights, first_tree, end_tree, out,
        )  # fmt: skip
        return out

    def base_scores(self, ensemble: EnsembleLike, x: DeviceArray) -> DeviceArray:
        """Raw scores (n_channels, n_rows) before the first tree; by rows if trees are walked."""
        if ensemble.by_blocks:
            scores = np.empty((len(ensemble.base_score), x.shape[0]))
            scores[:] = ensemble.base_score[:, None]
            return scores
        return np.tile(ensemble.base_score, (x.shape[0], 1)).T

    def labels(self, raw: DeviceArray, classes: HostArray) -> DeviceArray:
        """The class with the highest score; one score for two classes is that of the second."""
        one_score = len(raw) < len(classes)
        return classes[(raw[0] > 0).astype(np.intp) if one_score else raw.argmax(axis=0)]

    def each_row(
        self, function: Callable[..., None], shape: tuple[int, ...], *arguments: DeviceArray | float
    ) -> DeviceArray:
        """A new array that a function fills for each row."""
        out = np.empty(shape)
        self.team.run_kernel(shape[0], predict.compile_rows(function), shape[0], *arguments, out)
        return out

    def apply_link(self, raw: DeviceArray, link: LinkLike) -> DeviceArray:
        """Predictions from raw scores, by rows: see ``gpuboost.backend.Prediction``."""
        n_scores, n_rows = raw.shape
        if link.name == "identity":
            return raw[0] if n_scores == 1 else raw.T.copy()
        one_score = link.name == "logistic" and n_scores == 1
        out = np.empty((n_rows, 2 if one_score else n_scores))
        if one_score:
            predict.binary_probabilities(raw, link.scale, out)
        elif link.name == "logistic":
            predict.label_probabilities(raw, link.scale, out)
        else:
            predict.class_probabilities(raw, out)
        return out


class CpuGrower:
    """Grows trees over one binned matrix; owns the buffers they need."""

    def __init__(
        self,
        team: Team,
        binned: FeatureMatrix,
        limits: GrowthLimits,
        rules: SplitRules | None,
    ) -> None:
        self.team, self.sparse = team, binned.sparse
        columns, n_bins, n_rows = binned.columns, binned.n_bins, binned.n_rows
        rules = SplitRules() if rules is None else rules
        max_nodes = 2 * limits.max_leaves - 1
        n_used, max_split = limits.tree_features, limits.max_open
        work = len(columns.entries) if self.sparse else n_rows * n_used
        self.threads = team.size if work >= SMALL_WORK else 1
        n_ranges = -(-n_used // RANGE_FEATURES)
        scan_tasks = 2 * self.threads if self.threads > 1 else 1
        scan_ranges = _even_ranges(n_used, max(n_ranges, min(n_used // 4, scan_tasks)))
        slot_cells = int(columns.first[-1]) + 1 if self.sparse else n_used * HIST_STRIDE
        slot_bytes = slot_cells * (12 if limits.count_rows else 8)
        self.n_slots = (
            max_split
            if limits.order == SYMMETRIC
            else max(1, min(max_split, POOL_BYTES // slot_bytes))
        )
        self.n_spare = 0 if self.n_slots == max_split else 4
        n_parts = 4 * self.threads if self.threads > 1 else 0
        pool_shape = (self.n_slots + self.n_spare + n_parts, slot_cells)
        self.symmetric = True if limits.order == SYMMETRIC else None
        has_sets = bool(binned.is_categorical.any())
        self.frontier = make_frontier(max_split)
        self.free_slots = np.empty(self.n_slots, np.int32)
        self.stages = Stages(
            features=None,  # of the tree, as all that is None here
            starts=np.arange(n_used, dtype=np.int64) * HIST_STRIDE,
            consecutive=False,
            rows=np.empty(n_rows, ROW),
            scratch=np.empty(n_rows, ROW),
            gh=None,
            growth=None,
            bins=None if self.sparse else binned.by_rows,
            row_stride=len(n_bins),
            columns=columns,
            build_ranges=_even_ranges(n_used, 1 if self.sparse else n_ranges),
            scan_ranges=scan_ranges,
            n_bins=n_bins,
            rules=make_rules(rules.directions, max_nodes),
            weights=make_weights(rules.feature_weights),
            groups=make_groups(rules.groups, max_nodes),
            due=None if rules.costs is None else rules.costs.copy(),
            forced=make_forced(rules.forced, max_nodes),
            absent=columns.absent if self.sparse else None,
            is_categorical=binned.is_categorical if has_sets else None,
            progress=np.zeros(1, PROGRESS),
            nodes=np.empty(max_nodes, SET_NODE if has_sets else NODE),
            pieces=np.empty(max_split + 4 * self.threads, PIECE),
            pairs=np.empty(max_split, PAIR),
            chunks=np.empty(2 * max_split + n_parts, CHUNK),
            masks=np.empty((2 * max_split, n_used if limits.sample_columns else 0), np.uint8),
            pool=np.empty(pool_shape, PACKED),
            count_pool=np.empty(pool_shape, np.int32) if limits.count_rows else None,
            best_splits=np.empty(
                (2 * max_split, len(scan_ranges) - 1), SET_SPLIT if has_sets else SPLIT
            ),
        )
        self.trees: list[BoostedTree] = []
        listed = self.sparse or limits.max_leaves > predict.MAX_LABELS
        self.labels = np.empty(n_rows, np.int32 if listed else np.uint8)
        self.most_picked = 0 if self.sparse else int(MOST_PICKED * n_rows)
        self.copies: tuple[HostArray, ...] = ()
        self.picks = False

    def _pick(self, rows: HostArray, gh: HostArray) -> tuple[Any, ...]:
        """Gradients and a matrix of some rows, numbered anew: the fields of ``Stages``."""
        n_features = len(self.stages.n_bins)
        n_words = -(-n_features // 8)
        if not self.copies:
            most = -(-self.most_picked // 8) * 8
            self.numbers = np.arange(most, dtype=ROW)
            self.copies = (
                np.empty(most * n_words, np.uint64),
                np.empty(most * n_words * 8, np.uint8),
                np.empty(most, PACKED),
            )
        width = -(-len(rows) // 8) * 8
        by_rows, columns, picked_gh = self.copies
        apart = len(gh) < len(self.labels)
        columns = columns[: 8 * n_words * width].reshape(8 * n_words, width)
        self.team.run_kernel(
            len(rows) * n_features, picked.pick_rows, self.stages.bins, n_features, rows, gh,
            by_rows, columns, picked_gh[:0] if apart else picked_gh,
        )  # fmt: skip
        return gh if apart else picked_gh, by_rows.view(np.uint8), 8 * n_words, columns

    def grow(
        self, rows: DeviceArray, features: DeviceArray, gh: DeviceArray, growth: DeviceArray
    ) -> None:
        """Grow a tree from packed gradients."""
        n, n_given = rows.shape[0], gh.shape[0]
        self.picks = n <= self.most_picked and len(features) == self.stages.row_stride
        if self.picks:
            gh, *matrix = self._pick(rows, gh)
            self.stages.rows[:n] = self.numbers[:n]
        else:
            matrix = [self.stages.bins, self.stages.row_stride, self.stages.columns]
            if n_given < self.labels.shape[0]:  # of the rows only
                gh, given = np.empty(self.labels.shape[0], PACKED), gh
                gh[rows] = given
            self.stages.rows[:n] = rows
        self.stages.progress[:] = 0
        control = np.zeros(CONTROL_SIZE, np.int64)
        control[N_THREADS] = self.threads
        stages = Stages(
            features,
            self.stages.columns.first[features] if self.sparse else self.stages.starts,
            len(features) == len(self.stages.n_bins),
            self.stages.rows[:n],
            self.stages.scratch[:n],
            gh,
            growth,
            *matrix,
            *self.stages[N_OF_TREE:],
        )
        list_leaves = self.labels.dtype != np.uint8

        def job(thread: int) -> None:
            if thread > 0:
                assist(control, self.symmetric, stages)
                return
            try:
                while not grow(
                    control,
                    BUDGET,
                    self.symmetric,
                    list_leaves,
                    self.n_slots,
                    self.n_spare,
                    self.frontier,
                    self.free_slots,
                    stages,
                ):
                    pass
            finally:
                control[STAGE] = FINISHED

        if self.threads > 1:
            self.team.run(job)
        else:
            job(0)

    def finish(
        self,
        rows: DeviceArray,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        growth: DeviceArray,
        fine_units: DeviceArray,
        learning_rate: float,
    ) -> None:
        """Label all rows, and give the tree its values from fine sums of the true gradients."""
        columns = self.stages.columns
        nodes = self.stages.nodes[: self.stages.progress["n_nodes"][0]].copy()
        n, n_splits, n_rows = nodes.shape[0], nodes.shape[0] // 2, self.labels.shape[0]
        self.splits, self.leaf_of_label = (
            np.empty(n_splits, LABEL_SPLIT),
            np.empty(n_splits + 1, np.int32),
        )
        has_sets = self.stages.is_categorical is not None
        self.sets = np.empty((n_splits, SET_WORDS), np.uint64) if has_sets else None
        leaves.number_leaves(nodes, self.splits, self.sets, self.leaf_of_label)
        n_values = g.shape[0]
        sums = np.zeros((n_values, n, leaves.N_SUMS), FINE)
        gradients = g, h, weight, fine_units
        if self.labels.dtype == np.uint8:
            tree: tuple[HostArray | None, ...] = (
                columns, self.splits, self.sets, self.leaf_of_label, rows
            )  # fmt: skip
            self.team.run_kernel(g.size, leaves.sum_by_labels, *tree, *gradients, self.labels, sums)
        else:
            self.labels[:] = -1
            listed = self.stages.rows[: len(rows)]
            apart = g.shape[1] < n_rows
            if self.picks and not apart:
                listed = rows[listed]
            elif apart and not self.picks:
                listed = np.searchsorted(rows, listed).astype(ROW)
            tree = nodes, self.leaf_of_label, listed, rows
            self.team.run_kernel(g.size, leaves.sum_by_lists, *tree, *gradients, self.labels, sums)
            if len(rows) < n_rows:
                self.team.run_kernel(
                    n_rows, leaves.walk_the_rest, columns, nodes, self.leaf_of_label, self.labels
                )
        values, cover = np.empty((n, n_values)), np.empty(n)
        rules = self.stages.rules
        bounds = None if rules is None else rules.bounds
        self.value_bounds = None if bounds is None else learning_rate * bounds[:n]
        given = growth, fine_units, learning_rate, bounds
        leaves.leaf_values(nodes, sums, *given, values, cover)
        self.trees.append(BoostedTree(nodes, values, cover, sums[0, :, 2].copy()))

    def replace_leaf_values(
        self, rows: DeviceArray, value_of_rows: Callable[[HostArray], float]
    ) -> None:
        """Other values for the leaves that have rows: what a function says of their rows."""
        labels = self.labels[rows]
        by_label = rows[np.argsort(labels, kind="stable")]
        ends = np.cumsum(np.bincount(labels, minlength=len(self.leaf_of_label)))
        values = self.trees[-1].values
        for leaf, leaf_rows in zip(self.leaf_of_label, np.split(by_label, ends[:-1]), strict=True):
            if len(leaf_rows):
                values[leaf] = value_of_rows(leaf_rows)
        if self.value_bounds is not None:
            low, high = self.value_bounds[: len(values)].T[:, :, None]
            values.clip(low, high, out=values)

    def add_leaf_values(self, raw: DeviceArray) -> None:
        """Add leaf values to the raw scores of all rows."""
        self.team.run_kernel(
            raw.size,
            leaves.add_leaf_values,
            self.labels,
            self.leaf_of_label,
            self.trees[-1].values,
            raw,
        )

    def add_tree(self, binned: FeatureMatrix, raw: DeviceArray) -> None:
        """Add the tree to the raw scores of rows of another matrix with the same bins."""
        (nodes, values, _, _), columns = self.trees[-1], binned.columns
        if binned.sparse or len(self.leaf_of_label) > predict.MAX_LABELS:
            self.team.run_kernel(raw.size, leaves.add_walked, columns, nodes, values, raw)
            return
        tree = self.splits, self.sets, self.leaf_of_label, values
        self.team.run_kernel(raw.size, leaves.add_labelled, columns, *tree, raw)

    def take_trees(self, everything: bool) -> list[BoostedTree]:
        """Trees grown since the last ones were taken, a few at a time."""
        if len(self.trees) < KEPT_TREES and not everything:
            return []
        taken, self.trees = self.trees, []
        return taken


class CpuTreeGrower:
    """Grows classical trees over one coded matrix, one at a time; owns the buffers they need."""

    def __init__(
        self,
        team: Team,
        coded: FeatureMatrix,
        probability: HostArray,
        first_channel: HostArray,
        n_ranks: int,
    ) -> None:
        self.team = team
        self.coded = Coded(
            coded.columns.reshape(-1), coded.by_rows.reshape(-1), coded.n_codes, coded.begin,
            coded.lower, coded.upper, coded.is_categorical, probability,
        )  # fmt: skip
        self.first_channel, self.n_ranks = first_channel, n_ranks
        n_categories = coded.n_codes[coded.is_categorical > 0]
        self.most_words = -(-int(n_categories.max(initial=0)) // 64)
        self.work: dict[str, HostArray] | None = None
        self.distances: Distances | None = None

    def grow(self, job: TreeJob) -> GrownTree:
        """Grow a tree."""
        n = len(job.rows)
        if self.work is None or len(self.work["rows"]) < n:
            self.work = self._allocate(n, len(job.classes) > 0)
            self.distances = self._allocate_distances(n)
        work = Work(**{**self.work, "rows": self.work["rows"][:n]})
        work.rows[:] = job.rows
        nodes, sets = np.empty(2 * job.max_leaves - 1, TREE_NODE), np.empty(0, np.uint64)
        frontier, best = make_frontier(job.max_leaves), np.empty(1, TREE_BEST)
        progress = np.zeros(1, TREE_PROGRESS)
        targets = Targets(
            job.weight, job.classes, job.values, self.first_channel, job.rank, job.by_rank
        )
        given = self.coded, targets, job.growth, TREE_BUDGET, self.most_words
        while not grow_tree(*given, work, self.distances, nodes, sets, frontier, best, progress):
            self.team.check()
            n_words = int(progress["n_words"][0])
            if n_words + 2 * self.most_words > len(sets):
                longer = np.empty(2 * (n_words + 2 * self.most_words), np.uint64)
                longer[:n_words] = sets[:n_words]
                sets = longer
        n_nodes, n_words = int(progress["n_nodes"][0]), int(progress["n_words"][0])
        return GrownTree(nodes[:n_nodes].copy(), sets[:n_words].copy(), work.rows)

    def grow_together(self, jobs: Sequence[TreeJob]) -> Iterable[GrownTree]:
        """Grow trees one after another, each when it is asked for: they use the same buffers."""
        return map(self.grow, jobs)

    def order_nodes(
        self,
        by_levels: HostArray,
        next_code: HostArray,
        level_sets: HostArray,
        root: int,
        n_nodes: int,
        max_leaves: int,
    ) -> tuple[HostArray, HostArray]:
        """The nodes of one tree, which was grown level by level elsewhere, and its sets.

        Split and numbered in the order in which ``grow`` does it.
        """
        nodes, coded = np.empty(n_nodes, TREE_NODE), self.coded
        sets = np.empty(n_nodes * level_sets.shape[1], np.uint64)
        n_used, n_words = levels.order_nodes(
            by_levels, next_code, level_sets, root, coded.n_codes, coded.begin, coded.lower,
            coded.upper, max_leaves, make_frontier(n_nodes), np.empty(n_nodes, np.int64), nodes,
            sets,
        )  # fmt: skip
        return nodes[:n_used].copy(), sets[:n_words].copy()

    def describe(
        self,
        nodes: HostArray,
        rows: HostArray,
        weight: HostArray,
        classes: HostArray,
        y: HostArray,
        criterion: int,
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Weight, value and impurity of every node, from the true targets."""
        n = len(nodes)
        described = np.empty(n), np.empty((n, self.first_channel[-1])), np.empty(n)
        order = np.empty(len(rows), np.int32) if criterion == ABSOLUTE else None
        describe.describe_nodes(
            nodes, rows, weight, classes, y, self.first_channel, criterion, order, *described
        )
        return described

    def _allocate(self, n_rows: int, with_classes: bool) -> dict[str, HostArray]:
        n_outputs, n_channels = len(self.first_channel) - 1, int(self.first_channel[-1])
        n_cell = n_channels if with_classes else n_channels + 1
        n_codes = max(int(self.coded.n_codes.max()), self.n_ranks)
        n_words = -(-n_codes // 64)
        shapes = {
            "rows": ((n_rows,), ROW),
            "scratch": ((n_rows,), ROW),
            "weight": ((n_rows,), np.int64),
            "classes": ((n_rows * n_outputs if with_classes else 0,), np.int32),
            "values": ((0 if with_classes else n_rows * n_outputs,), np.int64),
            "code": ((n_rows,), np.int32),
            "table": ((n_codes * n_cell,), np.int64),
            "place": ((n_codes,), np.int32),
            "bits": ((n_words,), np.uint64),
            "summary": ((-(-n_words // 64),), np.uint64),
            "present": ((n_codes + 1,), np.int32),
            "cells": (((n_codes + 1) * n_cell,), np.int64),
            "counts": ((n_codes + 1,), np.int32),
            "order": ((n_codes + 1,), np.int32),
            "sort_key": ((n_codes + 1,), np.float64),
            "total": ((n_channels,), np.float64),
            "left": ((n_channels,), np.float64),
            "side": ((n_channels,), np.float64),
            "features": ((len(self.coded.n_codes),), np.int32),
            "best_set": ((n_words,), np.uint64),
        }
        return {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()}

    def _allocate_distances(self, n_rows: int) -> Distances | None:
        """Buffers for the absolute error, if there are targets by rank."""
        if self.n_ranks == 0:
            return None
        n_outputs, n_cuts = len(self.first_channel) - 1, int(self.coded.n_codes.max())
        return Distances(
            rank=np.zeros((n_outputs, n_rows), np.int32),
            by_rank=np.zeros((n_outputs, n_rows)),
            n_ranks=np.zeros(n_outputs, np.int64),
            rank_tree=np.zeros((n_rows + 1, 2), np.int64),
            by_code=np.zeros(n_rows, np.int32),
            ends=np.zeros(n_cuts + 1, np.int32),
            scores=np.zeros((2, max(n_cuts, 1 << MAX_EXHAUSTIVE))),
        )


def _even_ranges(n: int, n_ranges: int) -> HostArray:
    """Borders of n_ranges ranges of about equal length."""
    return np.linspace(0, n, max(1, n_ranges) + 1).astype(np.int64)
