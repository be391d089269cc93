"""Streams, events and graphs of the emulated device, with CuPy's names."""

import threading
import time
import weakref

from gpuboost.kernels.emulation import work as works
from gpuboost.kernels.emulation.control import counters


class _Current(threading.local):
    """What is current in a thread: the device, and streams by device."""

    def __init__(self):
        self.device, self.streams = 0, {}


current = _Current()
_by_pointer = weakref.WeakValueDictionary()


def not_while_capturing(what, queue=None):
    """Raise if a stream that records a graph, by default the current one, is asked for more."""
    queue = current_queue() if queue is None else queue
    if queue.recording is not None:
        raise RuntimeError(f"cudaErrorStreamCaptureUnsupported: {what} while a stream is capturing")


class Stream:
    """A queue of work; without arguments one that the default stream waits for."""

    null = None  # the default stream of the current device

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self._queue = None
        if ptds or priority is not None:
            raise NotImplementedError("the emulated device has no such streams")
        self.ptr, self.device_id = 0, -1
        if not null:
            kind = works.NON_BLOCKING if non_blocking else works.BLOCKING
            self._queue = works.Queue(current.device, kind)
            self.ptr, self.device_id = 4096 + 16 * self._queue.number, current.device
            _by_pointer[self.ptr] = self

    def __del__(self):
        if self._queue is not None:
            works.close(self._queue)

    def __enter__(self):
        if self.device_id not in (-1, current.device):
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) does not match with "
                f"the current device ({current.device})"
            )
        current.streams.setdefault(current.device, []).append((self, current.device))
        return self

    def __exit__(self, *exc):
        device = self.device_id if self.device_id >= 0 else current.device
        current.streams[device].pop()

    @property
    def queue(self):
        """Its work."""
        return works.default_queue(current.device) if self._queue is None else self._queue

    def synchronize(self):
        """Wait for all its work."""
        not_while_capturing("a synchronization", self.queue)
        counters.synchronizations += 1
        works.wait(works.enqueue(self.queue, "a synchronization"))

    def record(self, event=None):
        """Record an event, or a new one."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Let further work wait for an event."""
        not_while_capturing("a wait for an event", self.queue)
        event.not_captured("a wait for it")
        if event.work is not None:
            works.enqueue(self.queue, "a wait for an event", after=[event.work])

    def is_capturing(self):
        """Whether it records a graph."""
        return self.queue.recording is not None

    def begin_capture(self, mode=None):
        """Record launches from now on instead of running them."""
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        not_while_capturing("another capture", self.queue)
        self.queue.recording = []

    def end_capture(self):
        """The graph of what was launched."""
        if self.queue.recording is None:
            raise RuntimeError("cudaErrorIllegalState: the stream does not capture")
        recorded, self.queue.recording = self.queue.recording, None
        return Graph(recorded)


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    """The stream that work goes to."""
    device = current.device if device_id == -1 else device_id
    entered = current.streams.get(device)
    return entered[-1][0] if entered else Stream.null


def current_queue():
    """The queue of the current stream."""
    return get_current_stream().queue


def queue_at(pointer):
    """The queue of a stream's pointer."""
    if pointer == 0:
        return works.default_queue(current.device)
    stream = _by_pointer.get(pointer)
    if stream is None:
        raise RuntimeError("cudaErrorInvalidResourceHandle: there is no such stream")
    return stream.queue


class Event:
    """A mark in a stream."""

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.timed, self.work, self.seconds, self.captured = not disable_timing, None, None, False

    def record(self, stream=None):
        """Mark the place that a stream has come to."""
        queue = current_queue() if stream is None else stream.queue
        self.captured = queue.recording is not None
        self.seconds = seconds = []
        self.work = None
        if not self.captured:
            self.work = works.enqueue(
                queue, "an event", lambda: seconds.append(time.perf_counter())
            )

    def not_captured(self, what):
        """Raise if it is part of a graph."""
        if self.captured:
            raise RuntimeError(f"cudaErrorCapturedEvent: {what} was recorded into a graph")

    @property
    def done(self):
        """Whether the stream has come there."""
        self.not_captured("an event that is asked for")
        return self.work is None or works.query(self.work)

    def synchronize(self):
        """Wait until the stream has come there."""
        self.not_captured("an event that is waited for")
        counters.synchronizations += 1
        if self.work is not None:
            works.wait(self.work)


def get_elapsed_time(start_event, end_event):
    """Milliseconds between two events that are done."""
    for event in (start_event, end_event):
        event.not_captured("an event whose time is asked for")
        if event.work is None or not event.timed:
            raise RuntimeError("cudaErrorInvalidResourceHandle: the event has no time")
        if not event.work.done:
            raise RuntimeError("cudaErrorNotReady: the event is not done")
    return 1e3 * (end_event.seconds[0] - start_event.seconds[0])


class Graph:
    """Recorded launches: (name, action, uses) of each."""

    def __init__(self, recorded):
        self._recorded = recorded
        uses = {}
        for _, _, used in recorded:
            for use in used:
                key = use.memory, use.begin, use.end, use.owner
                if use.writes or key not in uses:
                    uses[key] = use
        self._uses = list(uses.values())

    def launch(self, stream=None):
        """Run all of them in their order, as one piece of work."""
        queue = current_queue() if stream is None else stream.queue
        not_while_capturing("a graph", queue)
        counters.graph_launches += 1
        for name, _, _ in self._recorded:
            counters.launched(name)
        actions = [action for _, action, _ in self._recorded]

        def run():
            for action in actions:
                action()

        works.enqueue(queue, "a graph", run, self._uses)


def launch(name, action, uses):
    """Launch a kernel on the current stream, or record it there."""
    queue = current_queue()
    if queue.recording is not None:
        queue.recording.append((name, action, uses))
        return
    counters.launched(name)
    works.enqueue(queue, name, action, uses)
