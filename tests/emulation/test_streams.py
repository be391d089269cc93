"""Streams, events and graphs: what they order, and what a capture forbids."""

import numpy as np
import pytest
from emulated_kernels import kernel

from gpuboost.kernels.emulation import control, streams, work
from gpuboost.kernels.emulation import cupy_stand_in as cupy
from gpuboost.kernels.emulation.streams import Event, Stream


def scale(x, by=3):
    kernel("scale")((1,), (8,), (x, np.float32(by), np.int32(8)))


@pytest.fixture
def x():
    return cupy.asarray(np.ones(8, np.float32))


def test_an_event_orders_two_streams(x):
    other = Stream(non_blocking=True)
    with other:
        with pytest.raises(work.HazardError, match="scale on stream .* an upload on the default"):
            scale(x)
        other.wait_event(Stream.null.record())
        scale(x)
    control.hazards.clear()
    Stream.null.wait_event(other.record())
    assert x.get()[0] == 3


def test_an_event_that_was_never_recorded_is_done_and_orders_nothing(x):
    event, other = Event(), Stream(non_blocking=True)
    assert event.done
    event.synchronize()
    other.wait_event(event)
    with other, pytest.raises(work.HazardError):
        scale(x)
    control.hazards.clear()


def test_blocking_streams_wait_for_the_default_stream(x):
    with Stream() as stream:
        scale(x)
        assert streams.get_current_stream() is stream
    assert streams.get_current_stream() is Stream.null
    assert x.get()[0] == 3


def test_synchronize_tells_the_host(x):
    Stream.null.synchronize()
    other = Stream(non_blocking=True)
    with other:
        scale(x)
        other.synchronize()
    assert x.get()[0] == 3


def test_seconds_between_events(x):
    begin, end = Event(), Event()
    begin.record()
    scale(x)
    end.record()
    with pytest.raises(RuntimeError, match="cudaErrorNotReady"):
        streams.get_elapsed_time(begin, end)
    end.synchronize()
    assert end.done and streams.get_elapsed_time(begin, end) >= 0
    with pytest.raises(RuntimeError, match="no time"):
        streams.get_elapsed_time(begin, Event())


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda x, stream: cupy.empty(1),
        lambda x, stream: cupy.asarray(np.ones(1)),
        lambda x, stream: cupy.cuda.alloc_pinned_memory(8),
        lambda x, stream: x.get(),
        lambda x, stream: x.set(np.ones(8, np.float32)),
        lambda x, stream: x.fill(1),
        lambda x, stream: x.sort(),
        lambda x, stream: stream.synchronize(),
        lambda x, stream: cupy.cuda.Device().synchronize(),
        lambda x, stream: stream.begin_capture(),
        lambda x, stream: cupy.cuda.runtime.memcpyAsync(x.data.ptr, x.data.ptr, 4, 1, stream.ptr),
    ],
)
def test_what_a_capture_forbids(x, forbidden):
    stream = Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(RuntimeError, match=r"cudaErrorStreamCaptureUnsupported: .* capturing"):
            forbidden(x, stream)
        assert stream.is_capturing()
        stream.end_capture()
    assert not stream.is_capturing()


def test_an_event_of_a_capture_cannot_be_asked_or_waited_for(x):
    stream, event = Stream(non_blocking=True), Event()
    with stream:
        stream.begin_capture()
        event.record()
        for ask in (lambda: event.done, event.synchronize, lambda: Stream.null.wait_event(event)):
            with pytest.raises(RuntimeError, match="cudaErrorCapturedEvent"):
                ask()
        stream.end_capture()


def test_captures_that_cannot_begin_or_end(x):
    with pytest.raises(RuntimeError, match="default"):
        Stream.null.begin_capture()
    with pytest.raises(RuntimeError, match="does not capture"):
        Stream(non_blocking=True).end_capture()
    blocking = Stream()
    blocking.begin_capture()
    with pytest.raises(RuntimeError, match="cudaErrorStreamCaptureImplicit"):
        scale(x)
    blocking.end_capture()


def test_a_graph_uses_the_memory_it_was_recorded_with():
    x = cupy.asarray(np.ones(8, np.float32))
    stream = Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        scale(x)
        scale(x, 2)
        graph = stream.end_capture()
    control.counters.reset()
    graph.launch()
    assert x.get()[0] == 6
    assert control.counters.launches == {"scale": 2} and control.counters.graph_launches == 1
    del x
    with pytest.raises(work.HazardError, match="a graph .* which has been freed"):
        graph.launch()
    control.hazards.clear()


def test_streams_that_the_emulated_device_does_not_have():
    for options in ({"ptds": True}, {"priority": -1}):
        with pytest.raises(NotImplementedError):
            Stream(**options)


def test_a_stream_belongs_to_a_device():
    with control.configure(n_devices=2):
        with cupy.cuda.Device(1):
            other = Stream(non_blocking=True)
        with pytest.raises(RuntimeError, match=r"created on \(1\) does not match"):
            other.__enter__()


def test_pointers_of_streams():
    stream = Stream(non_blocking=True)
    assert streams.queue_at(stream.ptr) is stream.queue
    assert streams.queue_at(0) is Stream.null.queue
    with pytest.raises(RuntimeError, match="no such stream"):
        streams.queue_at(5)
