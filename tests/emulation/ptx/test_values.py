"""Each instruction gives what the PTX manual says, bit for bit, by oracles of Python's numbers."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_texts import HEAD, apply, bit_patterns, elementwise

from gpuboost.kernels.emulation.ptx.syntax import PtxError
from gpuboost.kernels.emulation.ptx.translate import translate

# --- values as Python sees them


def signed(x, bits):
    return x - 2**bits if x >> (bits - 1) else x


def value_of(pattern, kind):
    """A pattern of bits as a number."""
    bits = int(kind[1:])
    if kind[0] == "s":
        return signed(pattern, bits)
    if kind[0] == "f":
        return struct.unpack("<d" if bits == 64 else "<f", pattern.to_bytes(bits // 8, "little"))[0]
    return pattern


#: Bits of the fraction, and the exponents of the smallest and the largest numbers.
FORMATS = {"f32": (23, -126, 127), "f64": (52, -1022, 1023)}


def pattern_of(x, kind, mode="rn", negative_zero=False):
    """The bits of a number as a float, rounded once. ``x`` is exact: a Fraction, or an infinity."""
    bits, (fraction, lowest, highest) = int(kind[1:]), FORMATS[kind]
    infinity = (highest - lowest + 2) << fraction
    if isinstance(x, float):
        assert math.isinf(x)
        return infinity | (x < 0) << (bits - 1)
    if x == 0:
        return int(negative_zero) << (bits - 1)
    negative, size = x < 0, abs(x)
    exponent = max(lowest, math.floor(math.log2(size)) if size > 2**-900 and size < 2**900
                   else size.numerator.bit_length() - size.denominator.bit_length())  # fmt: skip
    while Fraction(2) ** exponent > size and exponent > lowest:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    steps = size / Fraction(2) ** (exponent - fraction)
    whole, rest = steps.numerator // steps.denominator, steps - steps.numerator // steps.denominator
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    whole += up
    # the exponent field counts on where the fraction overflows
    pattern = whole + ((exponent - lowest) << fraction)
    if pattern >= infinity:
        stays = {"rn": False, "rz": True, "rm": not negative, "rp": negative}[mode]
        pattern = infinity - 1 if stays else infinity
    return pattern | negative << (bits - 1)


def is_nan_pattern(pattern, kind):
    return math.isnan(value_of(pattern, kind))


def test_the_oracle_of_rounding_agrees_with_numpy():
    rng = np.random.default_rng(0)
    for x in (*rng.normal(size=200), *np.exp(rng.uniform(-110, 95, 300)), 1e-46, 3.5e38, 2.0**-149):
        with np.errstate(over="ignore"):
            expected = int(np.float32(x).view(np.uint32))
        assert pattern_of(Fraction(x), "f32") == expected, x


# --- the instructions


def mask(bits):
    return 2**bits - 1


def integer_cases():
    """{name: (instructions, kinds of the inputs, kind of the output, oracle)}."""
    out = {}

    def add(name, text, inputs, output, oracle):
        out[name] = text, inputs, output, oracle

    for bits in (32, 64):
        for sign in "us":
            kind = f"{sign}{bits}"
            two, three = [kind] * 2, [kind] * 3
            for base, oracle in {
                "add": lambda a, b: a + b,
                "sub": lambda a, b: a - b,
                "mul.lo": lambda a, b: a * b,
                "min": min,
                "max": max,
            }.items():
                add(f"{base}.{kind}", f"{base}.{kind} %d, %a, %b;", two, kind, oracle)
            add(f"mul.hi.{kind}", f"mul.hi.{kind} %d, %a, %b;", two, kind,
                lambda a, b, n=bits: a * b >> n)  # fmt: skip
            add(f"mad.lo.{kind}", f"mad.lo.{kind} %d, %a, %b, %c;", three, kind,
                lambda a, b, c: a * b + c)  # fmt: skip
            add(f"mad.hi.{kind}", f"mad.hi.{kind} %d, %a, %b, %c;", three, kind,
                lambda a, b, c, n=bits: (a * b >> n) + c)  # fmt: skip
            add(f"sad.{kind}", f"sad.{kind} %d, %a, %b, %c;", three, kind,
                lambda a, b, c: c + abs(a - b))  # fmt: skip
            add(f"shr.{kind}", f"shr.{kind} %d, %a, %b;", [kind, "u32"], kind,
                lambda a, b, n=bits: a >> min(b, n))  # fmt: skip
            add(f"bfind.{kind}", f"bfind.{kind} %d, %a;", [kind], "u32",
                lambda a: (a if a >= 0 else ~a).bit_length() - 1)  # fmt: skip
            add(f"bfind.shiftamt.{kind}", f"bfind.shiftamt.{kind} %d, %a;", [kind], "u32",
                lambda a, n=bits: find_shift(a, n))  # fmt: skip
            add(f"bfe.{kind}", f"bfe.{kind} %d, %a, %b, %c;", [kind, "u32", "u32"], kind,
                lambda a, b, c, s=sign, n=bits: bfe(a, b & 255, c & 255, n, s == "s"))  # fmt: skip
        kind = f"b{bits}"
        add(f"shl.{kind}", f"shl.{kind} %d, %a, %b;", [kind, "u32"], kind,
            lambda a, b, n=bits: a << b if b < n else 0)  # fmt: skip
        add(f"popc.{kind}", f"popc.{kind} %d, %a;", [kind], "u32", lambda a: a.bit_count())
        add(f"clz.{kind}", f"clz.{kind} %d, %a;", [kind], "u32",
            lambda a, n=bits: n - a.bit_length())  # fmt: skip
        add(f"brev.{kind}", f"brev.{kind} %d, %a;", [kind], kind,
            lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2))  # fmt: skip
        add(f"bfi.{kind}", f"bfi.{kind} %d, %a, %b, 5, %c;", [kind, kind, "u32"], kind,
            lambda a, b, c, n=bits: bfi(a, b, 5, c & 255, n))  # fmt: skip
        for base, oracle in {
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
        }.items():
            add(f"{base}.{kind}", f"{base}.{kind} %d, %a, %b;", [kind] * 2, kind, oracle)
        add(f"not.{kind}", f"not.{kind} %d, %a;", [kind], kind, lambda a: ~a)
        add(f"cnot.{kind}", f"cnot.{kind} %d, %a;", [kind], kind, lambda a: int(a == 0))
        add(f"neg.s{bits}", f"neg.s{bits} %d, %a;", [f"s{bits}"], f"s{bits}", lambda a: -a)
        add(f"abs.s{bits}", f"abs.s{bits} %d, %a;", [f"s{bits}"], f"s{bits}", abs)
    for sign in "us":
        kind = f"{sign}32"
        add(f"mul.wide.{kind}", f"mul.wide.{kind} %d, %a, %b;", [kind] * 2, f"{sign}64",
            lambda a, b: a * b)  # fmt: skip
        add(f"mad.wide.{kind}", f"mad.wide.{kind} %d, %a, %b, %c;", [kind, kind, f"{sign}64"],
            f"{sign}64", lambda a, b, c: a * b + c)  # fmt: skip
        narrow = f"{sign}16"
        add(f"mul.wide.{narrow}", f"mul.wide.{narrow} %d, %a, %b;", [narrow] * 2, kind,
            lambda a, b: a * b)  # fmt: skip
        add(f"shr.{narrow}", f"shr.{narrow} %d, %a, %b;", [narrow, "u32"], narrow,
            lambda a, b: a >> min(b, 16))  # fmt: skip
        for low, shift in (("lo", 0), ("hi", 16)):
            add(f"mul24.{low}.{kind}", f"mul24.{low}.{kind} %d, %a, %b;", [kind] * 2, kind,
                lambda a, b, s=sign, n=shift: low24(a, s) * low24(b, s) >> n)  # fmt: skip
            add(f"mad24.{low}.{kind}", f"mad24.{low}.{kind} %d, %a, %b, %c;", [kind] * 3, kind,
                lambda a, b, c, s=sign, n=shift: (low24(a, s) * low24(b, s) >> n) + c)  # fmt: skip
        add(f"dp4a.{kind}", f"dp4a.{kind}.{kind} %d, %a, %b, %c;", [kind] * 3, kind,
            lambda a, b, c, s=sign: c + dot4(a, b, s))  # fmt: skip
        add(f"szext.clamp.{kind}", f"szext.clamp.{kind} %d, %a, %b;", [kind, "u32"], kind,
            lambda a, b, s=sign: szext(a, b, s))  # fmt: skip
    add("add.sat", "add.sat.s32 %d, %a, %b;", ["s32"] * 2, "s32",
        lambda a, b: min(max(a + b, -(2**31)), 2**31 - 1))  # fmt: skip
    add("sub.sat", "sub.sat.s32 %d, %a, %b;", ["s32"] * 2, "s32",
        lambda a, b: min(max(a - b, -(2**31)), 2**31 - 1))  # fmt: skip
    add("bmsk", "bmsk.clamp.b32 %d, %a, %b;", ["u32"] * 2, "u32",
        lambda a, b: (2 ** min(b, 32) - 1) << a if a < 32 else 0)  # fmt: skip
    add("lop3", "lop3.b32 %d, %a, %b, %c, 0x96;", ["b32"] * 3, "b32", lambda a, b, c: a ^ b ^ c)
    add("lop3 of one half", "lop3.b32 %d, %a, %b, %c, 0xca;", ["b32"] * 3, "b32",
        lambda a, b, c: (a & b) | (~a & c))  # fmt: skip
    for side, oracle in {
        "l": lambda both, n: both << n >> 32,
        "r": lambda both, n: both >> n,
    }.items():
        for limit, number in {"clamp": lambda n: min(n, 32), "wrap": lambda n: n & 31}.items():
            add(f"shf.{side}.{limit}", f"shf.{side}.{limit}.b32 %d, %a, %b, %c;", ["b32"] * 3, "b32",
                lambda a, b, c, f=oracle, g=number: f(b << 32 | a, g(c)))  # fmt: skip
    add("prmt", "prmt.b32 %d, %a, %b, %c;", ["b32"] * 3, "b32", prmt)
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        add(f"prmt.{mode}", f"prmt.b32.{mode} %d, %a, %b, %c;", ["b32"] * 3, "b32",
            lambda a, b, c, m=mode: prmt(a, b, PRMT_SELECTORS[m][c & 3]))  # fmt: skip
    add("carry", "add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 0;", ["u32"] * 3, "u32",
        lambda a, b, c: c + (a + b >> 32))  # fmt: skip
    add("carry of 64", "add.cc.u64 %d, %a, %b; addc.u64 %d, %c, 0;", ["u64"] * 3, "u64",
        lambda a, b, c: c + (a + b >> 64))  # fmt: skip
    add("borrow", "sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, 0;", ["u32"] * 3, "u32",
        lambda a, b, c: c - (a < b))  # fmt: skip
    add("madc", "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, 7;", ["u32"] * 3, "u32",
        lambda a, b, c: (a * b + c >> 32) + 7)  # fmt: skip
    add("slct", "slct.u32.s32 %d, %a, %b, %c;", ["u32", "u32", "s32"], "u32",
        lambda a, b, c: a if c >= 0 else b)  # fmt: skip
    add("pack", "mov.b64 %d, {%a, %b};", ["u32"] * 2, "u64", lambda a, b: b << 32 | a)
    add("unpack", "mov.b64 {_, %d}, %a;", ["u64"], "u32", lambda a: a >> 32)
    for name, oracle in {
        "lt.u32": lambda a, b: a < b,
        "lt.s32": lambda a, b: signed(a, 32) < signed(b, 32),
        "hs.u32": lambda a, b: a >= b,
        "ls.u32": lambda a, b: a <= b,
        "ne.b32": lambda a, b: a != b,
    }.items():
        add(f"setp.{name}", f"setp.{name} %p, %a, %b; selp.u32 %d, 1, 0, %p;", ["u32"] * 2, "u32",
            oracle)  # fmt: skip
        add(f"set.{name}", f"set.{name.split('.')[0]}.u32.{name.split('.')[1]} %d, %a, %b;",
            ["u32"] * 2, "u32", lambda a, b, f=oracle: -f(a, b))  # fmt: skip
    add("setp of two", "setp.lt.u32 %q, %b, %c; setp.lt.and.u32 %p|%q, %a, %b, %q; "
        "selp.u32 %d, 2, 0, %q; @%p or.b32 %d, %d, 1;", ["u32"] * 3, "u32",
        lambda a, b, c: (a < b < c) + 2 * (a >= b and b < c))  # fmt: skip
    add("predicates", "setp.ne.u32 %p, %a, 0; setp.gt.u32 %q, %b, 5; xor.pred %p, %p, %q; "
        "not.pred %q, %p; and.pred %p, %p, !%q; selp.u32 %d, 1, 0, %p;", ["u32"] * 2, "u32",
        lambda a, b: (a != 0) != (b > 5))  # fmt: skip
    return out


def find_shift(a, bits):
    place = (a if a >= 0 else ~a).bit_length() - 1
    return -1 if place < 0 else bits - 1 - place


def bfe(a, position, length, bits, is_signed):
    last = bits - 1
    high = is_signed and length > 0 and (a >> min(position + length - 1, last)) & 1
    out = 0
    for i in range(bits):
        inside = i < length and position + i <= last
        out |= ((a >> (position + i)) & 1 if inside else int(high)) << i
    return out


def bfi(a, b, position, length, bits):
    for i in range(length):
        if position + i < bits:
            b = (b & ~(1 << (position + i))) | ((a >> i) & 1) << (position + i)
    return b


def low24(a, sign):
    a &= 0xFFFFFF
    return a - 2**24 if sign == "s" and a >> 23 else a


def fours(a, sign):
    parts = [(a >> (8 * i)) & 255 for i in range(4)]
    return [p - 256 if sign == "s" and p > 127 else p for p in parts]


def dot4(a, b, sign):
    return sum(x * y for x, y in zip(fours(a, sign), fours(b, sign), strict=True))


def szext(a, n, sign):
    if n >= 32:
        return a
    field = a & mask(n)
    return field - 2**n if sign == "s" and n and field >> (n - 1) else field


PRMT_SELECTORS = {
    "f4e": [0x3210, 0x4321, 0x5432, 0x6543],
    "b4e": [0x5670, 0x6701, 0x7012, 0x0123],
    "rc8": [0x0000, 0x1111, 0x2222, 0x3333],
    "ecl": [0x3210, 0x3211, 0x3222, 0x3333],
    "ecr": [0x0000, 0x1110, 0x2210, 0x3210],
    "rc16": [0x1010, 0x3232, 0x1010, 0x3232],
}


def prmt(a, b, c):
    parts = (b << 32 | a).to_bytes(8, "little")
    out = []
    for i in range(4):
        selector = c >> (4 * i) & 15
        byte = parts[selector & 7]
        out.append((255 if byte > 127 else 0) if selector & 8 else byte)
    return int.from_bytes(bytes(out), "little")


INTEGER = integer_cases()
NAMES = {name: f"k{i}" for i, name in enumerate(INTEGER)}
TEXT = "".join(
    elementwise(NAMES[name], text, inputs, output)
    for name, (text, inputs, output, _) in INTEGER.items()
)


def drawn(inputs, n, seed=0):
    """n combinations of patterns for inputs: those worth a try, in all pairs as far as possible."""
    rng = np.random.default_rng(seed)
    pools = [bit_patterns(kind) for kind in inputs]
    return [pool[rng.integers(0, len(pool), n)] for pool in pools]


@pytest.mark.parametrize("name", INTEGER)
def test_integers(name):
    _, inputs, output, oracle = INTEGER[name]
    columns = drawn(inputs, 512)
    bits = int(output[1:])
    out = apply(TEXT, NAMES[name], columns, f"u{bits // 8}")
    for row, got in zip(zip(*columns, strict=True), out, strict=True):
        arguments = [value_of(int(x), kind) for x, kind in zip(row, inputs, strict=True)]
        assert int(got) == int(oracle(*arguments)) & mask(bits), arguments


# --- floats

MODES = ("rn", "rz", "rm", "rp")
FLOAT_TEXTS = {}
for _kind in FORMATS:
    for _mode in MODES:
        for _base, _operands in {
            "add": "%a, %b", "sub": "%a, %b", "mul": "%a, %b", "div": "%a, %b",
            "fma": "%a, %b, %c", "sqrt": "%a", "rcp": "%a",
        }.items():  # fmt: skip
            FLOAT_TEXTS[_base, _mode, _kind] = (
                f"{_base}.{_mode}.{_kind} %d, {_operands};",
                [_kind] * (1 + _operands.count(",")),
                _kind,
            )
    for _base in ("min", "max"):
        FLOAT_TEXTS[_base, "", _kind] = f"{_base}.{_kind} %d, %a, %b;", [_kind] * 2, _kind
        FLOAT_TEXTS[_base, "NaN", _kind] = f"{_base}.NaN.{_kind} %d, %a, %b;", [_kind] * 2, _kind
    for _base in ("abs", "neg"):
        FLOAT_TEXTS[_base, "", _kind] = f"{_base}.{_kind} %d, %a;", [_kind], _kind
    FLOAT_TEXTS["copysign", "", _kind] = f"copysign.{_kind} %d, %a, %b;", [_kind] * 2, _kind
    for _compare in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                     "num", "nan"):  # fmt: skip
        FLOAT_TEXTS["setp", _compare, _kind] = (
            f"setp.{_compare}.{_kind} %p, %a, %b; selp.u32 %d, 1, 0, %p;",
            [_kind] * 2,
            "u32",
        )
    for _test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        FLOAT_TEXTS["testp", _test, _kind] = (
            f"testp.{_test}.{_kind} %p, %a; selp.u32 %d, 1, 0, %p;",
            [_kind],
            "u32",
        )
    for _whole in ("rni", "rzi", "rmi", "rpi"):
        FLOAT_TEXTS["round", _whole, _kind] = (
            f"cvt.{_whole}.{_kind}.{_kind} %d, %a;",
            [_kind],
            _kind,
        )
        for _to in ("u8", "s16", "u32", "s32", "u64", "s64"):
            FLOAT_TEXTS[f"cvt {_to}", _whole, _kind] = (
                f"cvt.{_whole}.{_to}.{_kind} %d, %a;",
                [_kind],
                f"{_to[0]}{max(16, int(_to[1:]))}",
            )
    for _of in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for _mode in MODES:
            FLOAT_TEXTS[f"from {_of}", _mode, _kind] = (
                f"cvt.{_mode}.{_kind}.{_of} %d, %a;",
                [_of],
                _kind,
            )
for _mode in MODES:
    FLOAT_TEXTS["narrow", _mode, "f32"] = f"cvt.{_mode}.f32.f64 %d, %a;", ["f64"], "f32"
FLOAT_TEXTS["widen", "", "f64"] = "cvt.f64.f32 %d, %a;", ["f32"], "f64"
FLOAT_TEXTS["flushed sum", "", "f32"] = "add.rn.ftz.f32 %d, %a, %b;", ["f32"] * 2, "f32"
FLOAT_TEXTS["flushed comparison", "", "f32"] = (
    "setp.lt.ftz.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", ["f32"] * 2, "u32",
)  # fmt: skip
FLOAT_TEXTS["saturated", "", "f32"] = "add.rn.sat.f32 %d, %a, %b;", ["f32"] * 2, "f32"
for _to, _of in (("u8", "s32"), ("s8", "s32"), ("u16", "s64"), ("s32", "u64"), ("s64", "s32"),
                 ("u64", "s32"), ("s16", "u32")):  # fmt: skip
    for _sat in ("", ".sat"):
        FLOAT_TEXTS[f"{_to} of {_of}", _sat, "f32"] = (
            f"cvt{_sat}.{_to}.{_of} %d, %a;",
            [_of],
            f"{_to[0]}{max(16, int(_to[1:]))}",
        )
FLOAT_NAMES = {key: f"f{i}" for i, key in enumerate(FLOAT_TEXTS)}
FLOAT_TEXT = "".join(elementwise(FLOAT_NAMES[key], *parts) for key, parts in FLOAT_TEXTS.items())


def results(key, columns):
    _, _, output = FLOAT_TEXTS[key]
    return apply(FLOAT_TEXT, FLOAT_NAMES[key], columns, f"u{int(output[1:]) // 8}")


def exact(base, *values):
    """The exact result of an operation, a Fraction or an infinity, or None if it is no number."""
    if any(math.isnan(v) for v in values):
        return None
    if base in ("add", "sub", "mul", "fma", "div", "rcp") and any(map(math.isinf, values)):
        return of_infinities(base, values)
    if base == "sqrt" and math.isinf(values[0]):
        return values[0] if values[0] > 0 else None
    fractions = [Fraction(v) for v in values]
    if base == "rcp":
        base, fractions, values = "div", [Fraction(1), *fractions], (1.0, *values)
    if base == "div":
        if fractions[1] == 0:
            sign = math.copysign(1, values[0]) * math.copysign(1, values[1])
            return None if fractions[0] == 0 else sign * math.inf
        return fractions[0] / fractions[1]
    a, b, c = (*fractions, Fraction(0), Fraction(0))[:3]
    return {"add": a + b, "sub": a - b, "mul": a * b, "fma": a * b + c}[base]


def of_infinities(base, values):
    """IEEE 754 for infinities, where Python's floats agree with it."""
    if base == "rcp":
        base, values = "div", (1.0, *values)
    a, b = values[:2]
    if base == "div":
        out = math.nan if math.isinf(a) and math.isinf(b) else (
            0.0 * math.copysign(1, a) * math.copysign(1, b) if math.isinf(b)
            else a * math.copysign(1, b))  # fmt: skip
    else:
        product = a * (b if base in ("mul", "fma") else 1)
        # a finite product that overflows here would not do so there
        if base == "fma" and math.isinf(product) and not (math.isinf(a) or math.isinf(b)):
            product = 0.0
        out = {"add": a + b, "sub": a - b, "mul": product, "fma": product + values[-1]}[base]
    if math.isnan(out):
        return None
    return out if math.isinf(out) else Fraction(0)


