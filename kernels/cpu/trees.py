"""Classical trees: the buffers that one of them needs, and its growth."""

from collections.abc import Iterable, Sequence

import numpy as np

from gpuboost.dtypes import ABSOLUTE, ROW, TREE_BEST, TREE_NODE, TREE_PROGRESS
from gpuboost.exchange import FeatureMatrix, GrownTree, HostArray, TreeJob
from gpuboost.kernels.cpu.cart import describe, levels
from gpuboost.kernels.cpu.cart.categories import MAX_EXHAUSTIVE
from gpuboost.kernels.cpu.cart.grow import grow_tree
from gpuboost.kernels.cpu.cart.records import Coded, Distances, Targets, Work
from gpuboost.kernels.cpu.frontier import make_frontier
from gpuboost.kernels.cpu.threads import Team

#: Row-feature pairs after which growth returns to Python for a moment: some hundredths of a second,
#: as all threads are waited for.
TREE_BUDGET = 1 << 23


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
