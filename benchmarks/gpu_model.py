"""An estimate, not a measurement: what trees should cost on GPUs that nobody here has.

    GPUBOOST_EMULATE_CUDA=1 python -m gpuboost.benchmarks.gpu_model --rows 1000000 --depth 6
    GPUBOOST_EMULATE_CUDA=1 python -m gpuboost.benchmarks.gpu_model --tables

The first command shows the kernels of one tree, the second writes all tables of docs/cuda.md. Full
trees are grown on few rows of the emulated device in count mode. Three runs (some rows, twice the
rows, twice the multiprocessors) divide the work of every launch into a fixed part, a part that
follows the rows, and a part that follows the multiprocessors. The time of a launch is then the
longest of: its traffic over the bandwidth, the passes of its shared atomics over one pass a clock
and multiprocessor, and what a launch costs. A launch of fewer blocks than there are multiprocessors
gets that share of the device. Caches, latencies and what the host does are not in it: it is a bound
that kernels come near to, not the time that they take."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from gpuboost.benchmarks.timing import RESULTS


@dataclass(frozen=True)
class Gpu:
    """What the estimate needs to know of a device."""

    n_multiprocessors: int
    clock_ghz: float
    bandwidth: float  # GB/s
    memory_gib: float


#: From NVIDIA's data sheets (A100 40 GB and H100 SXM).
GPUS = {
    "A10G": Gpu(80, 1.71, 600, 24),
    "A100": Gpu(108, 1.41, 1555, 40),
    "H100": Gpu(132, 1.83, 3350, 80),
    "RTX 4090": Gpu(128, 2.52, 1008, 24),
}
LAUNCH_US = 1.3  # a kernel of a replayed graph
SYNC_US = 10.0
SAMPLE_ROWS = 16_384
#: Different values of a feature: each gets a bin, and three halvings fall between two of them.
DISTINCT = 248
#: Growth of a count, when the rows double, from which it counts as following them.
GROWS = 1.25
#: Bytes a row that numba's kernels read and write: count mode counts those of CUDA C++.
ROW_BYTES = {"row_gradients": 4 * 8, "quantize_nearest": 3 * 8, "quantize_at_random": 3 * 8}
#: Bytes of a global atomic: the cell is read and written.
ATOMIC_BYTES = 16
MEMORY, ATOMICS, LAUNCHES = "memory", "shared atomics", "launch"

#: Trees of the tables, and rows.
TREES = ({"max_depth": 6}, {"max_depth": 8}, {"max_leaves": 64}, {"max_leaves": 256})
TABLE_ROWS = (1_000_000, 10_000_000, 100_000_000)
TABLE_GPUS = ("A10G", "A100", "H100")
N_FEATURES = 28
#: The forest of the tables: trees that grow together, their depth, and features of a node.
FOREST_TREES, FOREST_DEPTH, FOREST_FEATURES = 64, 6, 5
SAMPLE_TREES, SAMPLE_FOREST_ROWS = 2, 8192
#: Rows of a tile while a forest is counted: so few that all nodes are large, as with many rows.
SAMPLE_TILES = (32, 64)
#: Figures that others have published: (library, GPU, work, seconds, source).
AIRLINE = "airline 10M, 100 trees of depth 10"
GBM_PERF = "szilard/GBM-perf on GitHub, independent of XGBoost"
PUBLISHED = (
    ("XGBoost", "A10G", AIRLINE, "3.7", f"{GBM_PERF}, issue 57, November 2025"),
    ("XGBoost", "A100", AIRLINE, "3.7", f"{GBM_PERF}, issue 57"),
    ("XGBoost", "H100", AIRLINE, "3.6", f"{GBM_PERF}, issue 57"),
    ("XGBoost", "V100 16 GB", "airline 10 x 10M, 100 trees of depth 10", "80", GBM_PERF),
)
#: The nearest work to the published one that the model knows: as many rows, columns and levels.
AIRLINE_TREE, AIRLINE_FEATURES = {"max_depth": 10}, 8


@dataclass(frozen=True)
class Work:
    """Launches of a tree, or of a batch of trees.

    For each launch the blocks, the bytes of global memory and the passes of shared atomics: a fixed
    part, a part for each row, and one for each multiprocessor.
    """

    kernels: list[str]
    fixed: np.ndarray  # (n_launches, 3), as the others
    by_row: np.ndarray
    by_multiprocessor: np.ndarray
    memory: tuple[float, float]  # bytes on the device: fixed, and for each row

    def amounts(self, n_rows: float, n_multiprocessors: int) -> np.ndarray:
        """(n_launches, 3): blocks, bytes and passes."""
        amounts = self.fixed + self.by_row * n_rows + self.by_multiprocessor * n_multiprocessors
        return np.maximum(amounts, 0.0)

    def memory_gib(self, n_rows: int) -> float:
        """Memory on the device, without what input on the device takes."""
        return (self.memory[0] + self.memory[1] * n_rows) / 2**30


@dataclass
class Cost:
    """Microseconds of all launches of a kernel, by what bounds them."""

    microseconds: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.microseconds.values())

    @property
    def bound(self) -> str:
        """What bounds most of its time."""
        return max(self.microseconds, key=self.microseconds.__getitem__)


# --- counting


@contextmanager
def one_tree(options: dict[str, int], n_rows: int, n_features: int, device: str) -> Any:
    """A booster about to grow a tree of log loss."""
    from gpuboost.backend import get_backend
    from gpuboost.config import BoostParams
    from gpuboost.data.features import FeatureMap
    from gpuboost.data.summary import Summary
    from gpuboost.objectives.losses import OBJECTIVES
    from gpuboost.training.boosting import Booster

    x, y = _rows(n_rows, n_features)
    leafwise = {"grow_policy": "leafwise", "max_depth": None} if "max_leaves" in options else {}
    params, none = BoostParams(reg_lambda=0.0, **leafwise, **options), np.empty(0)
    with get_backend(device, None) as backend:
        features = FeatureMap.of_numbers(n_features).with_cuts(
            Summary.of(x, none), params.max_bins, backend
        )
        binned, objective = features.matrix(x, backend, by_rows=True), OBJECTIVES["log_loss"]
        yield Booster(features, binned, y, none, np.zeros(1), objective, params, 0, backend)


def _rows(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose trees are full and balanced: a split in the middle of a feature gains most.

    What is counted then follows the rows alone, and the smaller child has half of them.
    """
    codes = np.random.default_rng(0).integers(0, DISTINCT, (n_rows, n_features))
    y = np.full(n_rows, 0.5)
    for level in range(3 * n_features):
        halvings, feature = divmod(level, n_features)
        upper_half = codes[:, feature] // (DISTINCT >> (halvings + 1)) % 2
        y += 0.2 * 0.7**level * (upper_half - 0.5)
    return codes.astype(np.float32), y


