"""Instructions that compute a value from values: arithmetic, comparisons, conversions, moves.

A rule takes the parts of the opcode and the operands, and returns C++. ``arithmetic.h`` has what
C++ lacks. Instructions whose result the manual leaves open (``.approx``, ``.full``) have no rule.
"""

from gpuboost.kernels.emulation.ptx.syntax import SIZES, PtxError, split

FLOATS = ("f32", "f64")
_ROUNDINGS = {"rn": "NEAREST", "rz": "TO_ZERO", "rm": "DOWN", "rp": "UP"}
_WHOLE = {"rni": "NEAREST", "rzi": "TO_ZERO", "rmi": "DOWN", "rpi": "UP"}


def _bits(kind):
    return 8 * SIZES[kind]


def _unsigned(kind):
    """The C++ type of the bits of a type."""
    return f"u{_bits(kind)}"


# --- floats


def _floats(kind, op, statement, n):
    """Operands of a float instruction, flushed if it says so, and how to write its result."""
    flush = op.take("ftz") if kind == "f32" else None
    saturate = op.take("sat")
    operands = [statement.read(i + 1, kind) for i in range(n)]
    if flush:
        operands = [f"flushed({operand})" for operand in operands]

    def write(expression):
        if flush:
            expression = f"flushed({expression})"
        if saturate:
            expression = f"saturated<{kind}>({expression})"
        return statement.write(0, _unsigned(kind), f"result_bits(({kind})({expression}))")

    return operands, write


def _rounded(operation, sign, n):
    """A float operation that IEEE 754 fixes, in any rounding mode."""

    def rule(kind, op, statement):
        mode = _ROUNDINGS[op.take(*_ROUNDINGS) or "rn"]
        operands, write = _floats(kind, op, statement, n)
        if mode == "NEAREST":
            return write(sign.format(*operands))
        if operation == "DIVIDE" and n == 1:  # the reciprocal
            operands = [f"({kind})1", *operands]
        return write(f"rounded<{kind}>({mode}, {operation}, {', '.join(operands)})")

    return rule


def _smaller_or_larger(function):
    def rule(kind, op, statement):
        nan = "true" if op.take("NaN") else "false"
        (a, b), write = _floats(kind, op, statement, 2)
        return write(f"{function}<{kind}>({a}, {b}, {nan})")

    return rule


def _sign(function):
    """Negation and absolute value: bits change, and nothing else does."""

    def rule(kind, op, statement):
        flush = kind == "f32" and op.take("ftz")
        value = statement.read(1, kind)
        return statement.write(0, kind, f"{function}({f'flushed({value})' if flush else value})")

    return rule


_FLOAT_RULES = {
    "add": _rounded("ADD", "{} + {}", 2),
    "sub": _rounded("SUBTRACT", "{} - {}", 2),
    "mul": _rounded("MULTIPLY", "{} * {}", 2),
    "div": _rounded("DIVIDE", "{} / {}", 2),
    "rcp": _rounded("DIVIDE", "1 / {}", 1),
    "sqrt": _rounded("ROOT", "square_root({})", 1),
    "fma": _rounded("FUSED", "fused({}, {}, {})", 3),
    "mad": _rounded("FUSED", "fused({}, {}, {})", 3),
    "min": _smaller_or_larger("smaller"),
    "max": _smaller_or_larger("larger"),
    "neg": _sign("negative"),
    "abs": _sign("absolute"),
}


def _copysign(op, statement):
    kind = op.type()
    a, b = statement.read(1, kind), statement.read(2, kind)
    return statement.write(0, kind, f"with_sign_of({a}, {b})")


def _testp(op, statement):
    tests = {
        "finite": "FINITE",
        "infinite": "INFINITE",
        "number": "NUMBER",
        "notanumber": "NOT_A_NUMBER",
        "normal": "NORMAL",
        "subnormal": "SUBNORMAL",
    }
    kind, test = op.type(), tests[op.need(*tests)]
    return statement.write(0, "pred", f"is<{kind}>({test}, {statement.read(1, kind)})")


