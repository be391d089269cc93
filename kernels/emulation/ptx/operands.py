"""Opcodes and operands: their parts, and operands as C++."""

import re

from gpuboost.kernels.emulation.ptx.syntax import SIZES, PtxError, integer

#: Types in C++; those without an arithmetic are unsigned.
C_TYPES = {kind: kind.replace("b", "u") for kind in SIZES} | {"pred": "bool"}
_AXES = {axis: i for i, axis in enumerate("xyz")}
_SPECIAL = {
    "%laneid": "here->lane",
    "%warpid": "(here->number / 32)",
    "%nwarpid": "((block_size[0] * block_size[1] * block_size[2] + 31) / 32)",
    "%lanemask_eq": "(1u << here->lane)",
    "%lanemask_lt": "((1u << here->lane) - 1)",
    "%lanemask_le": "((2u << here->lane) - 1)",
    "%lanemask_gt": "(~((2u << here->lane) - 1))",
    "%lanemask_ge": "(~((1u << here->lane) - 1))",
    "%dynamic_smem_size": "dynamic_shared_bytes",
    "%total_smem_size": "shared_bytes",
    "%clock": "((u32)clock_ticks())",
    "%clock64": "clock_ticks()",
    "%globaltimer": "clock_ticks()",
    "WARP_SZ": "32u",
    **{f"%tid.{axis}": f"here->index[{i}]" for axis, i in _AXES.items()},
    **{f"%ntid.{axis}": f"block_size[{i}]" for axis, i in _AXES.items()},
    **{f"%ctaid.{axis}": f"block_index[{i}]" for axis, i in _AXES.items()},
    **{f"%nctaid.{axis}": f"grid_size[{i}]" for axis, i in _AXES.items()},
}


class Opcode:
    """The parts of an opcode. A rule takes those it knows; what is left is an error."""

    def __init__(self, text):
        self.name, *self._left = text.split(".")

    def take(self, *choices):
        """The first of the parts that is among the choices, or None; it counts as understood."""
        for part in self._left:
            if part in choices:
                self._left.remove(part)
                return part
        return None

    def need(self, *choices):
        """As ``take``, where one of them must be there."""
        part = self.take(*choices)
        if part is None:
            raise PtxError(f"one of {', '.join(choices)} is needed")
        return part

    def types(self):
        """All types, in their order."""
        kinds = [part for part in self._left if part in SIZES]
        self._left = [part for part in self._left if part not in SIZES]
        return kinds

    def type(self):
        """The only type."""
        kinds = self.types()
        if len(kinds) != 1:
            raise PtxError(f"{len(kinds)} types where there must be one")
        return kinds[0]

    def ignore(self, pattern):
        """Parts that change nothing here: hints for caches, scopes of what one core orders."""
        self._left = [part for part in self._left if not re.fullmatch(pattern, part)]

    def finish(self):
        """Raise if anything has not been understood."""
        if self._left:
            raise PtxError(f"no rule for .{'.'.join(self._left)}")


def register_type(kind):
    """The C++ type of a register: bits, whatever they mean."""
    return "bool" if kind == "pred" else f"u{max(16, 8 * SIZES[kind])}"


def read(kernel, operand, kind):
    """C++ for the value of an operand as a type; ``kernel`` knows registers and symbols."""
    if kind == "pred" and operand.startswith("!"):
        return f"!{read(kernel, operand[1:], kind)}"
    register = kernel.register(operand)
    if register is not None:
        name, stored = register
        if (stored == "bool") != (kind == "pred"):
            raise PtxError(f"{operand} does not fit the type {kind}")
        if kind in ("f32", "f64"):
            if stored != f"u{kind[1:]}":
                raise PtxError(f"{operand} does not fit the type {kind}")
            return f"to_float({name})"
        return name if kind == "pred" else f"({C_TYPES[kind]}){name}"
    if operand in _SPECIAL:
        return f"({C_TYPES[kind]}){_SPECIAL[operand]}"
    return _constant(operand, kind) or _address_of(kernel, operand, kind)


def _constant(operand, kind):
    floating = re.fullmatch(r"0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))", operand)
    if floating is not None:
        bits = f"0x{floating[1]}u" if floating[1] else f"0x{floating[2]}ull"
        size = 4 if floating[1] else 8
        if SIZES[kind] != size:
            raise PtxError(f"the constant {operand} for the type {kind}")
        return f"to_float({bits})" if kind[0] == "f" else f"({C_TYPES[kind]}){bits}"
    number = integer(operand)
    if number is None:
        return None
    if kind[0] == "f":
        raise PtxError(f"the constant {operand} for the type {kind}")
    if kind == "pred":
        return "true" if number else "false"
    return f"({C_TYPES[kind]}){number % 2**64}ull"


def _address_of(kernel, operand, kind):
    match = re.fullmatch(r"([\w$]+)(?:\s*\+\s*(\d+))?", operand)
    if match is None or match[1] not in kernel.symbols or kind not in ("u64", "b64", "u32", "b32"):
        raise PtxError(f"the operand {operand!r}")
    _, address = kernel.symbols[match[1]]
    return f"({C_TYPES[kind]})({address} + {match[2] or 0}ull)"
