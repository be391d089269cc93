"""Compiles the text of kernels into a shared library for the emulated device, once.

Later runs find it in a cache.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpuboost.cached_files import cache_folder

HERE = Path(__file__).parent
FLAGS = [
    "-std=c++20",
    "-O2",
    "-g1",
    "-fPIC",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-w",
]
HEADERS = (HERE / "cuda_on_cpu.h", HERE / "fibers.h")
LINK = ("-shared", "-Wl,-Bsymbolic")
#: Instrumentation of check and count mode. The hooks it calls are ours (runtime.cpp); libtsan and
#: libubsan are not linked.
CHECKS = [
    "-DEMULATED_CHECKS",
    "-fsanitize=thread",
    "-fsanitize=shift,alignment,bounds,float-cast-overflow,integer-divide-by-zero",
]


def build(source, options, checked):
    """Path of the library of a source; ``checked`` adds what check and count mode need."""
    defines = [o for o in options if o.startswith("-D")]
    checks = CHECKS if checked else []
    runtime_text = (HERE / "runtime.cpp").read_text()
    runtime = kept("runtime", ".o", runtime_text, [*FLAGS, *checks[:1], "-c"], HEADERS)
    kernels = kept("kernels", ".o", translate(source), [*FLAGS, *defines, *checks, "-c"], HEADERS)
    # linked without the flags of the checks, which would bring in the sanitizers' own libraries
    return kept("library", ".so", "", [*FLAGS, *LINK], HEADERS, [str(kernels), str(runtime)])


def kept(name, suffix, source, flags, depends, objects=(), translate=str):
    """Compile a source unless that has been done before; returns the path of the result.

    ``depends`` are further files that the result depends on, the first in the folder of headers;
    ``objects`` is what the result is linked to, and ``translate`` makes C++ of the source.
    """
    folder = depends[0].parent
    texts = (source, *(file.read_text() for file in depends), repr([*flags, *objects]))
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]
    target = cache_folder("emulation") / f"{name}-{key}{suffix}"
    if target.exists():
        return target
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError(
            "the emulated CUDA device needs g++: install it, for example with apt-get install g++"
        )
    with tempfile.TemporaryDirectory() as scratch:
        text, result = Path(scratch) / f"{name}.cpp", Path(scratch) / "result"
        text.write_text(translate(source))
        command = [
            compiler,
            f"-I{folder}",
            *flags,
            str(text),
            *objects,
            "-o",
            str(result),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(
                f"the emulated device cannot compile this source:\n{done.stderr[:4000]}"
            )
        # another process may do the same at the same time: whoever is last replaces a whole file by
        # a whole file
        beside = target.with_suffix(f".{os.getpid()}.tmp")
        shutil.copy(result, beside)
        os.replace(beside, target)
    return target


def translate(source):
    """CUDA text as C++.

    Dynamic shared memory becomes a pointer, and every kernel gets a function that Python can call.
    """
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    kernels = re.findall(
        r"__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(", bare
    )
    source = re.sub(
        r"extern\s+__shared__\s+([\w\s]+?)\s*(\w+)\s*\[\s*\]\s*;",
        r"\1* \2 = (\1*)emulated::dynamic_shared();",
        source,
    )
    exports = "".join(f"EMULATED_KERNEL({name})\n" for name in kernels)
    return f'#include "cuda_on_cpu.h"\n#line 1 "kernels.cu"\n{source}\n{exports}'


def line_of(library, offset):
    """Line of the source at an offset of the library's code, or 0."""
    if not offset:
        return 0
    place = subprocess.run(
        ["addr2line", "-e", str(library), hex(offset - 1)], capture_output=True, text=True
    ).stdout.strip()
    number = place.rsplit(":", 1)[-1].split(" ")[0]
    return int(number) if number.isdigit() else 0
