"""An estimate, not a measurement.

What a tree should cost on GPUs that nobody here has, from counts made under emulation.

    GPUBOOST_EMULATE_CUDA=1 python -m gpuboost.benchmarks.gpu_model --rows 1000000 --features 28
    --depth 6

A tree is trained on few rows in count mode. Counts that follow the rows are scaled up; the time of
a kernel is then the longest of: its global memory traffic over the bandwidth, the passes of its
shared atomics over one pass a clock and multiprocessor, and the launch. The same sums are made for
the way XGBoost does it: 64-bit shared additions as two 32-bit ones each (four atomics an update), a
histogram and a subtraction launch per node, two host synchronizations a level."""

from __future__ import annotations

import argparse

import numpy as np

#: Multiprocessors, clock in GHz, bandwidth in GB/s (NVIDIA's data sheets: A10G, A100 40 GB, H100
#: SXM, RTX 4090).
GPUS = {
    "A10G": (80, 1.71, 600),
    "A100": (108, 1.41, 1555),
    "H100": (132, 1.83, 3350),
    "RTX 4090": (128, 2.52, 1008),
}
LAUNCH_US = 2.5  # a kernel launched from the host
GRAPH_LAUNCH_US = 1.3  # a kernel of a replayed graph
SYNC_US = 10.0
SAMPLE_ROWS = 16_384
#: Kernels whose work follows the nodes, not the rows.
SMALL_KERNELS = (
    "choose", "list_leaves", "sum_children", "leaf_values", "scan_pairs", "scan_level"
)  # fmt: skip


def count_tree(n_features: int, depth: int) -> dict[str, dict[str, int]]:
    """Counts of every kernel for one tree on SAMPLE_ROWS rows."""
    from gpuboost.backend import get_backend
    from gpuboost.config import BoostParams
    from gpuboost.data.features import FeatureMap
    from gpuboost.data.summary import Summary
    from gpuboost.kernels.emulation import control
    from gpuboost.objectives.losses import OBJECTIVES
    from gpuboost.training.boosting import Booster

    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLE_ROWS, n_features)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=SAMPLE_ROWS) > 0).astype(float)
    params = BoostParams(max_depth=depth)
    with control.configure(mode="count"), get_backend("cuda", 1) as backend:
        none = np.empty(0)
        features = FeatureMap.of_numbers(n_features).with_cuts(
            Summary.of(x, none), params.max_bins, backend
        )
        binned, objective = features.matrix(x, backend, by_rows=True), OBJECTIVES["log_loss"]
        booster = Booster(features, binned, y, none, np.zeros(1), objective, params, 0, backend)
        control.kernel_counts.clear()
        booster.round(0, [])
        return {name: dict(counts) for name, counts in control.kernel_counts.items()}


def estimate(counts: dict[str, dict[str, int]], n_rows: int, gpu: str) -> dict[str, float]:
    """Microseconds of each kernel of a tree."""
    n_multiprocessors, clock, bandwidth = GPUS[gpu]
    factor = n_rows / SAMPLE_ROWS
    out = {}
    for name, c in counts.items():
        if ":" in name:
            continue
        grows = 1.0 if name in SMALL_KERNELS else factor
        traffic = 32 * (c["load_sectors"] + c["store_sectors"]) * grows / bandwidth / 1e3
        atomics = c["shared_atomic_passes"] * grows / n_multiprocessors / clock / 1e3
        out[name] = max(traffic, atomics, GRAPH_LAUNCH_US * c["launches"])
    return out


def xgboost_way(counts: dict[str, dict[str, int]], n_rows: int, depth: int, gpu: str) -> float:
    """Microseconds of a tree with twice the shared atomics, launches per node.

    And host synchronizations.
    """
    own = estimate(counts, n_rows, gpu)
    n_multiprocessors, clock, _ = GPUS[gpu]
    histogram = counts["build_histograms"]
    atomics = (
        2
        * histogram["shared_atomic_passes"]
        * n_rows
        / SAMPLE_ROWS
        / n_multiprocessors
        / clock
        / 1e3
    )
    n_nodes = 2**depth - 1
    launches = 2 * n_nodes * LAUNCH_US + 2 * depth * SYNC_US
    return (
        max(atomics, own["build_histograms"])
        + launches
        + sum(t for name, t in own.items() if name != "build_histograms")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--depth", type=int, default=6)
    args = parser.parse_args()
    counts = count_tree(args.features, args.depth)
    print(
        f"ESTIMATE, nothing was measured on a GPU: one tree of depth {args.depth} on "
        f"{args.rows:,} x {args.features}, milliseconds\n"
    )
    print(f"{'kernel':<20}" + "".join(f"{gpu:>12}" for gpu in GPUS))
    per_gpu = {gpu: estimate(counts, args.rows, gpu) for gpu in GPUS}
    for name in sorted(per_gpu["A100"], key=lambda n: -per_gpu["A100"][n]):
        print(f"{name:<20}" + "".join(f"{per_gpu[gpu][name] / 1e3:>12.3f}" for gpu in GPUS))
    print(f"{'all':<20}" + "".join(f"{sum(per_gpu[gpu].values()) / 1e3:>12.3f}" for gpu in GPUS))
    print("(gradients, rounding and binning run one thread per row and are not counted)")
    print(
        f"{'as XGBoost does it':<20}"
        + "".join(f"{xgboost_way(counts, args.rows, args.depth, gpu) / 1e3:>12.3f}" for gpu in GPUS)
    )


if __name__ == "__main__":
    main()
