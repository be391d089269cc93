"""How long kernels take on the device, for reports.

Events around launches, so the host's part is not counted.
"""

from contextlib import contextmanager

from gpuboost.kernels.cuda.compiler import Kernels
from gpuboost.kernels.cuda.device import cupy
from gpuboost.kernels.cuda.rowwise import THREADS, RowKernel


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
def each_launch(around):
    """``around(name, grid)`` is a context manager: it is entered around each launch in the block.

    For kernels that are launched one by one, not for those of a graph that is replayed.
    """
    launch, launch_rows = Kernels.launch, RowKernel.__call__

    def watched(self, file, name, grid, *args):
        with around(name, grid):
            launch(self, file, name, grid, *args)

    def watched_rows(self, n, *args):
        with around(self.name, (-(-n // THREADS),)):
            launch_rows(self, n, *args)

    Kernels.launch, RowKernel.__call__ = watched, watched_rows
    try:
        yield
    finally:
        Kernels.launch, RowKernel.__call__ = launch, launch_rows


@contextmanager
def kernel_seconds():
    """{kernel: seconds of all its launches in the block}.

    Each launch is waited for: not for use in training. Those that are recorded into a graph are not
    timed: nothing can be waited for then.
    """
    seconds = {}

    @contextmanager
    def timed(name, grid):
        if cupy().cuda.get_current_stream().is_capturing():
            yield
            return
        with device_seconds() as launch_seconds:
            yield
        seconds[name] = seconds.get(name, 0.0) + launch_seconds[0]

    with each_launch(timed):
        yield seconds
