"""Opcodes and operands: their parts, and special registers."""

import numpy as np
import pytest
from ptx_texts import kernel_text, launch

from gpuboost.kernels.emulation.ptx.operands import Opcode, register_type
from gpuboost.kernels.emulation.ptx.syntax import PtxError

SPECIAL = {
    "tid.x": lambda block, thread: thread % 8, "tid.y": lambda block, thread: thread // 8 % 4,
    "tid.z": lambda block, thread: thread // 32, "ctaid.x": lambda block, thread: block % 3,
    "ctaid.y": lambda block, thread: block // 3, "ntid.x": lambda block, thread: 8,
    "ntid.y": lambda block, thread: 4, "ntid.z": lambda block, thread: 2,
    "nctaid.x": lambda block, thread: 3, "nctaid.y": lambda block, thread: 2,
    "laneid": lambda block, thread: thread % 32, "warpid": lambda block, thread: thread // 32,
    "nwarpid": lambda block, thread: 2,
    "lanemask_eq": lambda block, thread: 1 << thread % 32,
    "lanemask_lt": lambda block, thread: (1 << thread % 32) - 1,
    "lanemask_le": lambda block, thread: (2 << thread % 32) - 1,
    "lanemask_gt": lambda block, thread: 2**32 - (2 << thread % 32),
    "lanemask_ge": lambda block, thread: 2**32 - (1 << thread % 32),
    "total_smem_size": lambda block, thread: 48, "dynamic_smem_size": lambda block, thread: 48,
}  # fmt: skip
TEXT = "".join(
    kernel_text(
        f"special_{i}",
        ["u64"],
        f"""
        mov.u32 %r0, %ctaid.y; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r0, %r0, %r1, %r2; mov.u32 %r1, %tid.z; mov.u32 %r2, %tid.y;
        mad.lo.u32 %r1, %r1, 4, %r2; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 8, %r2;
        mad.lo.u32 %r0, %r0, 64, %r1; mul.wide.u32 %x0, %r0, 4; ld.param.u64 %x1, [p0];
        add.s64 %x1, %x1, %x0; mov.u32 %r3, %{name}; st.global.u32 [%x1], %r3;
        """,
        ".reg .b32 %r<4>; .reg .b64 %x<2>;",
    )
    for i, name in enumerate(SPECIAL)
)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_registers(name):
    out = np.zeros(6 * 64, np.uint32)
    launch(TEXT, f"special_{list(SPECIAL).index(name)}", [out], grid=(3, 2, 1), block=(8, 4, 2),
           shared=48, order="random")  # fmt: skip
    expected = [SPECIAL[name](i // 64, i % 64) for i in range(6 * 64)]
    np.testing.assert_array_equal(out, np.array(expected, np.uint64).astype(np.uint32))


def test_parts_of_an_opcode_must_be_understood():
    op = Opcode("ld.global.nc.L1::no_allocate.v2.f32")
    assert (op.name, op.take("global"), op.take("shared")) == ("ld", "global", None)
    op.ignore("nc|L1::.*")
    assert op.type() == "f32"
    with pytest.raises(PtxError, match=r"no rule for \.v2"):
        op.finish()
    assert op.need("v2", "v4") == "v2"
    op.finish()
    with pytest.raises(PtxError, match="one of lo, hi is needed"):
        op.need("lo", "hi")
    with pytest.raises(PtxError, match="2 types where there must be one"):
        Opcode("cvt.f32.s32").type()


def test_registers_are_bits():
    assert [register_type(kind) for kind in ("pred", "b16", "s32", "f32", "f64")] == [
        "bool", "u16", "u32", "u32", "u64",
    ]  # fmt: skip
