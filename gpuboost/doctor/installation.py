"""Checks of an installation: what works, and what to do about what does not."""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from gpuboost.backend import get_backend, n_threads
from gpuboost.config import BoostParams
from gpuboost.data.features import FeatureMap
from gpuboost.data.summary import Summary
from gpuboost.estimators.boosting import GPUBoostRegressor
from gpuboost.objectives.losses import OBJECTIVES
from gpuboost.training.boosting import Booster

#: What to do if a device is there but does not do its work.
ADVICE = (
    "Check that driver, CuPy and numba-cuda are for the same CUDA version (nvidia-smi, and the "
    "packages above), remove the kernels that are kept (~/.cupy, ~/.cache/gpuboost), "
    "run pytest -m gpu, and report what it says. Until then use device='cpu': it "
    "gives the same model."
)
PACKAGES = (
    "gpuboost-trees",
    "numpy",
    "numba",
    "scikit-learn",
    "numba-cuda",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "cupy",
)
#: CuPy as conda installs it, for whatever CUDA it finds.
OTHER_CUPY = "cupy"
#: What the extras for GPUs install, CuPy first.
EXTRA_PACKAGES = {
    "cuda12": ("cupy-cuda12x", "numba-cuda"),
    "cuda13": ("cupy-cuda13x", "numba-cuda"),
}
EXTRAS = ("matplotlib", "jinja2", "pyarrow")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    good: bool
    detail: str


def check_all() -> Iterator[Finding]:
    """Look at the environment, train on the CPU, and on CUDA if there is a device."""
    yield Finding(
        "python",
        True,
        f"{platform.python_version()} on {platform.platform()}, {n_threads(None)} threads",
    )
    yield Finding("packages", True, ", ".join(f"{p} {v}" for p in PACKAGES if (v := _version(p))))
    yield _extras()
    expected, rate = _train("cpu")
    yield Finding(
        "cpu", True, f"trains {rate:,.0f} (row, feature, tree)/s; fingerprint {expected[:16]}"
    )
    one_thread = _train("cpu", n_jobs=1)[0]
    yield _same_model(
        "cpu threads", one_thread == expected, f"1 and {n_threads(None)}", "one thread's"
    )
    yield _kernel_cache()
    cuda = import_module("gpuboost.kernels.cuda.device")
    problem = cuda.missing(0)
    if problem is not None:
        yield _no_cuda(problem)
        return
    try:
        yield from _check_cuda(cuda, expected)
    except Exception as error:  # whatever the driver, a compiler or a kernel says is the finding
        yield Finding("cuda", False, f"{type(error).__name__}: {error}\n     {ADVICE}")


def _extras() -> Finding:
    """What is there of the packages that only some functions need."""
    absent = ", ".join(p for p in EXTRAS if _version(p) is None)
    return Finding(
        "extras",
        True,
        f'without {absent}: pip install ".[cli]" for plots, report pages and tables'
        if absent
        else "plots, report pages and tables in all formats",
    )


def _kernel_cache() -> Finding:
    """Whether compiled kernels are kept for the next process."""
    path = import_module("gpuboost.kernels.cpu.binning").bin_matrix.stats.cache_path
    return Finding(
        "kernel cache",
        path is not None,
        "compiled kernels cannot be kept, every process compiles anew: set NUMBA_CACHE_DIR"
        if path is None
        else f"compiled kernels are kept in {path}",
    )


def _no_cuda(problem: str) -> Finding:
    """No device, which is fine; a device that cannot be used is not."""
    driver = _driver()
    if driver is None:
        what_to_do = (
            ""
            if _installed("cuda12") or _installed("cuda13")
            else ' (where there is a GPU: pip install ".[cuda12]" or ".[cuda13]")'
        )
        return Finding("cuda", True, f"no NVIDIA driver, so training is on the CPU{what_to_do}")
    extra, other = ("cuda13", "cuda12") if driver[0] >= 13000 else ("cuda12", "cuda13")
    description = (
        f"driver for CUDA {driver[0] // 1000}.{driver[0] % 1000 // 10} with {driver[1]} "
        f"device{'s' if driver[1] != 1 else ''}"
    )
    if _installed(extra):
        advice = f'What ".[{extra}]" installs is there. {ADVICE}'
    elif _version(package := EXTRA_PACKAGES[other][0]):
        advice = f'For this driver: pip uninstall {package}, then pip install ".[{extra}]"'
    else:
        advice = f'For this driver: pip install ".[{extra}]"'
    return Finding("cuda", driver[1] == 0, f"{description}, not used: {problem}\n     {advice}")


def _installed(extra: str) -> bool:
    """Whether the packages of an extra are there."""
    return all(
        _version(package) or (package.startswith("cupy-") and _version(OTHER_CUPY))
        for package in EXTRA_PACKAGES[extra]
    )


def _driver() -> tuple[int, int] | None:
    """(CUDA version, devices) of the NVIDIA driver, None if there is none.

    The driver is asked without CuPy, which may be what is missing.
    """
    try:
        driver = ctypes.CDLL("nvcuda.dll" if platform.system() == "Windows" else "libcuda.so.1")
    except OSError:
        return None
    version, count = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    driver.cuDeviceGetCount(ctypes.byref(count))
    return version.value, count.value


