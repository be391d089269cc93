"""How helpers join the stages of a tree."""

import threading

import numpy as np
from numba import njit

from gpuboost.kernels.cpu._jit import take_number
from gpuboost.kernels.cpu.sharing import (
    ACTIVE,
    BUILD,
    CONTROL_SIZE,
    FINISHED,
    N_STAGES,
    SCAN,
    STAGE,
    close_stage,
    join_stage,
    leave_stage,
    open_stage,
)


@njit(nogil=True)
def own_stages(control, counter, n_tasks, done):
    """The owner opens two stages after another and works on their tasks too."""
    for stage in (BUILD, SCAN):
        counter[0] = 0
        open_stage(control, np.int64(stage))
        task = take_number(counter)
        while task < n_tasks:
            done[stage, task] += 1
            task = take_number(counter)
        close_stage(control)
    control[STAGE] = FINISHED


@njit(nogil=True)
def help_out(control, counter, n_tasks, done):
    seen = np.int64(0)
    while True:
        stage = join_stage(control, seen)
        if stage == FINISHED:
            return
        seen = stage
        task = take_number(counter)
        while task < n_tasks:
            done[stage % N_STAGES, task] += 1
            task = take_number(counter)
        leave_stage(control)


def test_each_task_is_done_once_whoever_comes():
    control, counter = np.zeros(CONTROL_SIZE, np.int64), np.zeros(1, np.int64)
    done = np.zeros((2, 5000), np.int64)
    helpers = [
        threading.Thread(target=help_out, args=(control, counter, 5000, done)) for _ in range(2)
    ]
    for helper in helpers:
        helper.start()
    own_stages(control, counter, 5000, done)
    for helper in helpers:
        helper.join(timeout=60)
        assert not helper.is_alive()
    assert (done == 1).all() and control[ACTIVE] == 0


def test_an_owner_without_helpers_does_everything():
    control, done = np.zeros(CONTROL_SIZE, np.int64), np.zeros((2, 10), np.int64)
    own_stages(control, np.zeros(1, np.int64), 10, done)
    assert (done == 1).all()
