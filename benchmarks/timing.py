"""How times, memory and machines are measured and written down."""

from __future__ import annotations

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

from gpuboost.atomic_files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
#: Whether this is a checkout of the repository; otherwise it is an installed package, and ROOT is
#: the folder of that.
CHECKOUT = (ROOT / "pyproject.toml").is_file()
#: Where scripts put their results unless told.
RESULTS = ROOT / "benchmarks" / "results" if CHECKOUT else Path()

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
    "cupy": ("cupy-cuda13x", "cupy-cuda12x"),
    "numba-cuda": ("numba-cuda",),
}


def best_of(
    run: Callable[[], Any],
    repeats: int,
    setup: Callable[[], Any] | None = None,
    budget: float = float("inf"),
) -> float:
    """Least seconds of some calls; ``setup`` runs before each one, untimed.

    Past ``budget`` seconds no further call is made.

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
    """Processor time that all processes of the machine, and the host it may share.

    Have taken so far; None where the system does not tell.

    Less a process's own time, this says how much other work went on beside a measurement.
    """
    try:
        fields = [
            int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        ]
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


def cores() -> int:
    """Cores that this process may use."""
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
    if not CHECKOUT:  # any repository around an installed package is another one
        return ""
    try:
        return subprocess.run(
            ["git", *args], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
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
        "cores": cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {
            "gpuboost": gpuboost.__version__,
            **{key: _version(names) for key, names in DISTRIBUTIONS.items()},
        },
    }


def with_ending(path: Path, ending: str) -> Path:
    """The path with an ending added; unlike ``with_suffix`` this leaves dots in the name alone."""
    return Path(f"{path}{ending}")


def write_json(path: Path, record: Any) -> None:
    """Write a record; the file is complete or not there, also if the run is interrupted."""
    write_text(path, json.dumps(record, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that is complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
