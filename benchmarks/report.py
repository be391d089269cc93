"""Results as people read them: Markdown tables."""

from __future__ import annotations

from typing import Any

from gpuboost.benchmarks.peers import OURS

#: Cores taken by other work from which a measurement is called disturbed.
DISTURBED = 0.15

Row = dict[str, Any]


def machine_line(machine: dict[str, Any]) -> str:
    """The machine in a sentence."""
    versions = ", ".join(
        f"{name} {version}" for name, version in machine["versions"].items() if version
    )
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
    return f"{where}, {machine['date']}, commit {short_commit(machine)}; {versions}."


def short_commit(machine: dict[str, Any]) -> str:
    """The commit that was measured, in few characters."""
    return (
        machine["commit"][:12] + (" with changes" if "changes" in machine["commit"] else "")
        or "unknown"
    )


def markdown_table(header: list[str], rows: list[list[str]], text_columns: int = 1) -> str:
    """A table; the first columns are text, the others numbers, which stand at the right."""
    lines = [header, ["---"] * text_columns + ["---:"] * (len(header) - text_columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def groups(record: Row) -> dict[tuple[str, int], list[Row]]:
    """Results by workload and number of threads, in their order."""
    out: dict[tuple[str, int], list[Row]] = {}
    for row in record["results"]:
        out.setdefault((row["workload"], row["threads"]), []).append(row)
    return out


def point_names(record: Row) -> dict[tuple[str, int], str]:
    """A name for people for each workload and number of threads.

    The point's factor and value, or the workload's name.
    """
    places: dict[tuple[str, int], list[str]] = {}
    for factor, points in record.get("sweeps", {}).items():
        for p in points:
            places.setdefault((p["workload"], p["threads"]), []).append(
                f"{factor} = {p['value']:,}"
            )
    names = {}
    for key in groups(record):
        matches = places.get(key)
        if matches is None:
            names[key] = f"{key[0]}, {key[1]} thread{'s' if key[1] > 1 else ''}"
        else:
            names[key] = matches[0] if len(matches) == 1 else "base point"
    return names


def ratio(row: Row, rows: list[Row], name: str) -> float | None:
    """A library's time in units of ours; None if one of them is not known."""
    ours = next((r["best"].get(name) for r in rows if r["peer"] == OURS), None)
    theirs = row["best"].get(name)
    return theirs / ours if ours and theirs else None


def number(value: float | None, form: str, factor: float = 1.0) -> str:
    """A number, or a dash if there is none."""
    return "-" if value is None else format(value * factor, form)


def times(value: float | None) -> str:
    """A ratio."""
    return "-" if value is None else f"{value:.2f}x"


def compare_introduction(record: Row) -> list[str]:
    """What a reader needs before the tables."""
    return [
        machine_line(record["machine"]),
        f"Best of {record['repeat']} repetitions. Ratios are a library's time over ours: above "
        "1 we are faster."
        + (
            f" **Rows scaled by {record['scale']}: a trial, not a result.**"
            if record["scale"] != 1.0
            else ""
        ),
        _device_line(record),
    ]


def compare_markdown(record: Row) -> str:
    """A table for each workload and number of threads."""
    parts = ["# Comparison", *compare_introduction(record)]
    names = point_names(record)
    for key, rows in groups(record).items():
        parts += [
            f"## {names[key]}",
            rows[0]["title"] + ".",
            _compare_table(rows),
            fastest_line(rows),
            disturbed_line(rows, record["machine"]["cores"]),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _device_line(record: Row) -> str:
    """Where it was run, if not on the CPU."""
    if record.get("device", "cpu") == "cpu":
        return ""
    if record["emulated"]:
        return "**On the emulated CUDA device: a test of this script. The times mean nothing.**"
    return f"On a GPU, input on the {record['input']}; predictions are waited for."


def _compare_table(rows: list[Row]) -> str:
    n_test = rows[0]["n_test"]
    header = [
        "library",
        "growth",
        "fit s",
        "= binning + training",
        "ratio",
        f"predict {n_test:,} rows, ms",
        "ratio",
    ]
    header += ["one row, µs", "ratio", "memory growth, MB", f"held-out {rows[0]['metric']}"]
    header += ["held-out accuracy"] if any("accuracy" in row["best"] for row in rows) else []
    lines = []
    for row in rows:
        best = row["best"]
        name = f"**{row['peer']}**" if row["peer"] == OURS else row["peer"]
        if not best:
            lines.append([name, row["growth"], "failed", *["-"] * (len(header) - 3)])
            continue
        parts = (
            "-" if best["binning"] is None else f"{best['binning']:.3f} + {best['training']:.3f}"
        )
        lines.append(
            [
                name,
                row["growth"],
                f"{best['fit']:.3f}",
                parts,
                times(ratio(row, rows, "fit")),
                number(best["predict"], ".1f", 1e3),
                times(ratio(row, rows, "predict")),
                number(best.get("latency"), ".0f", 1e6),
                times(ratio(row, rows, "latency")),
                number(best["rss_growth"], ".0f", 1e-6),
                f"{best['loss']:.5f}",
                number(best.get("accuracy"), ".4f"),
            ][: len(header)]
        )
    return markdown_table(header, lines, text_columns=2)


def fastest_line(rows: list[Row]) -> str:
    """The fastest other library, in units of our time."""
    parts = []
    for name, label in (("fit", "fit"), ("predict", "predict"), ("latency", "one row")):
        others = [
            (r, row["peer"])
            for row in rows
            if row["peer"] != OURS and (r := ratio(row, rows, name)) is not None
        ]
        if others:
            least, peer = min(others)
            parts.append(f"{label} {times(least)} ({peer})")
    return f"Fastest peer over ours: {', '.join(parts)}." if parts else ""


def disturbed_line(rows: list[Row], cores: int) -> str:
    """Say which fits did not have the cores they were given.

    Libraries that spin at barriers then look far slower than they are.
    """
    taken = {row["peer"]: row["best"].get("cores_taken") or 0.0 for row in rows}
    disturbed = [
        f"{peer} ({t:.1f} cores)"
        for peer, t in taken.items()
        if t > DISTURBED and rows[0]["threads"] + t > cores + DISTURBED
    ]
    return (
        f"**Disturbed**: other work took cores from the best fit of {', '.join(disturbed)}."
        if disturbed
        else ""
    )