def _check_cuda(cuda: Any, expected: str) -> Iterator[Finding]:
    """Device, compilers, models and speed; raises whatever goes wrong."""
    device = cuda.cupy().cuda.Device(0)
    kind = "emulated" if cuda.emulated() else _device_name(cuda.cupy())
    yield Finding(
        "cuda",
        True,
        f"{kind}, compute capability {device.compute_capability}, "
        f"{device.mem_info[1] / 2**30:.1f} GiB",
    )
    yield _compiled()
    for name, place in (("training", np.asarray), ("device input", cuda.cupy().asarray)):
        fingerprint, rate = _train("cuda", place)
        speed = f"{rate:,.0f} (row, feature, tree)/s"
        yield _same_model(f"cuda {name}", fingerprint == expected, speed)
    rates, others = _kernel_rates(n_rows=2000 if cuda.emulated() else 1_000_000)
    note = "emulated, so the rates mean nothing: " if cuda.emulated() else ""
    figures = ", ".join(
        f"{name} {1e-6 * rate:,.1f} million {unit}/s" for name, (rate, unit) in rates.items()
    )
    rest = ", ".join(f"{name} {1e6 * seconds:,.0f} µs" for name, seconds in others.items())
    yield Finding("cuda kernels", True, f"{note}{figures}; {rest}")


def _device_name(cupy: Any) -> str:
    """The GPU and what drives it."""
    runtime = cupy.cuda.runtime
    name, version = runtime.getDeviceProperties(0)["name"].decode(), runtime.driverGetVersion()
    return (
        f"{name}, driver for CUDA {version // 1000}.{version % 1000 // 10}, CUDA runtime "
        f"{runtime.runtimeGetVersion() // 1000}"
    )


def _compiled() -> Finding:
    """Compile every file of kernels for this device."""
    compiler = import_module("gpuboost.kernels.cuda.compiler")
    backend: Any = get_backend("cuda", 1)
    start = time.perf_counter()
    with backend:
        for name in compiler.FILES:
            compiler.module(name, backend.group_features, False, (), False, 0).compile()
    return Finding(
        "cuda compiler",
        True,
        f"{len(compiler.FILES)} files of kernels compile ({time.perf_counter() - start:.1f} s, "
        "or from a cache)",
    )


def _same_model(name: str, same: bool, speed: str, whose: str = "the CPU's") -> Finding:
    return Finding(
        name,
        same,
        f"{speed}; the model is {whose}" if same else f"the model is NOT {whose}\n     {ADVICE}",
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(n_rows, 16)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] * x[:, 2]).astype(np.float64)


def _train(device: str, place: Any = np.asarray, n_jobs: int | None = None) -> tuple[str, float]:
    """Fingerprint and speed of a small training, compilation aside.

    ``place`` puts the features where they are read from, such as on the device.
    """
    x, y = _data(20_000)
    model = GPUBoostRegressor(n_estimators=3, max_depth=5, device=device, n_jobs=n_jobs)
    model.fit(place(x[:2000]), y[:2000])
    x = place(x)
    start = time.perf_counter()
    fingerprint = model.fit(x, y).fingerprint()
    return fingerprint, x.size * model.n_estimators / (time.perf_counter() - start)


def _kernel_rates(n_rows: int) -> tuple[dict[str, tuple[float, str]], dict[str, float]]:
    """What the kernels get done on the device, measured with one split.

    For the main kernels {name: (how many in a second, of what)}, for the others {name: seconds}.
    """
    timing = import_module("gpuboost.kernels.cuda.timing")
    x, y = _data(n_rows)
    model = GPUBoostRegressor(n_estimators=10, max_depth=5, device="cuda").fit(x, y)
    with get_backend("cuda", None) as backend:
        x_there = backend.put(x)
        features = FeatureMap.of_numbers(x.shape[1]).with_cuts(
            Summary.of(x_there, np.empty(0)), 256, backend
        )
        binned = features.matrix(x_there, backend, by_rows=True)
        # the first booster loads the kernels; a booster's first tree is launched kernel by kernel,
        # its later ones are not
        for _ in range(2):
            booster = Booster(
                features,
                binned,
                y,
                np.empty(0),
                np.zeros(1),
                OBJECTIVES["squared_error"],
                BoostParams(max_depth=1),
                0,
                backend,
            )
            with timing.kernel_seconds() as seconds:
                booster.round(0, [])
            with timing.device_seconds() as predicting:
                model.ensemble_.raw(x_there, backend)
    rates = {
        "histogram": (x.size / seconds.pop("build_histograms"), "(row, feature)"),
        "split scan": (256 * x.shape[1] / seconds.pop("scan_pairs"), "bins"),
        "partition": (n_rows / (seconds.pop("count_lefts") + seconds.pop("divide_nodes")), "rows"),
        "prediction": (n_rows * model.n_estimators / predicting[0], "(row, tree)"),
    }
    return rates, seconds
