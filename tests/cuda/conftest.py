"""CUDA tests run on the emulated device; ``pytest -m gpu`` runs the same ones on a real one."""

import sys
from pathlib import Path

import pytest

from gpuboost.kernels.cuda.device import cupy, missing

sys.path.insert(0, str(Path(__file__).parent))  # for the modules that these tests share


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request, monkeypatch):
    """Where ``device="cuda"`` runs."""
    if request.param == "emulated":
        monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    else:
        monkeypatch.delenv("GPUBOOST_EMULATE_CUDA", raising=False)
        problem = missing(0)
        if problem is not None:
            pytest.skip(problem)
    return request.param


@pytest.fixture
def emulated(monkeypatch):
    """``device="cuda"`` is the emulated device."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")


@pytest.fixture
def cp(device):
    """CuPy, or what stands in for it."""
    return cupy()
