"""What compilers say about kernels: registers and spills, machine code, occupancy from a table."""

import re
import subprocess
import tempfile
from pathlib import Path

import numba
import numpy as np

from gpuboost.kernels.emulation.ptx.compilers import compile_row_kernel, in_wheel

#: Architectures, and which NVRTC compiles for them.
ARCHITECTURES = {
    "cu12": (70, 75, 80, 86, 89, 90, 100, 120),
    "cu13": (75, 80, 86, 89, 90, 100, 110, 120),
}

#: What a multiprocessor has: threads, blocks, registers, shared bytes (CUDA C++ Programming Guide,
#: table of compute capabilities).
MULTIPROCESSOR = {
    70: (2048, 32, 65536, 96 * 1024),
    75: (1024, 16, 65536, 64 * 1024),
    80: (2048, 32, 65536, 164 * 1024),
    86: (1536, 16, 65536, 100 * 1024),
    89: (1536, 24, 65536, 100 * 1024),
    90: (2048, 32, 65536, 228 * 1024),
    100: (2048, 32, 65536, 228 * 1024),
    110: (1536, 24, 65536, 228 * 1024),
    120: (1536, 24, 65536, 100 * 1024),
}
#: Shared memory that the system takes from each block, from Ampere on.
RESERVED_SHARED = 1024


def usage(log):
    """{kernel: (registers, spilled bytes, static shared bytes)} from the compiler's log."""
    out = {}
    for part in log.split("Compiling entry function '")[1:]:
        name = part.split("'")[0]
        spilled = sum(
            map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        )
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        shared = re.search(r"(\d+) bytes smem", part)
        out[name] = registers, spilled, int(shared[1]) if shared else 0
    return out


def occupancy(architecture, threads, registers, shared_bytes):
    """(percent of a multiprocessor's threads that can be resident, what limits it)."""
    max_threads, max_blocks, max_registers, max_shared = MULTIPROCESSOR[architecture]
    warps = -(-threads // 32)
    registers_of_block = warps * (-(-registers * 32 // 256) * 256)
    if architecture >= 80:
        shared_bytes += RESERVED_SHARED
    limits = {
        "threads": max_threads // threads,
        "blocks": max_blocks,
        "registers": max_registers // registers_of_block,
        "shared memory": max_shared // shared_bytes if shared_bytes else max_blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    return 100 * limits[limit] * threads // max_threads, limit


def sass(cubin):
    """{kernel: its machine instructions}."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run(
            [in_wheel("cu13/bin/nvdisasm"), "-c", file.name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    parts = re.split(r"\n\s*\.section\s+\.text\.(\w+)", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def signature_of(arguments):
    """Types of arguments that are given as numpy arrays and scalars."""
    return tuple(
        numba.types.Array(numba.from_dtype(a.dtype), a.ndim, "C" if a.flags.c_contiguous else "A")
        if isinstance(a, np.ndarray)
        else numba.typeof(a)
        for a in arguments
    )


def row_kernel_ptx(kernel, arguments, architecture):
    """PTX of a row kernel for arguments given as numpy arrays and scalars."""
    return compile_row_kernel(kernel, signature_of(arguments), architecture)[0]


def assemble(ptx, architecture):
    """(registers, spilled bytes, cubin) of a kernel given as PTX."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        command = [
            in_wheel("cu13/bin/ptxas"),
            f"-arch=sm_{architecture}",
            "-v",
            str(source),
            "-o",
            str(cubin),
        ]
        log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        code = cubin.read_bytes()
    spilled = sum(
        map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log).groups())
    )
    return int(re.search(r"Used (\d+) registers", log)[1]), spilled, code


def n_fused(ptx, architecture):
    """How many multiplications and additions of floats ptxas fuses.

    Divisions and square roots become sequences with fused multiply-adds that round the quotient as
    IEEE says. They are not what is looked for, so operations of one instruction take their places.
    """
    ptx = re.sub(r"\bdiv\.rn(\.f(?:32|64))\b", r"min\1", ptx)
    ptx = re.sub(r"\b(?:rcp|sqrt)\.rn(\.f(?:32|64))\b", r"abs\1", ptx)
    *_, cubin = assemble(ptx, architecture)
    return len(re.findall(r"\b(?:DFMA|FFMA2?)\b", "".join(sass(cubin).values())))


def may_be_fused(ptx):
    """Whether products and sums of floats are there at all."""
    return all(re.search(rf"\b{name}\.[a-z.]*f(32|64)", ptx) for name in ("mul", "(add|sub)"))