def work_of_tree(
    options: dict[str, int], n_features: int = N_FEATURES, sample: int = SAMPLE_ROWS
) -> Work:
    """What a boosted tree is made of."""

    def run(n_rows: int) -> Any:
        with one_tree(options, n_rows, n_features, "cuda") as booster:
            yield
            booster.round(0, [])
            yield

    return _work(run, sample)


def work_of_forest(sample: int = SAMPLE_FOREST_ROWS) -> Work:
    """What FOREST_TREES trees of a forest that grow together are made of.

    All nodes are large, as with many rows: they are counted with small tiles of two sizes, and what
    follows the number of tiles is taken for tiles of the size that they have. ``open_nodes`` reads
    all rows of a small tile, but of a large one no more than a row for each of its threads: it ends
    where targets differ.
    """
    from gpuboost import RandomForestRegressor
    from gpuboost.kernels.cuda import tree_steps
    from gpuboost.kernels.cuda.compiler import THREADS

    def run(n_rows: int) -> Any:
        x, y = _rows(n_rows, N_FEATURES)
        forest = RandomForestRegressor(
            SAMPLE_TREES,
            max_depth=FOREST_DEPTH,
            max_features=FOREST_FEATURES,
            max_bins=255,
            device="cuda",
            random_state=0,
        )
        yield
        forest.fit(x, y)
        yield

    small, large = SAMPLE_TILES
    works = []
    for tile_rows in SAMPLE_TILES:
        with mock.patch.object(tree_steps, "TILE_ROWS", tile_rows):
            works.append(_work(run, sample))

    def with_tiles(of_small: Any, of_large: Any) -> Any:
        by_tile = (of_small - of_large) / (1 / small - 1 / large)
        return of_large + by_tile * (1 / tree_steps.TILE_ROWS - 1 / large)

    first, second = works
    times = FOREST_TREES / SAMPLE_TREES
    by_row = with_tiles(first.by_row, second.by_row) * times
    ends_early = np.array(second.kernels) == "open_nodes"
    by_row[ends_early, 1] *= THREADS["TREE_THREADS"] / tree_steps.TILE_ROWS
    return Work(
        second.kernels,
        with_tiles(first.fixed, second.fixed) * times,
        by_row,
        with_tiles(first.by_multiprocessor, second.by_multiprocessor),
        second.memory,
    )


