"""Checks in processes of their own: one that hangs or breaks the device does not end the others.

    python -m gpuboost.doctor.worker ORDER

ORDER is JSON; every check is one line of JSON on standard output, and so is the beginning and the
end of each item of the order. After an error that the device does not recover from the process
ends, and ``run_items`` starts another one for the items that are left.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, TextIO

from gpuboost.doctor.checks import FAILED, PASSED, Check, Sizes, left_out

#: Seconds after which an item counts as hanging. The first ones compile kernels.
ITEM_SECONDS = 240.0
MODULE = (sys.executable, "-m", "gpuboost.doctor.worker")


@dataclass(frozen=True)
class Item:
    """Something to check: a part of the run, and a name in it."""

    part: str
    name: str


# --- the process


def main(order: dict[str, Any], out: TextIO) -> None:
    """Run the items, until all are done or the device no longer answers."""
    sizes = Sizes(**order["sizes"])

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=out, flush=True)

    for part, name in order["items"]:
        item, start, broken = Item(part, name), time.perf_counter(), False
        say({"begin": [part, name]})
        try:
            for check in checks_of(item, sizes, order["more"]):
                now = time.perf_counter()
                say({"check": asdict(check) | {"seconds": now - start}})
                start = now
        # whatever the driver, a compiler or a kernel says is the finding
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            seconds, broken = time.perf_counter() - start, not device_answers()
            say({"check": asdict(Check(part, name, FAILED, text, seconds))})
        say({"end": [part, name]})
        if broken:
            return


def checks_of(item: Item, sizes: Sizes, more: dict[str, Any]) -> Iterator[Check]:
    """Run an item; ``more`` is what the estimate needs."""
    from gpuboost.doctor import installation, operations, rates, trainings

    if item.part == "installation":
        for finding in installation.check_all():
            state = PASSED if finding.good else FAILED
            yield Check(item.part, finding.name, state, finding.detail)
    elif item.part == "operations":
        yield operations.run_operation(item.name, sizes)
    elif item.part == "trainings":
        yield trainings.run_training(item.name, sizes)
    elif item.name == "kernels of a tree":
        yield rates.run_rates(sizes)
    else:
        yield rates.run_estimate(sizes.rates, more["device"])


def device_answers() -> bool:
    """Whether the device still works; after an illegal access nothing in the process does."""
    cupy = import_module("gpuboost.kernels.cuda.device").cupy()
    try:
        cupy.cuda.Device(0).synchronize()
    except RuntimeError:  # CuPy's errors are RuntimeErrors
        return False
    return True


# --- the side that starts it


def run_items(
    items: Sequence[Item],
    sizes: Sizes,
    deadline: float,
    *,
    more: dict[str, Any] | None = None,
    command: Sequence[str] = MODULE,
    environment: dict[str, str] | None = None,
    item_seconds: float = ITEM_SECONDS,
) -> Iterator[Check]:
    """Run items in as many processes as it takes; comes back after every check.

    What does not fit before the deadline (of ``time.monotonic``) is left out.
    """
    waiting = list(items)
    while waiting:
        if time.monotonic() >= deadline:
            yield from (left_out(i.part, i.name, "the time was up") for i in waiting)
            return
        order = {
            "items": [(i.part, i.name) for i in waiting],
            "sizes": asdict(sizes),
            "more": more or {},
        }
        worker = _Worker([*command, json.dumps(order)], environment)
        try:
            yield from worker.checks(waiting, deadline, item_seconds)
        finally:
            worker.stop()


class _Worker:
    """A process and the lines that it writes."""

    def __init__(self, command: Sequence[str], environment: dict[str, str] | None) -> None:
        # closed by stop
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=os.environ | (environment or {}),
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def checks(self, waiting: list[Item], deadline: float, item_seconds: float) -> Iterator[Check]:
        """Checks as they come; items that are done are taken out of ``waiting``."""
        begun = False  # whether the first of those waiting has begun
        end = time.monotonic() + item_seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, min(end, deadline) - time.monotonic()))
            except queue.Empty:
                first = waiting.pop(0)
                if time.monotonic() >= deadline:
                    yield left_out(first.part, first.name, "the time was up while it ran")
                else:
                    text = f"no result after {item_seconds:.0f} s; its process was ended"
                    yield Check(first.part, first.name, FAILED, text, item_seconds)
                return
            if line is None:
                yield from self._ended(waiting, begun)
                return
            message = json.loads(line)
            end = time.monotonic() + item_seconds
            if "check" in message:
                yield Check(**message["check"])
            else:
                begun = "begin" in message
                if not begun:
                    waiting.pop(0)

    def _ended(self, waiting: list[Item], begun: bool) -> Iterator[Check]:
        """The process has ended: what is to be said of the items that it was to run.

        One that it died of has failed. If it could not even begin, the next process could not
        either.
        """
        code = self.process.wait()
        if code == 0 and not begun:
            return
        self.errors.seek(0)
        last = (self.errors.read().strip().splitlines() or ["it said nothing"])[-1]
        text = f"the process ended with exit code {code}: {last}"
        failed = [waiting.pop(0)] if begun else [waiting.pop(0) for _ in list(waiting)]
        yield from (Check(item.part, item.name, FAILED, text) for item in failed)

    def stop(self) -> None:
        """End the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is not an answer
    main(json.loads(sys.argv[1]), answers)
