"""Split search: nanoseconds per bin of a histogram, one thread.

    python -m gpuboost.benchmarks.kernels.bench_split --nodes 32 --features 28

Cases: siblings whose histograms are there; the larger sibling's still to be taken off the parent's;
one split for a whole level. Some features have missing values: their cuts are scored in both
directions."""

from __future__ import annotations

import numpy as np

from gpuboost.benchmarks.stages import report_costs, stage_args
from gpuboost.benchmarks.timing import best_of
from gpuboost.dtypes import (
    GROWTH,
    HIST_STRIDE,
    MAX_VALUE_BINS,
    N_CODES,
    NODE,
    PACKED,
    PAIR,
    PROGRESS,
    SPLIT,
)
from gpuboost.kernels.cpu import split
from gpuboost.kernels.cpu._jit import exposed

ROWS_PER_NODE = 2000
REG_LAMBDA, MIN_CHILD_WEIGHT = 1.0, 20.0
UNIT = 2.0**-8  # value of one gradient step


# --- reference

scan_level, scan_pairs = exposed(split.scan_level), exposed(split.scan_pairs)


def unpack(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and hessian sums of packed cells."""
    hessian = cells.astype(np.int32).astype(np.int64)  # the low half
    return ((cells - hessian) >> 32) * UNIT, hessian * UNIT


def gains(cells: np.ndarray) -> np.ndarray:
    """Gain of every cut of one feature of one node: [missing left, last bin on the left].

    -inf where there is no such cut.
    """
    g, h = unpack(cells)
    out = np.full((2, HIST_STRIDE), -np.inf)
    has_missing = cells[0] != 0
    for missing_left in (0, 1) if has_missing else (0,):
        for b in range(
            1, MAX_VALUE_BINS + 1 if has_missing and not missing_left else MAX_VALUE_BINS
        ):
            first = 0 if missing_left else 1
            gl, hl = g[first : b + 1].sum(), h[first : b + 1].sum()
            gr, hr = g.sum() - gl, h.sum() - hl
            if hl >= MIN_CHILD_WEIGHT and hr >= MIN_CHILD_WEIGHT:
                sides = gl**2 / (hl + REG_LAMBDA) + gr**2 / (hr + REG_LAMBDA)
                out[missing_left, b] = sides - g.sum() ** 2 / (h.sum() + REG_LAMBDA)
    return out


def check_split(split: np.ndarray, all_gains: np.ndarray) -> None:
    """The split has the best gain of all (n_features, 2, 256).

    And it is the gain of that cut.
    """
    best = all_gains.max()
    np.testing.assert_allclose(split["gain"], best, rtol=1e-9)
    # without missing values the direction is a matter of taste
    at = all_gains[split["feature"], :, split["bin"]]
    np.testing.assert_allclose(at.max(), best, rtol=1e-9)


# --- stage


class Stage:
    """Pairs of siblings with histograms of random rows."""

    def __init__(self, n_nodes: int, n_features: int) -> None:
        rng = np.random.default_rng(0)
        self.n_nodes, self.n_features = n_nodes, n_features
        self.cells = random_histograms(rng, n_nodes, n_features)
        self.pool = self.cells.copy()
        self.features = np.arange(n_features, dtype=np.int32)
        self.starts = np.arange(n_features, dtype=np.int64) * HIST_STRIDE
        self.ranges = np.array([0, n_features])
        self.n_bins = np.full(n_features, MAX_VALUE_BINS, np.int32)
        self.growth = np.zeros(1, GROWTH)
        for name, value in (
            ("gradient_unit", UNIT),
            ("hessian_unit", UNIT),
            ("reg_lambda", REG_LAMBDA),
            ("min_samples_leaf", 1),
        ):
            self.growth[name] = value
        self.growth["min_child_weight"] = MIN_CHILD_WEIGHT
        self.progress = np.zeros(1, PROGRESS)
        self.progress["n_nodes"] = n_nodes
        self.progress["n_pairs"] = self.progress["end_pair"] = n_nodes // 2
        self.nodes = np.zeros(n_nodes, NODE)
        self.nodes["slot"] = np.arange(n_nodes)
        self.nodes["sums"] = self.cells.reshape(n_nodes, n_features, HIST_STRIDE)[:, 0].sum(axis=1)
        self.nodes["end"] = ROWS_PER_NODE
        self.nodes["open"] = 1
        self.pairs = np.zeros(n_nodes // 2, PAIR)
        self.pairs["small"] = np.arange(0, n_nodes, 2)
        self.pairs["large"] = np.arange(1, n_nodes, 2)
        self.masks = np.empty((n_nodes, 0), np.uint8)
        self.splits = np.zeros((n_nodes, 1), SPLIT)

    def reset(self, inherits: bool) -> None:
        """Histograms as they are before the search.

        With ``inherits`` the larger sibling's place holds the parent's.
        """
        self.pool[:] = self.cells
        self.pairs["inherits"] = inherits
        if inherits:
            self.pool[1::2] += self.cells[::2]

    def run(self, kernel) -> None:
        kernel(
            np.zeros(1, np.int64),
            self.features,
            self.starts,
            self.ranges,
            self.n_bins,
            None,
            None,
            self.growth,
            None,
            None,
            self.progress,
            self.nodes,
            self.pairs,
            self.masks,
            self.pool,
            None,
            self.splits,
        )

    def all_gains(self) -> np.ndarray:
        """Reference gains, (n_nodes, n_features, 2, 256)."""
        cells = self.cells.reshape(self.n_nodes, self.n_features, HIST_STRIDE)
        return np.array([[gains(histogram) for histogram in node] for node in cells])


def random_histograms(rng: np.random.Generator, n_nodes: int, n_features: int) -> np.ndarray:
    """Packed histograms of rows whose gradients depend on their bins.

    Every third feature has missing values.
    """
    out = np.zeros((n_nodes, n_features, HIST_STRIDE), PACKED)
    for node in range(n_nodes):
        bins = rng.integers(1, N_CODES, (ROWS_PER_NODE, n_features))
        bins[:, ::3][rng.random(bins[:, ::3].shape) < 0.1] = 0
        gradient = rng.normal(0, 200, ROWS_PER_NODE) + np.where(
            bins[:, node % n_features] > 100, 40, -40
        )
        gh = (gradient.astype(np.int64) << 32) + rng.integers(20, 65, ROWS_PER_NODE)
        for f in range(n_features):
            np.add.at(out[node, f], bins[:, f], gh)
    return out.reshape(n_nodes, -1)


def check(stage: Stage) -> None:
    """Both searches against the reference."""
    all_gains = stage.all_gains()
    for inherits in (False, True):
        stage.reset(inherits)
        stage.run(scan_pairs)
        np.testing.assert_array_equal(stage.pool, stage.cells)
        for best, gains_of_node in zip(stage.splits[:, 0], all_gains, strict=True):
            check_split(best, gains_of_node)
    # a node without missing values takes the same cut in both directions; a cut it may not take
    # adds nothing
    both = np.where(
        np.isneginf(all_gains).all(axis=3, keepdims=True), all_gains[:, :, :1], all_gains
    )
    stage.reset(False)
    stage.run(scan_level)
    check_split(stage.splits[0, 0], np.where(np.isneginf(both), 0.0, both).sum(axis=0))


def main() -> None:
    args = stage_args(__doc__.splitlines()[0], nodes=32, features=28)
    small = Stage(4, 7)  # the reference takes its time
    check(small)
    stage = Stage(args.nodes // 2 * 2, args.features)
    bins = stage.n_nodes * stage.n_features * MAX_VALUE_BINS
    cases = {
        "histograms there": (scan_pairs, False),
        "one of two by subtraction": (scan_pairs, True),
        "one split for the level": (scan_level, False),
    }
    costs = {}
    for case, (kernel, inherits) in cases.items():
        seconds = best_of(
            lambda k=kernel: stage.run(k), args.repeats, setup=lambda i=inherits: stage.reset(i)
        )
        costs[case] = seconds / bins * 1e9
    report_costs("split", "bin", costs, args)


if __name__ == "__main__":
    main()
