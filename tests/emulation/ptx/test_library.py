"""Launches of a library: what is checked before, and which blocks have been run."""

import numpy as np
import pytest
from ptx_texts import HEAD, kernel_text

from gpuboost.kernels.emulation.ptx.library import library_of

TEXT = HEAD + kernel_text(
    "add_up",
    ["u64", "u8", "f64"],
    """
    ld.param.u64 %x0, [p0];
    ld.param.u8 %r0, [p1];
    setp.gt.u32 %p0, %r0, 9;
    @%p0 bra $many;
    red.global.add.u32 [%x0], %r0;
    ret;
    $many: ld.param.f64 %d0, [p2]; cvt.rzi.u32.f64 %r0, %d0; red.global.add.u32 [%x0], %r0; ret;
    """,
    ".reg .b64 %x0, %d0; .reg .b32 %r0; .reg .pred %p0;",
    ".maxntid 64",
)


def run(number, grid=(1, 1, 1), block=(1, 1, 1), name="add_up", arguments=3, **options):
    x = np.zeros(1, np.uint32)
    address = x.ctypes.data
    values = [np.uint64(address), np.uint8(number), np.float64(1000.7), np.int32(0)][:arguments]
    library_of(TEXT).run(
        name, grid, block, [v.tobytes() for v in values], 0, [(address, address + 4)], **options
    )
    return x[0]


def test_arguments_lie_where_the_parameters_are():
    library = library_of(TEXT)
    assert library.names == ["add_up"] and library.shared_bytes("add_up") == 0
    assert library.parameter_sizes("add_up") == [8, 1, 8]
    assert run(3, grid=(2, 3, 4), block=(4, 2, 2), order="random") == 3 * 24 * 16
    blocks = library.blocks("add_up")
    assert [line for line, _ in blocks] == sorted(line for line, _ in blocks)
    assert list(blocks.values()) == [True, True, False]
    assert run(10, grid=(2, 1, 1)) == 2000
    assert all(library.blocks("add_up").values())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"arguments": 2}, TypeError, r"takes arguments of \[8, 1, 8\] bytes; got \[8, 1\]"),
        ({"arguments": 4}, TypeError, r"got \[8, 1, 8, 4\]"),
        ({"name": "other"}, RuntimeError, "no kernel is called other"),
        ({"block": (65, 1, 1)}, RuntimeError, "more threads in a block than the kernel"),
        ({"block": (32, 33, 1)}, RuntimeError, "a block of that size"),
        ({"block": (0, 1, 1)}, RuntimeError, "a block of that size"),
        ({"grid": (1, 65536, 1)}, RuntimeError, "a grid of that size"),
    ],
)
def test_what_a_driver_would_refuse_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        run(1, **options)