# --- integers


def _simple(expression, *kinds, result=None):
    """An integer instruction that is an expression; kinds of operands: None is the type's own."""

    def rule(kind, op, statement):
        operands = [
            statement.read(i + 1, operand_kind or kind) for i, operand_kind in enumerate(kinds)
        ]
        text = expression.format(*operands, t=f"{kind[0].replace('b', 'u')}{_bits(kind)}")
        return statement.write(0, result or kind, text)

    return rule


def _dividing(function):
    def rule(kind, op, statement):
        a, b = statement.read(1, kind), statement.read(2, kind)
        return statement.write(0, kind, f"{function}<{kind}>({a}, {b}, {statement.line})")

    return rule


def _sum(function, sign):
    """Sums and differences: plain, saturated, or with a carry."""

    def rule(kind, op, statement):
        a, b = statement.read(1, kind), statement.read(2, kind)
        if op.take("cc"):
            return statement.write(0, kind, f"{function}<{kind}>({a}, {b}, false, carry, true)")
        if op.take("sat"):
            return statement.write(0, kind, f"clamped<{kind}>((__int128){a} {sign} (__int128){b})")
        unsigned = _unsigned(kind)
        return statement.write(0, kind, f"({unsigned}){a} {sign} ({unsigned}){b}")

    return rule


def _with_carry(function):
    """``addc`` and ``subc``: the carry of the instruction before comes in."""

    def rule(op, statement):
        kind, keep = op.type(), "true" if op.take("cc") else "false"
        a, b = statement.read(1, kind), statement.read(2, kind)
        return statement.write(0, kind, f"{function}<{kind}>({a}, {b}, carry, carry, {keep})")

    return rule


def _product(kind, op, statement):
    """(C++ of the product of the first two operands, type of the result)."""
    part = op.need("lo", "hi", "wide")
    a, b = statement.read(1, kind), statement.read(2, kind)
    if part == "hi":
        return f"multiply_high<{kind}>({a}, {b})", kind
    wide = f"{kind[0]}{2 * _bits(kind)}"
    if part == "wide":
        return f"({wide}){a} * ({wide}){b}", wide
    return f"(u64){a} * (u64){b}", kind


def _multiply(kind, op, statement):
    product, result = _product(kind, op, statement)
    return statement.write(0, result, product)


def _multiply_add(kind, op, statement):
    product, result = _product(kind, op, statement)
    c = statement.read(3, result)
    if op.take("cc"):
        return statement.write(
            0, result, f"add_carry<{result}>(({result})({product}), {c}, false, carry, true)"
        )
    if op.take("sat"):
        return statement.write(
            0, result, f"clamped<{result}>((__int128)({result})({product}) + {c})"
        )
    return statement.write(0, result, f"(u64)({product}) + (u64){c}")


def _multiply_add_carry(op, statement):
    kind, keep = op.type(), "true" if op.take("cc") else "false"
    product, result = _product(kind, op, statement)
    c = statement.read(3, result)
    return statement.write(
        0, result, f"add_carry<{result}>(({result})({product}), {c}, carry, carry, {keep})"
    )


def _multiply_24(op, statement):
    """Products of the low 24 bits: the low or the high 32 of the 48 bits, a third one added."""
    kind, part = op.type(), op.need("lo", "hi")
    shift = "<< 8 >> 8" if kind == "s32" else "& 0xffffff"
    a, b = (f"(({statement.read(i, kind)}) {shift})" for i in (1, 2))
    product = f"(((s64){a} * (s64){b}) >> {16 if part == 'hi' else 0})"
    addend = f" + {statement.read(3, kind)}" if op.name == "mad24" else ""
    return statement.write(0, kind, f"(u32){product}{addend}")


