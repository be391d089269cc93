"""THE SEAM: what a device must offer, and the choice of one. The only importer of ``gpuboost.kernels``."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from gpuboost.config import DEVICES


class Grower(Protocol):
    """Grows trees over one binned matrix."""

    def grow(self, rows: Any, features: Any, gh: Any, params: np.ndarray) -> Any:
        """Grow one tree from packed gradients; returns its nodes."""

    def leaf_values(self, nodes: Any, rows: Any, g: Any, h: Any, weight: Any, fine_scales: Any, params: Any, learning_rate: float) -> Any:
        """Values, hessian sums and row counts of all nodes."""

    def add_leaf_values(self, values: Any, raw: Any) -> None:
        """Add the last tree's leaf values to the raw scores of all rows."""


class Backend(Protocol):
    """A device. Every option works on every backend, with the same bits, or raises when ``fit`` starts."""

    name: str

    def __enter__(self) -> Backend: ...
    def __exit__(self, *exc: Any) -> None: ...
    def column_cuts(self, values: Any, weight: Any, max_bins: int) -> np.ndarray: ...
    def map_columns(self, n: int, job: Any) -> None: ...
    def bin_matrix(self, x: Any, cuts: Any, n_cuts: Any, by_rows: bool) -> Any: ...
    def gradients(self, loss: Any, y: Any, raw: Any, weight: Any, g: Any, h: Any) -> np.ndarray: ...
    def quantize(self, g: Any, h: Any, weight: Any, g_scale: float, h_scale: float, nearest: bool, key: Any, out: Any) -> None: ...
    def fixed_point_sum(self, values: Any, weight: Any, scale: float) -> int: ...
    def mean_of_rows(self, row_value: Any, per_row: bool, y: Any, raw: Any, weight: Any) -> float: ...
    def mix_key(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> Any: ...
    def draw_rows(self, usable: Any, fraction: float, key: Any, out: Any) -> int: ...
    def draw_features(self, n_wanted: int, key: Any, allowed: Any) -> np.ndarray: ...
    def make_grower(self, columns: Any, bins: Any, n_bins: Any, limits: Any) -> Grower: ...
    def list_splits(self, *args: Any) -> None: ...
    def add_trees(self, x: Any, forest: Any, first_tree: int, end_tree: int, out: Any) -> None: ...
    def probabilities(self, raw: Any) -> np.ndarray: ...
    def add_tree_binned(self, columns: Any, tree: Any, out: Any) -> None: ...


def check_device(device: Any) -> None:
    """Raise unless the device exists here."""
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(map(repr, DEVICES))}; got {device!r}")
    if device == "cuda":
        raise RuntimeError("device='cuda' is not available: this version trains on the CPU only; use device='auto' or 'cpu'")


def get_backend(device: str, n_jobs: int | None) -> Backend:
    """Open a backend: ``with get_backend("cpu", n_jobs=2) as backend: ...``."""
    check_device(device)
    backend: Backend = import_module("gpuboost.kernels.cpu.backend").CpuBackend(n_threads(n_jobs))
    return backend


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: None means all this process may use, -1 all cores, -2 all but one, and so on as in joblib."""
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")  # joblib's workers set it to their share of the machine
        return max(1, min(_cores(), int(limit))) if limit.isdigit() and int(limit) > 0 else _cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
