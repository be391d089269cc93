"""Classical trees on the device: a batch of them, step by step.

A step is a level of all trees. The host lists the nodes that come next, chooses those that are
split when the number of leaves is limited, and gives the finished trees their numbers and values
with the kernels of the CPU."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuboost.dtypes import (
    ABSOLUTE,
    LEFT_CHILD,
    MIDPOINT,
    RIGHT_CHILD,
    ROW,
    TREE_NODE,
    record_of,
)
from gpuboost.exchange import FeatureMatrix, GrownTree, HostArray, TreeJob
from gpuboost.kernels.cpu.trees import CpuTreeGrower
from gpuboost.kernels.cuda.device import memory
from gpuboost.kernels.cuda.records import BRANCH, OPEN_NODE
from gpuboost.kernels.cuda.tree_search import (
    NOMINAL,
    NUMBERS_IN_BINS,
    FeatureSearch,
    kinds_of,
)
from gpuboost.kernels.cuda.tree_steps import (
    BinSearch,
    DeviceMatrix,
    DeviceTargets,
    Search,
    TreeSteps,
)
from gpuboost.scalar.formulas import hash32, may_be_split

if TYPE_CHECKING:
    from gpuboost.kernels.cuda.backend import CudaBackend

#: Most trees of a batch: more nodes in a launch than a device runs at once gain nothing.
MAX_TREES = 64


def trees_at_once(device: Any, n_rows: int, n_outputs: int) -> int:
    """Trees of a batch: as many as half of the free memory holds."""
    free, _ = memory(device)
    return int(max(1, min(MAX_TREES, free // 2 // (n_rows * (2 * 4 + 8 + 8 * n_outputs)))))


class CudaTreeGrower:
    """Grows classical trees over one coded matrix, several at a time."""

    def __init__(
        self,
        backend: "CudaBackend",
        coded: FeatureMatrix,
        probability: HostArray,
        first_channel: HostArray,
        n_ranks: int,
    ) -> None:
        self.backend, self.coded, self.first_channel = backend, coded, first_channel
        self.probability, self.n_ranks = probability, n_ranks
        self.host = CpuTreeGrower(backend.host.team, coded, probability, first_channel, n_ranks)
        self.searches: list[Search] = []

    def grow_together(self, jobs: Sequence[TreeJob]) -> Iterable[GrownTree]:
        """Grow the trees of a batch, as many at once as half of the free memory holds."""
        if not self.searches:
            self._begin(jobs[0])
        free, _ = memory(self.backend.device)
        most = int(max(1, free // 2 // (self.coded.n_rows * self.bytes_of_row)))
        for begin in range(0, len(jobs), most):
            yield from self._grow_batch(jobs[begin : begin + most])

    def _grow_batch(self, jobs: Sequence[TreeJob]) -> Iterable[GrownTree]:
        """Grow some trees, level by level."""
        steps = TreeSteps(self.backend, self.matrix, self.targets, self.searches, jobs)
        first = np.concatenate([[0], np.cumsum([len(job.rows) for job in jobs])])
        growth = np.concatenate([job.growth for job in jobs])
        grown = GrowingTrees(growth, first)
        while len(grown.level):
            if growth["splitter"][0] == MIDPOINT:
                steps.add_branches(grown.branches)
            grown.take(*steps.advance(grown.divisions, grown.opened()))
        rows = self.backend.to_host(steps.rows)
        nodes, next_code, sets, tree = grown.all_nodes()
        nodes["begin"] -= first[tree]
        nodes["end"] -= first[tree]
        sizes = np.bincount(tree, minlength=len(jobs))
        out: list[Any] = [None] * len(jobs)

        def finish(t: int) -> None:
            own_rows, max_leaves = (
                rows[first[t] : first[t + 1]],
                int(jobs[t].growth["max_leaves"][0]),
            )
            out[t] = self._finish(nodes, next_code, sets, t, sizes[t], max_leaves, own_rows)

        self.backend.host.share_out(len(jobs), finish)
        return out

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

    def _begin(self, job: TreeJob) -> None:
        """The matrix and the targets on the device, and the searches that they need."""
        coded, put, growth = self.coded, self.backend.put, job.growth[0]
        kinds, n_features = kinds_of(coded, growth), len(coded.n_codes)
        most_categories = int(coded.n_codes[kinds == NOMINAL].max(initial=0))
        draws = growth["splitter"] == MIDPOINT and len(self.probability) > 0 and n_features > 1
        self.matrix = DeviceMatrix(
            codes=put(coded.columns),
            n_codes=put(coded.n_codes),
            first_code=put(coded.begin),
            lower=put(coded.lower),
            upper=put(coded.upper),
            kinds=put(kinds),
            n_rows=coded.n_rows,
            n_features=n_features,
            max_codes=int(coded.n_codes.max()),
            code_bytes=coded.columns.itemsize,
            set_words=-(-most_categories // 64),
            probability=put(self.probability) if draws else None,
        )
        with_classes, n_channels = len(job.classes) > 0, int(self.first_channel[-1])
        by_distance = growth["criterion"] == ABSOLUTE
        self.targets = DeviceTargets(
            labels=put(np.ascontiguousarray(job.classes if with_classes else job.rank)),
            first_channel=put(self.first_channel),
            n_outputs=len(self.first_channel) - 1,
            n_cell=n_channels + (0 if with_classes else 1),
            with_classes=with_classes,
            rows_by_target=tuple(
                np.argsort(rank, kind="stable").astype(ROW)
                for rank in (job.rank.T if by_distance else ())
            ),
        )
        n_outputs = self.targets.n_outputs
        self.bytes_of_row = 2 * 4 + 8 + 8 * n_outputs + 4 * self.matrix.set_words
        self.bytes_of_row += 12 * n_outputs if by_distance else 0
        self.bytes_of_row += 2 * BRANCH.itemsize if growth["splitter"] == MIDPOINT else 0
        if (kinds == NUMBERS_IN_BINS).any():
            self.searches.append(
                BinSearch(self.backend.device.attributes, self.matrix, self.targets)
            )
        if (kinds != NUMBERS_IN_BINS).any():
            self.searches.append(
                FeatureSearch(
                    self.backend, self.matrix, self.targets, coded.n_codes, kinds, growth,
                    self.n_ranks,
                )
            )  # fmt: skip

    def _finish(
        self,
        by_levels: HostArray,
        next_code: HostArray,
        sets: HostArray,
        root: int,
        n_nodes: int,
        max_leaves: int,
        rows: HostArray,
    ) -> GrownTree:
        """One tree, numbered as the CPU numbers it."""
        nodes, words = self.host.order_nodes(by_levels, next_code, sets, root, n_nodes, max_leaves)
        if max_leaves:  # some leaves were divided before it was known that they stay leaves
            for leaf in nodes[(nodes["left"] < 0) & (nodes["feature"] >= 0)]:
                rows[leaf["begin"] : leaf["end"]].sort()
        return GrownTree(nodes, words, rows)


class GrowingTrees:
    """The nodes of a batch of trees, by levels."""

    def __init__(self, growth: HostArray, first: HostArray) -> None:
        """``first``: where the rows of each tree begin among those of all, and their end."""
        n_trees = len(growth)
        self.growth, self.n_before = growth, 0
        self.level, self.tree = np.zeros(n_trees, TREE_NODE), np.arange(n_trees)
        self.level["begin"], self.level["end"] = first[:-1], first[1:]
        self.level["key"], self.level["parent"] = growth["key"], -1
        self.divisions = np.empty(0, OPEN_NODE)  # nodes whose rows are divided next
        self.branches = record_of(BRANCH, {"feature": -1, "above": -1}).repeat(n_trees)
        self.reach = np.full(n_trees, np.inf)  # least gain on the way to each node of the level
        self.best_reaches = [np.empty(0)] * n_trees  # of the splits of each tree
        self.levels: list[tuple[HostArray, ...]] = []

    def opened(self) -> HostArray:
        """The nodes of the level that may be split."""
        limits = (
            self.growth[name][self.tree]
            for name in ("max_depth", "min_samples_split", "min_samples_leaf")
        )
        n = self.level["end"] - self.level["begin"]
        self.places = np.flatnonzero(may_be_split(n, self.level["depth"], *limits))
        records = _records(self.level[self.places], self.tree[self.places])
        records["number"] = self.n_before + self.places
        return records

    def take(self, splits: HostArray, sets: HostArray) -> None:
        """Take the splits of the level's nodes; their children are the next level."""
        level, has = self.level, splits["feature"] >= 0
        places, best_splits = self.places[has], splits[has]
        for name in ("left", "right", "feature", "code", "first_word"):
            level[name] = -1
        for name in ("feature", "code", "gain", "threshold", "missing_left"):
            level[name][places] = best_splits[name]
        next_code = np.zeros(len(level), np.int32)
        next_code[places] = best_splits["next_code"]
        level_sets = np.zeros((len(level), sets.shape[1]), np.uint64)
        level_sets[places] = sets[has]
        reach = np.minimum(self.reach[places], best_splits["gain"])
        chosen = np.flatnonzero(self._may_be_made(self.tree[places], reach))
        parents = places[chosen]
        level["left"][parents] = self.n_before + len(level) + 2 * np.arange(len(chosen))
        level["right"][parents] = level["left"][parents] + 1
        self.levels.append((level, next_code, level_sets, self.tree))
        self.branches = np.zeros(2 * len(parents), BRANCH)
        # behind the last code present there is no threshold: all values are on the left
        threshold = np.where(next_code[parents] > 0, level["threshold"][parents], np.inf)
        self.branches["threshold"] = np.repeat(threshold, 2)
        self.branches["feature"] = np.repeat(level["feature"][parents], 2)
        self.branches["above"] = np.repeat(self.n_before + parents, 2)
        self.branches["is_left"][::2] = 1
        self.n_before += len(level)
        self.divisions = _records(level[parents], self.tree[parents])
        self.divisions["split"] = np.flatnonzero(has)[chosen]
        self.level = _children(level[parents], best_splits["n_left"][chosen])
        self.tree, self.reach = np.repeat(self.tree[parents], 2), np.repeat(reach[chosen], 2)

    def _may_be_made(self, tree: HostArray, reach: HostArray) -> HostArray:
        """Which splits best-first growth can come to, without a limit of leaves all.

        It makes a split before those whose reach is lower, the least gain on the way to them and of
        themselves: a split with as many higher ones in its tree as may be made is never made.
        """
        out = np.ones(len(tree), np.bool_)
        for t in np.unique(tree[self.growth["max_leaves"][tree] > 0]):
            of_tree, most = np.flatnonzero(tree == t), int(self.growth["max_leaves"][t]) - 1
            best = np.sort(np.concatenate([self.best_reaches[t], reach[of_tree]]))[-most:]
            self.best_reaches[t] = best
            if len(best) == most:
                out[of_tree] = reach[of_tree] >= best[0]
        return out

    def all_nodes(self) -> tuple[HostArray, HostArray, HostArray, HostArray]:
        """All nodes by levels, the next code behind each split, its set, the tree of each node."""
        nodes, next_code, sets, tree = (
            np.concatenate(parts) for parts in zip(*self.levels, strict=True)
        )
        return nodes, next_code, sets, tree


def _records(nodes: HostArray, tree: HostArray) -> HostArray:
    """What a step on the device has to know of some nodes."""
    records = np.zeros(len(nodes), OPEN_NODE)
    for name in ("begin", "end", "key"):
        records[name] = nodes[name]
    records["tree"] = tree
    return records


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
