"""Boosted trees: the buffers that growth needs, and the threads that run it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuboost.dtypes import (
    CHUNK,
    FINE,
    HIST_STRIDE,
    LABEL_SPLIT,
    NODE,
    PACKED,
    PAIR,
    PIECE,
    PROGRESS,
    ROW,
    SET_NODE,
    SET_SPLIT,
    SET_WORDS,
    SPLIT,
    SYMMETRIC,
)
from gpuboost.exchange import (
    BoostedTree,
    DeviceArray,
    DrawnRows,
    FeatureMatrix,
    GrowthLimits,
    HostArray,
    LeafQuantile,
    SplitRules,
)
from gpuboost.kernels.cpu import leaf_quantiles, leaves, picked
from gpuboost.kernels.cpu.draws import make_groups, make_weights
from gpuboost.kernels.cpu.forced import make_forced
from gpuboost.kernels.cpu.frontier import make_frontier
from gpuboost.kernels.cpu.growth import N_OF_TREE, Stages, assist, grow
from gpuboost.kernels.cpu.predict import MAX_LABELS
from gpuboost.kernels.cpu.rules import make_rules
from gpuboost.kernels.cpu.sharing import CONTROL_SIZE, FINISHED, N_THREADS, STAGE
from gpuboost.kernels.cpu.sparse import by_columns
from gpuboost.kernels.cpu.threads import SMALL_ROWS, Team

#: Row-feature pairs below which a tree is grown by one thread: it takes a millisecond or two
#: (2026-11, AMD EPYC), and waking another thread may take a tenth of one.
SMALL_WORK = 1 << 19
#: Row-feature pairs after which growth returns to Python for a moment: about a quarter of a second.
BUDGET = 1 << 28
#: Features of one building task: 64 histograms are 128 KiB, which the second-level cache holds, and
#: a row's 64 bins are a cache line.
RANGE_FEATURES = 64
#: Most memory for histograms of open nodes. Beyond it histograms are dropped and built again when
#: needed: slower, same bits.
POOL_BYTES = 1 << 30
#: The share of the rows up to which a tree's rows are copied together.
MOST_PICKED = 0.5
#: Boosted trees that are handed out together: turning records into arrays takes 10 us a tree one by
#: one, and 4 us together (63 nodes, 2026-11).
KEPT_TREES = 16


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
            stored=by_columns(columns) if self.sparse else None,
            codes=np.empty(n_rows, np.uint8) if self.sparse else None,
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
        listed = self.sparse or limits.max_leaves > MAX_LABELS
        self.labels = np.empty(n_rows, np.int32 if listed else np.uint8)
        self.most_picked = 0 if self.sparse else int(MOST_PICKED * n_rows)
        self.copies: tuple[HostArray, ...] = ()
        self.picks = False

    def _pick(self, rows: DrawnRows, gh: DeviceArray) -> tuple[Any, ...]:
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
        self, rows: DrawnRows, features: DeviceArray, gh: DeviceArray, growth: DeviceArray
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
        rows: DrawnRows,
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
        n, n_rows, n_values = nodes.shape[0], self.labels.shape[0], g.shape[0]
        self._number_leaves(nodes)
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
        given = growth, fine_units, learning_rate, bounds
        leaves.leaf_values(nodes, sums, *given, values, cover)
        self.tree = BoostedTree(nodes, values, cover, sums[0, :, 2].copy())
        self.trees.append(self.tree)

    def _number_leaves(self, nodes: HostArray) -> None:
        """List the splits of a tree, by which rows get labels."""
        n_splits, has_sets = nodes.shape[0] // 2, self.stages.is_categorical is not None
        self.splits = np.empty(n_splits, LABEL_SPLIT)
        self.leaf_of_label = np.empty(n_splits + 1, np.int32)
        self.sets = np.empty((n_splits, SET_WORDS), np.uint64) if has_sets else None
        leaves.number_leaves(nodes, self.splits, self.sets, self.leaf_of_label)

    def take_last(self) -> BoostedTree:
        """The tree that was finished last, which is not kept."""
        return self.trees.pop()

    def put_tree(self, tree: BoostedTree) -> None:
        """Make a tree the one that ``add_tree`` adds."""
        self._number_leaves(tree.nodes)
        self.tree = tree

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
        n, n_leaves, run = len(rows), len(self.leaf_of_label), self.team.run_kernel
        weight, factor, unit = weights
        # one block for each thread that there is work for; many leaves are counted once
        n_blocks = 1 if n < SMALL_ROWS else self.team.size
        block_rows = -(-n // n_blocks)
        counts, begin = np.empty((n_blocks, n_leaves), np.int64), np.empty(n_leaves + 1, np.int64)
        keys = np.empty(n, np.uint64)
        steps = np.empty(n if weight.size or factor.size else 0, np.int64)
        values = self.trees[-1].values
        for k, of_value in enumerate(raw):
            places = rows, self.labels, block_rows
            run(n, leaf_quantiles.count_labels, *places, counts)
            leaf_quantiles.place_labels(counts, begin)
            given = y[min(k, len(y) - 1)], of_value, weight, factor, unit
            run(n, leaf_quantiles.list_residuals, *places, counts, *given, keys, steps)
            level, limit = quantiles[min(k, len(quantiles) - 1)]
            max_delta_step = growth[0]["max_delta_step"]
            numbers = level, limit, max_delta_step, learning_rate
            own_values = values[:, k]
            run(
                n, leaf_quantiles.leaf_values, keys, steps, begin, self.leaf_of_label, *numbers,
                own_values,
            )  # fmt: skip
        rules = self.stages.rules
        if rules is not None:
            nodes = self.trees[-1].nodes
            ordered = nodes, len(nodes), self.stages.n_bins, rules.directions
            leaf_quantiles.order_leaves(*ordered, values, np.empty((len(nodes), 4)))

    def add_leaf_values(self, raw: DeviceArray) -> None:
        """Add leaf values to the raw scores of all rows."""
        self.team.run_kernel(
            raw.size,
            leaves.add_leaf_values,
            self.labels,
            self.leaf_of_label,
            self.tree.values,
            raw,
        )

    def add_tree(self, binned: FeatureMatrix, raw: DeviceArray) -> None:
        """Add the tree to the raw scores of rows of another matrix with the same bins."""
        (nodes, values, _, _), columns = self.tree, binned.columns
        if binned.sparse or len(self.leaf_of_label) > MAX_LABELS:
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


def _even_ranges(n: int, n_ranges: int) -> HostArray:
    """Borders of n_ranges ranges of about equal length."""
    return np.linspace(0, n, max(1, n_ranges) + 1).astype(np.int64)