def negative_zero(base, mode, values):
    """Whether an exact zero is negative."""
    signs = [math.copysign(1, v) < 0 for v in values]
    if base in ("mul", "div"):
        return signs[0] != signs[1]
    if base == "rcp":
        return signs[0]
    first, second = signs[0], signs[-1]
    if base == "sub":
        second = not second
    if base == "fma":
        first = signs[0] != signs[1]
        if Fraction(0) not in map(Fraction, values[:2]):
            return mode == "rm"
    elif values[0] != 0:
        return mode == "rm"
    return first if first == second else mode == "rm"


def check_rounded(key, columns):
    base, mode, kind = key
    for row, got in zip(zip(*columns, strict=True), results(key, columns), strict=True):
        values = [value_of(int(x), kind) for x in row]
        wanted = exact(base, *values)
        if wanted is None:
            assert is_nan_pattern(int(got), kind), values
            assert kind == "f64" or got == 0x7FFFFFFF
            continue
        zero = wanted == 0 and negative_zero(base, mode, values)
        assert int(got) == pattern_of(wanted, kind, mode, zero), (key, values)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("base", ["add", "sub", "mul", "div", "rcp", "fma"])
def test_rounded_arithmetic(base, mode, kind):
    _, inputs, _ = FLOAT_TEXTS[base, mode, kind]
    check_rounded((base, mode, kind), drawn(inputs, 400))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_square_root(mode, kind):
    """By squares: the root is the number whose neighbours' squares are on both sides."""
    column = bit_patterns(kind)
    for x, got in zip(column, results(("sqrt", mode, kind), [column]), strict=True):
        value, root = value_of(int(x), kind), value_of(int(got), kind)
        if math.isnan(value) or value < 0:
            assert math.isnan(root)
        elif value == 0 or math.isinf(value):
            assert int(got) == int(x)
        else:
            lower, upper = (value_of(int(got) + k, kind) for k in (-1, 1))
            square = Fraction(value)
            middle = [(Fraction(root) + Fraction(other)) / 2 for other in (lower, upper)]
            low, high = {
                "rn": (middle[0] ** 2 <= square, square <= middle[1] ** 2),
                "rz": (Fraction(root) ** 2 <= square, square < Fraction(upper) ** 2),
                "rm": (Fraction(root) ** 2 <= square, square < Fraction(upper) ** 2),
                "rp": (Fraction(lower) ** 2 < square, square <= Fraction(root) ** 2),
            }[mode]
            assert low and high, value


