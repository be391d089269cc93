"""Work that goes on while the main thread is interrupted."""

import _thread
import signal
import threading

import pytest

from gpuboost.uninterrupted import uninterrupted


def test_an_interrupt_is_heard_at_once_and_the_work_is_finished(monkeypatch):
    begun, may_end, finished = (threading.Event() for _ in range(3))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    @uninterrupted
    def work():
        begun.set()
        assert may_end.wait(10)
        finished.set()

    def interrupt():
        begun.wait()
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not finished.is_set()
    may_end.set()
    assert finished.wait(10)


def test_results_and_errors_are_the_callers():
    assert uninterrupted(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        uninterrupted(divmod)(7, 0)


def test_other_threads_than_the_main_one_do_the_work_themselves():
    """Signals do not reach them."""
    names = []
    work = uninterrupted(lambda: names.append(threading.current_thread().name))
    thread = threading.Thread(target=work, name="another")
    thread.start()
    thread.join()
    work()
    assert names == ["another", "uninterrupted"]
