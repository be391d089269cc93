"""Instructions that do more than compute a value: memory, branches, barriers, warps."""

import re

from gpuboost.kernels.emulation.ptx.operands import C_TYPES
from gpuboost.kernels.emulation.ptx.syntax import SIZES, PtxError, split

#: Hints for caches, and who must see an access in which order: nothing changes on one core.
_HINTS = (
    r"weak|volatile|relaxed|acquire|release|acq_rel|sc|cta|cluster|gpu|sys|nc"
    r"|ca|cg|cs|lu|cv|wb|wt|L1::\w+|L2::\w+"
)
_SPACES = ("global", "shared", "shared::cta", "local", "const", "param", "param::entry")


# --- memory


def _pointer(statement, place, space, n_bytes, writes):
    """C++ for a checked pointer to what an operand like ``[%rd1+8]`` says."""
    kernel, line = statement.kernel, statement.line
    match = re.fullmatch(
        r"\[\s*([%$\w]+)\s*(?:\+\s*(-?\d+)|(-\s*\d+))?\s*\]", statement.operands[place]
    )
    if match is None:
        raise PtxError(f"the address {statement.operands[place]!r}")
    offset = int((match[2] or match[3] or "0").replace(" ", ""))
    register = kernel.register(match[1])
    if register is not None:
        name, kind = register
        # in the width of the register, where it may wrap around
        address = f"(u64)({kind})({name} + ({kind}){offset}ll)"
    else:
        home, place_of = kernel.symbols[match[1]]
        if home != space.split("::")[0] and not (home == "global" and space == "const"):
            raise PtxError(f"{match[1]} is in {home} memory, not in {space}")
        address = f"{place_of} + (u64){offset}ll"
    if space.startswith("param"):
        if writes:
            raise PtxError("a parameter is written")
        return f"parameter_at({address}, {n_bytes}, {kernel.parameter_bytes}, {line})"
    if space in ("global", "const"):
        return f"global_at({kernel.new_span()}, {address}, {n_bytes}, {line})"
    if space.startswith("shared"):
        return f"shared_at({address}, {n_bytes}, {line})"
    if space == "local":
        return f"local_at(local, {address}, {n_bytes}, {line})"
    return f"generic_at({kernel.new_span()}, local, {address}, {n_bytes}, {line})"


def _access(op, operand):
    """(space, type, its bytes, registers) of a load or a store; as many as the opcode says."""
    op.ignore(_HINTS)
    space, kind = op.take(*_SPACES) or "generic", op.type()
    width = int((op.take("v2", "v4", "v8") or "v1")[1:])
    registers = split(operand[1:-1]) if operand.startswith("{") else [operand]
    if len(registers) != width:
        raise PtxError(f"{len(registers)} registers for {width} values")
    return space, kind, SIZES[kind], registers


def _ld(op, statement):
    space, kind, size, targets = _access(op, statement.operands[0])
    pointer = _pointer(statement, 1, space, size * len(targets), writes=False)
    loads = " ".join(
        statement.write_to(target, kind, f"load<{C_TYPES[kind]}>(from + {i * size})")
        for i, target in enumerate(targets)
    )
    return f"{{ const u8* from = {pointer}; {loads} }}"


def _st(op, statement):
    space, kind, size, sources = _access(op, statement.operands[1])
    pointer = _pointer(statement, 0, space, size * len(sources), writes=True)
    stores = " ".join(
        f"store<{C_TYPES[kind]}>(to + {i * size}, {statement.read_from(source, kind)});"
        for i, source in enumerate(sources)
    )
    return f"{{ u8* to = {pointer}; {stores} }}"


_CHANGES = {
    "add": "old + {0}",
    "min": "old < {0} ? old : {0}",
    "max": "old > {0} ? old : {0}",
    "and": "old & {0}",
    "or": "old | {0}",
    "xor": "old ^ {0}",
    "exch": "{0}",
    "inc": "old >= {0} ? 0 : old + 1",
    "dec": "old == 0 || old > {0} ? {0} : old - 1",
    "cas": "old == {0} ? {1} : old",
}


def _atom(op, statement):
    """``atom``, and ``red``, which returns nothing."""
    op.ignore(_HINTS)
    space, kind = op.take(*_SPACES[:3]) or "generic", op.type()
    change = op.need(*_CHANGES)
    flush = op.take("noftz") is None and kind == "f32" and not space.startswith("shared")
    if kind in ("f32", "f64") and change not in ("add", "exch"):
        raise PtxError(f"no atomic {change} of floats")
    first = 1 if op.name == "red" else 2
    values = [statement.read(i, kind) for i in range(first, len(statement.operands))]
    text = _CHANGES[change].format(*values)
    if flush and change == "add":  # in global memory, subnormal numbers count as zero
        text = f"flushed(flushed(old) + flushed({values[0]}))"
    pointer = _pointer(statement, first - 1, space, SIZES[kind], writes=True)
    c_type = C_TYPES[kind]
    done = f"update<{c_type}>({pointer}, [&]({c_type} old) {{ return ({c_type})({text}); }})"
    return f"{done};" if op.name == "red" else statement.write(0, kind, done)


