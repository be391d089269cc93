"""The work that libraries are compared on: generated data, and the trees to grow on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpuboost.benchmarks import datasets
from gpuboost.benchmarks.datasets import Data
from gpuboost.benchmarks.forests import FORESTS, TREES
from gpuboost.benchmarks.peers import OURS, PEERS, Peer, Settings

#: Fewest rows that a scale leaves.
LEAST_ROWS = 500
#: Bins that a title need not mention.
DEFAULT_BINS = 256


@dataclass(frozen=True)
class Workload:
    """A set of generated data and the trees to grow on it."""

    name: str
    task: str
    n_train: int
    n_test: int
    n_features: int
    settings: Settings
    n_classes: int = 2
    latency: bool = False  # whether to time single rows too

    def scaled(self, scale: float) -> Workload:
        """The same with fewer rows."""
        n_train, n_test = (
            min(n, max(LEAST_ROWS, round(n * scale))) for n in (self.n_train, self.n_test)
        )
        return replace(self, n_train=n_train, n_test=n_test)

    def generate(self) -> Data:
        """Its data."""
        if self.task == "multiclass":
            return datasets.multiclass(self.n_train, self.n_features, self.n_classes, self.n_test)
        return {"binary": datasets.binary, "regression": datasets.regression}[self.task](
            self.n_train, self.n_features, self.n_test
        )

    @property
    def boosted(self) -> bool:
        """Whether its trees are boosted: others are compared on the CPU only."""
        return self.settings.order in PEERS[OURS].growth

    @property
    def title(self) -> str:
        """One line for people."""
        s = self.settings
        if not self.boosted:
            trees = "one tree on all rows, exact cuts" if s.order == "tree" else f"{s.trees} trees"
            depth = "no limit of depth" if s.depth is None else f"depth {s.depth}"
            return (
                f"{self.n_train:,} x {self.n_features} {self.task}, {trees}, {depth}, "
                f"{s.features or 'all'} features a node"
            )
        size = f"{s.leaves} leaves" if s.leaves else f"depth {s.depth}"
        what = f"{self.n_classes} classes" if self.task == "multiclass" else self.task
        trees = f"{s.trees} {'rounds' if self.task == 'multiclass' else 'trees'}, {size} {s.order}"
        bins = "" if s.bins == DEFAULT_BINS else f", {s.bins} bins"
        return f"{self.n_train:,} x {self.n_features} {what}, {trees}{bins}"

    @property
    def data_name(self) -> str:
        """Name of its data: workloads on the same data share them."""
        return f"{self.task}-{self.n_train}-{self.n_test}-{self.n_features}-{self.n_classes}"


WORKLOADS = {
    w.name: w
    for w in (
        Workload(
            "higgs-leaves",
            "binary",
            500_000,
            200_000,
            28,
            Settings(100, "leafwise", leaves=64),
            latency=True,
        ),
        Workload(
            "higgs-depth",
            "binary",
            500_000,
            200_000,
            28,
            Settings(100, "depthwise", depth=6),
            latency=True,
        ),
        Workload(
            "higgs-symmetric",
            "binary",
            500_000,
            200_000,
            28,
            Settings(100, "symmetric", depth=6),
            latency=True,
        ),
        Workload("wide", "regression", 100_000, 20_000, 500, Settings(50, "depthwise", depth=6)),
        Workload(
            "classes",
            "multiclass",
            200_000,
            50_000,
            50,
            Settings(30, "depthwise", depth=6),
            n_classes=7,
        ),
        Workload(
            "small-10k",
            "binary",
            10_000,
            10_000,
            20,
            Settings(100, "leafwise", leaves=31),
            latency=True,
        ),
        Workload(
            "small-1k",
            "binary",
            1_000,
            10_000,
            10,
            Settings(100, "leafwise", leaves=31),
            latency=True,
        ),
        Workload(
            "forest-depth-12",
            "binary",
            200_000,
            50_000,
            28,
            Settings(100, "forest", depth=12, features=5),
        ),
        Workload(
            "forest-unlimited",
            "binary",
            200_000,
            50_000,
            28,
            Settings(100, "deep forest", features=5),
        ),
        Workload("tree-exact", "binary", 50_000, 50_000, 20, Settings(1, "tree")),
    )
}


def adapter(peer: str, order: str) -> type[Peer] | None:
    """The adapter of a library that grows trees in this order; None if it has none."""
    kinds = (table.get(peer) for table in (PEERS, FORESTS, TREES))
    return next((kind for kind in kinds if kind is not None and order in kind.growth), None)


def make(name: str, task: str, settings: Settings, threads: int, device: str = "cpu") -> Peer:
    """A library set up for a task."""
    kind = adapter(name, settings.order)
    if kind is None:
        raise ValueError(f"{name} grows no trees in the order {settings.order!r}")
    return kind(task, settings, threads, device)
