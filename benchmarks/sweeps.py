"""How cost grows: work that differs from a base point in one factor at a time.

The base point is 100,000 x 28 of two classes, 50 trees of depth 6, 256 bins, all threads. As many
rows are held out as are trained on, so the time to predict is measured over rows too. Points are
workloads like any other, and the same workers measure them; a record says which workload is which
point: ``{"rows": [{"value": 10000, "workload": ..., "threads": ...}, ...], ...}``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpuboost.benchmarks.driver import Job
from gpuboost.benchmarks.peers import PEERS, Settings
from gpuboost.benchmarks.workloads import LEAST_ROWS, Workload

#: Values of each factor, smallest first; the number of threads depends on the machine.
VALUES: dict[str, tuple[int, ...]] = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "columns": (7, 28, 100, 400),
    "bins": (16, 32, 64, 128, 256),
    "depth": (2, 4, 6, 8, 10),
    "classes": (2, 3, 5, 10, 20),
}
FACTORS = (*VALUES, "threads")
#: Growth orders of which a depth is a size; leaf-wise trees have other limits.
ORDERS = ("depthwise", "symmetric")


@dataclass(frozen=True)
class Point:
    """What a sweep varies."""

    rows: int = 100_000
    columns: int = 28
    bins: int = 256
    depth: int = 6
    classes: int = 2
    threads: int = 1

    def workload(self, order: str, trees: int) -> Workload:
        """The point as a workload; its number of threads is no part of that."""
        task = "binary" if self.classes == 2 else "multiclass"
        name = (
            f"rows-{self.rows}-columns-{self.columns}-bins-{self.bins}-depth-{self.depth}"
            f"-classes-{self.classes}-{order}"
        )
        settings = Settings(trees, order, depth=self.depth, bins=self.bins)
        return Workload(
            name, task, self.rows, self.rows, self.columns, settings, n_classes=self.classes
        )


def thread_counts(most: int) -> tuple[int, ...]:
    """1, 2, 4, ... and the most.

    >>> thread_counts(6)
    (1, 2, 4, 6)
    """
    return tuple(sorted({2**k for k in range(most.bit_length()) if 2**k <= most} | {most}))


def points(factor: str, base: Point, scale: float, threads: Iterable[int]) -> list[Point]:
    """The points of a factor; ``scale`` has been applied to the base already."""
    if factor == "rows":
        values: Iterable[int] = sorted({scaled_rows(v, scale) for v in VALUES["rows"]})
    else:
        values = VALUES.get(factor) or sorted(set(threads))
    return [replace(base, **{factor: value}) for value in values]


def scaled_rows(rows: int, scale: float) -> int:
    """Fewer rows, as for any workload."""
    return max(LEAST_ROWS, round(rows * scale))


def plan(
    factors: Iterable[str],
    names: Iterable[str],
    threads: Iterable[int],
    scale: float = 1.0,
    order: str = "depthwise",
    trees: int = 50,
) -> tuple[list[Job], dict[str, list[dict[str, Any]]]]:
    """Jobs of some sweeps, and which point of which factor each workload is.

    The largest number of threads is that of the base point. A point that belongs to several factors
    is measured once."""
    names, threads = [n for n in names if order in PEERS[n].growth], sorted(set(threads))
    base = Point(rows=scaled_rows(Point.rows, scale), threads=threads[-1])
    jobs: dict[str, Job] = {}
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for factor in factors:
        sweeps[factor] = []
        before: dict[str, str] = {}  # key of the library's job at the last point
        for point in points(factor, base, scale, threads):
            w = point.workload(order, trees)
            sweeps[factor].append(
                {"value": asdict(point)[factor], "workload": w.name, "threads": point.threads}
            )
            for name in names:
                job = Job(
                    w, name, point.threads, after=before.get(name) if factor != "threads" else None
                )
                jobs.setdefault(job.key, job)
                before[name] = job.key
    return list(jobs.values()), sweeps
