"""What a record says: who is ahead at each point, where we lose, and what could not be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuboost.benchmarks.driver import LEAST_MEMORY
from gpuboost.benchmarks.peers import OURS
from gpuboost.benchmarks.report import Row, groups, point_names

#: A time or an amount of memory differs if it does by more than this part; memory also by more than
#: ``LEAST_MEMORY``.
NOISE = 0.03
#: A loss differs if it does by more than this part, and by more standard errors of the difference
#: than this, where they are known.
LOSS_NOISE, LOSS_ERRORS = 0.001, 2.0

AHEAD, EVEN, BEHIND = "ahead", "even", "behind"


@dataclass(frozen=True)
class Measure:
    """Something that is measured of every library; less is better."""

    key: str  # in a record
    title: str
    unit: str
    factor: float  # from the record's unit to this one
    won: str  # what a library is that has less of it


MEASURES = (
    Measure("fit", "fit", "s", 1.0, "faster to fit"),
    Measure("predict", "predict", "ms", 1e3, "faster to predict"),
    Measure("latency", "one row", "µs", 1e6, "faster on one row"),
    Measure("rss_growth", "memory growth", "MB", 1e-6, "leaner"),
    Measure("loss", "held-out loss", "", 1.0, "lower held-out loss"),
)
LOSS = MEASURES[-1]


@dataclass(frozen=True)
class Duel:
    """A library against ours in one measure at one point."""

    point: str
    measure: Measure
    peer: str
    theirs: float
    ours: float
    verdict: str  # AHEAD: we are

    @property
    def ratio(self) -> float:
        """Theirs over ours."""
        return self.theirs / self.ours


def duels(record: Row) -> list[Duel]:
    """Every library against ours in everything that was measured of both."""
    names = point_names(record)
    all_duels = []
    for key, rows in groups(record).items():
        ours = next((row["best"] for row in rows if row["peer"] == OURS), {})
        for row in rows:
            for measure in MEASURES:
                a, b = row["best"].get(measure.key), ours.get(measure.key)
                if row["peer"] != OURS and a is not None and b is not None:
                    all_duels.append(
                        Duel(
                            names[key],
                            measure,
                            row["peer"],
                            a,
                            b,
                            verdict(measure, a, b, row.get("loss_gap")),
                        )
                    )
    return all_duels


def verdict(
    measure: Measure, theirs: float, ours: float, gap: dict[str, float] | None = None
) -> str:
    """Who is ahead, if that is more than noise."""
    part = theirs / ours - 1.0
    if measure is LOSS:
        sure = gap is None or abs(gap["mean"]) > LOSS_ERRORS * gap["error"]
        differs = abs(part) > LOSS_NOISE and sure
    else:
        differs = abs(part) > NOISE and (
            measure.key != "rss_growth" or abs(theirs - ours) > LEAST_MEMORY
        )
    return EVEN if not differs else AHEAD if part > 0 else BEHIND


def where_we_lose(record: Row) -> list[Duel]:
    """Every duel that we lose, by measure, the worst first."""
    lost = [duel for duel in duels(record) if duel.verdict == BEHIND]
    order = {measure: i for i, measure in enumerate(MEASURES)}
    return sorted(lost, key=lambda duel: (order[duel.measure], duel.ratio))


def closest(record: Row) -> dict[str, dict[str, Duel]]:
    """For each point and measure (by key) the library that comes closest to ours.

    Or is farthest ahead of it.
    """
    best: dict[str, dict[str, Duel]] = {}
    for duel in duels(record):
        at_point = best.setdefault(duel.point, {})
        known = at_point.get(duel.measure.key)
        if known is None or _closeness(duel) < _closeness(known):
            at_point[duel.measure.key] = duel
    return best


def _closeness(duel: Duel) -> tuple[bool, float]:
    """Those that are ahead beyond noise come first, then the smallest ratio."""
    return duel.verdict != BEHIND, duel.ratio


def failures(record: Row) -> list[tuple[str, str, str]]:
    """Point, library and reason of everything that gave no result."""
    names = point_names(record)
    return [
        (names[row["workload"], row["threads"]], row["peer"], row["runs"][-1]["error"])
        for row in record["results"]
        if not row["best"]
    ]


def measured_once(record: Row) -> list[tuple[str, str]]:
    """Point and library of everything that was far behind and therefore not repeated."""
    names = point_names(record)
    if record["repeat"] < 2 or not record.get("complete", True):
        return []
    return [
        (names[row["workload"], row["threads"]], row["peer"])
        for row in record["results"]
        if row["best"] and len(row["runs"]) == 1
    ]


def amount(value: float | None, measure: Measure) -> str:
    """A value of a record in the measure's unit, with as many digits as are worth reading.

    >>> [amount(v, MEASURES[0]) for v in (0.04231, 3.0871, 123.4, None)]
    ['0.0423', '3.09', '123', '–']
    """
    return "–" if value is None else digits(value * measure.factor, measure)


def digits(value: float, measure: Measure) -> str:
    """The same for a value that is in the measure's unit already."""
    if measure is LOSS:
        return f"{value:.4f}"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if value < 1 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def against(duel: Duel) -> str:
    """A duel in a few characters.

    How many times ours a library's time or memory is, or by how much its loss differs.
    """
    if duel.measure is LOSS:
        return f"{100 * (duel.ratio - 1):+.2f} %".replace("-", "−")
    return f"{duel.ratio:.2f}×"


def text_table(record: Row) -> str:
    """The closest library at every point, as plain text for a terminal."""
    best = closest(record)
    if not best:
        return f"Nothing to compare: no point was measured of {OURS} and of another library."
    shown = [m for m in MEASURES if any(m.key in by_measure for by_measure in best.values())]
    lines = [["", *(m.title for m in shown)]]
    for point, by_measure in best.items():
        cells = [
            f"{against(by_measure[m.key])} {by_measure[m.key].peer}" if m.key in by_measure else "-"
            for m in shown
        ]
        lines.append([point, *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(shown) + 1)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def counts(record: Row) -> list[dict[str, Any]]:
    """For each measure: at how many points no library is ahead of ours, at how many one is.

    And at how many they are even.
    """
    out = []
    best = closest(record)
    lost = {(duel.point, duel.measure.key) for duel in where_we_lose(record)}
    for measure in MEASURES:
        of_measure = {
            point: duels_[measure.key] for point, duels_ in best.items() if measure.key in duels_
        }
        if of_measure:
            behind = sum((point, measure.key) in lost for point in of_measure)
            ahead = sum(duel.verdict == AHEAD for duel in of_measure.values())
            out.append(
                {
                    "measure": measure,
                    "points": len(of_measure),
                    AHEAD: ahead,
                    BEHIND: behind,
                    EVEN: len(of_measure) - ahead - behind,
                }
            )
    return out
