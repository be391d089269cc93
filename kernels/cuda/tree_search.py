"""The search for splits of every kind that numbers in bins do not have.

Nominal features, cuts by chance or in the middle of a cell over codes of any width, and the
absolute error. Twin of ``kernels/cpu/cart/split.py``; ``cart_search.cu`` has the kernels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuboost.dtypes import (
    ABSOLUTE,
    AUTOMATIC,
    BEST,
    EXHAUSTIVE,
    MAX_EXHAUSTIVE,
    MIDPOINT,
    ONE_VS_REST,
    RANDOM,
    record_of,
)
from gpuboost.exchange import FeatureMatrix, HostArray
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.grower import check_memory
from gpuboost.kernels.cuda.records import SEARCH_SIZES
from gpuboost.kernels.cuda.tree_steps import (
    MAX_BLOCKS,
    DeviceMatrix,
    DeviceTargets,
    Round,
    TreeSteps,
)

if TYPE_CHECKING:
    from gpuboost.kernels.cuda.backend import CudaBackend

#: Kinds of features, as in cart.cuh.
NUMBERS_IN_BINS, NOMINAL, OTHER_NUMBERS = 0, 1, 2
#: Places that a block has at least: rows on two sides of a cut are summed in so many copies.
LEAST_PLACES = 33
#: Sums of chunks that a block has at most (absolute error), unless there are many categories.
CHUNK_CELLS = 1 << 16
#: Shared memory that the kernel takes besides what is counted here.
STATIC_BYTES = 1024
#: Bytes for all blocks, if their memory is not shared.
MEMORY_BYTES = 1 << 27


def kinds_of(coded: FeatureMatrix, growth: Any) -> HostArray:
    """Which search looks at each feature."""
    in_bins = (
        coded.columns.itemsize == 1
        and growth["splitter"] != MIDPOINT
        and growth["criterion"] != ABSOLUTE
    )
    numbers = NUMBERS_IN_BINS if in_bins else OTHER_NUMBERS
    return np.where(coded.is_categorical != 0, NOMINAL, numbers).astype(np.uint8)


class FeatureSearch:
    """Finds the best cuts of one feature in one node with one block."""

    #: Nodes of many rows take no more memory than others.
    bytes_of_slot = 0

    def __init__(
        self,
        backend: "CudaBackend",
        matrix: DeviceMatrix,
        targets: DeviceTargets,
        n_codes: HostArray,
        kinds: HostArray,
        growth: Any,
        n_ranks: int,
    ) -> None:
        """``n_codes``, ``kinds``: of each feature; ``growth``: the record of any tree."""
        nominal, division = bool((kinds == NOMINAL).any()), int(growth["division"])
        by_sums = (kinds == NOMINAL) | (growth["splitter"] == BEST)
        n_places = max(LEAST_PLACES, int(n_codes[by_sums].max(initial=0)))
        all_ways = nominal and division in (AUTOMATIC, EXHAUSTIVE)
        n_cuts = max(n_places, 1 << MAX_EXHAUSTIVE - 1 if all_ways else 0)
        n_channels = targets.n_cell - (0 if targets.with_classes else 1)
        one_order = targets.n_outputs == 1 and (not targets.with_classes or n_channels == 2)
        in_turn = nominal and growth["splitter"] != RANDOM and division != ONE_VS_REST
        self.n_attempts = n_channels if in_turn and not one_order else 1
        # prefix sums, sums in halves; totals; keys, counts and five lists of places; scores; marks
        block_bytes = n_places * (16 * targets.n_cell + 8 + 6 * 4)
        block_bytes += 8 * targets.n_cell + 8 * (2 * n_cuts + 1) + 4 * -(-n_places // 32)
        block_bytes += -block_bytes % 8
        attributes = backend.device.attributes
        in_shared = block_bytes <= attributes["MaxSharedMemoryPerBlock"] - STATIC_BYTES
        by_distance = growth["criterion"] == ABSOLUTE
        n_chunk_cells = self._chunk_cells(matrix.n_rows, n_places) if by_distance else 0
        bytes_of_block = (0 if in_shared else block_bytes) + 8 * n_chunk_cells
        self.n_blocks = MAX_BLOCKS
        if bytes_of_block:
            most = max(1, MEMORY_BYTES // bytes_of_block)
            self.n_blocks = int(min(2 * attributes["MultiProcessorCount"], most))
        self.shared_bytes = block_bytes if in_shared else 0
        plan = {
            "sums": (
                (1 if in_shared else self.n_blocks, 8 if in_shared else block_bytes),
                np.uint8,
            ),
            "distances": ((self.n_blocks if by_distance else 1, max(1, n_chunk_cells)), np.int64),
        }
        check_memory(plan, backend.device, "fewer categories or classes")
        self.memory, self.chunks = (cupy().empty(shape, dtype) for shape, dtype in plan.values())
        self.sizes = backend.put(
            record_of(
                SEARCH_SIZES,
                {
                    "n_rows": matrix.n_rows,
                    "block_bytes": block_bytes,
                    "n_places": n_places,
                    "n_cell": targets.n_cell,
                    "n_cuts": n_cuts,
                    "n_chunk_cells": n_chunk_cells,
                    "n_outputs": targets.n_outputs,
                    "n_ranks": n_ranks,
                    "with_classes": targets.with_classes,
                    "code_bytes": matrix.code_bytes,
                    "set_words": matrix.set_words,
                    "in_shared": in_shared,
                },
            )
        )

    @staticmethod
    def _chunk_cells(n_rows: int, n_places: int) -> int:
        """Sums of a block: of as many chunks as there are rows in one, if that is not too much."""
        width = 2 * (n_places + 1)
        wanted = width * (int(n_rows**0.5) + 2)
        return min(wanted, max(CHUNK_CELLS, 16 * width))

    def launch(self, steps: TreeSteps, now: Round) -> None:
        """One launch."""
        matrix, targets = steps.matrix, steps.targets
        steps.launch("search_features", (min(now.n_pairs, self.n_blocks),), (
            matrix.codes, matrix.n_codes, matrix.first_code, matrix.lower, matrix.upper,
            matrix.kinds, steps.rows, steps.ranked_rows, steps.weight, targets.labels,
            steps.values, steps.by_rank, targets.first_channel, steps.growth, steps.branches,
            now.nodes.records, now.active, now.n_active, now.cuts, now.cut_sets, self.memory,
            self.chunks, self.sizes, np.int64(len(steps.rows)), np.int32(now.n_slots),
            np.int32(steps.n_attempts),
        ), self.shared_bytes, "cart_search")  # fmt: skip
