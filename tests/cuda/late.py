"""Trainings and predictions of all families, as late as a GPU may be, in many orders of its queues.

    PYTHONPATH=tests python tests/cuda/late.py
    PYTHONPATH=tests python tests/cuda/late.py --seeds 3 --only forest

Rows of the host go up in many small chunks, so that two streams are at work. Prints each case that
has another result than the CPU, or uses memory in an order that nothing guarantees; the exit code
is 1 then."""

import argparse
import os
import sys
from unittest import mock

import ptx_cases

from gpuboost.kernels.cuda import backend
from gpuboost.kernels.emulation import control, work

#: Bytes of a chunk of rows: some dozens of rows.
CHUNK_BYTES = 1 << 12


def problems_of(name, seed):
    """What is wrong with a case when the queues take turns by a seed."""
    wanted = ptx_cases.expected(name)
    control.hazards.clear()
    small_chunks = mock.patch.object(backend, "CHUNK_BYTES", CHUNK_BYTES)
    with small_chunks, control.configure(seed=seed):
        work.restart()
        try:
            problems = [] if ptx_cases.CASES[name]("cuda") == wanted else ["another result"]
        except work.HazardError as error:
            problems = [str(error)]
        work.restart()
    return problems + control.hazards


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="how many orders")
    parser.add_argument("--only", default="", help="part of the names of cases")
    args = parser.parse_args()
    os.environ["GPUBOOST_EMULATE_CUDA"] = "1"
    names = [name for name in ptx_cases.CASES if args.only in name]
    n_wrong = 0
    for seed in range(args.seeds):
        for name in names:
            problems = problems_of(name, seed)
            n_wrong += bool(problems)
            for problem in problems:
                print(f"seed {seed}, {name}: {problem}", flush=True)
        print(f"seed {seed}: {len(names)} cases", flush=True)
    print(f"{len(names) * args.seeds} runs, {n_wrong} with a problem")
    sys.exit(bool(n_wrong))


if __name__ == "__main__":
    main()
