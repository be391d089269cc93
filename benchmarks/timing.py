"""How times, memory and machines are measured and written down."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numba
import numpy as np

ROOT = Path(__file__).resolve().parents[1]

#: Cells and indices of the store benchmark: 16 KiB + 8 KiB, which the first-level data cache of any current machine holds.
STORE_CELLS = 2048
STORE_INDICES = 4096

#: Names under which a library may be installed; the first one found counts.
DISTRIBUTIONS = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "llvmlite": ("llvmlite",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "scikit-learn": ("scikit-learn",),
    "chimeraboost": ("chimeraboost",),
}


def best_of(run: Callable[[], Any], repeats: int, setup: Callable[[], Any] | None = None, budget: float = float("inf")) -> float:
    """Least seconds of some calls; ``setup`` runs before each one, untimed. Past ``budget`` seconds no further call is made.

    The least is what the code needs; everything above it is what the machine did besides.
    """
    best, spent = float("inf"), 0.0
    for _ in range(repeats):
        if setup is not None:
            setup()
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        best = min(best, seconds)
        spent += seconds
        if spent > budget:
            break
    return best


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
    """Nanoseconds of one read-modify-write add of an int64 to a pseudo-random cell of a table in the first-level cache.

    A histogram update cannot be cheaper than this on the machine: it is the yardstick of the stage benchmarks.
    """
    cells = np.zeros(STORE_CELLS, np.int64)
    indices = np.random.default_rng(0).integers(0, STORE_CELLS, STORE_INDICES).astype(np.uint16)
    _add_to_cells(cells, indices, 1)  # compile
    seconds = best_of(lambda: _add_to_cells(cells, indices, passes), repeats)
    return seconds / (passes * STORE_INDICES) * 1e9


def _status(field: str) -> int | None:
    """A field of this process's status in bytes; None where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def reset_peak_memory() -> bool:
    """Make the peak of the resident memory start again from here; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def resident_memory() -> int | None:
    """Resident memory in bytes."""
    return _status("VmRSS")


def peak_memory() -> int | None:
    """Peak of the resident memory in bytes since it was reset."""
    return _status("VmHWM")


def busy_seconds() -> float | None:
    """Processor time that all processes of the machine, and the host it may share, have taken so far; None where the system does not tell.

    Less a process's own time, this says how much other work went on beside a measurement.
    """
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _git(*args: str) -> str:
    try:
        return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine_record() -> dict[str, Any]:
    """What a reader needs to place a measurement: machine, versions, commit and date."""
    import gpuboost

    commit = _git("rev-parse", "HEAD")
    changed = bool(_git("status", "--porcelain", "--untracked-files=no"))
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit + (" with changes" if commit and changed else ""),
        "cpu": _cpu_model(),
        "cores": _cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"gpuboost": gpuboost.__version__, **{key: _version(names) for key, names in DISTRIBUTIONS.items()}},
    }


def with_ending(path: Path, ending: str) -> Path:
    """The path with an ending added; unlike ``with_suffix`` this leaves dots in the name alone."""
    return Path(f"{path}{ending}")


def write_json(path: Path, record: Any) -> None:
    """Write a record; the file is complete or not there, also if the run is interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = with_ending(path, ".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(path)


# --- stage benchmarks


def stage_args(description: str, **sizes: int) -> argparse.Namespace:
    """Command line of a stage benchmark; ``sizes`` are its own options with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default {default})")
    parser.add_argument("--repeats", type=int, default=7, help="calls, of which the fastest counts (default 7)")
    parser.add_argument("--out", type=Path, help="also write the results here, as JSON")
    return parser.parse_args()


def report_costs(stage: str, unit: str, costs: dict[str, float], args: argparse.Namespace) -> None:
    """Print nanoseconds per unit of each case beside the store limit, and write them if asked."""
    limit = store_limit()
    print(f"{stage}: checked against the reference. Store limit of this machine: {limit:.3f} ns an add.")
    width = max(map(len, costs))
    for case, nanoseconds in costs.items():
        print(f"  {case:<{width}}  {nanoseconds:8.3f} ns per {unit}  = {nanoseconds / limit:6.2f} x limit", flush=True)
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
