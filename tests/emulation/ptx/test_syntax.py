"""PTX text becomes kernels, blocks and instructions."""

import pytest

from gpuboost.kernels.emulation.ptx.syntax import PtxError, integer, parse, split

TEXT = """//
// written by nobody
.version 8.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .global .align 4 .u32 numbers[2] = {1, 0xFFFFFFFF};
.const .align 8 .f64 half = 0d3FE0000000000000;

.visible .entry one(
    .param .u64 .ptr .global .align 16 one_param_0, // a pointer
    .param .u8 one_param_1,
    .param .align 8 .b8 one_param_2[20]
)
.maxntid 64, 2, 1
.minnctapersm 1
{
    .reg .pred %p<3>;
    .reg .b32 %r<2>, %x;
    .shared .align 4 .u32 _ZZ3oneE5cells[8];
    /* two
       lines */ mov.u32 %r0, %tid.x;
    @!%p1 bra $L__BB0_2;
    .loc 1 23 0
    { .reg .b32 %x; mov.b32 %x, %r0;
      { .reg .pred %p1; setp.eq.s32 %p1, %x, 0; } }
    .pragma "nounroll";
$L__BB0_2:
    st.shared.v2.u32 [_ZZ3oneE5cells+8], {%r0, %x};
    ret;
}
.entry two() { ret; }
"""


def test_a_module():
    module = parse(TEXT)
    assert module.variables["dynamic"].n_bytes is None
    assert module.variables["numbers"].content == b"\1\0\0\0\xff\xff\xff\xff"
    assert module.variables["half"].content[-1] == 0x3F
    one, two = module.functions
    assert [(p.offset, p.n_bytes) for p in one.parameters] == [(0, 8), (8, 1), (16, 20)]
    assert (one.max_threads, two.max_threads, two.parameters) == (128, 0, [])
    assert one.variables["_ZZ3oneE5cells"].n_bytes == 32
    assert one.registers["%p2"] == "pred" and "%p3" not in one.registers
    assert [block.labels for block in one.blocks] == [[], [], ["$L__BB0_2"]]


def test_instructions_have_their_lines_and_blocks_end_at_branches():
    one, _ = parse(TEXT).functions
    lines = TEXT.splitlines()
    for block in one.blocks:
        for instruction in block.instructions:
            assert instruction.opcode in lines[instruction.line - 1]
    assert one.blocks[0].instructions[1].guard == "!%p1"
    assert one.blocks[2].instructions[0].operands == ("[_ZZ3oneE5cells+8]", "{%r0, %x}")


def test_registers_of_inner_scopes_are_their_own():
    one, _ = parse(TEXT).functions
    move, compare = one.blocks[1].instructions
    inner, predicate = move.operands[0], compare.operands[0]
    assert inner != "%x" and compare.operands[1] == inner and predicate != "%p1"
    assert one.registers[inner] == "b32" and one.registers[predicate] == "pred"


def test_parts():
    assert split("%r1, {%r2, %r3}, [%rd1+4]") == ["%r1", "{%r2, %r3}", "[%rd1+4]"]
    assert split(" ") == []
    numbers = {"12": 12, "-7": -7, "0x1fU": 31, "0b101": 5, "017": 15, "0": 0, "%r1": None,
               "0f3F800000": None}  # fmt: skip
    assert {text: integer(text) for text in numbers} == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".entry k() { .reg .b32 %r0", "ends within a function"),
        (".entry k(.param .b128 p) { ret; }", "parameter '.param .b128 p'"),
        (".entry k() { .reg .f16 %h; ret; }", "registers of type f16"),
        (".entry k() { mov.u32 %r0 }", "k, line 1"),
        (".entry k() { .tex .u64 t; }", "k, line 1: declaration"),
        (".func f() { ret; }", "declaration '.func f"),
        (".extern .global .u32 x;", "x is defined in another module"),
        (".global .u64 x = {generic(y)};", "initial value 'generic"),
        (".entry k() { { inner: ret; } }", "a label within braces"),
    ],
)
def test_what_is_not_known_is_an_error(text, message):
    with pytest.raises(PtxError, match=message):
        parse(text)
