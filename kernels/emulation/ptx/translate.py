"""From a PTX module to C++: each kernel is a function, each basic block a label in it.

The text is compiled with ``machine.h``. What an instruction becomes is said by the rules in
``values.py`` and ``effects.py``.
"""

import re
from collections import Counter

from gpuboost.kernels.emulation.ptx import effects, values
from gpuboost.kernels.emulation.ptx.operands import C_TYPES, Opcode, read, register_type
from gpuboost.kernels.emulation.ptx.syntax import PtxError, parse

RULES = {**values.RULES, **effects.RULES}
#: Spaces whose variables live in memory of the process.
_GLOBAL = ("global", "const")


def translate(text):
    """C++ of a PTX text."""
    module = parse(text)
    parts = ['#include "machine.h"\n\nnamespace {\nusing namespace ptx;\n']
    symbols, spans = {}, []
    for i, variable in enumerate(module.variables.values()):
        if variable.space in _GLOBAL:
            symbols[variable.name] = ("global", f"(u64)variable_{i}")
            spans.append(f"{{(u64)variable_{i}, (u64)variable_{i} + {variable.n_bytes}}}")
            content = ", ".join(map(str, variable.content))
            parts.append(
                f"alignas({max(variable.align, 16)}) u8 variable_{i}[{variable.n_bytes}] = "
                f"{{{content}}};\n"
            )
    n_spans = Counter()
    kernels = []
    for i, function in enumerate(module.functions):
        translated = _Kernel(i, function, module, symbols, n_spans)
        parts.append(translated.definition())
        kernels.append(translated.entry())
    parts.append(
        "}  // namespace\n\n"
        f"extern const ptx::Kernel ptx_kernels[] = {{{', '.join(kernels) or '{}'}}};\n"
        f"extern const u32 ptx_n_kernels = {len(kernels)};\n"
        f"ptx::Span ptx_spans[{max(1, n_spans['all'])}];\n"
        f"extern const u32 ptx_n_spans = {n_spans['all']};\n"
        f"extern const ptx::Span ptx_variables[] = {{{', '.join(spans) or '{}'}}};\n"
        f"extern const u32 ptx_n_variables = {len(spans)};\n"
    )
    return "".join(parts)


