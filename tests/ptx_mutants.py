"""Compiled kernels with one barrier taken out, and whether anything notices.

A mutant is noticed if the machine finds a fault or a case gives another model, in some order.
"""

import functools
import re
from contextlib import contextmanager
from unittest import mock

import ptx_cases

from gpuboost.kernels.cuda import compiler
from gpuboost.kernels.emulation.ptx import compilers, device
from gpuboost.kernels.emulation.ptx.library import library_of

#: Orders that are tried, with seeds; the likeliest first.
TRIES = (("preempted", 0), ("random", 1), ("reverse", 0), ("forward", 0), ("preempted", 2),
         ("preempted", 3), ("random", 4), ("preempted", 5))  # fmt: skip
#: Cases by the CUDA source whose kernels they run; those of all others are under None.
CASES = {
    "cart": ("forest, entropy", "extra trees, numbers"),
    None: (
        "leafwise, numbers, drawn rows, two leaves a step, penalties",
        "leafwise, classes, rows counted",
        "symmetric, classes, rows counted, drawn columns",
        "depthwise, binary, weights, penalties, drawn columns",
    ),
}
_BARRIER = re.compile(r"^\s*(?:bar|barrier)\.(?:warp\.)?sync[^;]*;", re.M)


@functools.cache
def kernels_alone(code, target):
    """{name: PTX of one kernel, with the variables of the module} of a CUDA text."""
    ptx = compilers.compile_ptx(
        target[1], code, int(target[0].removeprefix("sm_")), compiler.OPTIONS
    )
    head = re.findall(r"^\.(?:version|target|address_size)[^\n]*\n", ptx, re.M)
    head += re.findall(r"^\.(?:extern|shared|const|global)\b[^;]*;", ptx, re.M)
    starts = [match.start() for match in re.finditer(r"^\.visible \.entry", ptx, re.M)]
    out = {}
    for begin, end in zip(starts, [*starts[1:], len(ptx)], strict=True):
        text = ptx[begin : ptx.rindex("}", begin, end) + 1]
        out[re.search(r"\.entry (\w+)", text)[1]] = "\n".join([*head, text])
    return out


def count_barriers(file, target):
    """{kernel: its barriers} of a CUDA source of the library."""
    alone = kernels_alone(compiler.source(file, 16, True), target)
    return {kernel: len(_BARRIER.findall(text)) for kernel, text in alone.items()}


class _WithMutant:
    """A library in which one kernel is another one."""

    def __init__(self, library, kernel, text):
        self._library, self._kernel, self._text = library, kernel, text

    def __getattr__(self, name):
        return getattr(self._library, name)

    def run(self, name, *args, **options):
        library = library_of(self._text) if name == self._kernel else self._library
        library.run(name, *args, **options)


@contextmanager
def without_barrier(kernel, number, target):
    """Take a barrier out of a kernel, wherever it is launched; 0 takes out none."""
    of_source = device._of_source

    @functools.cache
    def with_mutant(code, options, wanted):
        library = of_source(code, options, wanted)
        if kernel not in library.names:
            return library
        text = kernels_alone(code, target)[kernel]
        sites = list(_BARRIER.finditer(text))[number - 1 : number] if number else []
        for site in sites:
            text = text[: site.start()] + text[site.end() :]
        return _WithMutant(library, kernel, text)

    with mock.patch.object(device, "_of_source", with_mutant):
        yield


def noticed(file, kernel, number, target, tries=TRIES):
    """What notices that a barrier is missing, or None."""
    with without_barrier(kernel, number, target):
        for order, seed in tries:
            for name in CASES.get(file, CASES[None]):
                try:
                    if not ptx_cases.agrees(name, target, order, seed):
                        return f"{name}, {order}: another model"
                except (RuntimeError, ValueError, IndexError) as error:
                    return f"{name}, {order}: {str(error).split(' (')[0][:90]}"
    return None
