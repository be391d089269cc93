"""All cases with compiled kernels, for all architectures and compilers, in all orders.

    PYTHONPATH=tests python tests/emulation/ptx/run_all.py
    PYTHONPATH=tests python tests/emulation/ptx/run_all.py --target sm_90:cu12 --order preempted

Prints what differs from the CPU, launches of each kernel and how many of its basic blocks have been
run; ends with exit code 1 if anything differs."""

import argparse
import os
import sys
import time

os.environ["GPUBOOST_EMULATE_CUDA"] = "1"

import ptx_cases

from gpuboost.kernels.emulation.ptx import device


def try_case(name, target, order, seed):
    """What comes of a case, in words."""
    try:
        return "equal" if ptx_cases.agrees(name, target, order, seed) else "DIFFERENT"
    except (RuntimeError, ValueError) as error:  # faults that the machine finds, unknown PTX
        return f"FAILED {error}"


def print_kernels():
    """Launches and basic blocks of each kernel, and those that no case runs."""
    launches = {}
    for (_, kernel), n in device.launches.items():
        launches[kernel] = launches.get(kernel, 0) + n
    covered = ptx_cases.coverage()
    print(f"\n{'kernel':30} {'launches':>9} {'blocks run':>11} {'of':>6}")
    for kernel, (run, of) in sorted(covered.items()):
        print(f"{kernel:30} {launches[kernel]:9} {run:11} {of:6}  {run / of:.0%}")
    print(f"{sum(launches.values())} launches, {ptx_cases.share(covered):.1%} of all blocks run")
    missing = sorted(ptx_cases.kernels() - set(launches))
    print("kernels without a launch:", ", ".join(missing) or "none")
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [":".join(target) for target in ptx_cases.ALL_TARGETS]
    parser.add_argument("--target", nargs="+", default=names, choices=names)
    parser.add_argument("--order", nargs="+", default=ptx_cases.ORDERS, choices=ptx_cases.ORDERS)
    parser.add_argument("--only", default="", help="part of the names of cases")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    results = []
    for target in args.target:
        for order in args.order:
            for name in ptx_cases.CASES:
                if args.only in name:
                    begin = time.perf_counter()
                    result = try_case(name, tuple(target.split(":")), order, args.seed)
                    seconds = time.perf_counter() - begin
                    print(f"{target} {order:10} {name:60} {result} ({seconds:.1f} s)", flush=True)
                    results.append(result)
    missing = print_kernels()
    print(f"{results.count('equal')} of {len(results)} equal")
    sys.exit(results.count("equal") < len(results) or (bool(missing) and not args.only))


if __name__ == "__main__":
    main()
