"""Memory of the emulated device and pinned memory of the host, from pools like CuPy's.

Memory that is freed goes back to the pool of the stream that it was allocated on, and the next
allocation on that stream may get it at once, whatever work still uses it."""

import ctypes
import weakref
from collections import defaultdict, deque

import numpy as np

from gpuboost.kernels.emulation import work as works
from gpuboost.kernels.emulation.control import settings

UNIT = 512  # sizes are multiples of it, as CuPy's are
_GUARD = 256  # bytes before and after each block that nobody may write
_GUARD_BYTE, _FRESH_BYTE = 0xCB, 0xA5


class OutOfMemoryError(MemoryError):
    """The device has no room."""


class Segment(works.Memory):
    """What the driver has given: a piece of memory that is cut into blocks."""

    def __init__(self, device, n_bytes):
        self.device = device
        self._raw = np.empty(n_bytes + UNIT, np.uint8)
        first = -self._raw.ctypes.data % UNIT
        self.bytes = self._raw[first : first + n_bytes]
        super().__init__(self._raw.ctypes.data + first, n_bytes)


class _Block:
    """A stretch of a segment: a guard, room for an allocation, a guard."""

    def __init__(self, segment, begin, end, queue_number, before=None, after=None):
        self.segment, self.begin, self.end, self.queue_number = segment, begin, end, queue_number
        self.before, self.after, self.free = before, after, False

    @property
    def size(self):
        return self.end - self.begin - 2 * _GUARD


class Allocation:
    """Device memory in use; it goes back to its pool when nobody has it any more."""

    def __init__(self, pool, block, n_bytes):
        self._pool, self._block, self.n_bytes = pool, block, n_bytes
        self.device = pool.device
        self.label = "global memory"  # what findings and counts call it
        self.ref = weakref.ref(self)
        if block is None:  # nothing was asked for
            self.address, self.bytes, self._guards = 0, np.empty(0, np.uint8), []
            return
        first = block.begin + _GUARD
        self.address, self.segment = block.segment.address + first, block.segment
        self.bytes = block.segment.bytes[first : first + n_bytes]
        # what still runs there may write what is not its memory any more
        begin = block.segment.address + block.begin
        end = block.segment.address + block.end
        self._guards = []
        if not block.segment.unfinished(begin, end):
            block.segment.bytes[block.begin : block.end] = _GUARD_BYTE
            self.bytes[:] = _FRESH_BYTE
            sides = slice(block.begin, first), slice(first + n_bytes, block.end)
            guards = [block.segment.bytes[side] for side in sides]
            self._guards = [(guard, guard.tobytes()) for guard in guards]
        _allocations[self.address] = self

    def __del__(self):
        if self._block is not None:
            self._pool.returned.append(self._block)  # whenever this happens, the pool sees it later

    def intact(self):
        """Whether nobody has written into the guards."""
        return all(guard.tobytes() == expected for guard, expected in self._guards)

    def use(self, begin, end, writes):
        """A use of some of its addresses by work."""
        return works.Use(self.segment, begin, end, writes, self.ref, self.label)


_allocations = weakref.WeakValueDictionary()  # address -> Allocation


def allocations():
    """All allocations in use."""
    return list(_allocations.values())


def allocation_at(pointer):
    """The allocation that a pointer points into.

    As with CuPy, an error if it is on no device.
    """
    for allocation in allocations():
        if allocation.address <= pointer < allocation.address + allocation.n_bytes:
            return allocation
    raise RuntimeError("cudaErrorInvalidValue: no device has such a pointer")


