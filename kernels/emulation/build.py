"""Compiles the text of kernels into a shared library for the emulated device, once; later runs find it in a cache."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w"]
#: Instrumentation of check and count mode. The hooks it calls are ours (runtime.cpp); libtsan and libubsan are not linked.
CHECKS = [
    "-DEMULATED_CHECKS",
    "-fsanitize=thread",
    "-fsanitize=shift,alignment,bounds,float-cast-overflow,integer-divide-by-zero",
]


def cache_folder():
    """Where libraries are kept."""
    own = os.environ.get("GPUBOOST_CACHE_DIR")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuboost"
    folder = base / "emulation"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(source, options, checked):
    """Path of the library of a source; ``checked`` adds what check and count mode need."""
    defines = [o for o in options if o.startswith("-D")]
    parts = [
        source,
        repr(defines),
        str(checked),
        (HERE / "cuda_on_cpu.h").read_text(),
        (HERE / "runtime.cpp").read_text(),
        repr(FLAGS + CHECKS),
    ]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    library = cache_folder() / f"{key}.so"
    if not library.exists():
        _compile(source, defines, checked, library)
    return library


def _compile(source, defines, checked, library):
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("the emulated CUDA device needs g++: install it, for example with apt-get install g++")
    with tempfile.TemporaryDirectory() as folder:
        text, kernels_o, runtime_o = (Path(folder) / name for name in ("kernels.cpp", "kernels.o", "runtime.o"))
        text.write_text(translate(source))
        flags = [compiler, *(f for f in FLAGS if f != "-shared"), f"-I{HERE}", *defines]
        checks = CHECKS if checked else []
        commands = [
            [*flags, *checks, "-c", str(text), "-o", str(kernels_o)],
            [*flags, *checks[:1], "-c", str(HERE / "runtime.cpp"), "-o", str(runtime_o)],
        ]
        unfinished = Path(folder) / "library.so"
        link = [compiler, "-shared", "-Wl,-Bsymbolic", str(kernels_o), str(runtime_o), "-o", str(unfinished)]
        processes = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for c in commands]
        outputs = [(p.communicate()[0], p.returncode) for p in processes]
        outputs.append((lambda r: (r.stdout + r.stderr, r.returncode))(subprocess.run(link, capture_output=True, text=True)))
        for output, code in outputs:
            if code != 0:
                raise RuntimeError(f"the emulated device cannot compile this source:\n{output[:4000]}")
        # another process may do the same at the same time: whoever is last replaces a whole file by a whole file
        beside = library.with_suffix(f".{os.getpid()}.tmp")
        shutil.copy(unfinished, beside)
        os.replace(beside, library)


def translate(source):
    """CUDA text as C++: dynamic shared memory becomes a pointer, and every kernel gets a function that Python can call."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    kernels = re.findall(r"__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(", bare)
    source = re.sub(r"extern\s+__shared__\s+([\w\s]+?)\s*(\w+)\s*\[\s*\]\s*;", r"\1* \2 = (\1*)emulated::dynamic_shared();", source)
    exports = "".join(f"EMULATED_KERNEL({name})\n" for name in kernels)
    return f'#include "cuda_on_cpu.h"\n#line 1 "kernels.cu"\n{source}\n{exports}'


def line_of(library, offset):
    """Line of the source at an offset of the library's code, or 0."""
    if not offset:
        return 0
    found = subprocess.run(["addr2line", "-e", str(library), hex(offset - 1)], capture_output=True, text=True).stdout.strip()
    number = found.rsplit(":", 1)[-1].split(" ")[0]
    return int(number) if number.isdigit() else 0


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).read_text(), sys.argv[2:], checked=False))
