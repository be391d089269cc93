"""How much the orders of the PTX machine see: take out one barrier of the PTX at a time.

    PYTHONPATH=tests python tests/emulation/ptx/mutation.py [--file histogram] [--target sm_80:cu12]

Only what changes a result or is a fault is noticed: there is no list of accesses here, unlike in
check mode (``tests/cuda/mutation.py``)."""

import argparse
import os
import sys

os.environ["GPUBOOST_EMULATE_CUDA"] = "1"

import ptx_cases
import ptx_mutants

from gpuboost.kernels.cuda import compiler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", nargs="+", default=compiler.FILES, choices=compiler.FILES)
    names = [":".join(target) for target in ptx_cases.ALL_TARGETS]
    parser.add_argument("--target", default="sm_80:cu12", choices=names)
    args = parser.parse_args()
    target, found = tuple(args.target.split(":")), []
    for file in args.file:
        for kernel, n_barriers in ptx_mutants.count_barriers(file, target).items():
            if (reason := ptx_mutants.noticed(file, kernel, 0, target)) is not None:
                sys.exit(f"{kernel} as it is does not pass: {reason}")
            for number in range(1, n_barriers + 1):
                reason = ptx_mutants.noticed(file, kernel, number, target)
                found.append(reason is not None)
                print(f"{kernel} without barrier {number}: {reason or 'NOT NOTICED'}", flush=True)
    print(f"{sum(found)} of {len(found)} mutants noticed")


if __name__ == "__main__":
    main()
