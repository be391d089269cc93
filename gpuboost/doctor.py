"""Checks an installation: ``python -m gpuboost.doctor``. Says what works, and what to do about what does not."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from gpuboost.backend import n_threads
from gpuboost.estimators.boosting import GPUBoostRegressor

PACKAGES = ("numpy", "numba", "scikit-learn", "numba-cuda", "cupy-cuda12x", "cupy-cuda13x")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    good: bool
    detail: str


def check_all() -> Iterator[Finding]:
    """Look at the environment, train on the CPU, and on CUDA if there is a device."""
    yield Finding("python", True, f"{platform.python_version()} on {platform.platform()}, {n_threads(None)} threads")
    yield Finding("packages", True, ", ".join(f"{p} {v}" for p in PACKAGES if (v := _version(p))))
    expected, rate = _train("cpu")
    yield Finding("cpu", True, f"trains {rate:,.0f} (row, feature, tree)/s; fingerprint {expected[:16]}")
    cuda = import_module("gpuboost.kernels.cuda._device")
    problem = cuda.missing(0)
    if problem is not None:
        yield Finding("cuda", True, f"not used: {problem}")
        return
    device = cuda.cupy().cuda.Device(0)
    kind = "emulated" if cuda.emulated() else "a GPU"
    yield Finding("cuda", True, f"{kind}, compute capability {device.compute_capability}, {device.mem_info[1] / 2**30:.1f} GiB")
    try:
        found, rate = _train("cuda")
    except Exception as error:  # whatever the driver, a compiler or a kernel says is the finding
        yield Finding("cuda training", False, f"{type(error).__name__}: {error}")
        return
    same = found == expected
    yield Finding("cuda training", same, f"{rate:,.0f} (row, feature, tree)/s; the model is {'the' if same else 'NOT the'} CPU's")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _train(device: str) -> tuple[str, float]:
    """Fingerprint and speed of a small training, compilation aside."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 16)).astype(np.float32)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    model = GPUBoostRegressor(n_estimators=3, max_depth=5, device=device)
    model.fit(x[:2000], y[:2000])
    start = time.perf_counter()
    fingerprint = model.fit(x, y).fingerprint()
    return fingerprint, x.size * model.n_estimators / (time.perf_counter() - start)


def main() -> int:
    """Print the report; returns 1 if something is wrong."""
    bad = 0
    for finding in check_all():
        print(f"[{'ok' if finding.good else '!!'}] {finding.name}: {finding.detail}", flush=True)
        bad += not finding.good
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
