"""The page of a comparison: one HTML file that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuboost.benchmarks import figures, findings, report
from gpuboost.benchmarks.driver import FAR_BEHIND
from gpuboost.benchmarks.figures import Series
from gpuboost.benchmarks.findings import LOSS, MEASURES, Measure, amount
from gpuboost.benchmarks.peers import OURS, PEERS
from gpuboost.benchmarks.report import Row
from gpuboost.benchmarks.sweeps import FACTORS, Point
from gpuboost.benchmarks.timing import write_text
from gpuboost.optional import load
from gpuboost.report import page_style

HERE = Path(__file__).parent
#: What a sweep shows, one panel each.
SWEPT = tuple(m for m in MEASURES if m.key != "latency")
#: What records lack that were written before these were noted.
DEFAULTS = {
    "device": "cpu",
    "input": "host",
    "timeout": None,
    "commands": [],
    "sweeps": {},
    "seconds": 0.0,
    "complete": True,
    "left_out": {},
}
#: What every record has, its machine, and each of its results.
TOP = ("repeat", "scale")
MACHINE = ("date", "commit", "cpu", "cores", "memory_gib", "system", "python", "versions")
ROW = (
    "workload",
    "title",
    "metric",
    "n_test",
    "threads",
    "peer",
    "growth",
    "settings",
    "best",
    "runs",
)
MARKS = {findings.AHEAD: "▲", findings.EVEN: "≈", findings.BEHIND: "▼"}


def check_packages() -> None:
    """Raise before anything is measured if the page could not be written."""
    load("jinja2", "the page of a benchmark")
    load("matplotlib", "the page of a benchmark")


def check_record(record: Any, name: str) -> None:
    """Raise if a file is not what a comparison writes."""
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("results"), list)
        or "machine" not in record
    ):
        raise ValueError(
            f"{name} is no result of a comparison: it must be an object with 'machine' and "
            "'results'"
        )
    if not record["results"]:
        raise ValueError(f"{name} has no results: nothing was measured")
    unknown = sorted(
        {str(row.get("peer")) for row in record["results"] if isinstance(row, dict)} - set(PEERS)
    )
    if unknown:
        raise ValueError(
            f"{name} has results of {', '.join(unknown)}, which this version does not know; it "
            f"knows {', '.join(PEERS)}"
        )
    parts = [
        (record, TOP, "it"),
        (record["machine"], MACHINE, "its machine"),
        *((row, ROW, f"result {i}") for i, row in enumerate(record["results"])),
    ]
    for part, keys, what in parts:
        lacking = [key for key in keys if not isinstance(part, dict) or key not in part]
        if lacking:
            raise ValueError(
                f"{name} is no result of a comparison: {what} has no "
                f"{', '.join(map(repr, lacking))}"
            )


def write_page(record: Row, path: Path) -> None:
    """Write the page."""
    write_text(path, render(record))


def render(record: Row) -> str:
    """The page as text."""
    return template("page.html", HERE).render(content(record))


def template(name: str, *folders: Path) -> Any:
    """A template of a page; it may take parts from any of the folders."""
    jinja2 = load("jinja2", "the page")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)


def style() -> str:
    """The style sheet of pages with measurements."""
    return page_style() + (HERE / "page.css").read_text(encoding="utf-8")


def content(record: Row) -> dict[str, Any]:
    """What the template shows."""
    record = DEFAULTS | record
    machine = record["machine"]
    sweeps = {factor: record["sweeps"][factor] for factor in FACTORS if factor in record["sweeps"]}
    swept = {(p["workload"], p["threads"]) for points in sweeps.values() for p in points}
    return {
        "style": style(),
        "record": record,
        "machine": machine,
        "commit": report.short_commit(machine),
        "versions": {name: version for name, version in machine["versions"].items() if version},
        "minutes": record["seconds"] / 60,
        "ours": OURS,
        "warnings": warnings(record),
        "counts": findings.counts(record),
        "measures": MEASURES,
        "summary": summary(record),
        "defeats": defeats(record),
        "sweeps": [sweep(record, factor, points) for factor, points in sweeps.items()],
        "base": base_text(record),
        "workloads": [
            workload(record, key, rows)
            for key, rows in report.groups(record).items()
            if key not in swept
        ],
        "failures": findings.failures(record),
        "once": findings.measured_once(record),
        "left_out": record["left_out"],
        "far_behind": FAR_BEHIND,
        "noise": findings,
    }


def warnings(record: Row) -> list[str]:
    """What a reader must know before any number."""
    sentences = []
    if record.get("emulated"):
        sentences.append(
            "Measured on the emulated CUDA device: a test of the programs. The times mean nothing."
        )
    if record["scale"] != 1.0:
        sentences.append(f"Rows were scaled by {record['scale']:g}: a trial, not a result.")
    if not record.get("complete", True):
        sentences.append("The run was interrupted: only what had been measured until then is here.")
    if record["repeat"] < 2:
        sentences.append("Everything was measured once: differences of some percent mean little.")
    names = report.point_names(record)
    cores = record["machine"]["cores"]
    disturbed = {
        names[key]: line
        for key, rows in report.groups(record).items()
        if (line := report.disturbed_line(rows, cores))
    }
    if disturbed:
        point, line = next(iter(disturbed.items()))
        sentences.append(
            f"Other work went on at {', '.join(disturbed)}: such times say little and should "
            "be measured again."
        )
        sentences.append(f"{point}, for one: {line.replace('*', '')}")
    if not any(row["peer"] == OURS and row["best"] for row in record["results"]):
        sentences.append(f"{OURS} itself was not measured: there is nothing to compare with.")
    return sentences


def summary(record: Row) -> list[dict[str, Any]]:
    """For each point the closest library in each measure."""
    out = []
    for point, duels in findings.closest(record).items():
        cells = []
        for measure in MEASURES:
            duel = duels.get(measure.key)
            cells.append(
                duel
                and {
                    "mark": MARKS[duel.verdict],
                    "verdict": duel.verdict,
                    "text": findings.against(duel),
                    "peer": duel.peer,
                }
            )
        out.append({"point": point, "cells": cells})
    return out


def defeats(record: Row) -> list[dict[str, Any]]:
    """Where we lose, by measure."""
    lost = findings.where_we_lose(record)
    return [
        {
            "measure": measure,
            "duels": [
                {
                    "point": duel.point,
                    "peer": duel.peer,
                    "theirs": amount(duel.theirs, measure),
                    "ours": amount(duel.ours, measure),
                    "against": findings.against(duel),
                }
                for duel in lost
                if duel.measure is measure
            ],
        }
        for measure in MEASURES
        if any(duel.measure is measure for duel in lost)
    ]


# --- sweeps


def sweep(record: Row, factor: str, points: list[dict[str, Any]]) -> dict[str, Any]:
    """Panels and tables of one factor."""
    by_group = report.groups(record)
    rows = [
        {row["peer"]: row["best"] for row in by_group.get((p["workload"], p["threads"]), [])}
        for p in points
    ]
    peers = [peer for peer in PEERS if any(row.get(peer) for row in rows)]
    values = [p["value"] for p in points]
    panels, tables = [], []
    for measure in SWEPT:
        lines = {peer: [row.get(peer, {}).get(measure.key) for row in rows] for peer in peers}
        series = [_series(peer, values, line, measure) for peer, line in lines.items()]
        series = [one for one in series if one.y]
        if series:
            panels.append(figures.line_panel(f"{factor}-{measure.key}", factor, measure, series))
            tables.append(
                {
                    "measure": measure,
                    "lines": [_table_line(peer, line, measure) for peer, line in lines.items()],
                }
            )
    return {
        "factor": factor,
        "values": [f"{v:,}" for v in values],
        "panels": panels,
        "tables": tables,
        "legend": [(peer, figures.legend_key(f"{factor}-key-{peer}", peer)) for peer in peers],
        "growth": growth_text(factor, values, rows, peers),
    }


def _series(peer: str, values: list[int], line: list[float | None], measure: Measure) -> Series:
    known = [(x, y * measure.factor) for x, y in zip(values, line, strict=True) if y is not None]
    return Series(peer, [x for x, _ in known], [y for _, y in known])


def _table_line(peer: str, line: list[float | None], measure: Measure) -> dict[str, Any]:
    first, last = line[0], line[-1]
    grown = (
        f"{times(last / first)}×"
        if first and last and measure is not LOSS and len(line) > 1
        else "–"
    )
    return {"peer": peer, "values": [amount(v, measure) for v in line], "grown": grown}


def times(ratio: float) -> str:
    """A ratio, small or large."""
    ratio = float(f"{ratio:.3g}")
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def growth_text(factor: str, values: list[int], rows: list[Row], peers: list[str]) -> str:
    """How many times the time to fit of each library grows from the first to the last point."""
    grown = []
    for peer in peers:
        first, last = (row.get(peer, {}).get("fit") for row in (rows[0], rows[-1]))
        if first and last:
            grown.append((last / first, peer))
    if len(values) < 2 or not grown:
        return ""
    if factor == "threads":
        each = ", ".join(f"{peer} {1 / slower:.2f}×" for slower, peer in sorted(grown))
        return f"Speed-up of the fit from {values[0]} to {values[-1]} threads: {each}."
    each = ", ".join(f"{peer} {times(slower)}×" for slower, peer in sorted(grown))
    return (
        f"From {values[0]:,} to {values[-1]:,} {factor} ({values[-1] / values[0]:.3g}×) the "
        f"time to fit grows: {each}."
    )


def base_text(record: Row) -> str:
    """The point around which factors vary, in words."""
    rows = report.groups(record)
    keys = {
        (p["workload"], p["threads"])
        for points in record.get("sweeps", {}).values()
        for p in points
    }
    names = {key: name for key, name in report.point_names(record).items() if key in keys}
    for key, name in names.items():
        if name == "base point":
            bins = rows[key][0]["settings"]["bins"]
            return (
                f"{rows[key][0]['title']}, {bins} bins, {key[1]} thread{'s' if key[1] > 1 else ''}"
            )
    base = Point()
    return (
        f"{base.rows * record['scale']:,.0f} x {base.columns}, two classes, depth "
        f"{base.depth}, {base.bins} bins"
    )


# --- workloads


def workload(record: Row, key: tuple[str, int], rows: list[Row]) -> dict[str, Any]:
    """Panels and the table of one workload."""
    panels = []
    for measure in MEASURES:
        values = {
            row["peer"]: v * measure.factor for row in rows if (v := row["best"].get(measure.key))
        }
        if measure is not LOSS and values:
            panels.append(figures.dot_panel(f"{key[0]}-{key[1]}-{measure.key}", measure, values))
    shown = [m for m in MEASURES if any(row["best"].get(m.key) is not None for row in rows)]
    lines = [
        {
            "peer": row["peer"],
            "growth": row["growth"],
            "cells": [_cell(row, rows, measure) for measure in shown] if row["best"] else None,
        }
        for row in rows
    ]
    return {
        "name": report.point_names(record)[key],
        "title": rows[0]["title"],
        "n_test": rows[0]["n_test"],
        "metric": rows[0]["metric"],
        "panels": panels,
        "measures": shown,
        "lines": lines,
    }


def _cell(row: Row, rows: list[Row], measure: Measure) -> tuple[str, str]:
    """A value, and how many times ours it is."""
    ratio = report.ratio(row, rows, measure.key)
    return amount(row["best"].get(measure.key), measure), "" if ratio is None or row[
        "peer"
    ] == OURS or measure is LOSS else f"{ratio:.2f}×"
