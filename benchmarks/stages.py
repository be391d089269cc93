"""What the benchmarks of single stages share.

Their command line, and the store limit as their yardstick.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numba
import numpy as np

from gpuboost.benchmarks.timing import best_of, machine_record, write_json

#: Cells and indices of the store benchmark: 16 KiB + 8 KiB, which the first-level data cache of any
#: current machine holds.
STORE_CELLS = 2048
STORE_INDICES = 4096


@numba.njit
def _add_to_cells(cells, indices, passes):
    """Add to pseudo-random cells, four at a time as the histogram kernels do."""
    n = np.uint64(indices.shape[0])
    for value in range(passes):
        i = np.uint64(0)
        while i < n:
            cells[np.uint64(indices[i])] += value
            cells[np.uint64(indices[i + np.uint64(1)])] += value
            cells[np.uint64(indices[i + np.uint64(2)])] += value
            cells[np.uint64(indices[i + np.uint64(3)])] += value
            i += np.uint64(4)


def store_limit(passes: int = 2000, repeats: int = 25) -> float:
    """Nanoseconds of one read-modify-write add of an int64 to a pseudo-random cell of a table in.

    The first-level cache.

    A histogram update cannot be cheaper than this on the machine: it is the yardstick of the stage
    benchmarks."""
    cells = np.zeros(STORE_CELLS, np.int64)
    indices = np.random.default_rng(0).integers(0, STORE_CELLS, STORE_INDICES).astype(np.uint16)
    _add_to_cells(cells, indices, 1)  # compile
    seconds = best_of(lambda: _add_to_cells(cells, indices, passes), repeats)
    return seconds / (passes * STORE_INDICES) * 1e9


def stage_args(description: str, **sizes: int) -> argparse.Namespace:
    """Command line of a stage benchmark; ``sizes`` are its own options with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default {default})")
    parser.add_argument(
        "--repeats", type=int, default=7, help="calls, of which the fastest counts (default 7)"
    )
    parser.add_argument("--out", type=Path, help="also write the results here, as JSON")
    return parser.parse_args()


def report_costs(stage: str, unit: str, costs: dict[str, float], args: argparse.Namespace) -> None:
    """Print nanoseconds per unit of each case beside the store limit, and write them if asked."""
    limit = store_limit()
    print(
        f"{stage}: checked against the reference. Store limit of this machine: {limit:.3f} ns "
        "an add."
    )
    width = max(map(len, costs))
    for case, nanoseconds in costs.items():
        print(
            f"  {case:<{width}}  {nanoseconds:8.3f} ns per {unit}  = "
            f"{nanoseconds / limit:6.2f} x limit",
            flush=True,
        )
    if args.out:
        sizes = {name: value for name, value in vars(args).items() if name != "out"}
        record = {
            "machine": machine_record(),
            "stage": stage,
            "unit": f"ns per {unit}",
            "sizes": sizes,
            "store_limit": limit,
            "costs": costs,
        }
        write_json(args.out, record)
