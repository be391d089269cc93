"""The CUDA backend: memory, checks and waits."""

import gc
import inspect
import re
import textwrap
from contextlib import contextmanager, suppress

import late
import numpy as np
import pytest
import workload

from gpuboost import GPUBoostRegressor
from gpuboost.backend import get_backend
from gpuboost.kernels.cuda import backend
from gpuboost.kernels.cuda.trees import MAX_TREES, trees_at_once
from gpuboost.kernels.emulation import control, cupy_stand_in
from gpuboost.kernels.emulation.work import HazardError
from gpuboost.objectives.metrics import ROW_METRICS, AreaMetric

pytestmark = pytest.mark.usefixtures("emulated")


def test_check_mode_finds_nothing():
    expected = {name: train("cpu").fingerprint() for name, train in workload.trainings().items()}
    control.findings.clear()
    for order, device in zip(control.ORDERS, workload.DEVICES, strict=True):
        with control.configure(order=order, seed=1, mode="check", **device):
            for name, train in workload.trainings().items():
                assert train("cuda").fingerprint() == expected[name]
    assert control.findings == []


def test_memory_is_checked_before_and_given_back_after():
    x, signal, _ = workload.data()
    gc.collect()  # what the errors of other tests hold
    cupy_stand_in.get_default_memory_pool().free_all_blocks()
    used = cupy_stand_in.get_default_memory_pool().used_bytes()
    model = GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda").fit(x, signal)
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used
    before = model.fingerprint()
    with (
        control.configure(memory_bytes=used + (2 << 20)),
        pytest.raises(MemoryError, match=r"training needs \d+ MiB on the device \(pool"),
    ):
        model.set_params(max_depth=10).fit(x, signal)
    assert model.fingerprint() == before
    assert cupy_stand_in.get_default_memory_pool().used_bytes() == used


# --- the order of work between streams, and of the host


def fit_with_evals(device):
    """Host rows in several chunks, also for the eval set."""
    x, signal, _ = workload.data(n=300)
    options = {"n_estimators": 3, "max_depth": 2, "random_state": 1}
    model = GPUBoostRegressor(device=device, **options)
    return model.fit(x, signal, eval_set=(x[:150], signal[:150]))


@pytest.fixture
def small_chunks(monkeypatch):
    """64 rows each."""
    monkeypatch.setattr(backend, "CHUNK_BYTES", 64 * 18 * 4)


def leave_out(monkeypatch, owner, name, line):
    """Take a statement out of a method, as if nobody had written it."""
    text = textwrap.dedent(inspect.getsource(getattr(owner, name)))
    assert text.count(line) == 1
    scope = dict(vars(backend))
    exec(text.replace(line, "pass"), scope)  # noqa: S102
    monkeypatch.setattr(owner, name, scope[name])


#: {mistake: (what is left out, what is said)}
MISTAKES = {
    "the first upload waits for nothing": (
        "upload.wait_event(compute.record())",
        "a copy to the device on stream .* given out again, while bins_of_values on the default",
    ),
    "a device buffer is filled before it was binned": (
        "upload.wait_event(consumed[turn])",
        "a copy to the device on stream .* while bins_of_values on the default stream",
    ),
    "a device buffer is binned before it is filled": (
        "compute.wait_event(copied[turn])",
        "bins_of_values on the default stream .* while a copy to the device on stream",
    ),
    "a pinned buffer is filled before it was copied": (
        "copied[turn].synchronize()",
        "pinned memory has changed while a copy to the device",
    ),
    "pinned buffers are given back before they were copied": (
        "event.synchronize()",
        "pinned memory is given back while a copy to the device",
    ),
}


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_uploads_are_reported(monkeypatch, small_chunks, mistake, late):
    """Whether they changed anything or not: work that runs at once is in a harmless order."""
    line, expected = MISTAKES[mistake]
    with control.configure(late=late):
        assert fit_with_evals("cuda").fingerprint() == fit_with_evals("cpu").fingerprint()
        leave_out(monkeypatch, backend.CudaBackend, "_chunks", line)
        with suppress(HazardError):
            fit_with_evals("cuda")
    assert any(re.search(expected, text) for text in control.hazards), control.hazards
    control.hazards.clear()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["depthwise, numbers", "rows on the host", "sets of categories"])
