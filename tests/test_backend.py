"""The choice of a device and of threads."""

import os

import numpy as np
import pytest

from gpuboost import backend as devices
from gpuboost.backend import (
    automatic_device,
    check_device,
    device_for,
    device_of,
    get_backend,
    n_threads,
    on_host,
)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CPU", None, 0])
def test_devices_that_have_no_name(device):
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got"):
        check_device(device)


def test_a_device_that_is_missing_is_an_error(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    check_device("cuda")
    with pytest.raises(RuntimeError, match="device='cuda:99' cannot be used: there is no device"):
        check_device("cuda:99")


def test_only_large_work_looks_for_a_gpu_and_never_takes_the_emulated_one(monkeypatch):
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    assert automatic_device(devices.AUTO_CELLS - 1) == "cpu"
    assert automatic_device(devices.AUTO_CELLS) == "cpu"


def test_host_arrays_are_on_no_device_and_work_where_it_was_asked_for():
    x = np.zeros((2, 2))
    assert device_of(x) is None and device_of(None) is None and device_of([1, 2]) is None
    assert device_for("cpu", x) == "cpu" and device_for("cuda", x) == "cuda"
    assert on_host(x) is x


def test_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    asked = [None, 3, -1, -2, -100, np.int64(2), 3000, 10**30]
    assert [n_threads(n_jobs) for n_jobs in asked] == [8, 3, 8, 7, 1, 2, 8, 8]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert [n_threads(None), n_threads(6)] == [5, 6]
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert n_threads(None) == 8


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "all"])
def test_numbers_of_threads_that_are_none(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
        n_threads(n_jobs)


def test_the_host_of_the_cpu_is_itself():
    with get_backend("auto", 1) as backend:
        assert backend.name == "cpu" and backend.host is backend
