"""The CUDA backend: arrays on one device, kernels launched in order.

Nothing is read back while a boosted tree grows.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuboost.dtypes import N_CODES, NODE, SAMPLE, SUM_BLOCK, SUM_LANES
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
    LeafQuantile,
    LinkLike,
    MetricLike,
    ObjectiveLike,
    QuotientLike,
    ScoreLike,
    SparseRows,
    SplitRules,
)
from gpuboost.kernels.cpu.backend import CpuBackend
from gpuboost.kernels.cuda import binning, gradients, predict, sampling
from gpuboost.kernels.cuda.compiler import THREADS, Kernels
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.grower import CudaGrower, group_features_for, tile_rows_for
from gpuboost.kernels.cuda.leaf_quantiles import LeafRows, Selection
from gpuboost.kernels.cuda.records import STATE
from gpuboost.kernels.cuda.trees import CudaTreeGrower, trees_at_once
from gpuboost.scalar.fixed_point import fine_room
from gpuboost.scalar.rows import LINK_ROWS
from gpuboost.scalar.sampling import N_BUCKETS

#: Rows up to which prediction stays on the host: moving them would take longer than the trees.
FEW_ROWS = 4096
#: Bytes of a chunk of host rows on its way to the device.
CHUNK_BYTES = 1 << 24
#: Most blocks that count rows in buckets.
MOST_COUNTING = 1024
#: Row-tree pairs whose medians are found at once: 12 bytes of scratch each.
MEDIAN_CELLS = 1 << 24
#: Dtypes of classes that a device array can hold and numba's kernels take.
NUMERIC_CLASSES = {np.dtype(t) for t in "?bhilqBHILQfd"}


def _on_host(array: DeviceArray | float) -> bool:
    return not isinstance(array, cupy().ndarray)


class PendingScore:
    """A metric whose sums are still on their way from the device.

    Somebody has to keep it until they have arrived: its buffer is written to until then.
    """

    def __init__(self, metric: QuotientLike, sums: DeviceArray) -> None:
        self.metric = metric
        self._host = cupy().cuda.alloc_pinned_memory(sums.nbytes)
        stream = cupy().cuda.get_current_stream()
        cupy().cuda.runtime.memcpyAsync(self._host.ptr, sums.data.ptr, sums.nbytes, 2, stream.ptr)
        self._arrived = cupy().cuda.Event()
        self._arrived.record()

    def ready(self) -> bool:
        """Whether the sums have arrived."""
        return self._arrived.done

    def wait(self) -> None:
        """Wait for the sums."""
        self._arrived.synchronize()

    def value(self) -> float:
        """The metric; waits for the sums."""
        self.wait()
        total = np.frombuffer(self._host, np.float64, 2)
        return self.metric.score(total[0], total[1]).value()


class CudaBackend:
    """See ``gpuboost.backend.Backend``."""

    name = "cuda"
    rounds_unchecked = 256  # to look at sums is to wait for the device

    def __init__(self, n_threads: int, device_id: int) -> None:
        self.host = CpuBackend(n_threads)  # for work on host arrays: cuts, base scores, few rows
        self.device = cupy().cuda.Device(device_id)
        self.group_features = group_features_for(self.device)
        self.kernels = Kernels(self.group_features, False, device_id)
        self._ensemble: EnsembleLike | None = None
        self._all_rows: tuple[Any, ...] | None = None
        self._buffers: dict[str, DeviceArray] = {}
        self._on_their_way: list[PendingScore] = []

    def __enter__(self) -> "CudaBackend":
        self.device.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.host.__exit__(*exc)
        try:
            for score in self._on_their_way:  # that nobody has asked for: training ended before
                score.wait()
        finally:
            self.device.__exit__(*exc)

    # --- arrays

    def put(self, host: HostArray) -> DeviceArray:
        """A host array on the device."""
        return cupy().asarray(host)

    def to_host(self, array: DeviceArray) -> HostArray:
        """A device array on the host."""
        return cupy().asnumpy(array)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """An array to be filled."""
        return cupy().empty(shape, dtype)

    def take_rows(self, x: DeviceArray, rows: HostArray) -> DeviceArray:
        """Some rows of a matrix, given by their numbers, where the matrix is."""
        if _on_host(x):
            return self.host.take_rows(x, rows)
        out = self.empty((len(rows), x.shape[1]), x.dtype)
        predict.TAKE_ROWS(out.size, x, self.put(rows), out)
        return out

    # --- binning

    def find_cuts(
        self, x: DeviceArray, weight: HostArray, rows: HostArray | None, max_values: int
    ) -> list[HostArray]:
        """Cuts of each column, from some rows (None: all), found where the matrix is."""
        return (self.host if _on_host(x) else binning).find_cuts(x, weight, rows, max_values)

    def bin_matrix(
        self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray, by_rows: bool
    ) -> tuple[Codes, Codes]:
        """Bins in the device's layout: (None, bins).

        Rows go up in chunks: while one is binned the next is on its way.
        """
        return None, self._bins(x, cuts, n_cuts, self.group_features)

    def bin_columns(self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray) -> DeviceArray:
        """Bins by columns, (n_features, n_rows) uint8, where the matrix is."""
        if _on_host(x):
            return self.host.bin_columns(x, cuts, n_cuts)
        return self._bins(x, cuts, n_cuts, 1).reshape(x.shape[::-1])

    def bin_sparse(self, x: SparseRows, cuts: list[HostArray]) -> Codes:
        """Codes of the stored values of a sparse matrix, in one buffer (``common.cuh``)."""
        first = np.arange(x.n_features + 1, dtype=np.int64) * N_CODES
        codes = self.host.code_sparse(x, cuts, first)
        parts = codes.begin, codes.entries, codes.absent
        return cupy().asarray(np.concatenate([part.view(np.uint8) for part in parts]))

    def code_borders(
        self, x: DeviceArray, weight: HostArray, columns: DeviceArray, n_codes: HostArray
    ) -> tuple[HostArray, HostArray]:
        """Lowest and highest value of each code but 0 of each column, (n_features, 255)."""
        where = self.host if _on_host(x) else binning
        return where.code_borders(x, weight, columns, n_codes)

    def _bins(self, x: DeviceArray, cuts: HostArray, n_cuts: HostArray, group: int) -> DeviceArray:
        """Bins in groups of features, one group after another and by rows in each."""
        n_rows, n_features = x.shape
        bins = cupy().zeros((-(-n_features // group) * n_rows * group,), np.uint8)
        kernel = binning.bin_values(cuts.dtype.type)
        device_cuts, device_n_cuts = self.put(cuts), self.put(n_cuts)
        for first, chunk in self._chunks(x):
            kernel(
                chunk.size, chunk, device_cuts, device_n_cuts, np.int64(first), np.int64(n_rows),
                np.int64(group), bins,
            )  # fmt: skip
        return bins

    def _chunks(self, x: DeviceArray) -> Iterator[tuple[int, DeviceArray]]:
        """Pairs (first row, rows on the device).

        A device matrix is taken as it is, a host matrix goes up in stretches through two pinned
        buffers.
        """
        if not _on_host(x):
            yield 0, x
            return
        cp = cupy()
        n_rows, n_features = x.shape
        chunk_rows = min(n_rows, max(1, CHUNK_BYTES // (n_features * x.itemsize)))
        pinned = [
            cp.cuda.alloc_pinned_memory(chunk_rows * n_features * x.itemsize) for _ in range(2)
        ]
        staged = [
            np.frombuffer(p, x.dtype, chunk_rows * n_features).reshape(chunk_rows, n_features)
            for p in pinned
        ]
        arrays = [cp.empty((chunk_rows, n_features), x.dtype) for _ in range(2)]
        copied, consumed = [cp.cuda.Event() for _ in range(2)], [cp.cuda.Event() for _ in range(2)]
        upload, compute = cp.cuda.Stream(non_blocking=True), cp.cuda.get_current_stream()
        # the memory of ``arrays`` may be what work that is still queued on ``compute`` reads
        upload.wait_event(compute.record())
        try:
            for number, first in enumerate(range(0, n_rows, chunk_rows)):
                turn, m = number % 2, min(chunk_rows, n_rows - first)
                if number >= 2:
                    copied[turn].synchronize()  # the pinned buffer has been read
                    upload.wait_event(consumed[turn])  # and the device buffer has been binned
                np.copyto(staged[turn][:m], x[first : first + m])
                cp.cuda.runtime.memcpyAsync(
                    arrays[turn].data.ptr, pinned[turn].ptr, staged[turn][:m].nbytes, 1, upload.ptr
                )
                copied[turn].record(upload)
                compute.wait_event(copied[turn])
                yield first, arrays[turn][:m]
                consumed[turn].record(compute)
        finally:  # also if whoever takes the chunks fails
            for event in copied:
                event.synchronize()  # before the pinned buffers go

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
        n_rows, n_arrays = y.shape[0], arrays.shape[0]
        parameters = map(np.float64, objective.values)
        if groups is None:
            kernel = gradients.gradients(objective.grad_hess, objective.joint, n_arrays)
            kernel(n_rows, y, raw, arrays, g, h, *parameters)
        else:
            rows, begin = groups
            kernel = gradients.group_gradients(objective.grad_hess, n_arrays)
            kernel(begin.shape[0] - 1, y, raw, rows, begin, arrays, g, h, *parameters)
        self._reduce("sum_gradients", (g, h), weight, n_rows, sums)

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
        numbers = *map(np.float64, rooms), *keys
        gradients.BEGIN_TREE(1, split_sums, sums, *numbers, growth, fine_units)

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
        n_rows = g.shape[1]
        gradients.PROJECT(n_rows, g, h, factors, key, out_g, out_h)
        self._reduce("sum_gradients", (out_g, out_h), weight, n_rows, sums)

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
        """Packed fixed-point gradients of all rows, in ``out``."""
        gradients.QUANTIZE[nearest](
            g.shape[0], g, h, weight, np.bool_(weight.size > 0), growth, out
        )
        return out

    def residual_quantile(
        self,
        rows: DeviceArray,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        unit: float,
        level: float,
    ) -> float:
        """A quantile of the absolute residuals of some rows; waits for it."""
        n = rows.shape[0]
        if self._all_rows is None or self._all_rows[0].n_rows != n:
            self._all_rows = self._one_leaf(n)
        selection, nodes, state, leaves, tiles = self._all_rows
        where = LeafRows(rows, nodes, state, leaves, tiles)
        weights = weight, weight[:0], unit
        selection.search(where, y, raw, weights, LeafQuantile(level), absolute=True)
        out = self._scratch("residual_quantile", (1,))
        args = selection.searches, np.float64(level), out
        self.kernels.launch("leaf_quantiles", "write_quantile", (1,), (32,), args)
        return float(self.to_host(out)[0])

    def _one_leaf(self, n: int) -> tuple[Any, ...]:
        """What finds quantiles of so many rows, and these rows as those of a single leaf."""
        tile_rows = tile_rows_for(n)
        n_tiles = -(-n // tile_rows)
        blocks = min(n_tiles, 8 * self.device.attributes["MultiProcessorCount"])
        selection = Selection(self.kernels, n, 1, tile_rows, blocks)
        nodes, state = np.zeros(1, NODE), np.zeros(1, STATE)
        nodes["end"], state["n_leaves"] = n, 1
        tiles = np.array([0, n_tiles], np.int32)
        arrays = nodes, state, np.zeros(1, np.int32), tiles
        return selection, *map(self.put, arrays)

    def mean_of_rows(
        self,
        metric: MetricLike,
        scale: float,
        y: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        arrays: DeviceArray,
    ) -> ScoreLike:
        """Weighted mean of a metric's row function, when it arrives."""
        n_rows = y.shape[0]
        values = self._scratch("metric_values", (n_rows,))
        kernel = gradients.metric_values(metric.row_value, metric.per_row, metric.n_arrays)
        parameters = map(np.float64, metric.parameters)
        kernel(n_rows, y, raw, np.float64(scale), arrays, values, *parameters)
        out = self.empty((1, 2), np.float64)
        self._reduce("sum_values", (values,), weight, n_rows, out)
        return self._pending(metric, out)

    def area_under_curve(
        self, metric: QuotientLike, y: DeviceArray, raw: DeviceArray, weight: DeviceArray
    ) -> ScoreLike:
        """Area under the ROC curve of the first output, when it arrives.

        ``gpuboost/scalar/area.py`` has the same on the host.
        """
        n_rows, no_weight = y.shape[0], weight[:0]
        out = self.empty((1, 2), np.float64)
        totals = self._scratch("total_weight", (1, 2))
        if weight.size:
            self._reduce("sum_values", (weight,), no_weight, n_rows, totals)
        scores, areas = (self._scratch(name, (n_rows,)) for name in ("scores", "areas"))
        sums = self._scratch("sums_up_to", (2, n_rows), np.int64)
        gradients.SORT_ROWS(
            n_rows, raw[0].argsort(), y, raw, weight, np.bool_(weight.size > 0), totals,
            np.float64(fine_room(n_rows)), scores, sums,
        )  # fmt: skip
        self._sum_up_to(sums)
        gradients.AREAS_OF_PLACES(n_rows, scores, sums, areas)
        self._reduce("sum_values", (areas,), no_weight, n_rows, out)
        gradients.COUNT_PAIRS(1, sums, out)
        return self._pending(metric, out)

    def _pending(self, metric: QuotientLike, sums: DeviceArray) -> PendingScore:
        """A score that is kept until its sums have arrived, even if nobody waits for it."""
        score = PendingScore(metric, sums)
        self._on_their_way = [s for s in self._on_their_way if not s.ready()] + [score]
        return score

    def _sum_up_to(self, values: DeviceArray) -> None:
        """Integers of two lines become their sums up to each place."""
        n = values.shape[1]
        tile_rows = tile_rows_for(n)
        grid = -(-n // tile_rows), 2
        tile_sums = self._scratch("tile_sums", grid[::-1], np.int64)
        numbers = np.int64(n), np.int32(tile_rows)
        for kernel in ("sum_tiles", "sum_up_to"):
            self.kernels.launch("reduce", kernel, grid, (SUM_LANES,), (values, tile_sums, *numbers))

    def _reduce(
        self,
        name: str,
        arrays: tuple[DeviceArray, ...],
        weight: DeviceArray,
        n_rows: int,
        out: DeviceArray,
    ) -> None:
        """Two sums for each row of ``out``: of blocks of rows by a kernel, then of the blocks."""
        n_outputs, n_blocks = out.shape[0], -(-n_rows // SUM_BLOCK)
        blocks = self._scratch(f"blocks of {name}", (n_blocks, n_outputs, 2))
        numbers = np.int64(n_rows), np.int32(weight.size > 0)
        for kernel, grid, args in (
            (name, (n_blocks, n_outputs), (*arrays, weight, blocks, *numbers)),
            ("sum_blocks", (n_outputs,), (blocks, out, np.int32(n_blocks))),
        ):
            self.kernels.launch("reduce", kernel, grid, (SUM_LANES,), args)

    def _scratch(
        self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64
    ) -> DeviceArray:
        """A buffer of which the backend keeps one for each name, as large as it ever was."""
        size = int(np.prod(shape))
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = self.empty((size,), dtype)
        return self._buffers[name][:size].reshape(shape)

    # --- sampling

    def mix_key(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> np.uint32:
        """A key for one purpose."""
        return self.host.mix_key(seed, a, b, c)

    def draw_rows(
        self, usable: DeviceArray, fraction: float, key: np.uint32, out: DeviceArray
    ) -> DrawnRows:
        """Rows of one round: (rows, how many), both on the device."""
        nothing = self._scratch("no_factor", (1,))
        return self._collect(usable, fraction, key, nothing, False, out)

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
        """Rows of one round, drawn by the size of their gradients; (rows, how many)."""
        n_rows, n_buckets = g.shape[1], N_BUCKETS + 1
        sample = self._scratch("sample", (1,), SAMPLE)
        buckets = self._scratch("buckets", (n_rows,), np.int16)
        counts = self._scratch("bucket_counts", (2, n_buckets), np.int64)
        root, n_wanted, n_top = map(np.float64, (how.root, how.n_wanted, how.n_top))
        by_size, n_usable = np.bool_(how.by_size), np.float64(usable.shape[0])
        sampling.BEGIN_SAMPLE(1, sums, root, n_usable, sample)
        weighted = np.bool_(weight.size > 0)
        sampling.MEASURE_ROWS(n_rows, g, h, root, weight, weighted, sample, buckets)
        counts.fill(0)
        grid = (min(-(-n_rows // SUM_LANES), MOST_COUNTING),)
        self.kernels.launch(
            "reduce", "count_buckets", grid, (SUM_LANES,), (buckets, counts, np.int64(n_rows))
        )
        sampling.ADD_SIZES(N_BUCKETS, counts)
        self._sum_up_to(counts)
        sampling.FIND_LIMIT(N_BUCKETS, counts, n_wanted, n_top, by_size, sample)
        plan = self._scratch("sample_plan", (2, n_buckets))
        sampling.FILL_PLAN(n_buckets, by_size, sample, plan)
        sampling.KEEP_ROWS(n_rows, key, buckets, plan, g, h, factor)
        self._reduce("sum_gradients", (g, h), weight, n_rows, sums)
        return Drawn(self._collect(usable, 0.0, key, factor, True, out), g, h, weight)

    def draw_units(
        self,
        usable: DeviceArray,
        units: DeviceArray,
        shares: DeviceArray,
        key: np.uint32,
        factor: DeviceArray,
        out: DeviceArray,
    ) -> DrawnRows:
        """Rows of one round, drawn with all rows of their unit; (rows, how many)."""
        sampling.KEEP_UNITS(units.shape[0], key, units, shares, factor)
        return self._collect(usable, 0.0, key, factor, True, out)

    def _collect(
        self,
        usable: DeviceArray,
        fraction: float,
        key: np.uint32,
        factor: DeviceArray,
        counted: bool,
        out: DeviceArray,
    ) -> DrawnRows:
        """The rows that are drawn: by their hash, or those that count; (rows, how many)."""
        n = usable.shape[0]
        tile_rows = tile_rows_for(n)
        n_tiles = -(-n // tile_rows)
        lefts = self._scratch("drawn_lefts", (n_tiles,), np.int32)
        count = self._scratch("drawn_count", (1,), np.int32)
        limit = np.float64(fraction * 4294967296.0)
        draw = usable, np.int32(n), limit, np.uint32(key), factor, np.int32(counted), lefts
        threads = (THREADS["PARTITION_THREADS"],)
        for kernel, more in (("count_drawn", ()), ("collect_drawn", (out, count))):
            arguments = (*draw, *more, np.int32(tile_rows))
            self.kernels.launch("partition", kernel, (n_tiles,), threads, arguments)
        return out, count

    def draw_features(
        self,
        n_features: int,
        growth: DeviceArray,
        out: DeviceArray,
        weights: DeviceArray | None = None,
    ) -> None:
        """Features of one tree, each alike or by weights."""
        mask = self._scratch("feature_mask", (n_features,), np.uint8)
        name, args = "draw_features", [growth, out, mask]
        if weights is not None:
            arrivals = self._scratch("feature_arrivals", (n_features,), np.float64)
            name, args = "draw_weighted_features", [growth, weights, out, mask, arrivals]
        numbers = np.int32(n_features), np.int32(out.size)
        self.kernels.launch("growth", name, (1,), (32,), (*args, *numbers))

    # --- growth

    def make_grower(
        self, binned: FeatureMatrix, limits: GrowthLimits, rules: SplitRules | None = None
    ) -> Grower:
        """A grower with buffers for every tree of a fit."""
        return CudaGrower(self.device, self.group_features, binned, limits, rules)

    def make_tree_grower(
        self, coded: FeatureMatrix, probability: HostArray, first_channel: HostArray, n_ranks: int
    ) -> ClassicalGrower:
        """A grower of classical trees."""
        return CudaTreeGrower(self, coded, probability, first_channel, n_ranks)

    def trees_at_once(self, n_rows: int, n_outputs: int) -> int:
        """How many classical trees are grown together."""
        return trees_at_once(self.device, n_rows, n_outputs)

    def share_out(self, n: int, job: Callable[[int], None]) -> None:
        """Call ``job(i)`` for i < n, one after another: the device has one queue."""
        for i in range(n):
            job(i)

    # --- prediction

    def base_scores(self, ensemble: EnsembleLike, x: DeviceArray) -> DeviceArray:
        """Raw scores (n_channels, n_rows) before the first tree, where the rows of ``x`` are."""
        if _on_host(x):
            return self.host.base_scores(ensemble, x)
        scores = self.empty((len(ensemble.base_score), x.shape[0]), np.float64)
        for channel, score in zip(scores, ensemble.base_score, strict=True):
            channel.fill(score)
        return scores

    def add_trees(
        self,
        x: DeviceArray,
        ensemble: EnsembleLike,
        first_tree: int,
        end_tree: int,
        out: DeviceArray,
    ) -> None:
        """Add trees to ``out``, which ``base_scores`` has made, where the rows of ``x`` are."""
        if self._stays(x):
            self.host.add_trees(x, ensemble, first_tree, end_tree, out)
            return
        arguments = *self._trees(ensemble), np.int64(first_tree), np.int64(end_tree)
        for rows, chunk in self._parts(x):
            part = self._part(out, rows)
            predict.ADD_TREES(chunk.shape[0], chunk, *arguments, part)
            self._put_back(part, rows, out)

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
        if self._stays(x):
            self.host.add_unseen(x, ensemble, first_tree, end_tree, in_bag, out)
            return
        arguments = *self._trees(ensemble), np.int64(first_tree), np.int64(end_tree)
        for rows, chunk in self._parts(x):
            part, bags = self._part(out, rows), self._part(in_bag, rows)
            predict.ADD_UNSEEN_TREES(chunk.shape[0], chunk, *arguments, bags, part)
            self._put_back(part, rows, out)

    def medians(
        self, x: DeviceArray, ensemble: EnsembleLike, first_tree: int, end_tree: int
    ) -> DeviceArray:
        """Medians of what the first first_tree + 1, ..., end_tree trees say of each row."""
        if self._stays(x):
            return self.host.medians(x, ensemble, first_tree, end_tree)
        arguments = *self._trees(ensemble), np.int64(first_tree), np.int64(end_tree)
        out = self._result(x, (end_tree - first_tree, x.shape[0]), np.float64)
        for rows, chunk in self._parts(x):
            n = chunk.shape[0]
            step = min(n, max(1, MEDIAN_CELLS // end_tree))
            answers = self.empty((end_tree, step), np.float64)
            order = self.empty((end_tree, step), np.int32)
            part = self.empty((out.shape[0], n), out.dtype) if _on_host(x) else out
            for first in range(0, n, step):
                predict.MEDIANS(
                    min(step, n - first), chunk, *arguments, np.int64(first), answers, order, part
                )
            self._put_back(part, rows, out)
        return out

    def find_leaves(self, x: DeviceArray, ensemble: EnsembleLike) -> DeviceArray:
        """The leaf that each tree has for each row, (n_rows, n_trees) int32."""
        if self._stays(x):
            return self.host.find_leaves(x, ensemble)
        begin, nodes, _, first_set, sets, _ = self._trees(ensemble)
        out = self._result(x, (begin.size - 1, x.shape[0]), np.int32)
        for rows, chunk in self._parts(x):
            n = chunk.shape[0]
            part = self.empty((out.shape[0], n), out.dtype) if _on_host(x) else out
            predict.FIND_LEAVES(n, chunk, begin, nodes, first_set, sets, part)
            self._put_back(part, rows, out)
        return out.T

    def _stays(self, x: DeviceArray) -> bool:
        """Whether rows are predicted by the host, where they are."""
        return _on_host(x) and x.shape[0] <= FEW_ROWS

    def _trees(self, ensemble: EnsembleLike) -> list[DeviceArray]:
        """The arrays of all trees, and their weights, on the device.

        Staged prediction asks for the same ones again and again.
        """
        if self._ensemble is not ensemble:
            arrays = *ensemble.walk_arrays, ensemble.tree_weights
            self._ensemble, self._ensemble_arrays = ensemble, [self.put(a) for a in arrays]
        return self._ensemble_arrays

    def _parts(self, x: DeviceArray) -> Iterator[tuple[slice, DeviceArray]]:
        """Pairs (which rows, these rows on the device)."""
        for first, chunk in self._chunks(x):
            yield slice(first, first + chunk.shape[0]), chunk

    def _part(self, columns: DeviceArray, rows: slice) -> DeviceArray:
        """Columns, one for each row of a matrix, on the device.

        Of host arrays those of some rows, device arrays as they are.
        """
        if not _on_host(columns):
            return columns
        return self.put(np.ascontiguousarray(columns[:, rows]))

    def _put_back(self, part: DeviceArray, rows: slice, out: DeviceArray) -> None:
        """Columns of some rows to the others, if these are on the host."""
        if _on_host(out):
            out[:, rows] = self.to_host(part)

    def _result(self, x: DeviceArray, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """An array to be filled, where the rows of ``x`` are."""
        return np.empty(shape, dtype) if _on_host(x) else self.empty(shape, dtype)

    def each_row(
        self, function: Callable[..., None], shape: tuple[int, ...], *arguments: DeviceArray | float
    ) -> DeviceArray:
        """A new array that a function fills for each row, where the first argument is."""
        if _on_host(arguments[0]):
            return self.host.each_row(function, shape, *arguments)
        given = (np.float64(a) if isinstance(a, float) else a for a in arguments)
        out = self.empty(shape, np.float64)
        predict.kernel_of(function)(shape[0], *given, out)
        return out

    def apply_link(self, raw: DeviceArray, link: LinkLike) -> DeviceArray:
        """Predictions, where the raw scores are."""
        if _on_host(raw):
            return self.host.apply_link(raw, link)
        n_scores, n_rows = raw.shape
        if link.name == "identity":
            return raw[0] if n_scores == 1 else raw.T.copy()
        if link.name in LINK_ROWS:
            function, width = LINK_ROWS[link.name]
            made = self.each_row(function, (n_rows, width or n_scores), raw)
            return made.reshape((n_rows,)) if made.shape[1] == 1 and link.name != "sorted" else made
        one_score = link.name == "logistic" and n_scores == 1
        out = self.empty((n_rows, 2 if one_score else n_scores), np.float64)
        if link.name == "logistic":
            kernel = predict.LOGISTIC if one_score else predict.LOGISTIC_OF_EACH
            kernel(n_rows, raw, np.float64(link.scale), out)
        else:
            predict.SOFTMAX(raw.shape[1], raw, out)
        return out

    def labels(self, raw: DeviceArray, classes: HostArray) -> DeviceArray:
        """The class with the highest score.

        Classes that are numbers stay where the raw scores are, others come to the host.
        """
        if _on_host(raw):
            return self.host.labels(raw, classes)
        numeric = classes.dtype in NUMERIC_CLASSES
        codes = classes if numeric else np.arange(len(classes))
        out = self.empty((raw.shape[1],), codes.dtype)
        predict.LABELS(raw.shape[1], raw, self.put(codes), out)
        return out if numeric else classes[self.to_host(out)]
