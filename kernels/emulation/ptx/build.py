"""From PTX text to a library that runs it, kept as those of the emulated device are."""

import re
from pathlib import Path

from gpuboost.kernels.emulation.build import LINK, kept
from gpuboost.kernels.emulation.ptx.translate import translate

HERE = Path(__file__).parent
FLAGS = [
    "-std=c++20",
    "-O1",
    "-fPIC",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-w",
]
HEADERS = [HERE / name for name in ("machine.h", "arithmetic.h")]
MACHINE = [*HEADERS, HERE.parent / "fibers.h"]
TRANSLATOR = [HERE / f"{name}.py" for name in ("syntax", "operands", "values", "effects",
                                               "translate")]  # fmt: skip


def build(text):
    """Path of the library of a PTX text; the text is beside it, as lines in messages are its."""
    text = essential(text)
    machine = kept(
        "machine",
        ".o",
        (HERE / "machine.cpp").read_text(),
        [*FLAGS, "-O2", "-frounding-math", "-c"],
        MACHINE,
    )
    library = kept(
        "ptx", ".so", text, [*FLAGS, *LINK], [*HEADERS, *TRANSLATOR], [str(machine)], translate
    )
    readable = library.with_suffix(".ptx")
    if not readable.exists():
        readable.write_text(text)
    return library


def essential(text):
    """PTX without comments and without the architecture it is for.

    Compilers write the same kernels for many architectures, which are then compiled once.
    """
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^\.(version|target)[^\n]*", r".\1", text, flags=re.M)