def _work(run: Callable[[int], Any], sample: int) -> Work:
    """Count three runs and divide what they count into its parts."""
    kernels, few, memory = _counted(run, sample, 1)
    names, many, more_memory = _counted(run, 2 * sample, 1)
    _, wide, _ = _counted(run, sample, 2)
    if names != kernels:
        raise RuntimeError(
            f"the launches depend on the number of rows ({len(kernels)} and {len(names)}): count "
            "trees that are full on few rows, too"
        )
    by_row = np.where(many > GROWS * few, (many - few) / sample, 0.0)
    by_multiprocessor = wide - few
    per_row = (more_memory - memory) / sample
    return Work(
        kernels,
        few - by_row * sample - by_multiprocessor,
        by_row,
        by_multiprocessor,
        (memory - per_row * sample, per_row),
    )


def _counted(
    run: Callable[[int], Any], n_rows: int, n_multiprocessors: int
) -> tuple[list[str], np.ndarray, int]:
    """Kernels in the order of their launches, (blocks, bytes, passes) of each; bytes in use."""
    from gpuboost.kernels.cuda.device import cupy
    from gpuboost.kernels.cuda.timing import each_launch
    from gpuboost.kernels.emulation import control

    kernels: list[str] = []
    counted: list[tuple[float, float, float]] = []

    @contextmanager
    def counting(name: str, grid: tuple[int, ...]) -> Any:
        control.kernel_counts.clear()
        yield
        cupy().cuda.get_current_stream().synchronize()
        counts = control.kernel_counts[name]
        sectors = counts["load_sectors"] + counts["store_sectors"]
        traffic = 32 * sectors + ATOMIC_BYTES * counts["global_atomics"]
        traffic += ROW_BYTES.get(name, 0) * n_rows
        kernels.append(name)
        counted.append((float(np.prod(grid)), traffic, counts["shared_atomic_passes"]))

    with control.configure(mode="count", n_multiprocessors=n_multiprocessors):
        gc.collect()
        pool = cupy().get_default_memory_pool()
        before, steps = pool.used_bytes(), run(n_rows)
        next(steps)
        with each_launch(counting):
            next(steps)
        used = pool.used_bytes() - before
        steps.close()
    return kernels, np.array(counted), used


# --- the estimate


def estimate(work: Work, n_rows: int, gpu: Gpu) -> dict[str, Cost]:
    """What each kernel costs."""
    costs: dict[str, Cost] = {}
    amounts = work.amounts(n_rows, gpu.n_multiprocessors)
    for kernel, (blocks, traffic, passes) in zip(work.kernels, amounts, strict=True):
        share = min(1.0, max(blocks, 1.0) / gpu.n_multiprocessors)
        times = {
            MEMORY: traffic / (gpu.bandwidth * share) / 1e3,
            ATOMICS: passes / (gpu.n_multiprocessors * share * gpu.clock_ghz) / 1e3,
            LAUNCHES: LAUNCH_US,
        }
        bound = max(times, key=times.__getitem__)
        cost = costs.setdefault(kernel, Cost({}))
        cost.microseconds[bound] = cost.microseconds.get(bound, 0.0) + times[bound]
    return costs


def milliseconds(costs: dict[str, Cost]) -> float:
    """Of all kernels."""
    return sum(cost.total for cost in costs.values()) / 1e3


def summed_up(costs: dict[str, Cost]) -> str:
    """Milliseconds, and the kernel that takes most of them, with what bounds it."""
    total = milliseconds(costs)
    kernel = max(costs, key=lambda name: costs[name].total)
    share = costs[kernel].total / 1e3 / total
    return f"{three_digits(total)} (`{kernel}` {100 * share:.0f} %, {costs[kernel].bound})"


def three_digits(value: float) -> str:
    """A number as people write it.

    >>> [three_digits(v) for v in (0.03456, 12.345, 5384.0)]
    ['0.0346', '12.3', '5,380']
    """
    return f"{float(f'{value:.3g}'):,g}"


# --- tables


def tree_name(options: dict[str, int]) -> str:
    """What a tree is called."""
    return (
        f"depth {options['max_depth']}"
        if "max_depth" in options
        else (f"{options['max_leaves']} leaves")
    )