_INTEGER_RULES = {
    "add": _sum("add_carry", "+"),
    "sub": _sum("subtract_borrow", "-"),
    "mul": _multiply,
    "mad": _multiply_add,
    "div": _dividing("divide"),
    "rem": _dividing("remainder"),
    "min": _simple("{0} < {1} ? {0} : {1}", None, None),
    "max": _simple("{0} > {1} ? {0} : {1}", None, None),
    "neg": _simple("0 - (u64){0}", None),
    "abs": _simple("absolute<{t}>({0})", None),
}
_PREDICATES = {"and": "{} && {}", "or": "{} || {}", "xor": "{} != {}", "not": "!{}"}


def _bitwise(expression, n):
    def rule(op, statement):
        kind = op.type()
        text = _PREDICATES[op.name] if kind == "pred" else expression
        operands = [statement.read(i + 1, kind) for i in range(n)]
        return statement.write(0, kind, text.format(*operands))

    return rule


def _of_one_type(rule):
    return lambda op, statement: rule(op.type(), op, statement)


def _arithmetic(name):
    """The rule of an instruction that floats and integers have."""

    def rule(op, statement):
        kind = op.type()
        rules = _FLOAT_RULES if kind in FLOATS else _INTEGER_RULES
        if name not in rules or kind == "pred":
            raise PtxError(f"no rule for the type {kind}")
        return rules[name](kind, op, statement)

    return rule


def _shf(op, statement):
    left, wrap = op.need("l", "r") == "l", op.need("wrap", "clamp") == "wrap"
    kind = op.type()
    n = statement.read(3, "u32")
    n = f"({n} & 31)" if wrap else f"({n} > 32 ? 32 : {n})"
    a, b = statement.read(1, kind), statement.read(2, kind)
    return statement.write(0, kind, f"funnel({a}, {b}, {n}, {'true' if left else 'false'})")


def _bfind(op, statement):
    above, kind = "true" if op.take("shiftamt") else "false", op.type()
    return statement.write(0, "u32", f"find_bit<{kind}>({statement.read(1, kind)}, {above})")


def _prmt(op, statement):
    modes = {
        "f4e": "FORWARD_4",
        "b4e": "BACKWARD_4",
        "rc8": "REPLICATE_8",
        "ecl": "EDGE_LEFT",
        "ecr": "EDGE_RIGHT",
        "rc16": "REPLICATE_16",
    }
    kind, mode = op.type(), modes.get(op.take(*modes), "BY_SELECTOR")
    a, b, c = (statement.read(i, kind) for i in (1, 2, 3))
    return statement.write(0, kind, f"permute_bytes({a}, {b}, {c}, {mode})")


def _szext(op, statement):
    wrap, kind = op.need("wrap", "clamp") == "wrap", op.type()
    a, n = statement.read(1, kind), statement.read(2, "u32")
    return statement.write(0, kind, f"extended<{kind}>({a}, {n}, {'true' if wrap else 'false'})")


def _bmsk(op, statement):
    wrap, kind = op.need("wrap", "clamp") == "wrap", op.type()
    a, b = statement.read(1, "u32"), statement.read(2, "u32")
    return statement.write(0, kind, f"field_mask<u32>({a}, {b}, {'true' if wrap else 'false'})")


def _dp4a(op, statement):
    kinds = op.types()
    signs = ", ".join("true" if kind == "s32" else "false" for kind in kinds)
    a, b, c = (statement.read(i, "u32") for i in (1, 2, 3))
    result = "s32" if "s32" in kinds else "u32"
    return statement.write(0, result, f"dot_product_4<{result}>({a}, {b}, {signs}, {c})")


# --- comparisons

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED_NAMES = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_ORDERED = ("num", "nan", *(f"{name}u" for name in _COMPARE))


