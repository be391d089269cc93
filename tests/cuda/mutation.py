"""How much the checks see.

Take out one barrier or one atomic at a time and look whether anything notices.

    GPUBOOST_EMULATE_CUDA=1 python tests/cuda/mutation.py [--file histogram.cu]

A mutant is killed if check mode reports something, the launch fails, or the model differs from the
CPU's."""

import argparse
import multiprocessing
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import workload

from gpuboost.kernels.cuda import compiler
from gpuboost.kernels.emulation import control

SHARED = dict.fromkeys(file for files in compiler.SHARED.values() for file in files)
FILES = ("common.cuh", *SHARED, *(f"{name}.cu" for name in compiler.FILES))

#: What an atomic does, without being one.
PLAIN = {
    "Add": "*({target}) += {value};",
    "Or": "*({target}) |= {value};",
    "Min": "*({target}) = min(*({target}), {value});",
    "Max": "*({target}) = max(*({target}), {value});",
}

READ = compiler._read


def sites(text):
    """(line number, what, mutated text) of every barrier and atomic."""
    for match in re.finditer(r"__syncthreads\(\);", text):
        yield (
            text.count("\n", 0, match.start()) + 1,
            "no barrier",
            text[: match.start()] + text[match.end() :],
        )
    atomics = r"atomic(Add|Or|Min|Max)\(((?:\([^()]*\))?&[^;]*?), ([^;]+)\);"
    for match in re.finditer(atomics, text):
        what, target, value = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        plain = PLAIN[what].format(target=target, value=value)
        yield line, "no atomic", text[: match.start()] + plain + text[match.end() :]
    for match in re.finditer(r"atomicAdd\((\w+), 1\)(?=\])|atomicExch\(&([^;]*?), 1\)", text):
        counter, flag = match.groups()
        plain = f"(*{counter})++" if counter else f"std::exchange({flag}, 1)"
        line = text.count("\n", 0, match.start()) + 1
        yield line, "no atomic", f"{text[: match.start()]}{plain}{text[match.end() :]}"


def killed_by(expected, file):
    """What notices the kernels as they are now, or None; ``file`` is the one to look at."""
    for name, train in workload.trainings().items():
        if not workload.runs(name, file):
            continue
        for device in workload.DEVICES:
            for order, seed in (("forward", 0), ("reverse", 0), ("random", 1)):
                control.findings.clear()
                with control.configure(order=order, seed=seed, mode="check", **device):
                    try:
                        model = train("cuda")
                    except Exception as error:  # whatever the launch says
                        return f"{name}: {type(error).__name__}"
                if control.findings:
                    return f"{name}: {control.findings[0]}"
                if model.fingerprint() != expected[name]:
                    return f"{name}: another model"
    return None


def in_own_process(function, *args):
    """A function's result; a mutant may write anywhere, so it does that in a process of its own."""
    context = multiprocessing.get_context("fork")
    result, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(function(*args)))
    process.start()
    process.join(timeout=300)
    if process.is_alive():
        process.kill()
        return "hung"
    return result.recv() if process.exitcode == 0 else "crashed"


def try_mutant(file, mutated, expected):
    """What notices a mutant."""
    compiler._read = lambda name: mutated if name == file else READ(name)
    compiler.module.cache_clear()
    return killed_by(expected, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", choices=FILES)
    args = parser.parse_args()
    expected = {name: train("cpu").fingerprint() for name, train in workload.trainings().items()}
    files = [args.file] if args.file else FILES
    for file in files:
        if (found := killed_by(expected, file)) is not None:
            sys.exit(f"the kernels as they are do not pass: {found}")
    n, survivors = 0, []
    for file in files:
        for line, what, mutated in sites(READ(file)):
            found = in_own_process(try_mutant, file, mutated, expected)
            n += 1
            print(f"{file}:{line}: {what}: {found or 'NOT NOTICED'}", flush=True)
            if found is None:
                survivors.append(f"{file}:{line}: {what}")
    print(f"{n - len(survivors)} of {n} mutants noticed")
    print("\n".join(survivors))
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
