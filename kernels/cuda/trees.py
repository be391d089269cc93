"""Classical trees on the device: a batch of them, level by level.

Per level one copy up (the nodes that may be split), two launches whatever the number of nodes, one
copy down (their splits). Every node that has a split is split, so no order among them has to be
chosen: growth that stops at a number of leaves is for the CPU. The host lists the nodes that come
next, and gives the finished trees their numbers and values with the kernels of the CPU."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuboost.dtypes import LEFT_CHILD, RIGHT_CHILD, ROW, TREE_NODE
from gpuboost.exchange import DeviceArray, FeatureMatrix, GrownTree, HostArray, TreeJob
from gpuboost.kernels.cpu.backend import CpuTreeGrower
from gpuboost.kernels.cuda.compiler import THREADS
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.grower import check_memory
from gpuboost.kernels.cuda.records import FOUND_SPLIT, OPEN_NODE
from gpuboost.scalar.formulas import hash32, may_be_split

if TYPE_CHECKING:
    from gpuboost.kernels.cuda.backend import CudaBackend

#: Most trees of a batch: more nodes in a launch than a device runs at once gain nothing.
MAX_TREES = 64
#: Shared memory that find_splits takes besides what ``_shared_bytes`` counts.
STATIC_BYTES = 512


def trees_at_once(device: Any, n_rows: int, n_outputs: int) -> int:
    """Trees of a batch: as many as half of the free memory holds."""
    free, _ = device.mem_info
    return int(max(1, min(MAX_TREES, free // 2 // (n_rows * (2 * 4 + 8 + 8 * n_outputs)))))


class CudaTreeGrower:
    """Grows classical trees over one coded matrix of bins, several at a time.

    Owns the buffers they need.
    """

    def __init__(
        self,
        backend: "CudaBackend",
        coded: FeatureMatrix,
        probability: HostArray,
        first_channel: HostArray,
        n_ranks: int,
    ) -> None:
        self.backend, self.coded = backend, coded
        self.host = CpuTreeGrower(coded, probability, first_channel, n_ranks)
        self.n_rows, self.n_features = coded.n_rows, len(coded.n_codes)
        self.n_outputs, self.n_channels = len(first_channel) - 1, int(first_channel[-1])
        self.max_codes = int(coded.n_codes.max())
        self.arrays = [
            backend.put(a)
            for a in (coded.columns, coded.n_codes, coded.begin, coded.lower, coded.upper)
        ]
        self.first_channel = backend.put(first_channel)
        self.labels = None

    def grow_together(self, jobs: Sequence[TreeJob]) -> Iterable[GrownTree]:
        """Grow the trees of a batch."""
        if self.labels is None:
            classes, rank = jobs[0].classes, jobs[0].rank
            self.with_classes = len(classes) > 0
            self.n_cell = self.n_channels + (0 if self.with_classes else 1)
            self._check_shared_memory()
            self.labels = self.backend.put(
                np.ascontiguousarray(classes if self.with_classes else rank)
            )
        growth = np.concatenate([job.growth for job in jobs])
        first = np.concatenate([[0], np.cumsum([len(job.rows) for job in jobs])])
        buffers = self._upload(jobs, growth, int(first[-1]))
        nodes, next_code, tree = self._grow_levels(growth, first, buffers)
        rows = self.backend.to_host(buffers["rows"])
        nodes["begin"] -= first[tree]
        nodes["end"] -= first[tree]
        sizes = np.bincount(tree, minlength=len(jobs))
        no_sets = np.empty(0, np.uint64)
        return [
            GrownTree(
                self.host.order_nodes(nodes, next_code, t, sizes[t]),
                no_sets,
                rows[first[t] : first[t + 1]],
            )
            for t in range(len(jobs))
        ]

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
        return self.host.describe(nodes, rows, weight, classes, y, criterion)

    def _upload(
        self, jobs: Sequence[TreeJob], growth: HostArray, n_all: int
    ) -> dict[str, DeviceArray]:
        """Rows, weights and values of the trees of a batch."""
        values_shape = (len(jobs), self.n_rows, self.n_outputs) if not self.with_classes else (1,)
        plan = {
            "rows": ((n_all,), ROW),
            "scratch": ((n_all,), ROW),
            "weight": ((len(jobs), self.n_rows), np.int64),
            "values": (values_shape, np.int64),
        }
        check_memory(plan, self.backend.device, "fewer rows")
        buffers = {name: cupy().empty(shape, dtype) for name, (shape, dtype) in plan.items()}
        at = 0
        for t, job in enumerate(jobs):
            buffers["rows"][at : at + len(job.rows)].set(job.rows)
            buffers["weight"][t].set(job.weight)
            if not self.with_classes:
                buffers["values"][t].set(job.values)
            at += len(job.rows)
        buffers["growth"] = self.backend.put(growth)
        return buffers

    def _grow_levels(
        self, growth: HostArray, first: HostArray, buffers: dict[str, DeviceArray]
    ) -> tuple[HostArray, HostArray, HostArray]:
        """All nodes by levels, the next code behind each split, and the tree of each node."""
        n_trees = len(growth)
        level, tree = np.zeros(n_trees, TREE_NODE), np.arange(n_trees)
        level["begin"], level["end"], level["key"], level["parent"] = (
            first[:-1],
            first[1:],
            growth["key"],
            -1,
        )
        n_before, levels, next_codes, trees = 0, [], [], []
        while len(level):
            for name in ("left", "right", "feature", "code", "first_word"):
                level[name] = -1
            n = level["end"] - level["begin"]
            limits = (
                growth[name][tree]
                for name in ("max_depth", "min_samples_split", "min_samples_leaf")
            )
            opened = np.flatnonzero(may_be_split(n, level["depth"], *limits))
            splits = self._split(level[opened], tree[opened], buffers)
            chosen, splits = opened[splits["feature"] >= 0], splits[splits["feature"] >= 0]
            for name in ("feature", "code", "gain", "threshold", "missing_left"):
                level[name][chosen] = splits[name]
            level["left"][chosen] = n_before + len(level) + 2 * np.arange(len(chosen))
            level["right"][chosen] = level["left"][chosen] + 1
            next_code = np.zeros(len(level), np.int32)
            next_code[chosen] = splits["next_code"]
            levels.append(level)
            next_codes.append(next_code)
            trees.append(tree)
            n_before += len(level)
            level, tree = _children(level[chosen], splits["n_left"]), np.repeat(tree[chosen], 2)
        return np.concatenate(levels), np.concatenate(next_codes), np.concatenate(trees)

    def _split(
        self, nodes: HostArray, tree: HostArray, buffers: dict[str, DeviceArray]
    ) -> HostArray:
        """The best splits of some nodes, whose rows are divided by them."""
        if len(nodes) == 0:
            return np.empty(0, FOUND_SPLIT)
        opened = np.empty(len(nodes), OPEN_NODE)
        for name in ("begin", "end", "key"):
            opened[name] = nodes[name]
        opened["tree"] = tree
        opened, splits = self.backend.put(opened), self.backend.empty((len(nodes),), FOUND_SPLIT)
        rows, n_rows = buffers["rows"], np.int64(self.n_rows)
        numbers = self.n_features, self.n_outputs, self.n_cell, self.max_codes, self.with_classes
        self._launch("find_splits", len(nodes), self._shared_bytes(self.n_cell), (
            *self.arrays, rows, buffers["weight"], self.labels, buffers["values"],
            self.first_channel, buffers["growth"], opened, splits, n_rows, *map(np.int32, numbers),
        ))  # fmt: skip
        self._launch(
            "divide_rows",
            len(nodes),
            0,
            (self.arrays[0], rows, buffers["scratch"], opened, splits, n_rows),
        )
        return self.backend.to_host(splits)

    def _launch(self, name: str, n_blocks: int, shared_bytes: int, args: tuple[Any, ...]) -> None:
        self.backend.kernels.launch(
            "cart", name, (n_blocks,), (THREADS["TREE_THREADS"],), args, shared_bytes
        )

    def _shared_bytes(self, n_cell: int) -> int:
        """Dynamic shared memory of find_splits: scores, totals, cells in two halves, counts."""
        return 8 * (2 * self.max_codes + n_cell) + 4 * (
            2 * self.max_codes * n_cell + self.max_codes
        )

    def _check_shared_memory(self) -> None:
        """Raise if the sums of all codes of a feature do not fit."""
        room = self.backend.device.attributes["MaxSharedMemoryPerBlock"] - STATIC_BYTES
        if self._shared_bytes(self.n_cell) <= room:
            return
        fixed = self._shared_bytes(0)
        most = (room - fixed) // (self._shared_bytes(1) - fixed)
        most, what = (
            (most, "classes (of all outputs together)")
            if self.with_classes
            else (most - 1, "outputs")
        )
        raise ValueError(
            f"y has {self.n_channels} {what}, but a CUDA device has room for {max(most, 0)} "
            f"with features of {self.max_codes - 1} bins: "
            "use device='cpu', or a lower max_bins"
        )


def _children(parents: HostArray, n_left: HostArray) -> HostArray:
    """The children of split nodes, left and right in turn."""
    children = np.zeros(2 * len(parents), TREE_NODE)
    left, right = children[::2], children[1::2]
    left["begin"], left["end"] = parents["begin"], parents["begin"] + n_left
    right["begin"], right["end"] = left["end"], parents["end"]
    left["key"] = hash32(parents["key"], np.full(len(parents), LEFT_CHILD, np.uint32))
    right["key"] = hash32(parents["key"], np.full(len(parents), RIGHT_CHILD, np.uint32))
    left["depth"] = right["depth"] = parents["depth"] + 1
    return children
