"""Partition: nanoseconds per row moved, one thread.

    python -m gpuboost.benchmarks.kernels.bench_partition --rows 500000

Cases: a node of all rows and one of an eighth of them, scattered; each as one piece (a single pass)
and cut into pieces that threads could share (two passes)."""

from __future__ import annotations

import numpy as np

from gpuboost.benchmarks.stages import report_costs, stage_args
from gpuboost.benchmarks.timing import best_of
from gpuboost.dtypes import BIN, NODE, PIECE, PROGRESS, ROW
from gpuboost.kernels.cpu import partition
from gpuboost.kernels.cpu._jit import exposed

SPLIT_BIN = 128

move_pieces, partition_pieces = exposed(partition.move_pieces), exposed(partition.partition_pieces)


def reference(column: np.ndarray, rows: np.ndarray, missing_left: bool) -> np.ndarray:
    """Rows of the left child, then those of the right one, both in their old order."""
    bins = column[rows]
    left = np.where(bins == 0, missing_left, bins <= SPLIT_BIN)
    return np.concatenate([rows[left], rows[~left]])


class Stage:
    """One node that is being split."""

    def __init__(
        self, columns: np.ndarray, rows: np.ndarray, n_pieces: int, missing_left: bool
    ) -> None:
        self.columns, self.start = columns, rows
        self.rows, self.scratch = rows.copy(), np.empty_like(rows)
        self.nodes = np.zeros(1, NODE)
        self.nodes["end"] = len(rows)
        self.nodes["split"]["feature"] = 1
        self.nodes["split"]["bin"] = SPLIT_BIN
        self.nodes["split"]["missing_left"] = missing_left
        borders = np.linspace(0, len(rows), n_pieces + 1).astype(np.int64)
        self.pieces = np.zeros(n_pieces, PIECE)
        self.pieces["begin"], self.pieces["end"] = borders[:-1], borders[1:]
        self.progress = np.zeros(1, PROGRESS)
        self.progress["n_pieces"] = n_pieces

    def reset(self) -> None:
        self.rows[:] = self.start

    def run(self) -> None:
        partition_pieces(
            np.zeros(1, np.int64),
            self.columns,
            None,
            self.progress,
            self.nodes,
            self.pieces,
            self.rows,
            self.scratch,
            None,
        )
        if len(self.pieces) > 1:
            self._settle()
            move_pieces(
                np.zeros(1, np.int64),
                self.progress,
                self.nodes,
                self.pieces,
                self.rows,
                self.scratch,
            )

    def _settle(self) -> None:
        """Where each piece's rows go."""
        n_left = self.pieces["n_left"]
        n_right = self.pieces["end"] - self.pieces["begin"] - n_left
        self.pieces["left_at"] = np.cumsum(n_left) - n_left
        self.pieces["right_at"] = n_left.sum() + np.cumsum(n_right) - n_right

    def check(self, missing_left: bool) -> None:
        self.reset()
        self.run()
        np.testing.assert_array_equal(
            self.rows, reference(self.columns[1], self.start, missing_left)
        )


def main() -> None:
    args = stage_args(__doc__.splitlines()[0], rows=500_000, pieces=8)
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 256, (3, args.rows)).astype(BIN)
    nodes = {
        "all rows": np.arange(args.rows, dtype=ROW),
        "1/8 of the rows": np.flatnonzero(rng.random(args.rows) < 0.125).astype(ROW),
    }
    costs = {}
    for node_case, rows in nodes.items():
        for n_pieces in (1, args.pieces):
            for missing_left in (True, False):
                stage = Stage(columns, rows, n_pieces, missing_left)
                stage.check(missing_left)
            seconds = best_of(stage.run, args.repeats, setup=stage.reset)
            costs[f"{node_case}, {n_pieces} piece{'s' if n_pieces > 1 else ''}"] = (
                seconds / len(rows) * 1e9
            )
    report_costs("partition", "row", costs, args)


if __name__ == "__main__":
    main()