class Pool:
    """Device memory that is kept when it is freed, by the stream it was allocated on."""

    def __init__(self, device):
        self.device, self.returned = device, deque()
        self._segments, self._free = [], defaultdict(list)

    def allocate(self, n_bytes, queue):
        """Memory for work of a queue: the smallest free block that is large enough, or new."""
        if n_bytes == 0:
            return Allocation(self, None, 0)
        with works.lock:
            self._take_back()
            size = -(-n_bytes // UNIT) * UNIT
            fitting = [b for b in self._free[queue.number] if b.size >= size]
            block = min(fitting, key=lambda b: b.size) if fitting else self._new(size, queue.number)
            if fitting:
                self._free[queue.number].remove(block)
                block.free = False
            self._cut(block, size)
            return Allocation(self, block, n_bytes)

    def _new(self, size, queue_number):
        if size > self.mem_info()[0]:
            self.free_all_blocks()
        free, total = self.mem_info()
        if size > free:
            raise OutOfMemoryError(
                f"Out of memory allocating {size:,} bytes (allocated so far: "
                f"{total - free:,} bytes)."
            )
        segment = Segment(self.device, size + 2 * _GUARD)
        self._segments.append(segment)
        return _Block(segment, 0, segment.n_bytes, queue_number)

    def _cut(self, block, size):
        """Make a free block of what is not needed."""
        end = block.begin + size + 2 * _GUARD
        if block.end - end < UNIT + 2 * _GUARD:
            return
        rest = _Block(block.segment, end, block.end, block.queue_number, block, block.after)
        if rest.after is not None:
            rest.after.before = rest
        block.end, block.after = end, rest
        self._put(rest)

    def _put(self, block):
        block.free = True
        self._free[block.queue_number].append(block)

    def _take_back(self):
        while self.returned:
            block = self.returned.popleft()
            for other in (block.before, block.after):
                if other is not None and other.free:
                    self._free[block.queue_number].remove(other)
                    block.begin = min(block.begin, other.begin)
                    block.end = max(block.end, other.end)
            for name, opposite in (("before", "after"), ("after", "before")):
                other = getattr(block, name)
                if other is not None and other.free:
                    setattr(block, name, getattr(other, name))
                    if getattr(block, name) is not None:
                        setattr(getattr(block, name), opposite, block)
            self._put(block)

    def mem_info(self):
        """Free and all memory of the device, as its driver sees it."""
        taken = sum(segment.n_bytes - 2 * _GUARD for segment in self._segments)
        return max(0, settings.memory_bytes - taken), settings.memory_bytes

    # --- as CuPy calls it

    def free_all_blocks(self, stream=None):
        """Give memory back to the driver, which waits for the device before it takes any."""
        with works.lock:
            self._take_back()
            whole = [
                block
                for blocks in self._free.values()
                for block in blocks
                if block.before is None and block.after is None
            ]
            if whole:
                works.wait_for_device(self.device)
            for block in whole:
                self._free[block.queue_number].remove(block)
                self._segments.remove(block.segment)

    def free_bytes(self):
        """Bytes that it holds and nobody uses."""
        with works.lock:
            self._take_back()
            return sum(block.size for blocks in self._free.values() for block in blocks)

    def used_bytes(self):
        """Bytes in use, whole blocks."""
        return self.total_bytes() - self.free_bytes()

    def total_bytes(self):
        """Bytes that it has from the driver."""
        return sum(segment.n_bytes - 2 * _GUARD for segment in self._segments)


_pools = {}


def pool(device):
    """The pool of a device."""
    return _pools.setdefault(device, Pool(device))


# --- pinned memory

_pinned, _free_pinned = weakref.WeakValueDictionary(), defaultdict(list)


class PinnedMemoryPointer:
    """What pinned memory does, whatever its size: a ctypes array has its size in its type."""

    @property
    def ptr(self):
        """Its address."""
        return self.memory.address

    def size(self):
        """Bytes that it has."""
        return len(self)

    def __del__(self):
        user = works.may_still_use(self.memory)
        if user is not None:
            works.report(f"pinned memory is given back while {user} may still use it", raised=False)
        _free_pinned[len(self)].append((self.bytes, self.memory))


def allocate_pinned(n_bytes):
    """Pinned memory of the host; what was freed last is given out first."""
    n_bytes = -(-n_bytes // UNIT) * UNIT
    kind = type("Pinned", (PinnedMemoryPointer, ctypes.c_char * n_bytes), {})
    if _free_pinned[n_bytes]:
        memory_bytes, memory = _free_pinned[n_bytes].pop()
    else:
        memory_bytes = np.full(n_bytes, _FRESH_BYTE, np.uint8)
        memory = works.Memory(memory_bytes.ctypes.data, n_bytes)
    pinned = kind.from_buffer(memory_bytes)
    pinned.bytes, pinned.memory = memory_bytes, memory
    pinned.ref = weakref.ref(pinned)
    _pinned[memory.address] = pinned
    return pinned


def pinned_at(pointer):
    """The pinned memory that a pointer points into; None for other memory of the host."""
    for pinned in list(_pinned.values()):
        if pinned.ptr <= pointer < pinned.ptr + len(pinned):
            return pinned
    return None


def copy_raw(target, source, n_bytes, kind, queue):
    """Copy between a device and the host, by addresses; kind 1 is to the device, 2 from it.

    Pinned memory is read or written when the copy runs. Other memory of the host is read at once,
    and has been written when this returns.
    """
    if kind not in (1, 2):
        raise NotImplementedError(f"the emulated device has no copies of kind {kind}")
    device = allocation_at(target if kind == 1 else source)
    on_device, on_host = (target, source) if kind == 1 else (source, target)
    if on_device + n_bytes > device.address + device.n_bytes:
        raise RuntimeError("cudaErrorInvalidValue: the copy goes beyond the device's memory")
    uses = [device.use(on_device, on_device + n_bytes, kind == 1)]
    pinned = pinned_at(on_host)
    host = (ctypes.c_char * n_bytes).from_address(on_host)
    if pinned is not None:
        label = "pinned memory"
        uses.append(
            works.Use(pinned.memory, on_host, on_host + n_bytes, kind == 2, pinned.ref, label)
        )
    staged = bytes(host) if kind == 1 and pinned is None else None
    keep = device.segment, pinned.bytes if pinned is not None else None  # not their owners

    def action(_keep=keep):
        ctypes.memmove(target, staged if staged is not None else source, n_bytes)

    name = f"a copy {'to' if kind == 1 else 'from'} the device"
    work = works.enqueue(queue, name, action, uses)
    if pinned is None:
        if kind == 2:
            works.wait(work)
        return
    part = pinned.bytes[on_host - pinned.ptr :][:n_bytes]
    if kind == 1:
        text = f"pinned memory has changed while {work} may still read it"
        works.watch(work, memoryview(part), text)
    elif not work.done:
        part[:] = 0xFF  # nobody may look before the copy has run
