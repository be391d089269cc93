"""Compiling kernels as CuPy does, without a GPU.

NVRTC from its wheel, registers and spills from its log, occupancy from a table.
"""

import ctypes
import functools
import importlib
import importlib.util
import re
import subprocess
import tempfile
import types
from pathlib import Path
from unittest import mock

import numba
import numpy as np

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


def in_wheel(path):
    """A file that one of NVIDIA's wheels installs; raises if it is not there.

    The gate must not pass unseen.
    """
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        if (Path(root) / path).exists():
            return str(Path(root) / path)
    raise RuntimeError(f"nvidia/{path} is missing: the test extra installs it")


@functools.cache
def nvrtc(version):
    """The compiler library of a CUDA version."""
    return ctypes.CDLL(
        in_wheel(
            {"cu12": "cuda_nvrtc/lib/libnvrtc.so.12", "cu13": "cu13/lib/libnvrtc.so.13"}[version]
        )
    )


def compile_cubin(version, source, architecture, options):
    """(cubin, log) of a source, with the options that CuPy adds to its users'."""
    return _compile(
        version, source, (*options, f"-arch=sm_{architecture}", "--ptxas-options=-v"), "CUBIN"
    )


def compile_ptx(version, source, architecture, options):
    """PTX of a source."""
    return _compile(version, source, (*options, f"-arch=compute_{architecture}"), "PTX")[0].decode()


def _compile(version, source, options, kind):
    lib = nvrtc(version)
    program = ctypes.c_void_p()
    _check(
        lib,
        lib.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None
        ),
    )
    all_options = [*options, "-ftz=true", "--device-as-default-execution-space"]
    array = (ctypes.c_char_p * len(all_options))(*(o.encode() for o in all_options))
    status = lib.nvrtcCompileProgram(program, len(all_options), array)
    log = _text(lib, lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program).decode()
    if status != 0:
        raise AssertionError(f"{options}: {log}")
    return _text(
        lib, getattr(lib, f"nvrtcGet{kind}Size"), getattr(lib, f"nvrtcGet{kind}"), program
    ), log


def _text(lib, size_of, get, program):
    size = ctypes.c_size_t()
    _check(lib, size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(lib, get(program, buffer))
    return buffer.raw


def _check(lib, status):
    if status != 0:
        lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(lib.nvrtcGetErrorString(status).decode())


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


def row_kernel_ptx(kernel, arguments, architecture):
    """PTX of a row kernel for arguments given as numpy arrays and scalars."""
    importlib.import_module("numba.cuda")  # the name that is replaced below
    capability = architecture // 10, architecture % 10
    here = types.SimpleNamespace(
        compute_capability=capability
    )  # numba asks the device that is not there
    signature = tuple(
        numba.types.Array(numba.from_dtype(a.dtype), a.ndim, "C" if a.flags.c_contiguous else "A")
        if isinstance(a, np.ndarray)
        else numba.typeof(a)
        for a in arguments
    )
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: here):
        return kernel.ptx(signature, capability)[0]


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
    return len(re.findall(r"\b[DFH]FMA2?\b", "".join(sass(cubin).values())))


def may_be_fused(ptx):
    """Whether products and sums of floats are there at all."""
    return all(re.search(rf"\b{name}\.[a-z.]*f(32|64)", ptx) for name in ("mul", "(add|sub)"))
