"""How fast the device is: each kernel of a tree, beside what the hardware would allow."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gpuboost.benchmarks.gpu_model as gpu_model
from gpuboost.doctor.checks import PASSED, Check, Sizes

#: The tree whose kernels are timed.
TREE, N_FEATURES = {"max_depth": 6}, 28
#: Bytes that are copied on the device to measure its bandwidth, and how often.
COPY_BYTES, COPIES = 1 << 28, 10


def device_facts() -> dict[str, Any]:
    """What the device says of itself."""
    cuda = import_module("gpuboost.kernels.cuda.device")
    device, runtime = cuda.cupy().cuda.Device(0), cuda.cupy().cuda.runtime
    attributes = device.attributes
    facts = {
        "compute_capability": device.compute_capability,
        "memory_gib": round(device.mem_info[1] / 2**30, 1),
        "n_multiprocessors": attributes["MultiProcessorCount"],
        "shared_bytes_optin": attributes["MaxSharedMemoryPerBlockOptin"],
    }
    if cuda.emulated():
        return facts | {"name": "emulated"}
    # kilohertz and bits; newer drivers may not tell
    clock, memory_clock = attributes.get("ClockRate", 0), attributes.get("MemoryClockRate", 0)
    return facts | {
        "name": runtime.getDeviceProperties(0)["name"].decode(),
        "driver_cuda": version_text(runtime.driverGetVersion()),
        "runtime_cuda": version_text(runtime.runtimeGetVersion()),
        "cupy": cuda.cupy().__version__,
        "clock_ghz": clock / 1e6,
        # two transfers a clock
        "bandwidth": 2 * memory_clock * attributes.get("GlobalMemoryBusWidth", 0) / 8 / 1e6,
    }


def version_text(number: int) -> str:
    """A CUDA version as people write it.

    >>> version_text(12080)
    '12.8'
    """
    return f"{number // 1000}.{number % 1000 // 10}"


def run_rates(sizes: Sizes) -> Check:
    """Time the kernels of one tree, and a copy on the device."""
    facts = device_facts()
    microseconds = kernel_microseconds(sizes.rates)
    facts["copy_bandwidth"] = copy_bandwidth(COPY_BYTES if facts["name"] != "emulated" else 1 << 20)
    total = sum(microseconds.values())
    return Check(
        "rates",
        "kernels of a tree",
        PASSED,
        f"{sizes.rates:,} x {N_FEATURES}, {gpu_model.tree_name(TREE)}: "
        f"{gpu_model.three_digits(total / 1e3)} ms in "
        f"{len(microseconds)} kernels",
        figures={
            "rows": sizes.rates,
            "features": N_FEATURES,
            "tree": gpu_model.tree_name(TREE),
            "device": facts,
            "microseconds": microseconds,
        },
    )


def kernel_microseconds(n_rows: int) -> dict[str, float]:
    """{kernel: microseconds of all its launches for a tree}.

    The second tree is timed: the first one loads the kernels. Its booster is another one, as the
    later trees of a booster are launched as a graph.
    """
    timing = import_module("gpuboost.kernels.cuda.timing")
    for _ in range(2):
        with (
            gpu_model.one_tree(TREE, n_rows, N_FEATURES, "cuda") as booster,
            timing.kernel_seconds() as seconds,
        ):
            booster.round(0, [])
    return {name: 1e6 * time for name, time in seconds.items()}


def copy_bandwidth(n_bytes: int) -> float:
    """GB/s that a copy on the device reads and writes."""
    cupy = import_module("gpuboost.kernels.cuda.device").cupy()
    timing = import_module("gpuboost.kernels.cuda.timing")
    array = cupy.zeros((n_bytes // 8,), float)
    copies = [array.copy()]  # the pool has the memory then
    copies.clear()
    with timing.device_seconds() as seconds:
        for _ in range(COPIES):
            copies.append(array.copy())
            copies.clear()
    return float(2 * n_bytes * COPIES / seconds[0] / 1e9)


def run_estimate(n_rows: int, facts: dict[str, Any]) -> Check:
    """What the model expects of this device; its counts come from the emulated device."""
    gpu, of = gpu_of(facts)
    costs = gpu_model.estimate(gpu_model.work_of_tree(TREE, N_FEATURES), n_rows, gpu)
    bound = {name: {"microseconds": cost.total, "by": cost.bound} for name, cost in costs.items()}
    return Check(
        "rates",
        "what the hardware would allow",
        PASSED,
        f"{gpu_model.three_digits(gpu_model.milliseconds(costs))} ms on {of}",
        figures={"of": of, "bound": bound},
    )


def gpu_of(facts: dict[str, Any]) -> tuple[gpu_model.Gpu, str]:
    """The device as the model takes it, and what it is in words."""
    example = gpu_model.GPUS["A100"]
    if facts["name"] == "emulated":
        return example, "an A100 (the emulated device has its size)"
    clock = facts["clock_ghz"] or example.clock_ghz
    bandwidth = facts["bandwidth"] or facts["copy_bandwidth"]
    measured = "" if facts["bandwidth"] else " as a copy on the device shows"
    assumed = "" if facts["clock_ghz"] else " (assumed)"
    return (
        gpu_model.Gpu(facts["n_multiprocessors"], clock, bandwidth, facts["memory_gib"]),
        f"{facts['n_multiprocessors']} multiprocessors at {clock:.2f} GHz{assumed} and "
        f"{bandwidth:,.0f} GB/s{measured}",
    )