def test_any_order_of_the_queues_gives_the_same(name, seed):
    """``tests/cuda/late.py`` does that with all cases in many orders."""
    assert late.problems_of(name, seed) == []


def test_problems_in_some_order_of_the_queues_are_told(monkeypatch):
    leave_out(monkeypatch, backend.CudaBackend, "_chunks", "compute.wait_event(copied[turn])")
    assert any("no event orders them" in text for text in late.problems_of("rows on the host", 1))
    control.hazards.clear()


@contextmanager
def score_of(metric):
    """A metric that is 1 has been asked for on an open backend."""
    with get_backend("cuda", 1) as opened:
        put = opened.put
        y, raw, none = map(put, (np.arange(5.0) % 2, np.arange(5.0)[None] % 2, np.empty(0)))
        if metric == "auc":
            yield opened.area_under_curve(AreaMetric(), y, raw, none)
        else:
            raw = put(np.arange(5.0)[None] % 2 + 1.0)
            yield opened.mean_of_rows(ROW_METRICS[0], 1.0, y, raw, none, put(np.empty((0, 5))))


@pytest.mark.parametrize("metric", ["rmse", "auc"])
def test_a_score_that_nobody_waits_for_keeps_its_buffer_until_it_is_there(monkeypatch, metric):
    with score_of(metric):
        pass  # it is dropped
    assert control.hazards == []
    leave_out(monkeypatch, backend.CudaBackend, "__exit__", "score.wait()")
    with score_of(metric):
        pass
    assert "pinned memory is given back while a copy from the device" in control.hazards[0]
    control.hazards.clear()


@pytest.mark.parametrize("metric", ["rmse", "auc"])
def test_a_score_is_garbage_until_it_is_waited_for(monkeypatch, metric):
    with score_of(metric) as score:
        assert score.value() == 1.0
    leave_out(monkeypatch, backend.PendingScore, "value", "self.wait()")
    with score_of(metric) as score:
        assert np.isnan(score.value())


# --- memory


def test_scratch_memory_is_one_buffer_for_each_name():
    with get_backend("cuda", 1) as opened:
        pool = cupy_stand_in.get_default_memory_pool()
        usable = opened.put(np.arange(3000, dtype=np.uint32))
        out = opened.empty((3000,), np.uint32)
        opened.draw_rows(usable, 0.5, np.uint32(1), out)
        held = pool.used_bytes()
        for n in (2000, 1000):
            opened.draw_rows(usable[:n], 0.5, np.uint32(1), out)
        assert pool.used_bytes() == held


def test_memory_that_the_pool_holds_counts_as_free():
    """A pool that has taken all of the device, and holds it for whoever comes."""
    x, signal, _ = workload.data(n=300)
    pool = cupy_stand_in.get_default_memory_pool()
    pool.free_all_blocks()
    size = 24 << 20
    with control.configure(memory_bytes=pool.total_bytes() + size):
        kept = cupy_stand_in.empty(size, np.uint8)
        with pytest.raises(MemoryError):
            GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda").fit(x, signal)
        del kept
        assert cupy_stand_in.cuda.Device(0).mem_info[0] == 0
        GPUBoostRegressor(n_estimators=2, max_depth=3, device="cuda").fit(x, signal)
        assert trees_at_once(cupy_stand_in.cuda.Device(0), 1000, 1) == MAX_TREES
    pool.free_all_blocks()


def test_the_pool_is_left_to_its_owner():
    pool = cupy_stand_in.get_default_memory_pool()
    mine = cupy_stand_in.empty(1 << 20, np.uint8)
    del mine
    x, signal, _ = workload.data(n=300)
    GPUBoostRegressor(n_estimators=1, max_depth=2, device="cuda").fit(x, signal)
    assert pool.free_bytes() >= 1 << 20
