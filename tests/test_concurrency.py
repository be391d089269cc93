"""fit and predict from threads, from worker processes and after a fork; Ctrl-C."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed

from gpuboost import GPUBoostClassifier, GPUBoostRegressor
from gpuboost.backend import get_backend, n_threads


def data(n=60_000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 10))
    return x, x[:, 0] * x[:, 1] + rng.normal(size=n)


def train(n_jobs=2):
    x, y = data()
    model = GPUBoostRegressor(n_estimators=3, n_jobs=n_jobs).fit(x, y)
    return model.fingerprint(), float(model.predict(x).sum())


def test_eight_threads_at_once():
    expected = train()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: train(), range(8)))
    assert set(results) == {expected}


@pytest.mark.parametrize("kind", ["loky", "multiprocessing"])
def test_joblib_workers(kind):
    expected = train()
    assert set(Parallel(n_jobs=2, backend=kind)(delayed(train)() for _ in range(3))) == {expected}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork():
    expected = train()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert set(pool.map(train, [1, 2, 2])) == {expected}


def test_threads_end_with_the_call(eight_cores):
    before = threading.active_count()
    train(n_jobs=4)
    deadline = threading.Event()
    for _ in range(50):
        if threading.active_count() == before:
            break
        deadline.wait(0.1)
    assert threading.active_count() == before


def test_n_jobs(monkeypatch, eight_cores):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = n_threads(-1)
    assert (
        n_threads(None) == n_threads(3000) == cores
        and n_threads(3) == 3
        and n_threads(-cores - 5) == 1
    )
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads(None) == 1 and n_threads(2) == 2
    for bad in (0, 1.5, "2", True):
        with pytest.raises(ValueError, match="n_jobs"):
            n_threads(bad)


def test_n_jobs_is_obeyed(eight_cores):
    """No more threads than asked for run during a fit."""
    x, y = data()
    most = 0
    done = threading.Event()

    def watch():
        nonlocal most
        while not done.wait(0.001):
            most = max(most, sum(t.name.startswith("gpuboost") for t in threading.enumerate()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    GPUBoostRegressor(n_estimators=30, n_jobs=3).fit(x, y)
    done.set()
    watcher.join()
    assert most == 2  # and the caller


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_stops_a_fit_and_keeps_the_old_model():
    code = textwrap.dedent("""
        import signal
        import numpy as np
        from gpuboost import GPUBoostRegressor

        # whoever started the tests may ignore it
        signal.signal(signal.SIGINT, signal.default_int_handler)
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300_000, 20)); y = x[:, 0] + rng.normal(size=300_000)
        model = GPUBoostRegressor(n_estimators=2).fit(x[:1000, :5], y[:1000])
        old = model.fingerprint()
        model.n_estimators = 1_000_000
        print("ready", flush=True)
        try:
            model.fit(x, y)
        except KeyboardInterrupt:
            assert model.fingerprint() == old and model.n_features_in_ == 5
            model.predict(x[:, :5])
            print("stopped", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "ready"
        threading.Event().wait(3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out.strip() == "stopped"


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_stops_every_family_within_two_seconds():
    """At moments by chance: in kernels, between them, while threads are waited for."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("interrupts.py"), "2", ","],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0 and done.stdout.count("2 of 2") == 16, done.stdout + done.stderr


def test_a_failing_helper_reaches_the_caller():
    from gpuboost.kernels.cpu.threads import Team

    def job(number):
        if number == 1:
            raise ZeroDivisionError

    with Team(3) as team:
        with pytest.raises(ZeroDivisionError):
            team.run(job)
        team.run(lambda number: None)


def test_long_jobs_of_helpers_end_when_the_caller_fails():
    from gpuboost.kernels.cpu.threads import Team

    begun = threading.Event()

    def job(number):
        if number == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        while True:
            team.check()

    with Team(2) as team:
        with pytest.raises(KeyboardInterrupt):
            team.run(job)
        team.run(lambda number: team.check())  # the next job is another one


def test_after_an_error_no_thread_begins_another_job():
    begun = []

    def job(i):
        begun.append(i)
        time.sleep(0.001)
        if i == 3:
            raise ValueError("job 3")

    with get_backend("cpu", 2) as backend, pytest.raises(ValueError, match="job 3"):
        backend.share_out(1000, job)
    assert len(begun) < 100


def test_pickled_models_predict_alike():
    import pickle

    x, y = data(500)
    model = GPUBoostClassifier(n_estimators=3).fit(x, y > 0)
    expected = model.predict_proba(x)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), expected)
    assert again.fingerprint() == model.fingerprint()
