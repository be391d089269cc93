"""The steps in which a batch of classical trees grows on the device.

A step divides the rows of nodes whose splits the last step has found, and finds the splits of the
nodes that come next. One copy goes up (the nodes), one comes down (their splits); the number of
launches does not depend on the number of nodes, up to what the buffers hold at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gpuboost.dtypes import ROW
from gpuboost.exchange import DeviceArray, HostArray, TreeJob
from gpuboost.kernels.cuda.compiler import THREADS
from gpuboost.kernels.cuda.device import cupy, memory
from gpuboost.kernels.cuda.grower import check_memory
from gpuboost.kernels.cuda.records import BRANCH, FEATURE_CUT, FOUND_SPLIT

if TYPE_CHECKING:
    from gpuboost.kernels.cuda.backend import CudaBackend

#: Rows that one block sums; nodes with more are shared by several blocks.
TILE_ROWS = 4096
#: Bytes of the cuts of a round: more are searched in several rounds of launches.
CUT_BYTES = 1 << 26
#: Bytes of the sums of large nodes that are searched at once.
SUM_BYTES = 1 << 28
#: Blocks of a launch whose blocks take one thing after another.
MAX_BLOCKS = 1 << 13
#: Blocks that draw features by probabilities, each of which has a list of them.
MAX_DRAWING = 256
#: Slots of a round: the second dimension of a grid.
MAX_SLOTS = 65535
#: Shared memory that kernels take besides what is counted here.
STATIC_BYTES = 512
WARP = 32
WARPS = THREADS["TREE_THREADS"] // WARP


class DeviceMatrix(NamedTuple):
    """A coded matrix on the device."""

    codes: DeviceArray  # (n_features, n_rows) uint8 or uint32
    n_codes: DeviceArray  # (n_features,) int32
    first_code: DeviceArray  # (n_features + 1,) int64: where its codes begin in lower and upper
    lower: DeviceArray  # float64: lowest value of each code
    upper: DeviceArray  # and highest
    kinds: DeviceArray  # (n_features,) uint8: which search looks at a feature (see cart.cuh)
    n_rows: int
    n_features: int
    max_codes: int
    code_bytes: int
    set_words: int  # of a set of codes; 0: no split is one
    # (n_features,) float64: of a feature to be drawn; None: all are equal
    probability: DeviceArray | None


class DeviceTargets(NamedTuple):
    """What the trees are grown on, as far as it is the same for all of them."""

    labels: DeviceArray  # (n_rows, n_outputs) int32: classes as channels, or ranks of the values
    first_channel: DeviceArray  # (n_outputs + 1,) int32
    n_outputs: int
    n_cell: int  # sums of a code: one for each class; or the weight and one for each output
    with_classes: bool
    # the numbers of all rows by the target of each output: for the absolute error, else empty
    rows_by_target: tuple[HostArray, ...]


class Nodes(NamedTuple):
    """Some nodes on the device; those with many rows come first."""

    records: DeviceArray  # (n,) OPEN_NODE
    n: int
    n_large: int
    n_tiles: int  # of the large ones

    @property
    def n_blocks(self) -> int:
        """A block for each tile of a large node, and one for each other node."""
        return self.n_tiles + self.n - self.n_large


class Round(NamedTuple):
    """Features that some nodes try, one in each slot."""

    nodes: Nodes
    active: DeviceArray  # (n_nodes,) int32: the nodes that search
    n_active: DeviceArray  # (1,) int32
    searching: DeviceArray  # (n_nodes,) int32: whether a node does
    cuts: DeviceArray  # (n_nodes * n_slots * n_attempts,) FEATURE_CUT
    cut_sets: DeviceArray  # (n_nodes * n_slots * n_attempts, set_words) uint64
    first_slot: int
    n_slots: int

    @property
    def n_pairs(self) -> int:
        """Nodes times slots, if all of them search."""
        return self.nodes.n * self.n_slots


class Search(Protocol):
    """Finds the best cuts of the features of its kind."""

    @property
    def n_attempts(self) -> int:
        """Cuts for each slot, which are compared one after another."""

    @property
    def bytes_of_slot(self) -> int:
        """Bytes that it allocates for a large node and a slot."""

    def launch(self, steps: "TreeSteps", now: Round) -> None:
        """Fill the cuts of the features that the nodes of a round try."""


class BinSearch:
    """Numbers in bins: sums of every code, and the scores of all cuts."""

    n_attempts = 1

    def __init__(self, attributes: Any, matrix: DeviceMatrix, targets: DeviceTargets) -> None:
        n_cell, max_codes = targets.n_cell, matrix.max_codes
        # two blocks on a multiprocessor rather than one
        room = max(
            attributes["MaxSharedMemoryPerBlock"], attributes["MaxSharedMemoryPerBlockOptin"] // 2
        )
        # of each code: four sides with two numbers, two scores; a count
        self.score_bytes, count_bytes = 80 * max_codes, 4 * max_codes
        fixed_bytes = STATIC_BYTES + self.score_bytes + count_bytes
        most_cells = max(1, (room - fixed_bytes) // (8 * max_codes))
        self.n_ranges = -(-n_cell // most_cells)
        self.range_cells = -(-n_cell // self.n_ranges)  # sums that are made at a time
        self.cell_bytes = count_bytes + 8 * max_codes * self.range_cells
        self.sums_shape, self.counts_shape = (n_cell, max_codes), (max_codes,)
        self.bytes_of_slot = 8 * n_cell * max_codes + 4 * max_codes

    def launch(self, steps: "TreeSteps", now: Round) -> None:
        """Two launches if there are large nodes, else one."""
        nodes, matrix, targets = now.nodes, steps.matrix, steps.targets
        sums, counts = None, None
        shape = (
            np.int64(matrix.n_rows), np.int32(targets.n_outputs), np.int32(targets.with_classes),
            np.int32(targets.n_cell), np.int32(matrix.max_codes), np.int32(self.range_cells),
            np.int32(nodes.n_large),
        )  # fmt: skip
        slots = np.int32(now.n_slots), np.int32(steps.n_attempts)
        rows = steps.rows, steps.weight, targets.labels, steps.values
        if nodes.n_large:
            n_pairs = nodes.n_large * now.n_slots
            sums = cupy().zeros((n_pairs, *self.sums_shape), np.int64)
            counts = cupy().zeros((n_pairs, *self.counts_shape), np.int32)
            grid = nodes.n_tiles, now.n_slots, self.n_ranges
            steps.launch("sum_tiles", grid, (
                matrix.codes, matrix.n_codes, matrix.kinds, *rows, nodes.records, now.searching,
                now.cuts, sums, counts, *shape, np.int32(TILE_ROWS), *slots,
            ), self.cell_bytes)  # fmt: skip
        steps.launch("score_cuts", (min(now.n_pairs, MAX_BLOCKS),), (
            matrix.codes, matrix.n_codes, matrix.first_code, matrix.lower, matrix.upper,
            matrix.kinds, *rows, targets.first_channel, steps.growth, nodes.records, now.active,
            now.n_active, now.cuts, sums, counts, *shape, *slots,
        ), self.score_bytes + self.cell_bytes)  # fmt: skip


def large_first(nodes: HostArray) -> tuple[HostArray, int]:
    """The order in which nodes of many rows come first, and how many these are."""
    is_large = nodes["end"] - nodes["begin"] > TILE_ROWS
    return np.argsort(~is_large, kind="stable"), int(is_large.sum())


def number_tiles(nodes: HostArray, n_large: int) -> int:
    """Number the tiles of the large nodes, which come first; returns how many tiles there are."""
    large = nodes[:n_large]
    n_tiles = -(-(large["end"] - large["begin"]) // TILE_ROWS)
    nodes["first_tile"][:n_large] = np.cumsum(n_tiles) - n_tiles
    return int(n_tiles.sum())


def rounds(n_features: int, max_features: int, most_slots: int) -> list[tuple[int, int]]:
    """(first slot, slots) of each round.

    First the features that a node tries if none is constant, then twice as many, and so on.
    """
    out, first = [], 0
    while first < n_features:
        wanted = max_features - first if first < max_features else first
        out.append((first, min(wanted, most_slots, n_features - first)))
        first += out[-1][1]
    return out


class TreeSteps:
    """The trees of a batch on the device: their rows and targets, and the splits last found."""

    def __init__(
        self,
        backend: "CudaBackend",
        matrix: DeviceMatrix,
        targets: DeviceTargets,
        searches: Sequence[Search],
        jobs: Sequence[TreeJob],
    ) -> None:
        self.backend, self.matrix, self.targets, self.searches = backend, matrix, targets, searches
        growth = np.concatenate([job.growth for job in jobs])
        self.max_features = int(growth["max_features"][0])
        self.n_attempts = max(search.n_attempts for search in searches)
        cut_bytes = self.n_attempts * (FEATURE_CUT.itemsize + 8 * matrix.set_words)
        self.most_pairs = max(1, CUT_BYTES // cut_bytes)
        self.slot_bytes = max(1, *(search.bytes_of_slot for search in searches))
        free, _ = memory(backend.device)
        self.sum_bytes = max(self.slot_bytes, min(SUM_BYTES, free // 8))
        self.splits = backend.empty((0,), FOUND_SPLIT)  # of the nodes opened last
        self.split_sets = backend.empty((0, 1), np.uint64)
        self.places = np.empty(0, np.int64)  # where these are
        self._allocate(jobs)
        self.all_branches = np.empty(0, BRANCH)  # how the nodes came about, by their numbers
        self.branches = cupy().empty((1,), BRANCH)  # the same on the device
        at = 0
        for t, job in enumerate(jobs):
            self.rows[at : at + len(job.rows)].set(job.rows)
            self.weight[t].set(job.weight)
            if not targets.with_classes:
                self.values[t].set(job.values)
            if targets.rows_by_target:
                self.by_rank[t].set(job.by_rank)
            in_tree = np.zeros(matrix.n_rows if targets.rows_by_target else 0, np.bool_)
            in_tree[job.rows if targets.rows_by_target else ()] = True
            for rows, order in zip(self.ranked_rows, targets.rows_by_target, strict=False):
                rows[at : at + len(job.rows)].set(order[in_tree[order]])
            at += len(job.rows)
        self.growth = backend.put(growth)

    def _allocate(self, jobs: Sequence[TreeJob]) -> None:
        """Rows, weights and values of the trees, if there is memory for these and all else."""
        n_all, n_trees, n_features = (
            sum(len(job.rows) for job in jobs), len(jobs), self.matrix.n_features,
        )  # fmt: skip
        values_shape = (1,) if self.targets.with_classes else (n_trees, *jobs[0].values.shape)
        n_orders = len(self.targets.rows_by_target)
        plan = {
            "rows": ((n_all,), ROW),
            "scratch": ((n_all,), ROW),
            "weight": ((n_trees, self.matrix.n_rows), np.int64),
            "values": (values_shape, np.int64),
            "rows by target": ((n_orders, n_all) if n_orders else (1, 1), ROW),
            "targets": ((n_trees, *jobs[0].by_rank.shape) if n_orders else (1,), np.float64),
        }
        most_sums = n_all // TILE_ROWS * n_features * self.slot_bytes
        later = {
            "sums": ((min(self.sum_bytes, most_sums),), np.uint8),
            "cuts": ((min(self.most_pairs, n_all * n_features) * self.n_attempts,), FEATURE_CUT),
        }
        check_memory(plan | later, self.backend.device, "fewer rows")
        self.rows, self.scratch, self.weight, self.values, self.ranked_rows, self.by_rank = (
            cupy().empty(shape, dtype) for shape, dtype in plan.values()
        )
        # all of them are divided; those of the first come down in the end
        self.row_orders = [self.rows, *(self.ranked_rows if n_orders else ())]

    def add_branches(self, branches: HostArray) -> None:
        """Add how the nodes of the next level came about."""
        begin = len(self.all_branches)
        self.all_branches = np.concatenate([self.all_branches, branches])
        if len(self.all_branches) <= len(self.branches):
            self.branches[begin : len(self.all_branches)].set(branches)
            return
        self.branches = cupy().empty((2 * len(self.all_branches),), BRANCH)
        self.branches[: len(self.all_branches)].set(self.all_branches)

    def advance(self, divisions: HostArray, opened: HostArray) -> tuple[HostArray, HostArray]:
        """Divide the rows of some nodes, then find the splits of others.

        Both are OPEN_NODE records; ``split`` of a division is its number among the nodes that were
        opened the last time. Returns FOUND_SPLIT records and their sets.
        """
        set_words = self.matrix.set_words
        order, n_large = large_first(divisions)
        divisions = divisions[order]
        if len(divisions):
            divisions["split"] = self.places[divisions["split"]]
        n_tiles, n = number_tiles(divisions, n_large), len(divisions)
        order, n_large_opened = large_first(opened)
        opened = opened[order]
        chunks = [
            (a, b, large, number_tiles(opened[a:b], large))
            for a, b, large in self._chunks(len(opened), n_large_opened)
        ]
        records = self.backend.put(np.concatenate([divisions, opened]))
        if n:
            self._divide(Nodes(records[:n], n, n_large, n_tiles))
        if len(opened) == 0:
            return np.empty(0, FOUND_SPLIT), np.empty((0, set_words), np.uint64)
        self.splits = cupy().empty((len(opened),), FOUND_SPLIT)
        self.split_sets = cupy().empty((len(opened), set_words), np.uint64)
        for a, b, large, tiles in chunks:
            self._find_splits(a, b, Nodes(records[n + a : n + b], b - a, large, tiles))
        self.places = np.argsort(order)
        splits = self.backend.to_host(self.splits)[self.places]
        if set_words == 0:
            return splits, np.empty((len(opened), 0), np.uint64)
        return splits, self.backend.to_host(self.split_sets)[self.places]

    def _rounds(self, n_large: int) -> list[tuple[int, int]]:
        """The rounds of some nodes, as far as memory lets them be."""
        most = self.sum_bytes // self.slot_bytes if n_large else self.most_pairs
        most = max(1, min(most, MAX_SLOTS))
        return rounds(self.matrix.n_features, self.max_features, most)

    def _chunks(self, n: int, n_large: int) -> list[tuple[int, int, int]]:
        """(begin, end, large nodes) of what is searched at once, as far as memory goes."""
        out, begin = [], 0
        while begin < n:
            large = max(n_large - begin, 0)
            most_slots = max(n_slots for _, n_slots in self._rounds(large))
            most = max(1, self.most_pairs // most_slots)
            if large:
                most_large = max(1, self.sum_bytes // (self.slot_bytes * most_slots))
                most = min(most, most_large) if large > most_large else most
            end = min(begin + most, n)
            out.append((begin, end, min(large, end - begin)))
            begin = end
        return out

    def _find_splits(self, begin: int, end: int, nodes: Nodes) -> None:
        """The splits of some of the nodes that were opened; nothing is read back."""
        all_rounds, n = self._rounds(nodes.n_large), nodes.n
        zeros = cupy().zeros((len(all_rounds) + 1 + n,), np.int32)
        listed, searching = zeros[: len(all_rounds) + 1], zeros[len(all_rounds) + 1 :]
        active = cupy().empty((2, n), np.int32)
        splits, sets = self.splits[begin:end], self.split_sets[begin:end]
        self.launch("open_nodes", (nodes.n_blocks,), (
            self.rows, self.targets.labels, nodes.records, splits, searching, active[0],
            listed[:1], np.int32(self.targets.n_outputs), np.int32(nodes.n_large),
            np.int32(nodes.n_tiles), np.int32(TILE_ROWS),
        ))  # fmt: skip
        for r, (first_slot, n_slots) in enumerate(all_rounds):
            n_cuts = n * n_slots * self.n_attempts
            now = Round(
                nodes=nodes,
                active=active[r % 2],
                n_active=listed[r : r + 1],
                searching=searching,
                cuts=cupy().empty((n_cuts,), FEATURE_CUT),
                cut_sets=cupy().empty((n_cuts, self.matrix.set_words), np.uint64),
                first_slot=first_slot,
                n_slots=n_slots,
            )
            self.draw(now)
            for search in self.searches:
                search.launch(self, now)
            is_last = r + 1 == len(all_rounds)
            self.launch("pick_splits", (-(-n // WARPS),), (
                self.growth, nodes.records, now.active, now.n_active, now.cuts, now.cut_sets,
                splits, sets, searching, active[(r + 1) % 2], listed[r + 1 : r + 2],
                np.int32(n_slots), np.int32(self.n_attempts), np.int32(self.matrix.set_words),
                np.int32(is_last),
            ))  # fmt: skip

    def draw(self, now: Round) -> None:
        """Fill in which features the nodes of a round try."""
        matrix = self.matrix
        if matrix.probability is not None:
            n_blocks = min(now.nodes.n, MAX_DRAWING)
            features = cupy().empty((n_blocks, matrix.n_features), np.int32)
            self.launch("draw_by_probability", (n_blocks,), (
                matrix.probability, now.nodes.records, now.active, now.n_active, now.cuts, features,
                np.int32(matrix.n_features), np.int32(now.first_slot), np.int32(now.n_slots),
                np.int32(self.n_attempts),
            ), file="cart_search", threads=WARP)  # fmt: skip
            return
        self.launch("draw_features", (min(-(-now.n_pairs // WARPS), MAX_BLOCKS),), (
            self.growth, now.nodes.records, now.active, now.n_active, now.cuts,
            np.int32(self.matrix.n_features), np.int32(now.first_slot), np.int32(now.n_slots),
            np.int32(self.n_attempts),
        ))  # fmt: skip

    def _divide(self, nodes: Nodes) -> None:
        """Divide the rows of nodes by the splits that were found last."""
        codes = self.matrix.codes, np.int32(self.matrix.code_bytes)
        division = nodes.records, self.splits, self.split_sets
        n_rows, n_large = np.int64(self.matrix.n_rows), np.int32(nodes.n_large)
        tile_rows, set_words = np.int32(TILE_ROWS), np.int32(self.matrix.set_words)
        for rows in self.row_orders:
            if nodes.n_large:
                tile_lefts = cupy().empty((nodes.n_tiles,), np.int32)
                self.launch("count_tile_lefts", (nodes.n_tiles,), (
                    *codes, rows, *division, tile_lefts, n_rows, n_large, tile_rows, set_words,
                ))  # fmt: skip
                self.launch("scatter_tiles", (nodes.n_tiles,), (
                    *codes, rows, self.scratch, *division, tile_lefts, n_rows, n_large, tile_rows,
                    set_words,
                ))  # fmt: skip
            self.launch("divide_rows", (nodes.n_blocks,), (
                *codes, rows, self.scratch, *division, n_rows, n_large, np.int32(nodes.n_tiles),
                tile_rows, set_words,
            ))  # fmt: skip

    def launch(
        self,
        name: str,
        grid: tuple[int, ...],
        args: tuple[Any, ...],
        shared_bytes: int = 0,
        file: str = "cart",
        threads: int = THREADS["TREE_THREADS"],
    ) -> None:
        """Launch a kernel of a ``.cu`` file."""
        self.backend.kernels.launch(file, name, grid, (threads,), args, shared_bytes)
