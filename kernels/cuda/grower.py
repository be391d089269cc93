"""Trees on the device: buffers of fixed shape, a fixed sequence of launches.

The sequence is captured once as a CUDA graph. Per step: choose, count_lefts, divide_nodes,
build_histograms, scan: five launches, whatever the number of nodes. The host never asks how far a
tree has come; kernels of a step with nothing to do return at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuboost.dtypes import (
    FINE,
    LEAFWISE,
    N_CODES,
    NODE,
    PACKED,
    PAIR,
    ROW,
    SET_NODE,
    SET_SPLIT,
    SPLIT,
    SYMMETRIC,
)
from gpuboost.exchange import (
    BoostedTree,
    DeviceArray,
    DrawnRows,
    FeatureMatrix,
    GrowthLimits,
    LeafQuantile,
    SplitRules,
)
from gpuboost.kernels.cuda import predict
from gpuboost.kernels.cuda.compiler import THREADS, Kernels
from gpuboost.kernels.cuda.device import cupy, memory
from gpuboost.kernels.cuda.leaf_quantiles import ORDER_LEAVES, LeafRows, Selection
from gpuboost.kernels.cuda.records import STATE

#: Shared memory that a block of the histogram kernel may take, so that two or more run on a
#: multiprocessor.
HISTOGRAM_BYTES = 48 * 1024
#: Fewest rows of a tile.
MIN_TILE_ROWS = 1024
#: About as many tiles at most: a block adds up the counts of the tiles before its own.
MAX_TILES = 4096
#: Features that one block of the scan goes through, at most; a warp takes one after another.
SCAN_FEATURES, SCAN_WARPS = 32, THREADS["SCAN_THREADS"] // 32
#: Blocks of the scan for each pair of siblings, in leaf-wise growth.
SCAN_BLOCKS = 64
#: Trees that are kept on the device before they are fetched: at most so many, in about so many
#: bytes.
KEPT_TREES, KEPT_BYTES = 256, 1 << 24


def group_features_for(device: Any) -> int:
    """How many features' bins a row keeps together.

    As many as shared memory has room for, 16 at most.
    """
    room = min(HISTOGRAM_BYTES, device.attributes["MaxSharedMemoryPerBlock"])
    # three sums, in case rows are counted
    return next((n for n in (16, 8) if n * N_CODES * 3 * 4 <= room), 4)


def tile_rows_for(n_rows: int) -> int:
    """Rows of a tile, a multiple of 256."""
    return max(MIN_TILE_ROWS, -(-n_rows // MAX_TILES // 256) * 256)


def scan_features_for(order: int, n_used: int) -> int:
    """Features of a block of the scan.

    In leaf-wise growth a step has few nodes, so blocks with few features share the work; ``choose``
    has to compare what all of them found.
    """
    if order == SYMMETRIC:
        return 1
    if order == LEAFWISE:
        per_block = -(-n_used // (SCAN_BLOCKS * SCAN_WARPS)) * SCAN_WARPS
        return min(per_block, SCAN_FEATURES)
    return SCAN_FEATURES


class CudaGrower:
    """Grows trees over one binned matrix; owns the buffers they need."""

    def __init__(
        self,
        device: Any,
        group_features: int,
        binned: FeatureMatrix,
        limits: GrowthLimits,
        rules: SplitRules | None,
    ) -> None:
        cp = cupy()
        rules = SplitRules() if rules is None else rules
        self.limits, self.group_features, self.sparse = limits, group_features, binned.sparse
        self.bins = binned.columns if self.sparse else binned.by_rows
        self.n_features, self.n_used = len(binned.n_bins), limits.tree_features
        self.n_rows = binned.n_rows
        self.masked = limits.sample_columns
        self.categorical = bool(binned.is_categorical.any())
        self.kernels = Kernels(
            group_features,
            limits.count_rows,
            device.id,
            (*_names_of(rules), *(("categorical",) if self.categorical else ())),
            self.sparse,
        )
        attributes = device.attributes
        self.n_multiprocessors = attributes["MultiProcessorCount"]
        self.n_groups = -(-self.n_features // group_features)
        self.shared_bytes = group_features * N_CODES * 4 * (3 if limits.count_rows else 2)
        self.fits_shared = self.shared_bytes <= attributes["MaxSharedMemoryPerBlock"]
        self.tile_rows = tile_rows_for(self.n_rows)
        self._allocate(device, rules)
        self._put_rules(rules)
        self.n_bins = cp.asarray(binned.n_bins)
        self.is_categorical = cp.asarray(
            binned.is_categorical if self.categorical else np.zeros(1, np.uint8)
        )
        self.absent = self.bins[len(self.bins) - self.n_features :]  # read if it is sparse
        self.fetched: list[BoostedTree] = []
        self.selection: Selection | None = None
        self.graph: Any = None  # False: the next tree is recorded
        self.n_kept = 0
        self.all_rows: DeviceArray | None = None  # how many rows there are, if all are used

    def _allocate(self, device: Any, rules: SplitRules) -> None:
        """Buffers of a tree, and of those that are kept until they are taken."""
        limits = self.limits
        node, split = (SET_NODE, SET_SPLIT) if self.categorical else (NODE, SPLIT)
        max_nodes, max_open = 2 * limits.max_leaves - 1, limits.max_open
        self.max_pairs = (
            min(max_open, limits.leaves_per_step) if limits.order == LEAFWISE else max_open
        )
        self.n_slots = max_open + 1
        self.scan_features = scan_features_for(limits.order, self.n_used)
        self.n_chunks = -(-self.n_used // self.scan_features)
        n_tiles = -(-self.n_rows // self.tile_rows) + max_open
        n_splits = self.n_chunks * (1 if limits.order == SYMMETRIC else 2 * self.max_pairs)
        n_values = limits.n_values
        node_bytes = node.itemsize + 8 * (n_values - 1)
        self.max_kept = max(2, min(KEPT_TREES, KEPT_BYTES // (max_nodes * node_bytes)))
        n_words = 1 if rules.groups is None else rules.groups.shape[1]
        self.n_words = np.int32(n_words)
        # a sparse matrix: the last feature has the sum of all rows
        pool_shape = (self.n_slots, self.n_features + self.sparse, N_CODES)
        plan = {
            "rows": ((2, self.n_rows), ROW),
            "pool": (pool_shape, PACKED),
            "count_pool": (pool_shape if limits.count_rows else (1,), np.int32),
            "masks": ((2 * self.max_pairs if self.masked else 1, self.n_used), np.uint8),
            "best_splits": ((n_splits,), split),
            "nodes": ((max_nodes,), node),
            "state": ((1,), STATE),
            "pairs": ((self.max_pairs,), PAIR),
            "built": ((self.max_pairs,), np.int32),
            "built_tiles": ((self.max_pairs + 1,), np.int32),
            "ranks": ((max_nodes,), np.uint64),
            "chosen": ((max_open,), np.int32),
            "chosen_tiles": ((max_open + 1,), np.int32),
            "n_left": ((max_open,), np.int32),
            "tile_lefts": ((n_tiles,), np.int32),
            "free_slots": ((self.n_slots,), np.int32),
            "used": ((self.n_features,), np.uint8),
            "leaves": ((limits.max_leaves,), np.int32),
            "leaf_tiles": ((limits.max_leaves + 1,), np.int32),
            "by_depth": ((max_nodes,), np.int32),
            "depth_end": ((limits.max_leaves,), np.int32),
            "sums": ((max_nodes, n_values, 2), FINE),
            "values": ((max_nodes, n_values), np.float64),
            "bounds": ((1 if rules.directions is None else max_nodes, 2), np.float64),
            "arrivals": (
                (
                    2 * self.max_pairs if self.masked and rules.feature_weights is not None else 1,
                    self.n_used,
                ),
                np.float64,
            ),
            "forced_of_node": ((1 if rules.forced is None else max_nodes,), np.int32),
            "groups_of_node": ((1 if rules.groups is None else max_nodes, n_words), np.uint64),
            "kept_nodes": ((self.max_kept, max_nodes), node),
            "kept_values": ((self.max_kept, max_nodes, n_values), np.float64),
            "kept_cover": ((self.max_kept, max_nodes), np.float64),
            "kept_sizes": ((self.max_kept,), np.int32),
        }
        check_memory(plan, device, "a smaller max_depth or max_leaves, fewer columns")
        (  # in the order of the plan
            self.rows, self.pool, self.count_pool, self.masks, self.best_splits, self.nodes,
            self.state, self.pairs, self.built, self.built_tiles, self.ranks,
            self.chosen, self.chosen_tiles, self.n_left, self.tile_lefts,
            self.free_slots, self.used, self.leaves, self.leaf_tiles, self.by_depth,
            self.depth_end, self.sums, self.values, self.bounds, self.arrivals,
            self.forced_of_node, self.groups_of_node, self.kept_nodes, self.kept_values,
            self.kept_cover, self.kept_sizes,
        ) = (cupy().empty(shape, dtype) for shape, dtype in plan.values())  # fmt: skip

    def _put_rules(self, rules: SplitRules) -> None:
        """The rules of the fit on the device."""
        self.constrained = rules.directions is not None
        # what is not there is not read
        self.directions, self.weights, self.groups_of_feature, self.due, self.forced = (
            cupy().asarray(np.zeros(1, dtype) if array is None else array)
            for array, dtype in (
                (rules.directions, np.int32),
                (rules.feature_weights, np.float64),
                (rules.groups, np.uint64),
                (rules.costs, np.float64),
                (rules.forced, np.int32),
            )
        )

    # --- growth

    def grow(
        self, rows: DrawnRows, features: DeviceArray, gh: DeviceArray, growth: DeviceArray
    ) -> None:
        """Grow a tree from packed gradients.

        The launches are recorded the second time and replayed from then on.
        """
        rows, count = rows if isinstance(rows, tuple) else (rows, self._count_of(rows))
        self.tree_rows, self.tree_count = rows, count
        stream = cupy().cuda.get_current_stream()
        if self.graph is None:
            # compiles what is not compiled yet, which a capture must not
            self._launch_tree(rows, count, features, gh, growth)
            self.graph = False
            return
        if self.graph is False:
            recorder = cupy().cuda.Stream(non_blocking=True)
            with recorder:
                recorder.begin_capture()
                self._launch_tree(rows, count, features, gh, growth)
                self.graph = recorder.end_capture()
        self.graph.launch(stream)

    def _count_of(self, rows: DeviceArray) -> DeviceArray:
        if self.all_rows is None:
            self.all_rows = cupy().asarray(np.array([rows.shape[0]], np.int32))
        return self.all_rows

    def _launch_tree(
        self,
        rows: DeviceArray,
        count: DeviceArray,
        features: DeviceArray,
        gh: DeviceArray,
        growth: DeviceArray,
    ) -> None:
        numbers = (
            np.int32(self.n_used),
            np.int32(self.n_features),
            np.int32(self.tile_rows),
            np.int32(self.masked),
        )
        self._launch("growth", "start_tree", 2 * self.n_multiprocessors, "PARTITION_THREADS", (
            rows, count, features, self.nodes, self.state, growth, self.pairs, self.ranks,
            self.built, self.built_tiles, self.free_slots, self.masks, self.used, self.rows,
            self.pool, self.count_pool, self.bounds, *self._draws(), self.forced_of_node,
            np.int32(self.n_slots),
            *numbers,
        ))  # fmt: skip
        self._build_and_scan(features, gh, growth)
        for step in range(self.limits.max_steps):
            self._launch("growth", "choose", 1, "GROWTH_THREADS", (
                self.nodes, self.state, growth, self.pairs, self.best_splits, self.n_bins,
                self.pool, self.count_pool, self.free_slots, self.ranks, self.chosen,
                self.chosen_tiles, self.n_left, self.directions, self.bounds,
                self.forced, self.forced_of_node, self.absent, np.int32(self.n_chunks),
                np.int32(self.n_used), np.int32(self.n_features),
                np.int32(self.tile_rows),
            ))  # fmt: skip
            self._launch("partition", "count_lefts", self._tile_blocks(), "PARTITION_THREADS", (
                self.bins, self.rows, self.nodes, self.state, self.chosen, self.chosen_tiles,
                self.tile_lefts, self.n_left, self.free_slots, self.pool, self.count_pool,
                np.int64(self.n_rows), np.int32(self.n_features), np.int32(self.tile_rows),
            ))  # fmt: skip
            n_blocks = 1 + self._tile_blocks()  # the first one makes the children
            self._launch("partition", "divide_nodes", n_blocks, "PARTITION_THREADS", (
                self.bins, self.rows, self.nodes, self.state, growth, self.pairs, self.ranks,
                self.chosen, self.chosen_tiles, self.tile_lefts, self.n_left, self.free_slots,
                self.masks, self.built, self.built_tiles, self.n_bins, self.directions,
                self.bounds, self.due, self.forced, self.forced_of_node, features, *self._draws(),
                np.int64(self.n_rows), np.int32(self.n_used), np.int32(self.tile_rows),
                np.int32(self.masked),
            ))  # fmt: skip
            if step + 1 < self.limits.max_steps:
                self._build_and_scan(features, gh, growth)

    def _draws(self) -> tuple[Any, ...]:
        """What draws of features go by, besides the features of the tree."""
        groups = self.groups_of_feature, self.groups_of_node, self.n_words
        return self.weights, self.arrivals, *groups

    def _build(self, gh: DeviceArray) -> None:
        """Histograms of the nodes that are due."""
        at_once = self.n_multiprocessors * max(1, 2048 // THREADS["HISTOGRAM_THREADS"])
        nodes = self.nodes, self.built, self.built_tiles, self.state, self.pool, self.count_pool
        numbers = np.int64(self.n_rows), np.int32(self.n_features), np.int32(self.tile_rows)
        file, name, used, shared_bytes = "histogram", "build_histograms_global", [self.used], 0
        n_groups = self.n_groups
        if self.sparse:
            file, name, used, n_groups = "sparse", "build_sparse_histograms", [], 1
        elif self.fits_shared:
            name, shared_bytes = "build_histograms", self.shared_bytes
        n_blocks = max(1, min(self._tile_blocks(), at_once // n_groups))
        args = (self.bins, self.rows, gh, *used, *nodes, *numbers)
        grid = (n_blocks, n_groups)
        self._launch(file, name, grid, "HISTOGRAM_THREADS", args, shared_bytes)

    def _build_and_scan(self, features: DeviceArray, gh: DeviceArray, growth: DeviceArray) -> None:
        self._build(gh)
        scanned = (
            self.nodes,
            self.pairs,
            self.state,
            growth,
            features,
            self.n_bins,
            self.masks,
            self.pool,
            self.count_pool,
            self.best_splits,
            self.directions,
            self.bounds,
            self.due,
            self.absent,
            self.is_categorical,
        )
        if self.limits.order == SYMMETRIC:
            self._launch(
                "split",
                "scan_level",
                self.n_used,
                N_CODES,
                (*scanned, np.int32(self.n_features), np.int32(self.masked)),
            )
        else:
            numbers = (
                np.int32(self.n_used),
                np.int32(self.n_features),
                np.int32(self.scan_features),
                np.int32(self.masked),
            )
            self._launch(
                "split",
                "scan_pairs",
                (self.max_pairs, self.n_chunks),
                "SCAN_THREADS",
                (*scanned, *numbers),
            )
        if self.categorical:
            self._scan_sets(features, growth)

    def _scan_sets(self, features: DeviceArray, growth: DeviceArray) -> None:
        """Search of sets of categories, in complete histograms."""
        first = self.state, growth, features, self.n_bins, self.masks, self.pool, self.count_pool
        rest = self.best_splits, self.directions, self.bounds, self.due, self.is_categorical
        n_features, masked = np.int32(self.n_features), np.int32(self.masked)
        if self.limits.order == SYMMETRIC:
            level = (self.nodes, *first, *rest, n_features, masked)
            self._launch("sets", "scan_level_sets", self.n_used, N_CODES, level)
            return
        numbers = np.int32(self.n_used), n_features, np.int32(self.scan_features), masked
        args = (self.nodes, self.pairs, *first, *rest, *numbers)
        self._launch("sets", "scan_sets", (2 * self.max_pairs, self.n_chunks), N_CODES, args)

    def _tile_blocks(self) -> int:
        return min(
            -(-self.n_rows // self.tile_rows) + self.limits.max_open, 8 * self.n_multiprocessors
        )

    def _blocks_of_values(self) -> tuple[int, int]:
        """Blocks over the tiles of leaves, for each value of a leaf."""
        return self._tile_blocks(), self.limits.n_values

    def _launch(
        self,
        file: str,
        name: str,
        grid: int | tuple[int, ...],
        threads: int | str,
        args: tuple[Any, ...],
        shared_bytes: int = 0,
    ) -> None:
        grid = grid if isinstance(grid, tuple) else (grid,)
        block = (THREADS[threads] if isinstance(threads, str) else threads,)
        self.kernels.launch(file, name, grid, block, args, shared_bytes)

    # --- leaves

    def finish(
        self,
        rows: DrawnRows,
        g: DeviceArray,
        h: DeviceArray,
        weight: DeviceArray,
        growth: DeviceArray,
        fine_units: DeviceArray,
        learning_rate: float,
    ) -> None:
        """Leaf values from fine sums of the true gradients.

        The tree is kept until it is fetched.
        """
        if self.n_kept == self.max_kept:
            self._fetch()
        kept, tile_rows = self.n_kept, np.int32(self.tile_rows)
        n_values = np.int32(self.limits.n_values)
        self._launch("leaves", "list_leaves", 1, "GROWTH_THREADS", (
            self.nodes, self.state, self.leaves, self.leaf_tiles, self.sums, n_values, tile_rows,
        ))  # fmt: skip
        self._launch("leaves", "sum_leaves", self._blocks_of_values(), "LEAF_THREADS", (
            self.rows, self.nodes, self.state, self.leaves, self.leaf_tiles, g, h, weight,
            fine_units, self.sums, np.int64(self.n_rows), tile_rows, np.int32(weight.size > 0),
        ))  # fmt: skip
        self._launch("leaves", "sum_children", 1, "GROWTH_THREADS", (
            self.nodes, self.state, self.by_depth, self.depth_end, self.sums, n_values,
        ))  # fmt: skip
        node_blocks = -(-self.nodes.size // THREADS["LEAF_THREADS"])
        n_blocks = min(node_blocks, self.n_multiprocessors)
        self._launch("leaves", "leaf_values", n_blocks, "LEAF_THREADS", (
            self.nodes, self.state, growth, self.sums, fine_units, np.float64(learning_rate),
            self.bounds, self.values, self.kept_nodes[kept], self.kept_values[kept],
            self.kept_cover[kept], self.kept_sizes[kept : kept + 1], n_values,
        ))  # fmt: skip
        self.n_kept += 1

    def set_leaf_quantiles(
        self,
        rows: DrawnRows,
        y: DeviceArray,
        raw: DeviceArray,
        weights: tuple[DeviceArray, DeviceArray, float],
        quantiles: Sequence[LeafQuantile],
        growth: DeviceArray,
        learning_rate: float,
    ) -> None:
        """Leaf values that follow from the residuals of the rows of each leaf."""
        max_leaves, kept = self.limits.max_leaves, self.n_kept - 1
        if self.selection is None:
            sizes = self.n_rows, max_leaves, self.tile_rows, self._tile_blocks()
            self.selection = Selection(self.kernels, *sizes)
        where = LeafRows(self.rows, self.nodes, self.state, self.leaves, self.leaf_tiles)
        n_values = np.int32(self.limits.n_values)
        for k in range(raw.shape[0]):
            quantile = quantiles[min(k, len(quantiles) - 1)]
            self.selection.search(where, y[min(k, len(y) - 1)], raw[k], weights, quantile)
            n_blocks = -(-max_leaves // THREADS["LEAF_THREADS"])
            numbers = *map(np.float64, quantile), np.float64(learning_rate)
            self._launch("leaf_quantiles", "value_leaves", n_blocks, "LEAF_THREADS", (
                self.state, growth, self.leaves, self.selection.searches, *numbers, self.values,
                self.kept_values[kept], np.int32(k), n_values,
            ))  # fmt: skip
        if self.constrained:
            ranges = self.selection.ranges_of_nodes(len(self.nodes))
            order = self.nodes, self.state, self.n_bins, self.directions
            for values in (self.values, self.kept_values[kept]):
                ORDER_LEAVES(1, *order, values, ranges)

    def add_leaf_values(self, raw: DeviceArray) -> None:
        """Add leaf values to the raw scores of all rows.

        By the lists of rows, or by walking if some rows were left out.
        """
        if self.tree_count is self.all_rows and self.tree_rows.shape[0] == self.n_rows:
            self._launch("leaves", "add_leaf_values", self._blocks_of_values(), "LEAF_THREADS", (
                self.rows, self.nodes, self.state, self.leaves, self.leaf_tiles, self.values, raw,
                np.int64(self.n_rows), np.int32(self.tile_rows),
            ))  # fmt: skip
        else:
            self._walk(self.bins, self.n_rows, raw, self.sparse)

    def add_tree(self, binned: FeatureMatrix, raw: DeviceArray) -> None:
        """Add the tree to the raw scores of rows of another matrix with the same bins."""
        codes = binned.columns if binned.sparse else binned.by_rows
        self._walk(codes, binned.n_rows, raw, binned.sparse)

    def _walk(self, bins: DeviceArray, n_rows: int, raw: DeviceArray, sparse: bool) -> None:
        if sparse:
            entries_at, absent_at = 8 * (n_rows + 1), len(bins) - self.n_features
            begin = bins[:entries_at].view(np.int64)
            entries = bins[entries_at:absent_at].view(np.uint32)
            tree = self.nodes, self.values
            predict.ADD_SPARSE_TREE(n_rows, begin, entries, bins[absent_at:], *tree, raw)
            return
        add = predict.ADD_TREE_WITH_SETS if self.categorical else predict.ADD_BINNED_TREE
        add(
            n_rows,
            bins,
            self.nodes,
            self.values,
            np.int64(n_rows),
            np.int64(self.group_features),
            raw,
        )

    # --- trees

    def take_last(self) -> BoostedTree:
        """The tree that was finished last, which is not kept; waits for it."""
        self._fetch()
        return self.fetched.pop()

    def put_tree(self, tree: BoostedTree) -> None:
        """Make a tree the one that ``add_tree`` adds."""
        n = len(tree.nodes)
        self.nodes[:n].set(np.ascontiguousarray(tree.nodes))
        self.values[:n].set(np.ascontiguousarray(tree.values))

    def take_trees(self, everything: bool) -> list[BoostedTree]:
        """Trees fetched since the last call."""
        if everything:
            self._fetch()
        taken, self.fetched = self.fetched, []
        return taken

    def _fetch(self) -> None:
        n, cp = self.n_kept, cupy()
        if n == 0:
            return
        kept = (self.kept_nodes, self.kept_values, self.kept_cover, self.kept_sizes)
        nodes, values, cover, sizes = (cp.asnumpy(array[:n]) for array in kept)
        counts = nodes["end"] - nodes["begin"]
        self.fetched += [
            BoostedTree(
                nodes[t, :size], values[t, :size].copy(), cover[t, :size].copy(), counts[t, :size]
            )
            for t, size in enumerate(sizes)
        ]
        self.n_kept = 0


def _names_of(rules: SplitRules) -> tuple[str, ...]:
    """Which rules there are, by their names in ``compiler.RULES``."""
    given = {
        "constrained": rules.directions,
        "weighted": rules.feature_weights,
        "grouped": rules.groups,
        "penalized": rules.costs,
        "forced": rules.forced,
    }
    return tuple(name for name, array in given.items() if array is not None)


def check_memory(
    plan: Mapping[str, tuple[tuple[int, ...], DTypeLike]], device: Any, remedy: str
) -> None:
    """Raise before anything is allocated if the buffers do not fit."""
    sizes = {
        name: int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        for name, (shape, dtype) in plan.items()
    }
    free, total = memory(device)
    needed = sum(sizes.values())
    if needed > free:
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
        parts = ", ".join(f"{name} {size / 2**20:.0f} MiB" for name, size in largest)
        raise MemoryError(
            f"training needs {needed / 2**20:.0f} MiB on the device ({parts}, ...), "
            f"which has {free / 2**20:.0f} of {total / 2**20:.0f} MiB free; "
            f"{remedy} or device='cpu' would help"
        )
