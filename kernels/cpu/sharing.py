"""How threads share the stages of a growing tree without asking Python.

One thread owns the tree. For a stage that is worth sharing it opens the stage, works on its tasks
like everyone, closes it, and waits for those who joined. A helper that is late, asleep or missing
costs nothing: whoever is there takes the tasks. Waiting threads spin for some microseconds and then
yield the core, so that a busy machine is not held up."""

from gpuboost.kernels.cpu._jit import atomic_add, atomic_load, atomic_store, helper, let_others_run

#: Stages. Kernels pass them as ``np.int64(BUILD)``: a bare constant would make numba compile a
#: function for each value.
BUILD, SCAN, PARTITION, MOVE = 0, 1, 2, 3
N_STAGES = 4

#: Places in the control array, a cache line apart.
STAGE, ACTIVE, COUNTER, N_THREADS = 0, 8, 16, 24
CONTROL_SIZE = 32

#: Values of control[STAGE] besides (number of the opening) * N_STAGES + stage.
CLOSED, FINISHED = 0, -1
#: Where the owner keeps the number of the last opening.
OPENINGS = 25

SPINS = 2000


@helper
def open_stage(control, stage):
    """Let helpers in; the task counter and all data must be ready."""
    control[OPENINGS] += 1
    atomic_store(control, STAGE, control[OPENINGS] * N_STAGES + stage)


@helper
def close_stage(control):
    """Let no one in any more and wait for those inside."""
    atomic_store(control, STAGE, CLOSED)
    spins = 0
    while atomic_load(control, ACTIVE) != 0:
        spins += 1
        if spins > SPINS:
            let_others_run()


@helper
def join_stage(control, seen):
    """Wait for a stage other than ``seen`` and enter it; returns it, or FINISHED.

    A helper first says that it is inside and then looks what is open. As the owner closes first and
    then looks who is inside, either the helper sees that the stage is closed or the owner sees the
    helper."""
    spins = 0
    while True:
        stage = atomic_load(control, STAGE)
        if stage == FINISHED:
            return stage
        if stage != CLOSED and stage != seen:
            atomic_add(control, ACTIVE, 1)
            stage = atomic_load(control, STAGE)
            if stage > CLOSED and stage != seen:
                return stage
            atomic_add(control, ACTIVE, -1)
        spins += 1
        if spins > SPINS:
            let_others_run()


@helper
def leave_stage(control):
    """Done with the tasks of a stage."""
    atomic_add(control, ACTIVE, -1)
