"""Times of kernels on the device."""

from contextlib import contextmanager

import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.kernels.cuda.compiler import Kernels
from gpuboost.kernels.cuda.rowwise import RowKernel
from gpuboost.kernels.cuda.timing import device_seconds, each_launch, kernel_seconds

pytestmark = pytest.mark.usefixtures("emulated")


def test_each_kernel_has_its_seconds_and_training_is_as_before():
    x, signal, _ = workload.data(n=300)
    # the launches of the second tree are recorded into a graph
    launch, model = Kernels.launch, GPUBoostRegressor(n_estimators=3, max_depth=2, device="cuda")
    expected = model.fit(x, signal).fingerprint()
    with kernel_seconds() as seconds:
        assert model.fit(x, signal).fingerprint() == expected
    assert Kernels.launch is launch
    assert "build_histograms" in seconds and min(seconds.values()) >= 0


def test_an_error_leaves_the_launches_as_they_were():
    launch = Kernels.launch
    with pytest.raises(ValueError, match="stop"), kernel_seconds():
        raise ValueError("stop")
    assert Kernels.launch is launch


def test_one_number_once_the_block_has_ended():
    with device_seconds() as seconds:
        assert seconds == []
    assert len(seconds) == 1 and seconds[0] >= 0


def test_what_goes_around_each_launch_sees_all_kernels():
    x, signal, _ = workload.data(n=300)
    launch, launch_rows, seen = Kernels.launch, RowKernel.__call__, []

    @contextmanager
    def noted(name, grid):
        seen.append((name, grid))
        yield

    with each_launch(noted):
        GPUBoostRegressor(n_estimators=1, max_depth=2, device="cuda").fit(x, signal)
    assert (Kernels.launch, RowKernel.__call__) == (launch, launch_rows)
    grids = dict(seen)
    assert grids["choose"] == (1,) and grids["row_gradients"] == (2,)
    assert len([name for name, _ in seen if name == "divide_nodes"]) == 2