def _comparison(op, statement, kind):
    """C++ for whether the second operand compares with the third as the opcode says."""
    name = op.need(*_COMPARE, *_UNSIGNED_NAMES, *_ORDERED)
    flush = kind == "f32" and op.take("ftz")
    a, b = (
        f"flushed({value})" if flush else value
        for value in (statement.read(1, kind), statement.read(2, kind))
    )
    if kind not in FLOATS:
        if name in _ORDERED:
            raise PtxError(f"{name} is a comparison of floats")
        return f"({a} {(_COMPARE | _UNSIGNED_NAMES)[name]} {b})"
    unordered = f"(is_nan({a}) || is_nan({b}))"
    if name == "nan":
        return unordered
    if name == "num":
        return f"!{unordered}"
    if name in _ORDERED:  # true as well if one of them is not a number
        return f"({unordered} || {a} {_COMPARE[name[:-1]]} {b})"
    return f"(!{unordered} && {a} {_COMPARE[name]} {b})"


def _combined(op, statement, compared, place):
    """The comparison, and its opposite, combined with a predicate if the opcode says so."""
    how = op.take("and", "or", "xor")
    if how is None:
        return compared, f"!{compared}"
    with_ = statement.read(place, "pred")
    return tuple(_PREDICATES[how].format(side, with_) for side in (compared, f"!{compared}"))


def _setp(op, statement):
    kind = op.type()
    yes, no = _combined(op, statement, _comparison(op, statement, kind), 3)
    target, _, other = statement.operands[0].partition("|")
    if not other:
        return statement.write_to(target, "pred", yes)
    return (
        f"{{ const bool yes = {yes}, no = {no}; {statement.write_to(target, 'pred', 'yes')} "
        f"{statement.write_to(other, 'pred', 'no')} }}"
    )


def _set(op, statement):
    to, of = op.types()
    yes, _ = _combined(op, statement, _comparison(op, statement, of), 3)
    answers = "1.0f : 0.0f" if to == "f32" else "~0u : 0u"
    return statement.write(0, to, f"{yes} ? {answers}")


def _selp(op, statement):
    kind = op.type()
    choice = statement.read(3, "pred")
    bits = _unsigned(kind)
    a, b = (_as_bits(statement.read(i, kind), kind) for i in (1, 2))
    return statement.write(0, bits, f"{choice} ? {a} : {b}")


def _slct(op, statement):
    kind, by = op.types()
    c = statement.read(3, by)
    if by == "f32" and op.take("ftz"):
        c = f"flushed({c})"
    a, b = (_as_bits(statement.read(i, kind), kind) for i in (1, 2))
    return statement.write(0, _unsigned(kind), f"{c} >= 0 ? {a} : {b}")


def _as_bits(value, kind):
    return f"to_bits({value})" if kind in FLOATS else f"({_unsigned(kind)}){value}"


# --- moves and conversions


def _mov(op, statement):
    kind = op.type()
    target, source = statement.operands
    if target.startswith("{"):
        parts = split(target[1:-1])
        width = _bits(kind) // len(parts)
        writes = "".join(
            statement.write_to(part, f"u{width}", f"whole >> {i * width}")
            for i, part in enumerate(parts)
        )
        return f"{{ const u64 whole = {_as_bits(statement.read(1, kind), kind)}; {writes} }}"
    if source.startswith("{"):
        parts = split(source[1:-1])
        width = _bits(kind) // len(parts)
        terms = (
            f"(u64){statement.read_from(part, f'u{width}')} << {i * width}"
            for i, part in enumerate(parts)
        )
        return statement.write(0, _unsigned(kind), " | ".join(terms))
    if kind == "pred":
        return statement.write(0, kind, statement.read(1, kind))
    return statement.write(0, _unsigned(kind), _as_bits(statement.read(1, kind), kind))


def _cvt(op, statement):
    to, of = op.types()
    value = statement.read(1, of)
    whole, mode, saturate = op.take(*_WHOLE), op.take(*_ROUNDINGS), op.take("sat")
    flush = op.take("ftz") if "f32" in (to, of) else None
    if flush and of == "f32":
        value = f"flushed({value})"
    if to not in FLOATS:
        return _cvt_to_integer(statement, to, of, value, whole, saturate)
    if of not in FLOATS:
        value = f"(({'s64' if of[0] == 's' else 'u64'}){value})"
    if whole:
        value = f"to_whole({_WHOLE[whole]}, {value})"
    elif mode not in (None, "rn"):
        value = f"converted<{to}>({_ROUNDINGS[mode]}, {value})"
    value = f"({to}){value}"
    if flush and to == "f32":
        value = f"flushed({value})"
    if saturate:
        value = f"saturated<{to}>({value})"
    return statement.write(0, _unsigned(to), f"result_bits({value})")


