"""Memory, atomics, barriers and warp instructions; and faults, each with a message."""

import numpy as np
import pytest
from ptx_texts import kernel_text, launch

ORDERS = ("forward", "reverse", "random", "preempted")
THREAD = ".reg .b32 %t, %r<9>; .reg .b64 %x<9>; .reg .pred %p<4>; .reg .f32 %f<3>;"
#: %t is the thread, %x0 the address of its place in the first array, %x1 in the second one.
PLACES = """
    mov.u32 %t, %tid.x;
    mul.wide.u32 %x8, %t, 4;
    ld.param.u64 %x0, [p0];  cvta.to.global.u64 %x0, %x0;  add.s64 %x0, %x0, %x8;
"""
SECOND = "ld.param.u64 %x1, [p1];  cvta.to.global.u64 %x1, %x1;  add.s64 %x1, %x1, %x8;\n"


def one_array(name, body):
    return kernel_text(name, ["u64"], PLACES + body, THREAD)


def two_arrays(name, body):
    return kernel_text(name, ["u64", "u64"], PLACES + SECOND + body, THREAD)


WORKING = {
    "reverse_block": two_arrays(
        "reverse_block",
        """
        .shared .align 4 .b32 cells[64];
        mov.u32 %r0, cells;  shl.b32 %r1, %t, 2;  add.u32 %r2, %r0, %r1;
        ld.global.nc.u32 %r3, [%x0];  st.shared.u32 [%r2], %r3;
        bar.sync 0;
        sub.u32 %r2, %r0, %r1;  ld.shared.u32 %r3, [%r2+252];  st.global.u32 [%x1], %r3;
        ret;
        """,
    ),
    "dynamic_shared": one_array(
        "dynamic_shared",
        """
        .shared .align 4 .b32 before[3];
        st.shared.u32 [before+8], 7;
        mov.u64 %x2, dynamic;  add.s64 %x2, %x2, %x8;  st.shared.u32 [%x2], %t;
        ld.shared.u32 %r0, [before+8];  ld.shared.u32 %r1, [%x2];
        mov.u32 %r2, %dynamic_smem_size;  mad.lo.u32 %r0, %r2, 1000, %r0;
        mad.lo.u32 %r1, %r1, 10, %r0;  st.global.u32 [%x0], %r1;
        """,
    ),
    "vectors": two_arrays(
        "vectors",
        """
        ld.param.u64 %x0, [p0];  ld.param.u64 %x1, [p1];
        ld.global.v4.u32 {%r0, _, %r2, %r3}, [%x0];
        st.global.v2.u32 [%x1], {%r3, %r2};  st.global.v2.u32 [%x1+8], {%r0, 9};
        ld.global.s8 %r4, [%x0+4];  st.global.u32 [%x1+16], %r4;
        ld.global.u16 %r5, [%x0+6];  st.global.u8 [%x1+21], %r5;
        """,
    ),
    "local": one_array(
        "local",
        """
        .local .align 8 .b8 depot[24];
        mov.u64 %x2, depot;  cvta.local.u64 %x3, %x2;
        st.u32 [%x3+4], %t;  ld.local.u32 %r0, [%x2+4];
        cvta.to.local.u64 %x4, %x3;  add.u32 %r0, %r0, 100;  st.local.u32 [%x4+20], %r0;
        ld.u32 %r1, [%x3+20];  st.global.u32 [%x0], %r1;
        """,
    ),
    "generic": one_array(
        "generic",
        """
        .shared .align 4 .b32 cells[64];
        mov.u64 %x2, cells;  cvta.shared.u64 %x2, %x2;  add.s64 %x3, %x2, %x8;
        st.u32 [%x3], %t;  cvta.to.shared.u64 %x4, %x3;  ld.shared.u32 %r0, [%x4];
        isspacep.shared %p0, %x3;  isspacep.global %p1, %x0;  isspacep.local %p2, %x0;
        @%p0 add.u32 %r0, %r0, 100;  @%p1 add.u32 %r0, %r0, 1000;  @%p2 add.u32 %r0, %r0, 1;
        st.u32 [%x0], %r0;
        """,
    ),
    "constants": one_array(
        "constants",
        """
        ld.const.u16 %r0, [table+2];  mov.u64 %x2, numbers;  ld.global.u32 %r1, [%x2+4];
        add.u32 %r0, %r0, %r1;  st.global.u32 [numbers], %r0;
        ld.global.u32 %r2, [numbers];  st.global.u32 [%x0], %r2;
        """,
    ),
    "votes": one_array(
        "votes",
        """
        and.b32 %r0, %t, 3;  setp.eq.u32 %p0, %r0, 1;
        vote.sync.ballot.b32 %r1, %p0, -1;
        vote.sync.any.pred %p1, %p0, -1;  vote.sync.all.pred %p2, %p0, -1;
        vote.sync.uni.pred %p3, !%p2, -1;
        @%p1 add.u32 %r1, %r1, 1;  @%p2 add.u32 %r1, %r1, 4;  @!%p3 add.u32 %r1, %r1, 8;
        match.any.sync.b32 %r2, %r0, -1;  match.all.sync.b32 %r3|%p1, %r0, -1;
        @!%p1 add.u32 %r1, %r1, %r3;
        redux.sync.add.u32 %r4, %t, -1;  redux.sync.min.s32 %r5, %t, -1;
        add.u32 %r1, %r1, %r2;  mad.lo.u32 %r1, %r4, 16, %r1;  add.u32 %r1, %r1, %r5;
        activemask.b32 %r6;  shl.b32 %r7, 1, %t;  and.b32 %r6, %r6, %r7;
        setp.eq.u32 %p0, %r6, 0;  @%p0 trap;
        st.global.u32 [%x0], %r1;
        """,
    ),
    "block_votes": one_array(
        "block_votes",
        """
        setp.lt.u32 %p0, %t, 5;
        barrier.red.popc.aligned.u32 %r0, 0, %p0;  bar.red.or.pred %p1, 0, %p0;
        bar.red.and.pred %p2, 0, %p0;
        selp.u32 %r1, 100, 0, %p1;  selp.u32 %r2, 1000, 0, %p2;
        add.u32 %r0, %r0, %r1;  add.u32 %r0, %r0, %r2;
        setp.lt.u32 %p3, %t, 32;  @!%p3 bra $other;
        bar.sync 1, 32;
        $other: bar.warp.sync 0xffffffff;  membar.gl;  st.global.u32 [%x0], %r0;
        """,
    ),
    "jumps": one_array(
        "jumps",
        """
        mov.u32 %r0, 0;
        $loop: add.u32 %r0, %r0, %t;
        setp.lt.u32 %p0, %r0, 10;  setp.ne.u32 %p1, %t, 0;  and.pred %p0, %p0, %p1;
        @%p0 bra.uni $loop;
        and.b32 %r1, %t, 1;
        $table: .branchtargets $even, $odd;
        brx.idx %r1, $table;
        $even: mul.lo.u32 %r0, %r0, 2;
        $odd: st.global.u32 [%x0], %r0;  exit;
        """,
    ),
}
TOP = (
    ".extern .shared .align 16 .b8 dynamic[];\n.const .align 2 .b16 table[3] = {5, 0x1F4, 7};\n"
    ".visible .global .align 8 .u32 numbers[2] = {1, 21};\n"
)
TEXT = TOP + "".join(WORKING.values())


