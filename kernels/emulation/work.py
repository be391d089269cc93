"""Work of the emulated device: queues, what orders their work, and what nothing orders.

Each stream is a queue. Work waits in its queue until the host needs its result; then what has to
run first runs first, and among queues that could go on, the next one is drawn. Who uses which
memory is known when work is enqueued, so two uses that nothing orders are found whatever order they
happen to run in: each piece of work knows, for every other queue, up to which place that queue's
work is certainly done before it (a vector clock), and so does the host."""

import random
import threading
from collections import deque
from itertools import count
from typing import NamedTuple

from gpuboost.kernels.emulation import control
from gpuboost.kernels.emulation.control import hazards, settings

lock = threading.RLock()
DEFAULT, BLOCKING, NON_BLOCKING = "default", "blocking", "non-blocking"


class HazardError(RuntimeError):
    """Memory is used in an order that nothing guarantees."""


class Memory:
    """Bytes that work may use: where they are, and the last uses of them."""

    def __init__(self, address, n_bytes):
        self.address, self.n_bytes = address, n_bytes
        self.records = []

    def unfinished(self, begin, end):
        """Whether work that has not run yet uses some of these bytes."""
        return any(not r.work.done and r.use.overlaps(begin, end) for r in self.records)


class Use(NamedTuple):
    """Bytes that work reads or writes: addresses from ``begin`` to before ``end``."""

    memory: Memory
    begin: int
    end: int
    writes: bool
    owner: object  # a weak reference to the allocation
    label: str

    def overlaps(self, begin, end):
        """Whether it uses some of these bytes."""
        return self.begin < end and begin < self.end

    def covers(self, other):
        """Whether whatever conflicts with another use conflicts with this one, too."""
        within = self.begin <= other.begin and other.end <= self.end
        return within and (self.writes or not other.writes)


class Record(NamedTuple):
    """A use of memory by a piece of work."""

    work: "Work"
    use: Use


class Work:
    """Something that a stream does: a kernel, a copy, a graph, an event, a wait."""

    __slots__ = ("name", "queue", "position", "before", "needs", "action", "done")

    def __init__(self, name, queue, position, before, needs, action):
        self.name, self.queue, self.position = name, queue, position
        self.before = before  # {number of another queue: place up to which it is done before this}
        self.needs, self.action, self.done = needs, action, False

    def __str__(self):
        return f"{self.name} on {self.queue.name}"


class Queue:
    """The work of one stream, in order."""

    _numbers = count(1)

    def __init__(self, device, kind):
        self.number, self.device, self.kind = next(self._numbers), device, kind
        self.name = "the default stream" if kind == DEFAULT else f"stream {self.number}"
        self.pending, self.last, self.position = deque(), None, 0
        self.before, self.host_version = {}, 0
        self.recording = None  # what is captured while a graph is recorded, else None
        self.closed = False  # its stream is gone
        _queues[self.number] = self


class _Host:
    """What the host knows to be done: {number of a queue: place}; changes are counted."""

    def __init__(self):
        self.done, self.version = {}, 0


_queues = {}  # number -> queue, until its stream is gone and all its work is known to be done
_retired = set()  # numbers of those that are gone
_host = _Host()
_watched = []  # host memory that must not change until a copy is known to be done
_draw = random.Random(settings.seed)


def restart():
    """Wait for everything, and draw from the seed again."""
    with lock:
        try:
            for device in {queue.device for queue in _queues.values()}:
                wait_for_device(device)
        finally:
            _draw.seed(settings.seed)


def default_queue(device):
    """The queue of a device's default stream."""
    with lock:
        default = next((q for q in _queues.values() if q.kind == DEFAULT and q.device == device), 0)
        return default or Queue(device, DEFAULT)


def enqueue(queue, name, action=None, uses=(), after=()):
    """Put work at the end of a queue, to be run after all of ``after``; returns it.

    A hazard is an error here, and in ``control.hazards``.
    """
    with lock:
        after = [*after, *_implied(queue)]
        if after or queue.host_version != _host.version:
            before = _merged(queue.before, _host.done)
            for work in after:
                before = _merged(before, work.before, {work.queue.number: work.position})
            queue.before, queue.host_version = before, _host.version
        needs = [work for work in after if not work.done]
        work = Work(name, queue, queue.position + 1, queue.before, needs, action)
        for use in uses:
            _check(work, use)
        for use in uses:
            _keep(work, use)
        queue.position += 1
        queue.pending.append(work)
        queue.last = work
        if not (settings.late and settings.mode == "fast"):
            run_until(work)
        return work


def _implied(queue):
    """Work that comes first by the rules of the default stream.

    It and the blocking streams of its device wait for each other, others do not care.
    """
    if queue.kind == NON_BLOCKING:
        return []
    other = BLOCKING if queue.kind == DEFAULT else DEFAULT
    others = [q for q in _queues.values() if q.kind == other and q.device == queue.device]
    if queue.kind == DEFAULT and any(q.recording is not None for q in others):
        raise RuntimeError(
            "cudaErrorStreamCaptureImplicit: the default stream would wait for a blocking stream "
            "that records a graph"
        )
    return [q.last for q in others if q.last is not None and not _host_knows(q.last)]


