"""Teams of threads."""

import threading

import numpy as np
import pytest

from gpuboost.kernels.cpu.threads import SMALL_ROWS, Team


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_thread_of_a_team_runs_the_job_each_time(size):
    ran = []
    with Team(size) as team:
        for _ in range(3):
            team.run(ran.append)
    assert sorted(ran) == sorted(3 * list(range(size)))


@pytest.mark.parametrize("number", [0, 1])
def test_an_error_of_any_thread_reaches_the_caller_and_the_team_goes_on(number):
    def job(i):
        if i == number:
            raise ValueError(f"thread {i}")

    with Team(2) as team:
        with pytest.raises(ValueError, match=f"thread {number}"):
            team.run(job)
        ran = []
        team.run(ran.append)
        assert sorted(ran) == [0, 1]


def test_no_thread_outlives_its_team():
    with Team(3) as team:
        team.run(lambda i: None)
        own = [t for t in threading.enumerate() if t.name.startswith("gpuboost-")]
        assert len(own) >= 2
        helpers = list(team._helpers)
    for helper in helpers:
        helper.join(timeout=10)
    assert not any(helper.is_alive() for helper in helpers)


def test_few_rows_are_left_to_the_caller():
    for n_rows, n_threads in ((SMALL_ROWS - 1, 1), (SMALL_ROWS, 2)):
        ran = []
        with Team(2) as team:
            team.run_kernel(n_rows, lambda counter, own: own.append(counter), ran)
        assert len(ran) == n_threads and all(counter is ran[0] for counter in ran)
        np.testing.assert_array_equal(ran[0], [0])