def tables() -> str:
    """All tables as Markdown."""
    works = {tree_name(options): work_of_tree(options) for options in TREES}
    forest = work_of_forest()
    airline = work_of_tree(AIRLINE_TREE, AIRLINE_FEATURES)
    return "\n\n".join(
        [
            "**These are estimates. Nothing below was measured on a GPU**, but for the published "
            "figures of\nanother library at the end. "
            "`python -m gpuboost.benchmarks.gpu_model --tables` makes the tables.",
            f"One tree of log loss on {N_FEATURES} features: launches, those of the gradients "
            "included, milliseconds, and\nthe kernel that takes most of them, with what bounds it.",
            _tree_table(works),
            _memory_text(works),
            f"{FOREST_TREES} trees of a random forest that grow together, depth {FOREST_DEPTH}, "
            f"{N_FEATURES} features, {FOREST_FEATURES} of them a\nnode: milliseconds, copies and "
            f"waits of the levels included, for {len(forest.kernels)} launches.",
            _forest_table(forest),
            "What others have published for XGBoost on GPUs, all of it on other data than above. "
            f"The airline\ndata have {AIRLINE_FEATURES} columns, which XGBoost got one-hot encoded "
            "as a sparse matrix; beside it stands our estimate\nfor as many rows and "
            f"{AIRLINE_FEATURES} dense columns, 100 times one tree without binning: it is no "
            "comparison\nof two measurements.",
            _published_table(airline),
        ]
    )


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _tree_table(works: dict[str, Work]) -> str:
    lines = [
        [
            f"{n_rows:,}",
            name,
            f"{len(work.kernels)}",
            *(summed_up(estimate(work, n_rows, GPUS[gpu])) for gpu in TABLE_GPUS),
        ]
        for n_rows in TABLE_ROWS
        for name, work in works.items()
    ]
    return _table(["rows", "tree", "launches", *TABLE_GPUS], lines)


def _memory_text(works: dict[str, Work]) -> str:
    """How much memory training takes, and where it fits."""
    needed = max(work.memory_gib(TABLE_ROWS[-1]) for work in works.values())
    per_row = max(work.memory[1] for work in works.values())
    room = {gpu: GPUS[gpu].memory_gib for gpu in TABLE_GPUS if needed < 0.9 * GPUS[gpu].memory_gib}
    fits = ", ".join(f"{gpu} ({room[gpu]:.0f} GB)" for gpu in room) or "none of them"
    return (
        f"Memory on the device, from rows on the host: {per_row:.0f} bytes a row, so "
        f"{needed:.1f} GiB for {TABLE_ROWS[-1]:,} rows,\nwhich fits {fits}. X as a float32 array "
        f"on the device would take {4 * N_FEATURES} bytes a row more."
    )


def _forest_table(work: Work) -> str:
    waits = 2 * SYNC_US * FOREST_DEPTH / 1e3
    lines = []
    for n_rows in TABLE_ROWS[:2]:
        cells = []
        for name in TABLE_GPUS:
            costs = estimate(work, n_rows, GPUS[name])
            costs["copies"] = Cost({LAUNCHES: 1e3 * waits})
            cells.append(summed_up(costs))
        lines.append([f"{n_rows:,}", *cells])
    return _table(["rows", *TABLE_GPUS], lines)


def _published_table(airline: Work) -> str:
    lines = []
    for library, gpu, work, seconds, source in PUBLISHED:
        ours = "–"
        if gpu in GPUS and work == AIRLINE:
            ours = f"{milliseconds(estimate(airline, TABLE_ROWS[1], GPUS[gpu])) / 10:.2g}"
        lines.append([library, gpu, work, seconds, ours, source])
    head = ["library", "GPU", "work", "published, s", "our estimate, s", "published by"]
    return _table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=N_FEATURES)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--depth", type=int, default=6)
    size.add_argument("--leaves", type=int, help="leaf-wise growth instead")
    size.add_argument(
        "--tables", action="store_true", help="write all tables to results/gpu-model.md"
    )
    args = parser.parse_args()
    if args.tables:
        path = RESULTS / "gpu-model.md"
        path.write_text(tables() + "\n", encoding="utf-8")
        print(path)
        return
    options = {"max_leaves": args.leaves} if args.leaves else {"max_depth": args.depth}
    work = work_of_tree(options, args.features)
    print(
        f"ESTIMATE, nothing was measured on a GPU: one tree ({tree_name(options)}) on "
        f"{args.rows:,} x {args.features}, milliseconds\n"
    )
    costs = {name: estimate(work, args.rows, gpu) for name, gpu in GPUS.items()}
    print(f"{'kernel':<20}" + "".join(f"{name:>26}" for name in GPUS))
    for kernel in sorted(costs["A100"], key=lambda k: -costs["A100"][k].total):
        cells = (f"{c[kernel].total / 1e3:.3f} ({c[kernel].bound})" for c in costs.values())
        print(f"{kernel:<20}" + "".join(f"{cell:>26}" for cell in cells))
    print(f"{'all':<20}" + "".join(f"{milliseconds(c):>26.3f}" for c in costs.values()))
    print(
        f"{len(work.kernels)} launches, "
        f"{work.memory_gib(args.rows):.2f} GiB on the device; binning is not counted"
    )


if __name__ == "__main__":
    main()
