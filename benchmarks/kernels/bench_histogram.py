"""Histograms: nanoseconds per (row, feature) update, one thread.

    python -m gpuboost.benchmarks.kernels.bench_histogram --rows 500000 --features 28

Cases: all rows in order, and an eighth of them scattered over the matrix as in a node deep in a
tree; all features, and every second one."""

from __future__ import annotations

import numpy as np

from gpuboost.benchmarks.stages import report_costs, stage_args
from gpuboost.benchmarks.timing import best_of
from gpuboost.dtypes import BIN, CHUNK, HIST_STRIDE, N_CODES, PACKED, PROGRESS, ROW
from gpuboost.kernels.cpu import split
from gpuboost.kernels.cpu._jit import exposed
from gpuboost.kernels.cpu.grower import RANGE_FEATURES
from gpuboost.kernels.cpu.histogram import PADDING

build_chunks = exposed(split.build_chunks)


def reference(
    bins: np.ndarray, features: np.ndarray, rows: np.ndarray, gh: np.ndarray
) -> np.ndarray:
    """Naive histograms, (n_features, 256)."""
    out = np.zeros((len(features), N_CODES), PACKED)
    for j, f in enumerate(features):
        np.add.at(out[j], bins[rows, f], gh[rows])
    return out


class Stage:
    """The buffers of one histogram, built in one chunk."""

    def __init__(
        self, bins: np.ndarray, features: np.ndarray, rows: np.ndarray, gh: np.ndarray
    ) -> None:
        n = len(features)
        self.bins, self.features, self.rows, self.gh = bins, features, rows, gh
        self.columns = np.ascontiguousarray(bins.T)
        self.flat = np.append(bins.reshape(-1), np.zeros(PADDING, BIN))
        self.ranges = np.linspace(0, n, -(-n // RANGE_FEATURES) + 1).astype(np.int64)
        self.progress = np.zeros(1, PROGRESS)
        self.progress["n_chunks"] = 1
        self.chunks = np.array([(0, len(rows), 0)], CHUNK)
        self.pool = np.empty((1, n * HIST_STRIDE), PACKED)

    def run(self) -> None:
        n_features = self.bins.shape[1]
        build_chunks(
            np.zeros(1, np.int64),
            self.flat,
            n_features,
            self.columns,
            self.features,
            len(self.features) == n_features,
            self.ranges,
            np.full(n_features, N_CODES - 1, np.int32),
            self.rows,
            self.gh,
            self.progress,
            self.chunks,
            self.pool,
            None,
        )

    def check(self) -> None:
        self.run()
        expected = reference(self.bins, self.features, self.rows, self.gh)
        np.testing.assert_array_equal(self.pool[0].reshape(-1, HIST_STRIDE)[:, :N_CODES], expected)


def main() -> None:
    args = stage_args(__doc__.splitlines()[0], rows=500_000, features=28)
    rng = np.random.default_rng(0)
    bins = rng.integers(0, N_CODES, (args.rows, args.features)).astype(BIN)
    gradient, hessian = rng.integers(-1000, 1001, args.rows), rng.integers(0, 1001, args.rows)
    gh = ((gradient << 32) + hessian).astype(PACKED)
    rows = {
        "all rows": np.arange(args.rows, dtype=ROW),
        "1/8 of the rows": np.flatnonzero(rng.random(args.rows) < 0.125).astype(ROW),
    }
    features = {
        "all features": np.arange(args.features, dtype=np.int32),
        "every 2nd feature": np.arange(0, args.features, 2, dtype=np.int32),
    }
    costs = {}
    for row_case, row_ids in rows.items():
        for feature_case, feature_ids in features.items():
            stage = Stage(bins, feature_ids, row_ids, gh)
            stage.check()
            updates = len(row_ids) * len(feature_ids)
            costs[f"{row_case}, {feature_case}"] = best_of(stage.run, args.repeats) / updates * 1e9
    report_costs("histogram", "update", costs, args)


if __name__ == "__main__":
    main()
