"""The CPU backend: numba kernels run by a team of threads."""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from gpuboost.dtypes import (
    MAX_VALUE_BINS,
    ROW,
    SAMPLE,
)
from gpuboost.exchange import (
    ClassicalGrower,
    Codes,
    DeviceArray,
    Drawn,
    DrawnRows,
    EnsembleLike,
    FeatureMatrix,
    GradientSample,
    Grower,
    GrowthLimits,
    HostArray,
    LinkLike,
    MetricLike,
    ObjectiveLike,
    QuotientLike,
    ScoreLike,
    SparseRows,
    SplitRules,
)
from gpuboost.kernels.cpu import (
    binning,
    gradients,
    histogram,
    leaf_quantiles,
    leaf_targets,
    predict,
    projection,
    sampling,
    sparse,
    target_statistics,
)
from gpuboost.kernels.cpu.cart import predict as cart_predict
from gpuboost.kernels.cpu.columns import SparseColumns
from gpuboost.kernels.cpu.grower import CpuGrower
from gpuboost.kernels.cpu.threads import Team
from gpuboost.kernels.cpu.trees import CpuTreeGrower
from gpuboost.scalar.area import area_and_pairs
from gpuboost.scalar.rows import LINK_ROWS
from gpuboost.scalar.sampling import N_BUCKETS

#: Rows up to which prediction walks the trees instead of binning the rows.
FEW_ROWS = 48
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
        return np.asarray(array)

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
    ) -> tuple[Codes, Codes]:
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
        cuts = [np.empty(0)] * x.n_features
        varying = sparse.cut_constant_columns(x, weight, max_values, cuts)
        if not len(varying):
            return cuts
        from scipy.sparse import csr_array  # not with the library: dense matrices do not need it

        # numbers of one width: scipy would copy the columns to make them as wide as the begins
        begin = x.begin.astype(np.int32) if x.size < 2**31 else x.begin
        by_columns = csr_array((x.data, x.column, begin), shape=x.shape).tocsc()
        begin, row, data = by_columns.indptr, by_columns.indices, by_columns.data
        share = weight if weight.size else np.ones(len(x))
        sampled = None
        if rows is not None:
            sampled = np.zeros(len(x), np.bool_)
            sampled[rows] = True

        def cut_column(which: int) -> None:
            f = varying[which]
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
        self.share_out(len(varying), cut_column)
        return cuts

    def bin_sparse(self, x: SparseRows, cuts: list[HostArray]) -> Codes:
        """Codes of the stored values of a sparse matrix."""
        n_cells = np.array([len(of_column) + 2 for of_column in cuts], np.int64)
        return self.code_sparse(x, cuts, np.concatenate([[0], np.cumsum(n_cells)]))

    def code_sparse(self, x: SparseRows, cuts: list[HostArray], first: HostArray) -> Codes:
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

    def sort_by_code(self, rows: HostArray, code: HostArray, n_codes: int) -> HostArray:
        """Rows in the order of their codes; those of one code stay as they are."""
        out = np.empty(len(rows), ROW)
        target_statistics.sort_by_code(rows, code, n_codes, out)
        return out

    def ordered_means(
        self,
        rows: HostArray,
        key: HostArray,
        weight: HostArray,
        target: HostArray,
        units: tuple[float, HostArray],
        prior: HostArray,
        prior_weight: float,
        mean: HostArray,
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Means of the rows before each row, in place; keys of levels, their weights and sums."""
        n_rows, n_targets = len(rows), target.shape[1]
        levels = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
        sums = np.empty((n_rows, n_targets), np.int64)
        n = target_statistics.ordered_means(
            rows, key, weight, target, *units, prior, prior_weight, mean, *levels, sums
        )
        return levels[0][:n], levels[1][:n], sums[:n]

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

    def residual_quantile(
        self,
        rows: DeviceArray,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        unit: float,
        level: float,
    ) -> float:
        """A quantile of the absolute residuals of some rows."""
        everything = len(rows) == len(y)
        which = slice(None) if everything else rows
        distance = np.abs(y[which] - raw[which])
        own_weight = weight[which] if weight.size else weight[:]
        return self.weighted_quantile(distance, own_weight, unit, level)

    def weighted_quantile(
        self, values: HostArray, weight: HostArray, unit: float, level: float
    ) -> float:
        """A quantile of values; weights are rounded to whole units."""
        keys, steps = np.empty(len(values), np.uint64), np.empty(len(weight), np.int64)
        leaf_quantiles.list_values(values, weight, unit, keys, steps)
        out = np.empty(1)
        leaf_quantiles.quantile_of(keys, steps, level, out)
        return float(out[0])

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
        return metric.score(*area_and_pairs(np.asarray(y), raw[0], np.asarray(weight)))

    def quantize(
        self,
        rows: DrawnRows,
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
    ) -> DrawnRows:
        """Rows of one round."""
        listed, n_kept = self._list_of(usable)
        self.team.run_kernel(len(usable), sampling.draw_rows, usable, fraction, key, listed, n_kept)
        return out[: sampling.join_blocks(listed, n_kept, usable, key, out)]

    def _list_of(self, usable: DeviceArray) -> tuple[HostArray, HostArray]:
        """Room for lists of rows by blocks, and for their lengths."""
        return np.empty(len(usable), ROW), np.empty(-(-len(usable) // gradients.BLOCK), np.int64)

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
            # what is wrong with a row is found, whether it is drawn or not
            whole = self.to_host(sums).copy()
            bad = ~np.isfinite(whole)
            if n == 0:
                rows = np.array([sampling.any_row(usable, key)], ROW)
                nothing = np.zeros((n_outputs, 1))
                sums[:] = np.where(bad, whole, 0.0)
                return Drawn(rows, nothing, nothing, weight[rows] if weight.size else weight)
            apart = Drawn(
                np.empty(n, ROW),
                np.empty((n_outputs, n)),
                np.empty((n_outputs, n)),
                np.empty(n if weight.size else 0),
            )
            given = listed, begins, buckets, plan, g, h, weight
            run(n_rows, sampling.take_drawn, *given, *apart, blocks)
            gradients.sum_blocks(blocks, sums)
            sums[bad] = whole[bad]
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
    ) -> DrawnRows:
        """Rows of one round, drawn with all rows of their unit."""
        self.team.run_kernel(len(units), sampling.keep_units, key, units, shares, factor)
        listed, n_kept = self._list_of(usable)
        self.team.run_kernel(len(usable), sampling.list_kept, usable, factor, listed, n_kept)
        return self._joined(listed, n_kept, usable, key, factor, out)

    def _joined(
        self,
        listed: HostArray,
        n_kept: HostArray,
        usable: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> DrawnRows:
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
        return classes[
            (raw[0] > 0).astype(np.intp) if one_score else np.asarray(raw).argmax(axis=0)
        ]

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
        if link.name in LINK_ROWS:
            function, width = LINK_ROWS[link.name]
            made = self.each_row(function, (n_rows, width or n_scores), raw)
            return made.reshape((n_rows,)) if made.shape[1] == 1 and link.name != "sorted" else made
        one_score = link.name == "logistic" and n_scores == 1
        out = np.empty((n_rows, 2 if one_score else n_scores))
        if one_score:
            predict.binary_probabilities(raw, link.scale, out)
        elif link.name == "logistic":
            predict.label_probabilities(raw, link.scale, out)
        else:
            predict.class_probabilities(raw, out)
        return out
