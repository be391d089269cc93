"""Compiled kernels of every family give the models of the CPU, on each architecture.

``tests/emulation/ptx/run_all.py`` runs all cases for all architectures in all orders.
"""

import functools

import ptx_cases
import ptx_mutants
import pytest
from ptx_cases import CASES, ORDERS, TARGETS

LABELS = [" ".join(target) for target in TARGETS]


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


@functools.cache
def outcome(name, target):
    """Whether a case agrees; each case meets each order on one of the targets."""
    i = list(CASES).index(name) + TARGETS.index(target)
    return ptx_cases.agrees(name, target, ORDERS[i % len(ORDERS)], seed=i)


@pytest.mark.parametrize("target", TARGETS, ids=LABELS)
@pytest.mark.parametrize("name", CASES)
def test_same_bits_as_on_the_cpu(name, target):
    assert outcome(name, target)


@pytest.mark.parametrize("target", TARGETS, ids=LABELS)
def test_every_kernel_is_executed(target):
    assert all(outcome(name, target) for name in CASES)
    assert ptx_cases.kernels() - ptx_cases.executed(target) == set()


def test_kernels_are_found_by_their_names():
    found = ptx_cases.kernels()
    assert {"build_histograms", "scan_pairs", "bins_of_values", "logistic"} <= found
    assert len(found) > 30


def test_most_basic_blocks_are_executed(record_property):
    assert all(outcome(name, target) for name in CASES for target in TARGETS)
    covered = ptx_cases.coverage()
    record_property("basic blocks executed", ptx_cases.share(covered))
    assert ptx_cases.share(covered) >= 0.84, covered


@pytest.mark.parametrize(("file", "kernel"), [("histogram", "build_histograms")])
def test_a_barrier_that_is_missing_is_noticed(file, kernel):
    """``tests/emulation/ptx/mutation.py`` takes out those of all kernels."""
    n_barriers = ptx_mutants.count_barriers(file, TARGETS[0])[kernel]
    tries = ptx_mutants.TRIES[:3]
    assert ptx_mutants.noticed(file, kernel, 0, TARGETS[0], tries[:1]) is None
    assert n_barriers >= 3
    for number in range(1, n_barriers + 1):
        assert ptx_mutants.noticed(file, kernel, number, TARGETS[0], tries) is not None
