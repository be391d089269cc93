"""NVIDIA's compilers out of their wheels, called as CuPy and numba.cuda do, without a GPU."""

import ctypes
import functools
import importlib.util
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

#: The library of each CUDA version whose wheel the test extra installs.
NVRTC = {"cu12": "cuda_nvrtc/lib/libnvrtc.so.12", "cu13": "cu13/lib/libnvrtc.so.13"}
#: What CuPy adds to the options of those who call it.
OF_CUPY = ("-ftz=true", "--device-as-default-execution-space")


def in_wheel(path):
    """A file that one of NVIDIA's wheels installs; raises if it is not there."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        if (Path(root) / path).exists():
            return str(Path(root) / path)
    raise RuntimeError(f"nvidia/{path} is missing: the test extra installs it")


@functools.cache
def _nvrtc(version):
    return ctypes.CDLL(in_wheel(NVRTC[version]))


def compile_cubin(version, source, architecture, options):
    """(cubin, log) of a source, for the architecture of a number such as 80."""
    return _compile(
        version, source, (*options, f"-arch=sm_{architecture}", "--ptxas-options=-v"), "CUBIN"
    )


def compile_ptx(version, source, architecture, options):
    """PTX of a source."""
    text, _ = _compile(version, source, (*options, f"-arch=compute_{architecture}"), "PTX")
    return text.decode().rstrip("\0")


def _compile(version, source, options, kind):
    lib, program = _nvrtc(version), ctypes.c_void_p()
    _check(
        lib,
        lib.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None
        ),
    )
    every = [*options, *OF_CUPY]
    array = (ctypes.c_char_p * len(every))(*(option.encode() for option in every))
    status = lib.nvrtcCompileProgram(program, len(every), array)
    log = _text(lib, lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program).decode()
    if status != 0:
        raise AssertionError(f"{options}: {log}")
    size_of, get = getattr(lib, f"nvrtcGet{kind}Size"), getattr(lib, f"nvrtcGet{kind}")
    result = _text(lib, size_of, get, program)
    _check(lib, lib.nvrtcDestroyProgram(ctypes.byref(program)))
    return result, log


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


def compile_row_kernel(kernel, signature, architecture):
    """(PTX, name in it) of a row kernel for types of arguments."""
    import_module("numba.cuda")  # so that the name that is replaced below exists
    capability = divmod(architecture, 10)
    # numba asks the device that is not there
    device = SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        return kernel.ptx(signature, capability)
