"""What a check says, and how large the data are that checks work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
STATES = (PASSED, FAILED, NOT_RUN)

#: Parts of a full run in their order, and what each shows.
PARTS = {
    "installation": "Packages, devices and compilers, as gpuboost doctor checks them.",
    "operations": "Single steps of training and prediction on GPU and CPU: the same bits.",
    "trainings": "Small models of all estimators and options: the same fingerprint on both.",
    "rates": "How long each kernel takes for one tree, beside what the hardware would allow.",
    "comparison": "The same training with XGBoost on the same GPU.",
    "tests": "The project's own tests for GPUs (pytest -m gpu).",
}


@dataclass(frozen=True)
class Sizes:
    """Rows of the data."""

    small: int  # of most trainings
    large: int  # of trainings and operations that shall fill the device
    rates: int  # of the tree whose kernels are timed


#: On a GPU; on the emulated device, which is thousands of times slower.
ON_GPU = Sizes(small=2_600, large=200_000, rates=2_000_000)
EMULATED = Sizes(small=800, large=4_500, rates=16_384)


@dataclass(frozen=True)
class Check:
    """One line of the result."""

    part: str
    name: str
    state: str
    detail: str
    seconds: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)


def outcome(part: str, name: str, difference: str, detail: str) -> Check:
    """A check that has passed unless there is a difference to tell of."""
    return Check(part, name, FAILED if difference else PASSED, difference or detail)


def left_out(part: str, name: str, why: str) -> Check:
    """A check that was not run."""
    return Check(part, name, NOT_RUN, why)


def count_states(checks: list[dict[str, Any]], part: str = "") -> dict[str, int]:
    """How many checks of a record are in each state: those of a part, or all."""
    return {
        state: sum(c["state"] == state and part in ("", c["part"]) for c in checks)
        for state in STATES
    }


def left_out_by_reason(checks: list[dict[str, Any]]) -> dict[str, list[str]]:
    """{why: checks of a record that were not run}."""
    reasons: dict[str, list[str]] = {}
    for check in checks:
        if check["state"] == NOT_RUN:
            reasons.setdefault(check["detail"], []).append(f"{check['part']}, {check['name']}")
    return reasons