def run(name, *arrays, **options):
    launch(TEXT, name, arrays, **options)


@pytest.mark.parametrize("order", ORDERS)
def test_shared_memory_and_barriers(order):
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    run("reverse_block", x, out, block=64, order=order, seed=3)
    np.testing.assert_array_equal(out, x[::-1])
    run("dynamic_shared", out, block=64, shared=256, order=order)
    np.testing.assert_array_equal(out, 256_007 + 10 * x)


def test_vectors_and_narrow_values():
    x = np.array([1, 0xFF80_0080, 3, 4], np.uint32)
    out = np.full(6, 0xEEEEEEEE, np.uint32)
    run("vectors", x, out)
    assert [hex(v) for v in out] == ["0x4", "0x3", "0x1", "0x9", "0xffffff80", "0xeeee80ee"]


@pytest.mark.parametrize("order", ORDERS)
def test_local_generic_and_constant_memory(order):
    out, t = np.zeros(64, np.uint32), np.arange(64)
    run("local", out, block=64, order=order)
    np.testing.assert_array_equal(out, t + 100)
    run("generic", out, block=64, order=order)
    np.testing.assert_array_equal(out, t + 1100)
    run("constants", out, block=1)
    assert out[0] == 521


@pytest.mark.parametrize("order", ORDERS)
def test_votes_of_warps_and_blocks(order):
    out, t = np.zeros(64, np.uint32), np.arange(64)
    run("votes", out, block=32, order=order)
    ballot = sum(1 << k for k in range(1, 32, 4))
    expected = [ballot + 1 + sum(1 << m for m in range(k % 4, 32, 4)) + 16 * 496 for k in range(32)]
    np.testing.assert_array_equal(out[:32], np.array(expected, np.uint64).astype(np.uint32))
    run("block_votes", out, block=64, order=order, seed=1)
    np.testing.assert_array_equal(out, 105)
    run("jumps", out, block=64, order=order)
    total = [k * max(1, -(-10 // k)) if k else 0 for k in t]
    np.testing.assert_array_equal(out, [v * (1 if k % 2 else 2) for k, v in enumerate(total)])


# --- shuffles

MODES = ("up", "down", "bfly", "idx")
SHUFFLES = "".join(
    one_array(
        f"shuffle_{mode}_{width}_{n}",
        f"""
        shfl.sync.{mode}.b32 %r0|%p0, %t, {n}, {(32 - width) << 8 | (0 if mode == "up" else 31)}, -1;
        selp.u32 %r1, 100, 0, %p0;  add.u32 %r0, %r0, %r1;  st.global.u32 [%x0], %r0;
        """,
    )
    for mode in MODES
    for width in (8, 32)
    for n in (1, 5)
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("n", [1, 5])
def test_shuffles(mode, width, n):
    out = np.zeros(32, np.uint32)
    launch(SHUFFLES, f"shuffle_{mode}_{width}_{n}", [out], block=32)
    for lane, got in enumerate(out):
        first = lane - lane % width
        source = {"up": lane - n, "down": lane + n, "bfly": lane ^ n, "idx": first + n % width}[
            mode
        ]
        # an exchange beyond the segment is possible towards lower lanes only
        inside = source < first + width if mode == "bfly" else first <= source < first + width
        assert got == (source + 100 if inside else lane), lane


# --- atomics

ATOMICS = {
    "add.u32": (5, 3, 8), "add.u64": (2**32, 2**40, 2**32 + 2**40), "min.s32": (5, -3, -3),
    "min.u32": (5, -3, 5), "max.s32": (5, -3, 5), "max.u64": (5, 7, 7), "and.b32": (12, 10, 8),
    "or.b32": (12, 10, 14), "xor.b32": (12, 10, 6), "exch.b64": (1, 9, 9), "inc.u32": (5, 5, 0),
    "dec.u32": (0, 9, 9),
}  # fmt: skip
ATOMIC_TEXT = "".join(
    kernel_text(
        f"{base}_{name.replace('.', '_')}",
        ["u64", "u64", "u64"],
        "ld.param.u64 %a, [p0]; ld.param.u64 %b, [p1]; ld.param.u64 %o, [p2];\n"
        f"ld.global.b{name[-2:]} %v, [%b];\n"
        + (f"atom.relaxed.gpu.global.{name} %d, [%a], %v; st.global.b{name[-2:]} [%o], %d;"
           if base == "atom" else f"red.global.{name} [%a], %v;"),
        f".reg .b64 %a, %b, %o; .reg .b{name[-2:]} %v, %d;",
    )
    for name in ATOMICS
    for base in ("atom", "red")
    if (base, name[:4]) != ("red", "exch")
)  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name):
    start, value, expected = ATOMICS[name]
    kind = f"i{int(name[-2:]) // 8}"
    for base in ("atom", "red"):
        if (base, name[:4]) == ("red", "exch"):
            continue
        a, b, old = (np.array([v], kind) for v in (start, value, -1))
        launch(ATOMIC_TEXT, f"{base}_{name.replace('.', '_')}", [a, b, old])
        assert a[0] == expected
        assert old[0] == (start if base == "atom" else -1)


FLOAT_ATOMICS = one_array(
    "floats",
    """
    .shared .align 4 .b32 cell[1];
    ld.global.f32 %f0, [%x0+4];  st.shared.f32 [cell], %f0;
    atom.shared.add.f32 %f1, [cell], %f0;  ld.shared.f32 %f1, [cell];
    st.global.f32 [%x0], %f1;  red.global.add.f32 [%x0+4], %f0;
    """,
) + one_array(
    "swap", "atom.cas.b32 %r0, [%x0], 5, 6;  atom.cas.b32 %r1, [%x0], 5, 7;  st.u32 [%x0+4], %r0;"
)  # fmt: skip


def test_atomics_of_floats_flush_in_global_memory_only():
    x = np.array([0, 1e-40], np.float32)
    launch(FLOAT_ATOMICS, "floats", [x])
    assert x[0] == np.float32(1e-40) * 2 and x[1] == 0
    x = np.array([5, 0], np.uint32)
    launch(FLOAT_ATOMICS, "swap", [x])
    assert x.tolist() == [6, 5]


# --- faults

FAULTS = {
    "misaligned": ("ld.global.u32 %r0, [%x0+2];", "a misaligned access"),
    "misaligned vector": ("ld.global.v2.u32 {%r0, %r1}, [%x0+4];", "a misaligned access"),
    "misaligned shared": ("st.shared.u32 [cells+2], %t;", "a misaligned access"),
    "before an array": ("ld.global.u32 %r0, [%x0-4];", "4 bytes at 0x[0-9a-f]+, outside every"),
    "behind an array": ("st.global.u32 [%x0+256], %t;", "outside every array"),
    "nowhere": ("mov.u64 %x2, 64; red.global.add.u32 [%x2], 1;", "4 bytes at 0x40, outside every"),
    "outside shared memory": ("st.shared.u32 [cells+16], %t;", "outside shared memory"),
    "outside local memory": (
        "mov.u64 %x2, depot; st.local.u64 [%x2+8], %x0;",
        "outside local memory",
    ),
    "outside parameters": (
        "mov.u64 %x2, p0; ld.param.u64 %x3, [%x2+8];",
        "outside the parameters",
    ),
    "division by zero": ("mov.u32 %r1, 0; rem.s32 %r0, %t, %r1;", "divided by zero"),
    "trap": ("trap;", "trap"),
    "a jump to nowhere": (
        "$one: .branchtargets $end; mov.u32 %r0, 1; brx.idx %r0, $one; $end: ret;",
        "a jump to nowhere",
    ),
    "no end": ("$again: bra $again;", "a launch that does not end"),
    "a barrier that some leave out": (
        "setp.lt.u32 %p0, %t, 40; @%p0 bar.sync 0;",
        r"40 at a barrier \(PTX line [0-9]+\), 24 have returned",
    ),
    "different barriers": (
        "setp.lt.u32 %p0, %t, 40; @%p0 bar.sync 0;\n@!%p0 bar.sync 0;",
        r"different barriers, others at PTX line [0-9]+",
    ),
    "barriers and warps wait for each other": (
        "setp.lt.u32 %p0, %t, 16; @%p0 bar.sync 0; @!%p0 bar.warp.sync -1; bar.sync 0;",
        "at a barrier .*in a warp operation",
    ),
    "a lane that has returned": (
        "setp.lt.u32 %p0, %t, 8; @%p0 ret; shfl.sync.idx.b32 %r0, %t, 0, 31, -1;",
        "a lane that has returned",
    ),
    "lanes that do not come": (
        "setp.lt.u32 %p0, %t, 8; @%p0 vote.sync.ballot.b32 %r0, %p0, -1; bar.sync 0;",
        "8 in a warp operation",
    ),
    "a lane outside its mask": ("bar.warp.sync 1;", "not in the mask"),
    "a shuffle from outside the mask": (
        "setp.lt.u32 %p0, %t, 8; @!%p0 ret; shfl.sync.idx.b32 %r0, %t, 9, 31, 255;",
        "reads a lane that does not take part",
    ),
    "a barrier with a number too high": ("bar.sync 16;", "none of 0 to 15"),
    "a barrier for a part of a warp": ("bar.sync 0, 40;", "part of a warp"),
}
FAULT_NAMES = {name: f"fault_{i}" for i, name in enumerate(FAULTS)}
FAULT_TEXT = "".join(
    one_array(
        FAULT_NAMES[name],
        ".shared .align 4 .b32 cells[4];\n.local .align 8 .b8 depot[8];\n" + body,
    )
    for name, (body, _) in FAULTS.items()
)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_errors_that_say_where(name):
    x = np.zeros(64, np.uint32)
    for order in ("forward", "preempted"):
        with pytest.raises(
            RuntimeError, match=f"{FAULT_NAMES[name]}: .*{FAULTS[name][1]}"
        ) as error:
            launch(FAULT_TEXT, FAULT_NAMES[name], [x], block=64, order=order, limit=10_000)
        assert "PTX line" in str(error.value) and ".ptx in " in str(error.value)


GARBAGE = "".join(
    one_array(name, body + "st.global.u32 [%x0], %r0;")
    for name, body in {
        "register": "",
        "shared": ".shared .align 4 .b32 cells[64]; mov.u64 %x2, cells; add.s64 %x2, %x2, %x8; "
        "ld.shared.u32 %r0, [%x2];",
        "local": ".local .align 4 .b8 depot[8]; ld.local.u32 %r0, [depot+4];",
    }.items()
)  # fmt: skip


@pytest.mark.parametrize("name", ["register", "shared", "local"])
def test_what_nobody_has_written_is_garbage(name):
    """Another one in each thread and each launch, so that results depend on it."""
    found = []
    for seed in (0, 1):
        x = np.zeros(64, np.uint32)
        launch(GARBAGE, name, [x], block=64, seed=seed)
        found.append(x)
    assert (found[0] != found[1]).all()
    assert all(len(set(x)) > 8 for x in found)


RACE = two_arrays(
    "race",
    """
    .shared .align 4 .b32 cells[64];
    mov.u64 %x2, cells;  add.s64 %x3, %x2, %x8;  sub.s64 %x4, %x2, %x8;
    ld.global.u32 %r0, [%x0];  st.shared.u32 [%x3], %r0;
    ld.shared.u32 %r0, [%x4+252];  st.global.u32 [%x1], %r0;
    """,
)


def test_a_missing_barrier_is_noticed_in_each_order():
    x, right = np.arange(64, dtype=np.uint32), np.arange(64)[::-1]
    for order in ORDERS:
        out = np.zeros(64, np.uint32)
        launch(RACE, "race", [x, out], block=64, order=order, seed=2)
        assert (out != right).any()
