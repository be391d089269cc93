"""Results as people read them: Markdown tables and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuboost.benchmarks.peers import OURS

#: Okabe-Ito colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

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
        found = places.get(key)
        if found is None:
            names[key] = f"{key[0]}, {key[1]} thread{'s' if key[1] > 1 else ''}"
        else:
            names[key] = found[0] if len(found) == 1 else "base point"
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
            ]
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


# --- plot


def plot_ratios(record: Row, path: Path) -> None:
    """Bars of every library's time over ours.

    A row of panels for each workload, fit, predict and single rows side by side.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    by_group = groups(record)
    workloads = list(dict.fromkeys(name for name, _ in by_group))
    threads = sorted({t for _, t in by_group})
    columns = [("fit", "fit"), ("predict", "predict, many rows"), ("latency", "predict, one row")]
    shown = {w: _others(by_group, w) for w in workloads}
    shown = {w: names for w, names in shown.items() if names}
    if not shown:
        return
    heights = [len(names) * len(threads) + 1.5 for names in shown.values()]
    figure, axes = plt.subplots(
        len(shown),
        len(columns),
        figsize=(12, 0.25 * sum(heights) + 1.6),
        squeeze=False,
        height_ratios=heights,
        sharex="col",
        layout="constrained",
    )
    for line, (workload, names) in zip(axes, shown.items(), strict=True):
        for axis, (key, label) in zip(line, columns, strict=True):
            _bars(axis, by_group, workload, names, threads, key)
            axis.set_title(f"{workload}: {label}", fontsize=9, loc="left")
    for axis in axes[-1]:
        axis.set_xlabel("time / gpuboost's time (log scale)", fontsize=9)
    if len(threads) > 1:
        handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[i]) for i in range(len(threads))]
        figure.legend(
            handles,
            [f"{t} thread{'s' if t > 1 else ''}" for t in threads],
            loc="outside lower center",
            ncols=len(threads),
            frameon=False,
        )
    machine = record["machine"]
    trial = f"; rows scaled by {record['scale']}: a trial" if record["scale"] != 1.0 else ""
    figure.suptitle(
        f"Right of the line: gpuboost is faster  ({machine['cpu']}, {machine['cores']} cores, "
        f"{machine['date']}{trial})",
        fontsize=11,
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _others(by_group: dict[tuple[str, int], list[Row]], workload: str) -> list[str]:
    """Libraries that have a ratio in this workload."""
    return list(
        dict.fromkeys(
            row["peer"]
            for (name, _), rows in by_group.items()
            if name == workload
            for row in rows
            if row["peer"] != OURS and ratio(row, rows, "fit") is not None
        )
    )


def _bars(
    axis: Any,
    by_group: dict[tuple[str, int], list[Row]],
    workload: str,
    names: list[str],
    threads: list[int],
    key: str,
) -> None:
    """One panel: a bar from 1 to the ratio for each library and number of threads."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    thick = 0.8 / len(threads)
    for i, t in enumerate(threads):
        rows = by_group.get((workload, t), [])
        found = {row["peer"]: ratio(row, rows, key) for row in rows}
        for at, name in enumerate(names):
            value = found.get(name)
            y = at + (i - (len(threads) - 1) / 2) * thick
            if value is not None:
                axis.barh(
                    y, value - 1, left=1, height=0.92 * thick, color=COLOURS[i % len(COLOURS)]
                )
                axis.annotate(
                    f"{value:.2f}",
                    (max(value, 1), y),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                )
    axis.axvline(1, color="black", linewidth=1)
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names if key == "fit" else [""] * len(names), fontsize=9)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.margins(x=0.12)
    # the line at 1 stays inside, and a panel of ratios near 1 is not blown up
    axis.update_datalim([(0.9, 0), (2.0, 0)])
    axis.autoscale_view()
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.minorticks_off()
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    if not axis.patches:
        axis.text(
            0.5,
            0.5,
            "not measured",
            transform=axis.transAxes,
            ha="center",
            va="center",
            fontsize=8,
            color="0.5",
        )