floats64 = st.floats(width=64)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(floats64, floats64, floats64), min_size=1, max_size=40),
    st.sampled_from(MODES),
)
def test_fused_multiply_add_rounds_once(rows, mode):
    columns = [np.array(column).view(np.uint64) for column in zip(*rows, strict=True)]
    check_rounded(("fma", mode, "f64"), columns)


@settings(max_examples=60, deadline=None)
@given(st.lists(floats64, min_size=1, max_size=40), st.sampled_from(MODES))
def test_narrowing_rounds_as_it_says(values, mode):
    column = np.array(values).view(np.uint64)
    for value, got in zip(values, results(("narrow", mode, "f32"), [column]), strict=True):
        if math.isnan(value):
            assert got == 0x7FFFFFFF
        else:
            x = value if math.isinf(value) else Fraction(value)
            zero = math.copysign(1, value) < 0
            assert int(got) == pattern_of(x, "f32", mode, zero), value


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("of", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("mode", MODES)
def test_integers_become_floats(of, mode, kind):
    column = bit_patterns(of)
    for x, got in zip(column, results((f"from {of}", mode, kind), [column]), strict=True):
        value = value_of(int(x), of)
        assert int(got) == pattern_of(Fraction(value), kind, mode), value


ROUNDINGS = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("to", ["u8", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("whole", ROUNDINGS)
def test_floats_become_integers(to, whole, kind):
    """The nearest there is; what is not a number has its own result."""
    column, bits = bit_patterns(kind), int(to[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if to[0] == "s" else (0, 2**bits - 1)
    stored = max(16, bits)
    for x, got in zip(column, results((f"cvt {to}", whole, kind), [column]), strict=True):
        value = value_of(int(x), kind)
        if math.isnan(value):
            expected = signed(2 ** (bits - 1), bits) if to[0] == "s" else 2 ** (bits - 1)
            expected = expected if bits == 64 or kind == "f64" else 0
        elif math.isinf(value):
            expected = high if value > 0 else low
        else:
            expected = min(max(ROUNDINGS[whole](value), low), high)
        assert int(got) == expected & mask(stored), value


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("whole", ROUNDINGS)
def test_floats_become_whole(whole, kind):
    column = bit_patterns(kind)
    for x, got in zip(column, results(("round", whole, kind), [column]), strict=True):
        value, rounded = value_of(int(x), kind), value_of(int(got), kind)
        if math.isnan(value):
            assert math.isnan(rounded)
        elif math.isinf(value):
            assert rounded == value
        else:
            assert rounded == ROUNDINGS[whole](value)
            assert math.copysign(1, rounded) == math.copysign(1, value)


@pytest.mark.parametrize("key", [key for key in FLOAT_TEXTS if " of " in key[0]])
def test_integers_of_other_widths(key):
    to, of = key[0].split(" of ")
    bits, column = int(to[1:]), bit_patterns(of)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if to[0] == "s" else (0, 2**bits - 1)
    for x, got in zip(column, results(key, [column]), strict=True):
        value = value_of(int(x), of)
        narrow = value_of(value & mask(bits), to)
        expected = min(max(value, low), high) if key[1] else narrow
        assert int(got) == expected & mask(max(16, bits)), value


@pytest.mark.parametrize("kind", FORMATS)
def test_minimum_and_maximum(kind):
    columns = drawn([kind] * 2, 512)
    for base, sign in (("min", 1), ("max", -1)):
        for nan in ("", "NaN"):
            for a, b, got in zip(*columns, results((base, nan, kind), columns), strict=True):
                x, y = value_of(int(a), kind), value_of(int(b), kind)
                if math.isnan(x) and math.isnan(y) or nan and (math.isnan(x) or math.isnan(y)):
                    assert is_nan_pattern(int(got), kind)
                elif math.isnan(x) or math.isnan(y):
                    assert int(got) == int(b if math.isnan(x) else a)
                else:  # -0 is below 0
                    lowest = min((sign * x, sign * math.copysign(1, x), int(a)),
                                 (sign * y, sign * math.copysign(1, y), int(b)))  # fmt: skip
                    assert int(got) == lowest[2], (x, y)


COMPARISONS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMATS)
def test_comparisons_with_what_is_not_a_number(kind):
    columns = drawn([kind] * 2, 512)
    for name in (*COMPARISONS, *(f"{c}u" for c in COMPARISONS), "num", "nan"):
        for a, b, got in zip(*columns, results(("setp", name, kind), columns), strict=True):
            x, y = value_of(int(a), kind), value_of(int(b), kind)
            unordered = math.isnan(x) or math.isnan(y)
            if name in ("num", "nan"):
                expected = unordered == (name == "nan")
            elif name in COMPARISONS:
                expected = not unordered and COMPARISONS[name](x, y)
            else:
                expected = unordered or COMPARISONS[name[:-1]](x, y)
            assert bool(got) == expected, (name, x, y)


@pytest.mark.parametrize("kind", FORMATS)
def test_signs_and_tests(kind):
    bits, (_, lowest, _) = int(kind[1:]), FORMATS[kind]
    a, b = drawn([kind] * 2, 512)
    top = np.array(1 << (bits - 1), a.dtype)
    np.testing.assert_array_equal(results(("neg", "", kind), [a]), a ^ top)
    np.testing.assert_array_equal(results(("abs", "", kind), [a]), a & ~top)
    np.testing.assert_array_equal(results(("copysign", "", kind), [a, b]), b & ~top | a & top)
    x = np.array([value_of(int(v), kind) for v in a])
    small = np.abs(x) < 2.0**lowest
    for test, expected in {
        "finite": np.isfinite(x),
        "infinite": np.isinf(x),
        "number": ~np.isnan(x),
        "notanumber": np.isnan(x),
        "normal": np.isfinite(x) & ~small,
        "subnormal": small & (x != 0),
    }.items():
        np.testing.assert_array_equal(results(("testp", test, kind), [a]).astype(bool), expected)


def test_subnormal_numbers_are_flushed_where_the_instruction_says_so():
    columns = drawn(["f32"] * 2, 512)
    sums = results(("flushed sum", "", "f32"), columns)
    less = results(("flushed comparison", "", "f32"), columns)
    for a, b, total, below in zip(*columns, sums, less, strict=True):
        x, y = (flush(value_of(int(v), "f32")) for v in (a, b))
        assert bool(below) == (x < y)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = flush(float(np.float32(x) + np.float32(y)))
        got = value_of(int(total), "f32")
        assert got == expected or math.isnan(got) and math.isnan(expected)


def flush(x):
    return math.copysign(0.0, x) if abs(x) < 2.0**-126 else x


def test_saturation_of_floats():
    columns = drawn(["f32"] * 2, 512)
    for a, b, got in zip(*columns, results(("saturated", "", "f32"), columns), strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.uint32(a).view(np.float32) + np.uint32(b).view(np.float32)
        assert value_of(int(got), "f32") == (0.0 if np.isnan(x) else min(max(x, 0), 1))


def test_a_float_of_single_precision_is_exact_in_double():
    column = bit_patterns("f32")
    for x, got in zip(column, results(("widen", "", "f64"), [column]), strict=True):
        value, wide = value_of(int(x), "f32"), value_of(int(got), "f64")
        assert value == wide or math.isnan(value) and math.isnan(wide)


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        ("ex2.approx.f32 %d, %a;", "unknown instruction"),
        ("div.full.f32 %d, %a, %b;", "no rule for .full"),
        ("rcp.approx.ftz.f32 %d, %a;", "no rule for .approx"),
        ("add.f16 %d, %a, %b;", "0 types where there must be one"),
        ("add.rn.f32 %d, %a, 1;", "the constant 1 for the type f32"),
        ("add.u32 %d, %a, %missing;", "operand '%missing'"),
        ("mul.u32 %d, %a, %b;", "one of lo, hi, wide is needed"),
        ("add.f64 %d, %a, %b;", "%a does not fit the type f64"),
        ("cvt.s32.f32 %d, %a;", "rni, rzi, rmi, rpi"),
        ("setp.lt.f16x2 %p, %a, %b;", "0 types"),
        ("vadd.s32.s32.s32 %d, %a, %b;", "unknown instruction"),
        ("add.u32 %d, %a;", "cannot be understood"),
        ("add.u32 7, %a, %b;", "7 is no register"),
        ("cvta.param.u64 %d, %a;", "addresses of parameters"),
        ("setp.num.s32 %p, %a, %b;", "comparison of floats"),
        ("and.f32 %d, %a, %pp;", "operand '%pp'"),
    ],
)
def test_what_is_not_known_is_an_error_that_names_it(instruction, reason):
    text = elementwise("bad", instruction, ["u32", "u32"], "u32")
    opcode = instruction.split()[0].replace(".", r"\.")
    with pytest.raises(PtxError, match=f"kernel bad, PTX line [0-9]+: {opcode}.*{reason}"):
        translate(HEAD + text)
