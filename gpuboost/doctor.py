"""Checks of an installation: what works, and what to do about what does not."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from gpuboost.backend import get_backend, n_threads
from gpuboost.binning import BinMapper
from gpuboost.boosting import Booster
from gpuboost.config import BoostParams
from gpuboost.estimators.boosting import GPUBoostRegressor
from gpuboost.losses import LOSSES

#: What to do if a device is there but does not do its work.
ADVICE = (
    "Check that driver, CuPy and numba-cuda are for the same CUDA version (nvidia-smi, and the packages above), remove CuPy's kernel cache "
    "(~/.cupy), run pytest -m gpu, and report what it says. Until then use device='cpu': it gives the same model."
)
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
        yield _same_model("cuda training", found == expected, f"{rate:,.0f} (row, feature, tree)/s")
        found, rate = _train("cuda", cuda.cupy().asarray)
        yield _same_model("cuda device input", found == expected, f"{rate:,.0f} (row, feature, tree)/s")
        rates = _kernel_rates(n_rows=2000 if cuda.emulated() else 1_000_000)
        note = "emulated, so the rates mean nothing: " if cuda.emulated() else ""
        figures = ", ".join(f"{name} {1e-6 * rate:,.1f} million {unit}/s" for name, (rate, unit) in rates.items())
        yield Finding("cuda kernels", True, note + figures)
    except Exception as error:  # whatever the driver, a compiler or a kernel says is the finding
        yield Finding("cuda training", False, f"{type(error).__name__}: {error}\n     {ADVICE}")


def _same_model(name: str, same: bool, speed: str) -> Finding:
    return Finding(name, same, f"{speed}; the model is the CPU's" if same else f"the model is NOT the CPU's\n     {ADVICE}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(n_rows, 16)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] * x[:, 2]).astype(np.float64)


def _train(device: str, place: Any = np.asarray) -> tuple[str, float]:
    """Fingerprint and speed of a small training, compilation aside, on data that were put in their place."""
    x, y = _data(20_000)
    model = GPUBoostRegressor(n_estimators=3, max_depth=5, device=device)
    model.fit(place(x[:2000]), y[:2000])
    x = place(x)
    start = time.perf_counter()
    fingerprint = model.fit(x, y).fingerprint()
    return fingerprint, x.size * model.n_estimators / (time.perf_counter() - start)


def _kernel_rates(n_rows: int) -> dict[str, tuple[float, str]]:
    """What the main kernels get done in a second on the device: {name: (how many, of what)}, from trees with one split."""
    timing = import_module("gpuboost.kernels.cuda.timing")
    x, y = _data(n_rows)
    model = GPUBoostRegressor(n_estimators=10, max_depth=5, device="cuda").fit(x, y)
    with get_backend("cuda", None) as backend:
        x_there = backend.put(x)
        mapper = BinMapper.fit(x_there, np.empty(0), 256, backend)
        binned = mapper.transform(x_there, backend, by_rows=True)
        for _ in range(2):  # the first loads the kernels; only the first tree of a booster is launched kernel by kernel
            booster = Booster(mapper, binned, y, np.empty(0), np.zeros(1), LOSSES["squared_error"], BoostParams(max_depth=1), 0, backend)
            with timing.kernel_seconds() as seconds:
                booster.round(0, [])
            with timing.device_seconds() as predicting:
                model._ensemble.raw(x_there, backend)
    return {
        "histogram": (x.size / seconds["build_histograms"], "(row, feature)"),
        "split scan": (256 * x.shape[1] / seconds["scan_pairs"], "bins"),
        "partition": (n_rows / (seconds["count_lefts"] + seconds["scatter_rows"]), "rows"),
        "prediction": (n_rows * model.n_estimators / predicting[0], "(row, tree)"),
    }
