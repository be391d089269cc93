"""Quantiles of the residuals of leaves, or of all rows: launches of ``leaf_quantiles.cu``."""

from typing import Any, NamedTuple

import numpy as np

from gpuboost.exchange import DeviceArray, LeafQuantile
from gpuboost.kernels.cuda.compiler import THREADS, Kernels
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.records import KEY_SEARCH
from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.scalar.selection import order_leaves

#: Digits of a key, and values of a digit.
SHIFTS, DIGITS = range(56, -8, -8), 256


class LeafRows(NamedTuple):
    """The rows of leaves, as ``leaves.cu`` lists them."""

    rows: DeviceArray  # two buffers, for nodes of even and of odd depth
    nodes: DeviceArray
    state: DeviceArray
    leaves: DeviceArray
    leaf_tiles: DeviceArray


class Selection:
    """Finds quantiles in leaves; owns the buffers that this takes."""

    def __init__(
        self, kernels: Kernels, n_rows: int, max_leaves: int, tile_rows: int, n_blocks: int
    ) -> None:
        empty = cupy().empty
        self.kernels, self.n_rows, self.max_leaves = kernels, n_rows, max_leaves
        self.tile_rows, self.n_blocks = np.int32(tile_rows), n_blocks
        self.keys = empty((n_rows,), np.uint64)
        self.steps = empty((0,), np.int64)
        self.searches = empty((max_leaves,), KEY_SEARCH)
        self.counts = empty((max_leaves, DIGITS), np.int64)
        self.ranges: DeviceArray = None

    def search(
        self,
        where: LeafRows,
        y: DeviceArray,
        raw: DeviceArray,
        weights: tuple[DeviceArray, DeviceArray, float],
        quantile: LeafQuantile,
        absolute: bool = False,
    ) -> None:
        """Find the quantile of the residuals of each leaf, or of their absolute values."""
        weight, factor, unit = weights
        level, limit = map(np.float64, quantile)
        weighted, counted = np.int32(weight.size > 0), np.int32(factor.size > 0)
        has_steps = np.int32(weighted or counted)
        if has_steps and not self.steps.size:
            self.steps = cupy().empty((self.n_rows,), np.int64)
        state, searches, sizes = where.state, self.searches, (np.int64(self.n_rows), self.tile_rows)
        self._over_leaves("begin_search", (state, searches, self.counts))
        self._over_rows("list_residuals", (
            *where, y, raw, weight, factor, np.float64(unit), self.keys, self.steps, searches,
            *sizes, weighted, counted, np.int32(absolute),
        ))  # fmt: skip
        for shift in map(np.int32, SHIFTS):
            self._over_rows("count_digits", (
                *where, self.keys, self.steps, searches, self.counts, *sizes, has_steps, shift,
            ))  # fmt: skip
            self._over_leaves("choose_digit", (state, searches, self.counts, level, shift))
        self._over_rows("find_next", (*where, self.keys, searches, level, *sizes))
        if limit > 0:
            self._over_rows("sum_distances", (
                *where, self.keys, self.steps, searches, level, limit, *sizes, has_steps,
            ))  # fmt: skip

    def ranges_of_nodes(self, n_nodes: int) -> DeviceArray:
        """Room for the bounds of nodes."""
        if self.ranges is None:
            self.ranges = cupy().empty((n_nodes, 4), np.float64)
        return self.ranges

    def _over_leaves(self, name: str, args: tuple[Any, ...]) -> None:
        grid = (min(self.max_leaves, self.n_blocks),)
        self.kernels.launch("leaf_quantiles", name, grid, (DIGITS,), args)

    def _over_rows(self, name: str, args: tuple[Any, ...]) -> None:
        block = (THREADS["LEAF_THREADS"],)
        self.kernels.launch("leaf_quantiles", name, (self.n_blocks,), block, args)


def order_leaves_of_tree(i, nodes, state, n_bins, directions, values, ranges):
    """Leaf values in the order that monotone features need; one thread."""
    order_leaves(nodes, state[0].n_nodes, n_bins, directions, values, ranges)


ORDER_LEAVES = RowKernel(order_leaves_of_tree)
