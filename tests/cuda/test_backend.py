"""The CUDA backend: memory, checks and waits."""

import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.kernels.emulation import control

pytestmark = pytest.mark.usefixtures("emulated")


def test_check_mode_finds_nothing():
    expected = {name: train("cpu").fingerprint() for name, train in workload.trainings().items()}
    control.findings.clear()
    for order, device in zip(control.ORDERS, workload.DEVICES, strict=True):
        with control.configure(order=order, seed=1, mode="check", **device):
            for name, train in workload.trainings().items():
                assert train("cuda").fingerprint() == expected[name]
    assert control.findings == []


def test_memory_is_checked_before_and_given_back_after():
    x, signal, _ = workload.data()
    from gpuboost.kernels.emulation import cupy_stand_in

    used = cupy_stand_in.get_default_memory_pool().used_bytes()
    model = GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda").fit(x, signal)
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used
    before = model.fingerprint()
    with (
        control.configure(memory_bytes=used + (2 << 20)),
        pytest.raises(MemoryError, match=r"training needs \d+ MiB on the device \(pool"),
    ):
        model.set_params(max_depth=10).fit(x, signal)
    assert model.fingerprint() == before
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used
