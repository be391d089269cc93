"""Device memory from a pool, pinned memory, copies by address."""

import ctypes

import numpy as np
import pytest

from gpuboost.kernels.emulation import control, memory, work
from gpuboost.kernels.emulation.memory import UNIT


@pytest.fixture
def pool():
    return memory.Pool(0)


@pytest.fixture
def queue():
    return work.Queue(0, work.NON_BLOCKING)


def test_freed_memory_is_given_out_again_on_the_same_stream_only(pool, queue):
    first = pool.allocate(3 * UNIT, queue)
    address = first.address
    del first
    other = pool.allocate(3 * UNIT, work.Queue(0, work.NON_BLOCKING))
    again = pool.allocate(3 * UNIT, queue)
    assert again.address == address != other.address


def test_blocks_are_cut_and_grow_together_again(pool, queue):
    large = pool.allocate(100 * UNIT, queue)
    first_address, n_bytes = large.address, pool.total_bytes()
    assert pool.free_bytes() == 0 and pool.used_bytes() == n_bytes == 100 * UNIT
    del large
    assert pool.free_bytes() == 100 * UNIT
    parts = [pool.allocate(10 * UNIT, queue) for _ in range(3)]
    assert parts[0].address == first_address and pool.total_bytes() == n_bytes
    assert pool.used_bytes() >= 30 * UNIT and pool.free_bytes() <= 70 * UNIT
    del parts[1]
    small = pool.allocate(1, queue)
    assert parts[0].address < small.address < parts[1].address
    del parts, small
    assert pool.free_bytes() == n_bytes
    assert pool.allocate(100 * UNIT, queue).address == first_address


def test_the_driver_does_not_see_what_the_pool_holds_free(queue):
    with control.configure(memory_bytes=100 * UNIT):
        pool = memory.Pool(0)
        kept = pool.allocate(60 * UNIT, queue)
        del kept
        assert pool.mem_info() == (40 * UNIT, 100 * UNIT) and pool.free_bytes() == 60 * UNIT
        whole = pool.allocate(80 * UNIT, queue)  # the pool gives back what it holds
        with pytest.raises(MemoryError, match="Out of memory allocating 15,360 bytes"):
            pool.allocate(30 * UNIT, queue)
        del whole
        pool.free_all_blocks()
        assert pool.mem_info()[0] == 100 * UNIT and pool.total_bytes() == 0


def test_nothing(pool, queue):
    assert pool.allocate(0, queue).address == 0 and pool.total_bytes() == 0


def test_guards(pool, queue):
    a = pool.allocate(10, queue)
    assert a.intact()
    ctypes.c_char.from_address(a.address + 10).value = b"x"
    assert not a.intact()


def test_memory_in_use_by_work_that_has_not_run_is_left_alone(pool, queue):
    first = pool.allocate(UNIT, queue)
    storage = first.bytes
    uses = [first.use(first.address, first.address + UNIT, True)]
    done = work.enqueue(queue, "a kernel", lambda: storage.fill(7), uses)
    del first
    second = pool.allocate(10, queue)
    work.wait(done)
    assert second.intact() and second.bytes[0] == 7
    del second
    assert pool.allocate(10, queue).bytes[0] != 7


def test_memory_that_was_freed(pool, queue):
    gone = pool.allocate(UNIT, queue)
    uses = [gone.use(gone.address, gone.address + UNIT, False)]
    del gone
    with pytest.raises(work.HazardError, match="which has been freed"):
        work.enqueue(queue, "a graph", uses=uses)
    control.hazards.clear()


def test_reuse_across_streams_is_a_hazard(pool, queue):
    first = pool.allocate(UNIT, queue)
    work.enqueue(queue, "a kernel", uses=[first.use(first.address, first.address + 1, False)])
    del first
    second = pool.allocate(UNIT, queue)
    other = work.Queue(0, work.NON_BLOCKING)
    with pytest.raises(work.HazardError, match="memory of global memory given out again"):
        work.enqueue(other, "a copy", uses=[second.use(second.address, second.address + 1, True)])
    control.hazards.clear()


# --- pinned memory and copies


@pytest.fixture
def device(queue):
    return memory.pool(0).allocate(UNIT, queue)


def test_pinned_memory_is_used_again_and_has_whole_units():
    first = memory.allocate_pinned(10)
    address = first.ptr
    assert first.size() == len(first) == UNIT and memory.pinned_at(address + 5) is first
    del first
    assert memory.pinned_at(address) is None
    assert memory.allocate_pinned(20).ptr == address


def test_a_copy_reads_pinned_memory_when_it_runs(device, queue):
    pinned = memory.allocate_pinned(UNIT)
    host = np.frombuffer(pinned, np.uint8)
    host[:] = 1
    memory.copy_raw(device.address, pinned.ptr, UNIT, 1, queue)
    host[3] = 2
    with pytest.raises(work.HazardError, match="pinned memory has changed while a copy to"):
        work.wait(queue.last)
    control.hazards.clear()
    assert device.bytes[3] == 2


def test_a_copy_from_pageable_memory_has_read_it_when_it_returns(device, queue):
    host = np.ones(UNIT, np.uint8)
    memory.copy_raw(device.address, host.ctypes.data, UNIT, 1, queue)
    host[:] = 2
    work.wait(queue.last)
    assert device.bytes[0] == 1
    back = np.zeros(UNIT, np.uint8)
    memory.copy_raw(back.ctypes.data, device.address, UNIT, 2, queue)
    assert back[0] == 1


def test_pinned_memory_is_garbage_until_the_copy_has_run(device, queue):
    pinned = memory.allocate_pinned(UNIT)
    device.bytes[:] = 3
    memory.copy_raw(pinned.ptr, device.address, 16, 2, queue)
    host = np.frombuffer(pinned, np.uint8)
    assert host[0] == 255
    work.wait(queue.last)
    assert host[0] == 3


def test_pinned_memory_given_back_too_early(device, queue):
    pinned = memory.allocate_pinned(UNIT)
    memory.copy_raw(pinned.ptr, device.address, 16, 2, queue)
    del pinned
    assert control.hazards == [
        f"pinned memory is given back while a copy from the device on {queue.name} may still use it"
    ]
    control.hazards.clear()


def test_copies_stay_within_the_memory(device, queue):
    host = np.zeros(2 * UNIT, np.uint8)
    for target, kind, n_bytes in ((device.address, 1, UNIT + 1), (17, 1, 1)):
        with pytest.raises(RuntimeError, match="cudaErrorInvalidValue"):
            memory.copy_raw(target, host.ctypes.data, n_bytes, kind, queue)
    with pytest.raises(NotImplementedError, match="kind 3"):
        memory.copy_raw(device.address, device.address, 1, 3, queue)