def _merged(*clocks):
    merged = {}
    for clock in clocks:
        for number, position in clock.items():
            if position > merged.get(number, 0) and number not in _retired:
                merged[number] = position
    return merged


# --- what nothing orders


def report(text, raised=True):
    """Note a hazard, and raise it unless there is nobody to raise it to."""
    if text not in hazards:
        hazards.append(text)
    if raised:
        raise HazardError(f"emulated device: {text}")


def _host_knows(work):
    number = work.queue.number
    return number in _retired or _host.done.get(number, 0) >= work.position


def _in_order(earlier, work):
    number = earlier.queue.number
    return (
        earlier.queue is work.queue
        or number in _retired
        or work.before.get(number, 0) >= earlier.position
    )


def _check(work, use):
    """Report a use that nothing orders against an earlier one of the same bytes."""
    if use.owner is not None and use.owner() is None:
        report(f"{work} uses {use.label}, which has been freed")
    for earlier, other in use.memory.records:
        conflicts = (use.writes or other.writes) and other.overlaps(use.begin, use.end)
        if conflicts and not _in_order(earlier, work):
            report(_conflict(work, use, earlier, other))


def _keep(work, use):
    """Note a use, and forget those that say nothing more.

    Whatever comes after this use also comes after those that it covers, if they come before it.
    """
    kept = [
        record
        for record in use.memory.records
        if not (record.work.done and _host_knows(record.work))
        and not (use.covers(record.use) and _in_order(record.work, work))
    ]
    use.memory.records = [*kept, Record(work, use)]


def _conflict(work, use, earlier, other):
    again = other.owner is not use.owner and other.owner is not None
    what = f"{use.label}, memory of {other.label} given out again," if again else use.label
    return (
        f"{work} {'writes' if use.writes else 'reads'} {what} while {earlier} may still "
        f"{'write' if other.writes else 'read'} it: no event orders them"
    )


def watch(work, view, text):
    """Report if bytes of host memory change before the host knows that work is done."""
    with lock:
        _watched.append((work, view, bytes(view), text))


def may_still_use(memory):
    """Work that the host does not know to be done and that uses some memory, or None."""
    with lock:
        return next((r.work for r in memory.records if not _host_knows(r.work)), None)


# --- the host waits


def wait(work):
    """Run work and what comes before it: the host knows then that it is done."""
    with lock:
        run_until(work)
        _learn(work)


def query(work):
    """Whether work is done: the device gets on by a few steps while it is asked."""
    with lock:
        if not work.done:
            run_until(work, _draw.randrange(4))
        if work.done:
            _learn(work)
        return work.done


def wait_for_device(device):
    """Run everything on a device."""
    with lock:
        for queue in list(_queues.values()):
            if queue.device == device and queue.last is not None:
                wait(queue.last)


def run_everything():
    """Run everything on all devices; the host does not take note of it."""
    with lock:
        for queue in list(_queues.values()):
            while queue.pending:
                run_until(queue.pending[-1])


def _learn(work):
    known = _merged(_host.done, work.before, {work.queue.number: work.position})
    if known == _host.done:
        return
    _host.done = known
    _host.version += 1
    for queue in list(_queues.values()):
        if queue.closed and (queue.last is None or (queue.last.done and _host_knows(queue.last))):
            _retire(queue)
    seen = [entry for entry in _watched if _host_knows(entry[0])]
    _watched[:] = [entry for entry in _watched if not _host_knows(entry[0])]
    for _, view, snapshot, text in seen:
        if bytes(view) != snapshot:
            report(text)


def close(queue):
    """The stream of a queue is gone; its work is not."""
    queue.closed = True
    if queue.last is None:
        _retire(queue)


def _retire(queue):
    _queues.pop(queue.number, None)
    _retired.add(queue.number)
    _host.done.pop(queue.number, None)


# --- work runs


def run_until(target, steps=None):
    """Run what must run for ``target`` to be done, and nothing else; at most so many steps."""
    limits, asked = {}, [target]
    while asked:
        work = asked.pop()
        first = limits.get(work.queue, 0)
        if work.done or first >= work.position:
            continue
        limits[work.queue] = work.position
        for earlier in work.queue.pending:
            if earlier.position > work.position:
                break
            if earlier.position > first:
                asked += earlier.needs
    while limits and steps != 0:
        ready = [q for q in limits if all(need.done for need in q.pending[0].needs)]
        queue = ready[0] if len(ready) == 1 else _draw.choice(ready)
        _run_next(queue)
        if not queue.pending or queue.pending[0].position > limits[queue]:
            del limits[queue]
        steps = None if steps is None else steps - 1


def _run_next(queue):
    work = queue.pending.popleft()
    action, work.action, work.needs, work.done = work.action, None, (), True
    if action is not None:
        action()


control.before_change.append(run_everything)
