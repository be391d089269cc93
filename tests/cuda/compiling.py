"""Compiling kernels as CuPy does, without a GPU: NVRTC from its wheel, registers and spills from its log, occupancy from a table."""

import ctypes
import functools
import importlib.util
import re
from pathlib import Path

#: Architectures, and which NVRTC compiles for them.
ARCHITECTURES = {"cu12": (70, 75, 80, 86, 89, 90, 100, 120), "cu13": (75, 80, 86, 89, 90, 100, 110, 120)}

#: What a multiprocessor has: threads, blocks, registers, shared bytes (CUDA C++ Programming Guide, table of compute capabilities).
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


@functools.cache
def nvrtc(version):
    """The library of a wheel; raises if it is not installed: the gate must not pass unseen."""
    folder, file = {"cu12": ("nvidia/cuda_nvrtc/lib", "libnvrtc.so.12"), "cu13": ("nvidia/cu13/lib", "libnvrtc.so.13")}[version]
    for root in importlib.util.find_spec("nvidia").submodule_search_locations:
        path = Path(root).parent / folder / file
        if path.exists():
            return ctypes.CDLL(str(path))
    raise RuntimeError(f"{file} is missing: the test extra installs it with nvidia-cuda-nvrtc")


def compile_cubin(version, source, architecture, options):
    """(cubin, log) of a source, with the options that CuPy adds to its users'."""
    lib = nvrtc(version)
    program = ctypes.c_void_p()
    _check(lib, lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None))
    all_options = [*options, "-ftz=true", "--device-as-default-execution-space", f"-arch=sm_{architecture}", "--ptxas-options=-v"]
    array = (ctypes.c_char_p * len(all_options))(*(o.encode() for o in all_options))
    status = lib.nvrtcCompileProgram(program, len(all_options), array)
    log = _text(lib, lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program).decode()
    if status != 0:
        raise AssertionError(f"sm_{architecture}: {log}")
    return _text(lib, lib.nvrtcGetCUBINSize, lib.nvrtcGetCUBIN, program), log


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
        spilled = sum(map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups()))
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