def _cvt_to_integer(statement, to, of, value, whole, saturate):
    kind = f"{to[0].replace('b', 'u')}{_bits(to)}"
    if of in FLOATS:  # saturated always
        if whole is None:
            raise PtxError("a float becomes an integer by one of rni, rzi, rmi, rpi")
        return statement.write(
            0, to, f"to_integer<{kind}, {of}>(to_whole<{of}>({_WHOLE[whole]}, {value}))"
        )
    if saturate:
        return statement.write(0, to, f"clamped<{kind}>((__int128){value})")
    return statement.write(0, to, value)


def _cvta(op, statement):
    """Addresses of one space as addresses of all of them, and back."""
    to = op.take("to")
    space, kind = op.need("global", "shared", "local", "const", "param"), op.type()
    window = {"shared": "SHARED_WINDOW", "local": "LOCAL_WINDOW"}.get(space, "0ull")
    if space == "param":
        raise PtxError("no rule for addresses of parameters")
    address = statement.read(1, kind)
    return statement.write(0, kind, f"{address} {'-' if to else '+'} {window}")


def _isspacep(op, statement):
    space = op.need("global", "shared", "local")
    window = {"shared": "SHARED_WINDOW", "local": "LOCAL_WINDOW"}.get(space, "0ull")
    return statement.write(0, "pred", f"({statement.read(1, 'u64')} & WINDOW_MASK) == {window}")


_ARITHMETIC = ("add", "sub", "mul", "div", "rem", "mad", "fma", "rcp", "sqrt", "min", "max",
               "neg", "abs")  # fmt: skip
RULES = {
    **{name: _arithmetic(name) for name in _ARITHMETIC},
    "copysign": _copysign,
    "testp": _testp,
    "addc": _with_carry("add_carry"),
    "subc": _with_carry("subtract_borrow"),
    "madc": _multiply_add_carry,
    "mul24": _multiply_24,
    "mad24": _multiply_24,
    "sad": _of_one_type(_simple("distance_added<{t}>({0}, {1}, {2})", None, None, None)),
    "and": _bitwise("{} & {}", 2),
    "or": _bitwise("{} | {}", 2),
    "xor": _bitwise("{} ^ {}", 2),
    "not": _bitwise("~{}", 1),
    "cnot": _bitwise("{} == 0", 1),
    "shl": _of_one_type(_simple("shift_left<{t}>({0}, {1})", None, "u32")),
    "shr": _of_one_type(_simple("shift_right<{t}>({0}, {1})", None, "u32")),
    "shf": _shf,
    "popc": _of_one_type(_simple("__builtin_popcountll({0})", None, result="u32")),
    "clz": _of_one_type(_simple("leading_zeros<{t}>({0})", None, result="u32")),
    "brev": _of_one_type(_simple("reverse_bits<{t}>({0})", None)),
    "bfind": _bfind,
    "bfi": _of_one_type(_simple("insert_field<{t}>({0}, {1}, {2}, {3})", None, None, "u32", "u32")),
    "bfe": _of_one_type(_simple("extract_field<{t}>({0}, {1}, {2})", None, "u32", "u32")),
    "prmt": _prmt,
    "lop3": _of_one_type(_simple("logic3({0}, {1}, {2}, {3})", None, None, None, None)),
    "szext": _szext,
    "bmsk": _bmsk,
    "dp4a": _dp4a,
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "slct": _slct,
    "mov": _mov,
    "cvt": _cvt,
    "cvta": _cvta,
    "isspacep": _isspacep,
}
