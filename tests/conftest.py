"""Fixtures shared by all tests."""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = (
    "1"  # before scikit-learn is imported: its array API check then runs instead of being skipped
)

import numpy as np
import pytest

from gpuboost.backend import get_backend


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def no_hazards():
    """Work that a test has left on the emulated device runs, and it had no hazards.

    A test that provokes them clears the list.
    """
    yield
    work = sys.modules.get("gpuboost.kernels.emulation.work")
    if work is not None:
        hazards = sys.modules["gpuboost.kernels.emulation.control"].hazards
        try:
            work.restart()
            assert hazards == []
        finally:
            hazards.clear()


@pytest.fixture
def backend():
    with get_backend("cpu", 1) as backend:
        yield backend


@pytest.fixture
def eight_cores(monkeypatch):
    """More threads than this machine may have: no fit uses more than there are cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
