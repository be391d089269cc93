"""A team of threads for one call of fit or predict.

The threads live as long as the call: nothing survives a fork, two callers never share a team, and
no thread waits by spinning. Kernels release the interpreter lock, so Python threads are all that is
needed."""

import threading
from queue import SimpleQueue

import numpy as np

#: Rows below which one thread goes over them alone.
SMALL_ROWS = 1 << 15


class _Helper(threading.Thread):
    def __init__(self, number):
        super().__init__(daemon=True, name=f"gpuboost-{number}")
        self.number = number
        self.job = None
        self.error = None
        self.busy = False
        self.go = threading.Lock()  # held while there is nothing to do
        self.done = SimpleQueue()  # wakes the caller, who then looks at busy
        self.go.acquire()

    def run(self):
        while True:
            self.go.acquire()
            if self.job is None:
                return
            try:
                self.job(self.number)
            except BaseException as error:  # handed to the caller, who raises it
                self.error = error
            self.busy = False
            self.done.put(None)


class GivenUp(Exception):
    """Work that nobody waits for any more has ended: another thread of the team has failed."""


class Team:
    """``n`` threads that run the same job together; the caller is the first of them."""

    def __init__(self, n):
        self.size = n
        self._helpers = []
        self._given_up = False

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
        interrupt = None
        self._given_up = False
        try:
            for helper in self._helpers:
                helper.job, helper.busy, helper.error = job, True, None
                helper.go.release()
        except KeyboardInterrupt as error:
            # some have begun, and may wait for the caller's part: it is done first, unless it looks
            interrupt, self._given_up = error, True
        try:
            job(0)
        except BaseException as error:
            self._given_up = True
            if interrupt is None or not isinstance(error, GivenUp):
                raise
        finally:
            self._wait()
        if interrupt is not None:
            raise interrupt
        for helper in self._helpers:
            if helper.error is not None:
                error, helper.error = helper.error, None
                raise error

    def check(self):
        """Raise if the caller has failed, or was interrupted: for jobs that take long."""
        if self._given_up:
            raise GivenUp

    def run_kernel(self, n_rows, kernel, *args):
        """Run ``kernel(counter, *args)``, which shares out its tasks by a counter.

        Alone if the rows are few.
        """
        counter = np.zeros(1, np.int64)
        if n_rows < SMALL_ROWS:
            kernel(counter, *args)
        else:
            self.run(lambda _: kernel(counter, *args))

    def _wait(self):
        """Wait for the helpers even if Ctrl-C arrives meanwhile.

        They write into the caller's arrays.
        """
        interrupt, waiting = None, True
        while waiting:
            try:
                for helper in self._helpers:
                    # Ctrl-C may come between a wake-up and the next line: what counts is whether
                    # the helper is busy, not the wake-ups
                    while helper.busy or not helper.done.empty():
                        helper.done.get()
                waiting = False
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