def _prefetch(op, statement):
    op.ignore(r".*")
    return ";"


def _fence(op, statement):
    op.ignore(r"gl|proxy|alias|async|sc|acq_rel|cta|cluster|gpu|sys")
    return ";"


# --- branches


def _bra(op, statement):
    op.take("uni")
    return f"goto {statement.kernel.label(statement.operands[0])};"


def _brx(op, statement):
    """A jump to one of the labels in a table."""
    op.take("uni")
    op.need("idx")
    labels = statement.tables[statement.operands[1]]
    cases = " ".join(
        f"case {i}: goto {statement.kernel.label(label)};" for i, label in enumerate(labels)
    )
    index = statement.read(0, "u32")
    return f'switch ({index}) {{ {cases} default: fail("a jump to nowhere", {statement.line}); }}'


def _ret(op, statement):
    op.take("uni")
    return "return;"


def _trap(op, statement):
    return f'fail("trap", {statement.line});'


# --- barriers and warps


def _bar(op, statement):
    """``bar`` and ``barrier``, of a block or a warp, with or without a vote."""
    line = statement.line
    op.take("cta")
    if op.take("warp"):
        op.need("sync")
        return f"warp(WARP_BARRIER, {statement.read(0, 'u32')}, 0, 0, 0, {line});"
    op.take("aligned")
    votes = {"popc": "HOW_MANY", "and": "ALL", "or": "ANY"}
    if op.need("sync", "red") == "sync":
        numbers = [statement.read(i, "u32") for i in range(len(statement.operands))]
        number, n_threads = (*numbers, "0")[:2]
        return f"barrier({number}, {n_threads}, NO_RESULT, false, {line});"
    vote, kind = votes[op.need(*votes)], op.type()
    last = len(statement.operands) - 1
    n_threads = statement.read(2, "u32") if last == 3 else "0"
    call = f"barrier({statement.read(1, 'u32')}, {n_threads}, {vote}, "
    return statement.write(0, kind, f"{call}{statement.read(last, 'pred')}, {line})")


def _warp_call(statement, operation, members, value, lane="0", segment="0"):
    return f"warp({operation}, {members}, {value}, {lane}, {segment}, {statement.line})"


def _shfl(op, statement):
    modes = {
        "up": "SHUFFLE_UP",
        "down": "SHUFFLE_DOWN",
        "bfly": "SHUFFLE_XOR",
        "idx": "SHUFFLE_INDEX",
    }
    op.need("sync")
    mode, kind = modes[op.need(*modes)], op.type()
    value, lane, segment, members = (statement.read(i, "u32") for i in (1, 2, 3, 4))
    call = _warp_call(statement, mode, members, value, lane, segment)
    return _write_result(statement, kind, call)


def _write_result(statement, kind, call):
    """A value and, where the operand names one, a predicate."""
    target, _, predicate = statement.operands[0].partition("|")
    writes = statement.write_to(target, f"u{8 * SIZES[kind]}", "result.value")
    if predicate:
        writes += statement.write_to(predicate, "pred", "result.predicate")
    return f"{{ const WarpResult result = {call}; {writes} }}"


def _vote(op, statement):
    op.need("sync")
    modes = {"ballot": "BALLOT", "all": "VOTE_ALL", "any": "VOTE_ANY", "uni": "VOTE_SAME"}
    mode, kind = modes[op.need(*modes)], op.type()
    predicate, members = statement.read(1, "pred"), statement.read(2, "u32")
    result = "value" if mode == "BALLOT" else "predicate"
    return statement.write(0, kind, f"{_warp_call(statement, mode, members, predicate)}.{result}")


def _match(op, statement):
    op.need("sync")
    mode, kind = op.need("any", "all"), op.type()
    value, members = statement.read(1, kind), statement.read(2, "u32")
    call = _warp_call(statement, f"MATCH_{mode.upper()}", members, value)
    return _write_result(statement, "b32", call)


def _redux(op, statement):
    op.need("sync")
    modes = {"add": "SUM", "min": "MINIMUM", "max": "MAXIMUM", "and": "AND", "or": "OR",
             "xor": "XOR"}  # fmt: skip
    name, kind = op.need(*modes), op.type()
    signed = "SIGNED_" if kind == "s32" and name in ("min", "max") else ""
    value, members = statement.read(1, "u32"), statement.read(2, "u32")
    call = _warp_call(statement, f"{signed}{modes[name]}", members, value)
    return statement.write(0, kind, f"{call}.value")


def _activemask(op, statement):
    """Each thread runs on its own here, which a GPU may do as well."""
    return statement.write(0, op.type(), "1u << here->lane")


def _nanosleep(op, statement):
    op.type()
    return ";"


RULES = {
    "ld": _ld,
    "ldu": _ld,
    "st": _st,
    "atom": _atom,
    "red": _atom,
    "prefetch": _prefetch,
    "prefetchu": _prefetch,
    "membar": _fence,
    "fence": _fence,
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _ret,
    "trap": _trap,
    "bar": _bar,
    "barrier": _bar,
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "nanosleep": _nanosleep,
}
