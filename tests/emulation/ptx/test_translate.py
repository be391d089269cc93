"""Kernels as C++: where their memory is, and errors that name the instruction."""

import re

import numpy as np
import pytest
from ptx_texts import HEAD, kernel_text, launch

from gpuboost.kernels.emulation.ptx.syntax import PtxError
from gpuboost.kernels.emulation.ptx.translate import translate

TOP = (
    ".shared .align 8 .b8 first[12];\n.shared .align 16 .b8 second[16];\n"
    ".extern .shared .align 32 .b8 dynamic[];\n"
)
ADDRESSES = TOP + kernel_text(
    "addresses",
    ["u64"],
    ".shared .align 2 .b16 own;\n"
    + "ld.param.u64 %x0, [p0];\n"
    + "".join(
        f"mov.u32 %r0, {name}; st.global.u32 [%x0+{4 * i}], %r0;\n"
        for i, name in enumerate(("own", "second", "dynamic"))
    ),
    ".reg .b64 %x0; .reg .b32 %r0;",
)


def test_a_kernel_has_the_shared_memory_that_it_names():
    out = np.zeros(3, np.uint32)
    launch(ADDRESSES, "addresses", [out], shared=64)
    assert out.tolist() == [0, 16, 32]  # without the one that it does not name


def test_blocks_are_marked_once_each():
    text = HEAD + kernel_text(
        "k", [], "setp.eq.u32 %p, 0, 1;\n@%p bra $a;\nret;\n$a:\n$b: ret;", ".reg .pred %p;"
    )
    code = translate(text)
    assert re.findall(r"enter_block\(hits_0\[(\d)\]", code) == ["0", "1", "2"]
    assert "goto block_2;" in code


def test_several_kernels_share_a_library_and_an_empty_module_is_one():
    assert (
        translate(HEAD + kernel_text("a", [], "ret;") + kernel_text("b", [], "ret;")).count(
            "void kernel_"
        )
        == 2
    )
    assert "ptx_n_kernels = 0" in translate(HEAD)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("call.uni f;", "call.uni f: an unknown instruction"),
        ("bra $nowhere;", "cannot be understood"),
        ("ld.global.u32 %r0, [%r0+%r0];", "the address"),
        ("ld.shared.u32 %r0, [p0];", "p0 is in param memory, not in shared"),
        ("st.param.u32 [p0], %r0;", "a parameter is written"),
        ("ld.global.v2.u32 {%r0}, [%x0];", "1 registers for 2 values"),
        ("atom.global.max.f32 %r0, [%x0], %r0;", "no atomic max of floats"),
        ("shfl.idx.b32 %r0, %r0, 0, 31;", "one of sync is needed"),
        ("bar.arrive 0, 32;", "one of sync, red is needed"),
        ("ld.global.u32.frob %r0, [%x0];", r"no rule for \.frob"),
    ],
)
def test_errors_say_kernel_line_and_instruction(body, message):
    text = kernel_text("k", ["u64"], f"\n{body}", ".reg .b32 %r0; .reg .b64 %x0;")
    with pytest.raises(PtxError, match=f"kernel k, PTX line 8: .*{message}"):
        translate(HEAD + text)
