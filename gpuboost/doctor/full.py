"""``gpuboost doctor --full``: everything that a GPU does, checked within a given time."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from gpuboost.benchmarks.driver import Comparison, Plan, import_path, jobs_of, problem_of
from gpuboost.benchmarks.peers import OURS
from gpuboost.benchmarks.report import ratio
from gpuboost.benchmarks.timing import cores, machine_record, with_ending, write_json
from gpuboost.benchmarks.worker import Where
from gpuboost.benchmarks.workloads import WORKLOADS
from gpuboost.doctor import page, suite, worker
from gpuboost.doctor.checks import (
    EMULATED,
    FAILED,
    ON_GPU,
    PASSED,
    Check,
    Sizes,
    count_states,
    left_out,
)
from gpuboost.doctor.operations import OPERATIONS
from gpuboost.doctor.trainings import TRAININGS
from gpuboost.doctor.worker import Item

PEER = "xgboost"
#: What is compared with XGBoost, and seconds at most for one training of one library.
COMPARED, COMPARED_SECONDS = ("higgs-depth", "higgs-leaves"), 120.0
KERNELS, ESTIMATE = "kernels of a tree", "what the hardware would allow"
INSTALLATION = Item("installation", "gpuboost doctor")
COMMAND = "gpuboost doctor --full"


def everything() -> list[Item]:
    """All that is checked, in its order."""
    return [
        INSTALLATION,
        *(Item("operations", name) for name in OPERATIONS),
        *(Item("trainings", name) for name in TRAININGS),
        Item("rates", KERNELS),
        Item("rates", ESTIMATE),
        *(Item("comparison", name) for name in COMPARED),
        Item(suite.PART, suite.NAME),
    ]


@dataclass(frozen=True)
class Order:
    """What to check, how large, how long, and where the result goes."""

    out: Path  # name of both files, without their endings
    budget: float = 600.0  # seconds
    sizes: Sizes | None = None  # None: as the device is
    items: list[Item] = field(default_factory=lambda: everything())


class FullRun:
    """The checks of an order; ``record`` is what is known so far, and a file has it all along."""

    def __init__(self, order: Order) -> None:
        emulated = import_module("gpuboost.kernels.cuda.device").emulated()
        self.order, self.emulated = order, emulated
        self.sizes = order.sizes or (EMULATED if emulated else ON_GPU)
        self.began = time.monotonic()
        self.deadline = self.began + order.budget
        self.results, self.page = (with_ending(order.out, end) for end in (".json", ".html"))
        self.record: dict[str, Any] = {
            "command": COMMAND,
            "machine": machine_record(),
            "emulated": emulated,
            "budget": order.budget,
            "sizes": asdict(self.sizes),
            "seconds": 0.0,
            "complete": False,
            "checks": [],
            "comparison": None,
        }

    def run(self) -> Iterator[Check]:
        """Check; comes back after each result, when the record has it."""
        for check in self._checks():
            self._note(check)
            yield check
        self.record["complete"] = True
        self._write()

    def finish(self) -> None:
        """Write what is known, and what was planned and is not known; and the page."""
        known = {(check["part"], check["name"]) for check in self.record["checks"]}
        known |= {(INSTALLATION.part, INSTALLATION.name)} if known else set()  # it has many names
        for item in self.order.items:
            if (item.part, item.name) not in known:
                self._note(left_out(item.part, item.name, "the run was interrupted before"))
        self._write()
        page.write_page(self.record, self.page)

    @property
    def good(self) -> bool:
        """Whether nothing has failed."""
        return count_states(self.record["checks"])[FAILED] == 0

    @property
    def n_done(self) -> int:
        """How many items have a result; the installation and pytest have many, and count once."""
        many = (INSTALLATION.part, suite.PART)
        checks = self.record["checks"]
        return len({(c["part"], "" if c["part"] in many else c["name"]) for c in checks})

    def _note(self, check: Check) -> None:
        self.record["checks"].append(asdict(check) | {"detail": without_home(check.detail)})
        self._write()

    def _write(self) -> None:
        self.record["seconds"] = time.monotonic() - self.began
        write_json(self.results, self.record)

    # --- the parts

    def _checks(self) -> Iterator[Check]:
        items, last = self.order.items, Item("rates", ESTIMATE)
        on_device = ("installation", "operations", "trainings", "rates")
        yield from self._run_items([i for i in items if i.part in on_device and i != last])
        if last in items:
            yield from self._estimate()
        if names := [i.name for i in items if i.part == "comparison"]:
            yield from self._compare(names)
        if any(i.part == suite.PART for i in items):
            yield from self._test()

    def _test(self) -> Iterator[Check]:
        why = suite.reason_not_to(self.emulated)
        if why is None and time.monotonic() >= self.deadline:
            why = "the time was up"
        if why is not None:
            yield left_out(suite.PART, suite.NAME, why)
        else:
            yield from suite.run_tests(self.deadline)

    def _run_items(self, items: Iterable[Item], **options: Any) -> Iterator[Check]:
        environment = import_path() | options.pop("environment", {})
        yield from worker.run_items(
            list(items), self.sizes, self.deadline, environment=environment, **options
        )

    def _estimate(self) -> Iterator[Check]:
        """What the model says of this device, from counts of the emulated one."""
        devices = (c["figures"].get("device") for c in self.record["checks"])
        facts = next(filter(None, devices), None)
        if facts is None:
            yield left_out("rates", ESTIMATE, "the kernels were not timed")
        elif shutil.which("g++") is None:
            why = "work is counted on the emulated device, which needs g++"
            yield left_out("rates", ESTIMATE, why)
        else:
            yield from self._run_items(
                [Item("rates", ESTIMATE)],
                more={"device": facts},
                environment={"GPUBOOST_EMULATE_CUDA": "1"},
            )

    def _compare(self, names: list[str]) -> Iterator[Check]:
        """XGBoost's fit and ours on the same rows."""
        where = Where("cuda", "host")
        why = problem_of(PEER, where)
        if why is not None:
            yield from (left_out("comparison", name, f"XGBoost: {why}") for name in names)
            return
        jobs = jobs_of([WORKLOADS[name] for name in names], [cores()], [OURS, PEER])
        with tempfile.TemporaryDirectory(prefix="gpuboost-doctor-") as folder:
            plan = Plan(jobs, 1, 1.0, where, COMPARED_SECONDS, COMMAND)
            comparison = Comparison(plan, Path(folder, "comparison.json"))
            self.record["comparison"] = comparison.record
            steps = comparison.run()
            for done, name in enumerate(names):
                if time.monotonic() >= self.deadline:
                    yield from (
                        left_out("comparison", rest, "the time was up") for rest in names[done:]
                    )
                    return
                for _ in (OURS, PEER):
                    next(steps)
                yield compared(comparison.record, name)


def compared(record: dict[str, Any], workload: str) -> Check:
    """What a comparison says of one workload; it has failed if we have."""
    rows = [row for row in record["results"] if row["workload"] == workload]
    problems = {row["peer"]: row["runs"][0]["error"] for row in rows if not row["best"]}
    if OURS in problems:
        return Check("comparison", workload, FAILED, f"gpuboost: {problems[OURS]}")
    if problems:
        return left_out("comparison", workload, f"XGBoost: {problems[PEER]}")
    ours, theirs = (row["best"]["fit"] for row in rows)
    times = ratio(rows[1], rows, "fit")
    return Check(
        "comparison",
        workload,
        PASSED,
        f"{rows[0]['title']}: gpuboost {ours:.2f} s, XGBoost {theirs:.2f} s ({times:.2f} times as "
        "long)",
    )


def without_home(text: str) -> str:
    """A text that can be sent to others: the home folder has somebody's name."""
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text
