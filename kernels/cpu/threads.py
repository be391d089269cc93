"""A team of threads for one call of fit or predict.

The threads live as long as the call: nothing survives a fork, two callers never share a team, and no thread waits by spinning. Kernels
release the interpreter lock, so Python threads are all that is needed.
"""

import threading

import numpy as np

#: Rows below which one thread goes over them alone.
SMALL_ROWS = 1 << 15


class _Helper(threading.Thread):
    def __init__(self, number):
        super().__init__(daemon=True, name=f"gpuboost-{number}")
        self.number = number
        self.job = None
        self.error = None
        self.go = threading.Lock()  # held by whoever is not to go on
        self.done = threading.Lock()
        self.go.acquire()
        self.done.acquire()

    def run(self):
        while True:
            self.go.acquire()
            if self.job is None:
                return
            try:
                self.job(self.number)
            except BaseException as error:  # handed to the caller, who raises it
                self.error = error
            self.done.release()


class Team:
    """``n`` threads that run the same job together; the caller is the first of them."""

    def __init__(self, n):
        self.size = n
        self._helpers = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for helper in self._helpers:
            helper.job = None
            helper.go.release()
        self._helpers = []

    def run(self, job):
        """Call ``job(thread_number)`` in every thread and wait for all of them."""
        if self.size == 1:
            job(0)
            return
        if not self._helpers:
            self._helpers = [_Helper(i) for i in range(1, self.size)]
            for helper in self._helpers:
                helper.start()
        for helper in self._helpers:
            helper.job = job
            helper.go.release()
        try:
            job(0)
        finally:
            self._wait()
        for helper in self._helpers:
            if helper.error is not None:
                error, helper.error = helper.error, None
                raise error

    def run_kernel(self, n_rows, kernel, *args):
        """Run ``kernel(counter, *args)``, which shares out its tasks by a counter; alone if the rows are few."""
        counter = np.zeros(1, np.int64)
        if n_rows < SMALL_ROWS:
            kernel(counter, *args)
        else:
            self.run(lambda _: kernel(counter, *args))

    def _wait(self):
        """Wait for the helpers even if Ctrl-C arrives meanwhile: they write into the caller's arrays."""
        interrupt = None
        for helper in self._helpers:
            waiting = True
            while waiting:
                try:
                    helper.done.acquire()
                    waiting = False
                except KeyboardInterrupt as error:
                    interrupt = error
        if interrupt is not None:
            raise interrupt
