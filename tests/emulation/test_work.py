"""Queues run late and out of order, and what nothing orders is found."""

import pytest

from gpuboost.kernels.emulation import control, work


@pytest.fixture
def memory():
    return work.Memory(1000, 100)


def queue():
    return work.Queue(0, work.NON_BLOCKING)


def use(memory, writes=True, begin=1000, end=1100):
    return work.Use(memory, begin, end, writes, None, "some memory")


def test_work_runs_when_it_is_waited_for_and_nothing_else_does():
    ran, one, other = [], queue(), queue()
    first = work.enqueue(one, "a", lambda: ran.append("a"))
    work.enqueue(one, "b", lambda: ran.append("b"))
    late = work.enqueue(other, "c", lambda: ran.append("c"))
    assert ran == []
    work.wait(first)
    assert ran == ["a"]
    last = work.enqueue(one, "d", lambda: ran.append("d"), after=[late])
    work.wait(last)
    assert sorted(ran) == ["a", "b", "c", "d"] and ran.index("c") < ran.index("d")


def test_eager_work_runs_at_once():
    ran = []
    with control.configure(late=False):
        work.enqueue(queue(), "a", lambda: ran.append("a"))
    assert ran == ["a"]


def test_a_change_of_settings_comes_after_what_was_launched_before():
    ran = []
    work.enqueue(queue(), "a", lambda: ran.append(control.settings.order))
    with control.configure(order="reverse"):
        assert ran == ["forward"]


def test_the_seed_draws_the_order_of_queues():
    def order():
        work.restart()
        ran = []
        ends = [work.enqueue(queue(), "a", lambda i=i: ran.append(i)) for i in range(3)]
        work.wait(work.enqueue(queue(), "join", after=ends))
        return tuple(ran)

    orders = []
    for seed in range(8):
        with control.configure(seed=seed):
            orders.append(order())
            assert order() == orders[-1]
    assert len(set(orders)) > 2


def test_a_question_lets_the_device_get_on():
    one = queue()
    asked = [work.enqueue(one, "a") for _ in range(10)][-1]
    answers = [work.query(asked) for _ in range(100)]
    assert not answers[0] and answers[-1]


@pytest.mark.parametrize(
    ("first", "second", "unordered"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_two_uses_that_nothing_orders(memory, first, second, unordered):
    work.enqueue(queue(), "first", uses=[use(memory, first)])
    if unordered:
        with pytest.raises(work.HazardError, match="second on stream .* while first on stream"):
            work.enqueue(queue(), "second", uses=[use(memory, second)])
        assert len(control.hazards) == 1
        control.hazards.clear()
    else:
        work.enqueue(queue(), "second", uses=[use(memory, second)])


def test_the_report_does_not_depend_on_what_has_run(memory):
    """The first write has run, but nobody has been told."""
    first = work.enqueue(queue(), "first", uses=[use(memory)])
    work.run_until(first)
    with pytest.raises(work.HazardError, match="may still write it"):
        work.enqueue(queue(), "second", uses=[use(memory)])
    control.hazards.clear()


def test_what_orders_two_uses(memory):
    one, two, three = queue(), queue(), queue()
    first = work.enqueue(one, "first", uses=[use(memory)])
    work.enqueue(one, "the same queue", uses=[use(memory)])
    last = work.enqueue(one, "marker")
    relay = work.enqueue(two, "over another queue", after=[last])
    work.enqueue(three, "waits", after=[relay], uses=[use(memory)])
    with pytest.raises(work.HazardError):  # it knows the first work only
        work.enqueue(queue(), "knows too little", after=[first], uses=[use(memory)])
    control.hazards.clear()
    work.wait(three.last)
    work.enqueue(queue(), "the host knows", uses=[use(memory)])


def test_what_was_refused_leaves_no_trace(memory):
    one, other = queue(), work.Memory(5000, 100)
    work.enqueue(queue(), "first", uses=[use(memory)])
    uses = [use(other, begin=5000, end=5100), use(memory)]
    with pytest.raises(work.HazardError):
        work.enqueue(one, "refused", uses=uses)
    control.hazards.clear()
    work.enqueue(queue(), "second", uses=uses[:1])
    assert not one.pending


def test_other_bytes_do_not_matter(memory):
    work.enqueue(queue(), "first", uses=[use(memory, begin=1000, end=1050)])
    work.enqueue(queue(), "second", uses=[use(memory, begin=1050)])
    with pytest.raises(work.HazardError):
        work.enqueue(queue(), "third", uses=[use(memory, begin=1049, end=1050)])
    control.hazards.clear()


def test_many_uses_do_not_pile_up(memory):
    one, two = queue(), queue()
    for _ in range(50):
        written = work.enqueue(one, "write", uses=[use(memory)])
        read = work.enqueue(two, "read", after=[written], uses=[use(memory, False)])
        work.enqueue(one, "wait", after=[read])
    assert len(memory.records) <= 3


def test_the_default_stream_and_blocking_ones_wait_for_each_other(memory):
    default, blocking = work.default_queue(0), work.Queue(0, work.BLOCKING)
    work.enqueue(default, "first", uses=[use(memory)])
    work.enqueue(blocking, "second", uses=[use(memory)])
    work.enqueue(default, "third", uses=[use(memory)])
    with pytest.raises(work.HazardError, match="while third on the default stream"):
        work.enqueue(queue(), "fourth", uses=[use(memory)])
    control.hazards.clear()
    work.close(blocking)


def test_a_closed_queue_is_forgotten_once_its_work_is_known():
    one = queue()
    done = work.enqueue(one, "a")
    work.close(one)
    assert one.number in work._queues
    work.wait(done)
    assert one.number not in work._queues


def test_watched_memory():
    data = bytearray(b"abc")
    copy = work.enqueue(queue(), "a copy")
    work.watch(copy, memoryview(data), "it has changed")
    data[0] = 0
    with pytest.raises(work.HazardError, match="it has changed"):
        work.wait(copy)
    control.hazards.clear()
    copy = work.enqueue(queue(), "a copy")
    work.watch(copy, memoryview(data), "it has changed")
    work.wait(copy)
    data[0] = 1
