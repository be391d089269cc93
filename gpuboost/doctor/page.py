"""The page of a full run: one HTML file that loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gpuboost.benchmarks.figures as figures
import gpuboost.benchmarks.gpu_model as gpu_model
import gpuboost.benchmarks.page as benchmark_page
from gpuboost.benchmarks.peers import OURS
from gpuboost.benchmarks.report import groups, short_commit
from gpuboost.benchmarks.timing import write_text
from gpuboost.doctor.checks import (
    FAILED,
    NOT_RUN,
    PARTS,
    PASSED,
    count_states,
    left_out_by_reason,
)

HERE = Path(__file__).parent
BENCHMARKS = Path(benchmark_page.__file__).parent
#: Inches of the figure of the kernels: wide enough for their names, narrow enough for a phone.
WIDTH = 4.4
MARKS = {PASSED: "✓", FAILED: "✗", NOT_RUN: "–"}

Record = dict[str, Any]
#: A device that was not asked, or does not say.
NOT_ASKED: Record = {
    "name": "",
    "compute_capability": "",
    "memory_gib": 0.0,
    "n_multiprocessors": 0,
    "driver_cuda": "",
    "runtime_cuda": "",
    "cupy": "",
    "bandwidth": 0.0,
}


def write_page(record: Record, path: Path) -> None:
    """Write the page."""
    write_text(path, render(record))


def render(record: Record) -> str:
    """The page as text."""
    template = benchmark_page.template("page.html", HERE, BENCHMARKS)
    return str(template.render(content(record)))


def content(record: Record) -> dict[str, Any]:
    """What the template shows."""
    checks, machine = record["checks"], record["machine"]
    comparison, device = record["comparison"], _device(checks)
    where = "an emulated GPU" if record["emulated"] else device["name"] or "CUDA"
    return {
        "title": f"{OURS} on {where}: what was checked",
        "style": benchmark_page.style() + (HERE / "page.css").read_text(encoding="utf-8"),
        "record": record,
        "machine": machine,
        "commit": short_commit(machine),
        "versions": {name: version for name, version in machine["versions"].items() if version},
        "minutes": record["seconds"] / 60,
        "ours": OURS,
        "marks": MARKS,
        "three_digits": gpu_model.three_digits,
        "device": device,
        "warnings": warnings(record),
        "counts": count_states(checks),
        "summary": [(part, words, count_states(checks, part)) for part, words in PARTS.items()],
        "failed": [c for c in checks if c["state"] == FAILED],
        "left_out": left_out_by_reason(checks),
        "rates": rates(checks),
        "workloads": [
            benchmark_page.workload(comparison, key, rows)
            for key, rows in groups(comparison).items()
            if all(row["best"] for row in rows)
        ]
        if comparison
        else [],
        "by_part": {part: [c for c in checks if c["part"] == part] for part in PARTS},
    }


def _device(checks: list[Record]) -> Record:
    """What the device says of itself, as far as it was asked."""
    facts: Record = next((c["figures"]["device"] for c in checks if "device" in c["figures"]), {})
    return NOT_ASKED | facts


def warnings(record: Record) -> list[str]:
    """What a reader must know before anything else."""
    sentences = []
    if record["emulated"]:
        sentences.append(
            "The CUDA device was emulated on the CPU. This shows that the programs run and that "
            "the results agree; it says nothing about a GPU, and all times are meaningless."
        )
    if not record["complete"]:
        sentences.append("The run was interrupted: only what was known until then is here.")
    if not any(c["part"] == "trainings" and c["state"] == PASSED for c in record["checks"]):
        sentences.append("No training on the device has passed.")
    return sentences


def rates(checks: list[Record]) -> Record | None:
    """Times of the kernels, beside what the model says the hardware would allow."""
    figures_of = {c["name"]: c["figures"] for c in checks if c["part"] == "rates" and c["figures"]}
    measured = next((f for f in figures_of.values() if "microseconds" in f), None)
    if measured is None:
        return None
    model: Record = next((f for f in figures_of.values() if "bound" in f), {"bound": {}, "of": ""})
    lines = []
    for name, time in sorted(measured["microseconds"].items(), key=lambda item: -item[1]):
        bound = model["bound"].get(name)
        lines.append(
            {
                "name": name,
                "time": time,
                "bound": bound and bound["microseconds"],
                "by": bound["by"] if bound else "",
                "part": bound["microseconds"] / time if bound and time else None,
            }
        )
    total = sum(line["time"] for line in lines)
    return {
        **measured,
        "device": _device(checks),
        "lines": lines,
        "milliseconds": gpu_model.three_digits(total / 1e3),
        "of": model["of"],
        "picture": rate_panel(lines),
    }


def rate_panel(lines: list[Record]) -> str:
    """A marker for the time of each kernel, and one for its bound, on a logarithmic axis."""
    names = [line["name"] for line in lines]
    times = [max(line["time"], 0.1) for line in lines]
    bounds = [(i, max(line["bound"], 0.1)) for i, line in enumerate(lines) if line["bound"]]

    def draw(axis: Any) -> None:
        for i, bound in bounds:
            axis.plot([bound, times[i]], [i, i], color="0.75", linewidth=1.2, zorder=1)
        if bounds:
            axis.plot(
                [b for _, b in bounds], [i for i, _ in bounds], "|", color="0.25", markersize=9,
                markeredgewidth=1.8, label="allowed by the hardware",
            )  # fmt: skip
        axis.plot(times, range(len(names)), "o", color="#0072B2", markersize=5, label="measured")
        low = min([*times, *(b for _, b in bounds)]) / 1.5
        high = max([*times, *(b for _, b in bounds)]) * 1.5
        axis.set_xscale("log")
        axis.set_xlim(low, high)
        axis.minorticks_off()
        figures.ticks(axis.xaxis, low, high)
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", color="0.9", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.set_xlabel("microseconds of a tree")
        axis.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, frameon=False)

    what = "Microseconds of each kernel: " + "; ".join(
        f"{line['name']} {line['time']:.1f}" for line in lines
    )
    return figures.panel("kernels", (WIDTH, 0.22 * len(names) + 0.9), draw, "", what)