class _Kernel:
    """One kernel as C++."""

    def __init__(self, number, function, module, symbols, n_spans):
        self.number, self.function = number, function
        self.symbols = {**symbols, **{p.name: ("param", p.offset) for p in function.parameters}}
        self.local_bytes = self._place("local", function.variables)
        self._place_shared(module)
        self.parameter_bytes = max([p.offset + p.n_bytes for p in function.parameters], default=0)
        self.registers = {}  # those in use: name in PTX -> (name in C++, type)
        self.labels = {
            label: i for i, block in enumerate(function.blocks) for label in block.labels
        }
        self._n_spans = n_spans
        self._body = [
            line for i, block in enumerate(function.blocks) for line in self._block(i, block)
        ]

    # --- memory

    def _place(self, space, variables, end=0):
        """Give variables their offsets; returns the end of the last one."""
        for variable in variables.values():
            if variable.space == space and variable.n_bytes is not None:
                begin = -(-end // variable.align) * variable.align
                self.symbols[variable.name] = (space, f"(u64){begin}")
                end = begin + variable.n_bytes
        return end

    def _place_shared(self, module):
        """Shared memory: own variables, those of the module that are named here, dynamic ones."""
        named = {
            word
            for block in self.function.blocks
            for instruction in block.instructions
            for operand in instruction.operands
            for word in re.findall(r"[\w$]+", operand)
        }
        shared = {n: v for n, v in module.variables.items() if n in named and v.space == "shared"}
        end = self._place("shared", shared, self._place("shared", self.function.variables))
        dynamic = [v for v in shared.values() if v.n_bytes is None]
        align = max([16, *(v.align for v in dynamic)])
        self.shared_bytes = -(-end // align) * align if dynamic else end
        for variable in dynamic:
            self.symbols[variable.name] = ("shared", f"(u64){self.shared_bytes}")

    def new_span(self):
        """A place where one more instruction remembers which array it has used."""
        self._n_spans["all"] += 1
        return f"ptx_spans[{self._n_spans['all'] - 1}]"

    # --- registers and labels

    def register(self, name):
        """(C++ name, type) of a register, or None if it is none."""
        if name not in self.registers:
            kind = self.function.registers.get(name)
            if kind is None:
                return None
            readable = re.sub(r"\W", "_", name.lstrip("%"))
            self.registers[name] = f"{readable}_{len(self.registers)}", register_type(kind)
        return self.registers[name]

    def label(self, name):
        """The C++ label of a block."""
        return f"block_{self.labels[name]}"

    # --- text

    def _block(self, number, block):
        place = f"block_{number}: " if block.labels else ""
        yield f"{place}enter_block(hits_{self.number}[{number}], {block.line});"
        for instruction in block.instructions:
            yield self._instruction(instruction)

    def _instruction(self, instruction):
        try:
            opcode = Opcode(instruction.opcode)
            rule = RULES.get(opcode.name)
            if rule is None:
                raise PtxError("an unknown instruction")
            code = rule(opcode, Statement(self, instruction))
            opcode.finish()
            if instruction.guard:
                condition = read(self, instruction.guard, "pred")
                code = f"if ({condition}) {{ {code} }}"
        except (PtxError, KeyError, IndexError, ValueError) as error:
            reason = error if isinstance(error, PtxError) else f"cannot be understood ({error!r})"
            raise PtxError(
                f"kernel {self.function.name}, PTX line {instruction.line}: "
                f"{instruction.opcode} {', '.join(instruction.operands)}: {reason}"
            ) from error
        return code

    def definition(self):
        """The function, and what belongs to it."""
        n, blocks = self.number, self.function.blocks
        lines = ", ".join(str(block.line) for block in blocks)
        places = ", ".join(f"{{{p.offset}, {p.n_bytes}}}" for p in self.function.parameters)
        registers = "".join(
            f"    {kind} {name} = ({kind})(garbage_of({_odd(k)}) >> {64 - _bits(kind)});\n"
            for k, (name, kind) in enumerate(self.registers.values())
        )
        body = "".join(f"    {line}\n" for line in self._body)
        size = max(1, self.local_bytes)
        return (
            f"\nu8 hits_{n}[{len(blocks)}];\n"
            f"const u32 lines_{n}[] = {{{lines}}};\n"
            f"const Parameter parameters_{n}[] = {{{places or '{}'}}};\n"
            f"void kernel_{n}() {{  // {self.function.name}\n{registers}"
            "    bool carry = here->garbage >> 32 & 1;\n"
            f"    alignas(16) u8 local_bytes[{size}];\n"
            f"    fill_local(local_bytes, {self.local_bytes});\n"
            f"    const Local local = {{local_bytes, {self.local_bytes}}};\n"
            f"{body}}}\n"
        )

    def entry(self):
        """Its line in the table of kernels."""
        n, function = self.number, self.function
        return (
            f'{{"{function.name}", kernel_{n}, parameters_{n}, {len(function.parameters)}, '
            f"{self.parameter_bytes}, {function.max_threads}, {self.shared_bytes}, "
            f"{len(function.blocks)}, hits_{n}, lines_{n}}}"
        )


class Statement:
    """The operands of one instruction, as the rules see them."""

    def __init__(self, kernel, instruction):
        self.kernel, self.operands = kernel, list(instruction.operands)
        self.line = instruction.line
        self.tables = kernel.function.tables

    def read(self, i, kind):
        """C++ for the value of an operand, as a type."""
        return self.read_from(self.operands[i], kind)

    def read_from(self, operand, kind):
        """C++ for the value of a part of an operand, as a type."""
        return read(self.kernel, operand, kind)

    def write(self, i, kind, expression):
        """C++ that puts a value of a type into the register that an operand names."""
        return self.write_to(self.operands[i], kind, expression)

    def write_to(self, name, kind, expression):
        """C++ that puts a value of a type into a register."""
        if name == "_":
            return f"(void)({expression});"
        register = self.kernel.register(name)
        if register is None:
            raise PtxError(f"{name} is no register")
        target, stored = register
        if kind in ("f32", "f64"):
            return f"{target} = to_bits((f{kind[1:]})({expression}));"
        # a value of a narrower type is extended by its sign, if that type has one
        return f"{target} = ({stored})({C_TYPES[kind]})({expression});"


def _odd(k):
    """A factor that makes garbage for register number k."""
    return f"{(2 * k + 1) * 0x9E3779B97F4A7C15 % 2**64}ull"


def _bits(kind):
    return 1 if kind == "bool" else int(kind[1:])
