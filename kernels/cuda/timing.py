"""How long kernels take on the device, for reports.

Events around launches, so the host's part is not counted.
"""

from contextlib import contextmanager

from gpuboost.kernels.cuda.compiler import Kernels
from gpuboost.kernels.cuda.device import cupy


@contextmanager
def device_seconds():
    """A list that gets one entry when the block ends.

    The entry is the time the device took for what was launched in the block.
    """
    seconds, begin, end = [], cupy().cuda.Event(), cupy().cuda.Event()
    begin.record()
    yield seconds
    end.record()
    end.synchronize()
    seconds.append(cupy().cuda.get_elapsed_time(begin, end) / 1e3)


@contextmanager
def kernel_seconds():
    """{kernel: seconds of all its launches in the block}, for the CUDA C++ kernels.

    Each is waited for: not for use in training.
    """
    seconds, launch = {}, Kernels.launch

    def timed(self, file, name, *args):
        with device_seconds() as launch_seconds:
            launch(self, file, name, *args)
        seconds[name] = seconds.get(name, 0.0) + launch_seconds[0]

    Kernels.launch = timed
    try:
        yield seconds
    finally:
        Kernels.launch = launch
