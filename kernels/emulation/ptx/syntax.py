"""From PTX text to functions of basic blocks; what an instruction means is no matter here."""

import re
from bisect import bisect_left
from dataclasses import dataclass, field

#: Bytes of each type that registers, memory and instructions may have.
SIZES = {
    "pred": 1,
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    "f32": 4,
    "f64": 8,
}
_NAME = r"[%$A-Za-z_][\w$]*"
_ITEM = re.compile(
    rf"\s*(?:(?P<open>\{{)|(?P<close>\}})|(?P<label>{_NAME})\s*:(?!:)"
    r"|(?P<statement>[^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)"
)
_VARIABLE = re.compile(
    r"(?P<linkage>(?:\.(?:visible|extern|weak|common)\s+)*)\.(?P<space>global|const|shared|local)"
    r"\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+"
    r"(?P<name>[\w$]+)(?:\[(?P<count>\d*)\])?(?:\s*=\s*(?P<values>.+))?$",
    re.S,
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+"
    r"(?:\.ptr\s+(?:\.\w+\s+)??(?:\.align\s+\d+\s+)?)?(?P<name>[\w$]+)(?:\[(?P<count>\d+)\])?$"
)
_ENTRY = re.compile(
    r"(?:\.(?:visible|weak|extern)\s+)*\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)"
    r"(?P<attributes>[^{;]*)\{"
)
#: Directives that end with their line, and are not needed here.
_LINES = re.compile(r"^[ \t]*\.(?:version|target|address_size|file|loc)\b[^\n]*$", re.M)
#: Opcodes after which a new basic block begins.
BRANCHES = ("bra", "brx", "ret", "exit", "trap")


class PtxError(ValueError):
    """PTX that this machine does not understand."""


@dataclass(frozen=True)
class Variable:
    """A named piece of memory. ``n_bytes`` is None where the launch says how many."""

    name: str
    space: str
    align: int
    n_bytes: int | None
    content: bytes = b""


@dataclass(frozen=True)
class Parameter:
    """Where a kernel's argument lies among the bytes of all its arguments."""

    name: str
    offset: int
    n_bytes: int


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``guard`` is the predicate it depends on, as written, or ''."""

    line: int
    guard: str
    opcode: str
    operands: tuple


@dataclass
class Block:
    """Instructions that are entered at the first one only."""

    line: int
    labels: list = field(default_factory=list)
    instructions: list = field(default_factory=list)


@dataclass
class Function:
    """A kernel."""

    name: str
    line: int
    parameters: list
    max_threads: int  # 0: any
    registers: dict = field(default_factory=dict)  # name -> type
    variables: dict = field(default_factory=dict)  # own ones, by name
    tables: dict = field(default_factory=dict)  # labels that an indexed branch can go to
    blocks: list = field(default_factory=list)


@dataclass
class Module:
    """What a PTX text has."""

    variables: dict
    functions: list


def parse(text):
    """The module of a PTX text."""
    text = _LINES.sub("", _without_comments(text))
    ends_of_lines = [m.start() for m in re.finditer("\n", text)]

    def line_at(position):
        return bisect_left(ends_of_lines, position) + 1

    functions, outside, after = [], [], 0
    for header in _ENTRY.finditer(text):
        if header.start() < after:
            continue
        begin, end = header.end(), _closing_brace(text, header.end() - 1)
        function = _function(header, line_at(header.start()))
        _Body(function).read(text, begin, end, line_at)
        functions.append(function)
        outside.append(text[after : header.start()])
        after = end + 1
    outside.append(text[after:])
    return Module(_top_variables("".join(outside)), functions)


def split(text):
    """Operands, or other parts with commas between them; those in brackets stay together."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return [*parts, last] if parts or last else []


def _without_comments(text):
    def same_lines(match):
        return "\n" * match[0].count("\n")

    return re.sub(r"/\*.*?\*/|//[^\n]*", same_lines, text, flags=re.S)


def _closing_brace(text, begin):
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, begin):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise PtxError("PTX ends within a function")


def _function(header, line):
    name, offset, parameters = header["name"], 0, []
    for text in split(header["parameters"]):
        match = _PARAMETER.match(" ".join(text.split()))
        if match is None or match["type"] not in SIZES:
            raise PtxError(f"{name}, line {line}: parameter {text!r}")
        n_bytes = SIZES[match["type"]] * int(match["count"] or 1)
        align = int(match["align"] or SIZES[match["type"]])
        offset = -(-offset // align) * align
        parameters.append(Parameter(match["name"], offset, n_bytes))
        offset += n_bytes
    threads = 1
    bound = re.search(r"\.(?:max|req)ntid\s+([\d\s,]+)", header["attributes"])
    for size in split(bound[1]) if bound else ("0",):
        threads *= int(size)
    return Function(name, line, parameters, threads)


def _top_variables(text):
    variables = {}
    for statement in text.split(";"):
        if statement.strip():
            variable = _variable(" ".join(statement.split()))
            variables[variable.name] = variable
    return variables


def _variable(text):
    match = _VARIABLE.match(text)
    if match is None or match["type"] not in SIZES:
        raise PtxError(f"declaration {text!r}")
    size = SIZES[match["type"]]
    n_bytes = size * int(match["count"] or 1)
    if match["count"] == "" and match["space"] == "shared":
        n_bytes = None
    elif "extern" in match["linkage"]:
        raise PtxError(f"{match['name']} is defined in another module")
    content = b""
    if match["values"] is not None:
        numbers = split(match["values"].strip("{} "))
        content = b"".join(_constant(text, number, size) for number in numbers)
    align = int(match["align"] or size)
    return Variable(match["name"], match["space"], align, n_bytes, content)


def _constant(where, text, size):
    number = integer(text)
    if number is None:
        match = re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", text)
        if match is None:
            raise PtxError(f"initial value {text!r} of {where!r}")
        number = int(match[1], 16)
    return (number % (1 << 8 * size)).to_bytes(size, "little")


def integer(text):
    """The number that an integer constant stands for, or None if the text is none."""
    match = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text)
    if match is None:
        return None
    digits = match[2]
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    number = int(digits, 8) if octal else int(digits, 0)
    return -number if match[1] else number


class _Body:
    """Reads the body of a function."""

    def __init__(self, function):
        self._function = function
        self._scopes = []  # inner ones: {name as written: name of its own}
        self._n_scopes = 0
        self._new_block = True

    def read(self, text, begin, end, line_at):
        """Fill the function with what stands between two positions of a text."""
        function, position = self._function, begin
        self._block(function.line)
        while text[position:end].strip():
            item = _ITEM.match(text, position, end)
            kind = item.lastgroup if item else None
            position = item.end() if item else position
            line = line_at(item.start(kind)) if item else line_at(position)
            if kind == "open":
                self._scopes.append({})
                self._n_scopes += 1
            elif kind == "close":
                self._scopes.pop()
            elif kind == "label":
                self._label(item["label"], line)
            elif kind == "statement":
                self._statement(" ".join(item["statement"].split()), line)
            else:
                raise PtxError(f"{function.name}, line {line}: {text[position:end][:60]!r}")

    def _block(self, line):
        self._function.blocks.append(Block(line))
        self._new_block = False

    def _label(self, label, line):
        if self._scopes:
            raise PtxError(f"{self._function.name}, line {line}: a label within braces")
        # the first block is entered from outside, so it has no label
        if self._function.blocks[-1].instructions or len(self._function.blocks) == 1:
            self._block(line)
        self._function.blocks[-1].labels.append(label)
        self._new_block = False

    def _statement(self, text, line):
        if not text:
            return
        if text.startswith("."):
            self._directive(text, line)
            return
        guard = ""
        if text.startswith("@"):
            guard, text = text[1:].split(" ", 1)
            guard = self._renamed(guard)
        opcode, _, operands = text.strip().partition(" ")
        if self._new_block:
            self._block(line)
        self._function.blocks[-1].instructions.append(
            Instruction(line, guard, opcode, tuple(split(self._renamed(operands))))
        )
        if opcode.split(".")[0] in BRANCHES:
            self._new_block = True

    def _directive(self, text, line):
        function = self._function
        kind = text.split()[0]
        if kind == ".pragma":
            return
        if kind == ".reg":
            self._registers(text, line)
        elif kind == ".branchtargets":
            # its label is that of the block that has just been opened
            table = function.blocks[-1].labels.pop()
            function.tables[table] = split(text[len(kind) :])
        else:
            try:
                variable = _variable(text)
            except PtxError as error:
                raise PtxError(f"{function.name}, line {line}: {error}") from None
            function.variables[variable.name] = variable

    def _registers(self, text, line):
        kind, names = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text).groups()
        if kind not in SIZES:
            raise PtxError(f"{self._function.name}, line {line}: registers of type {kind}")
        for name in split(names):
            several = re.fullmatch(r"(.+)<(\d+)>", name)
            every = [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
            for one in every:
                if self._scopes:
                    unique = f"{one}@{self._n_scopes}"
                    self._scopes[-1][one] = unique
                    one = unique
                self._function.registers[one] = kind

    def _renamed(self, text):
        """Text in which registers of inner scopes have the names that are theirs alone."""
        if not any(self._scopes):
            return text

        def renamed(match):
            for scope in reversed(self._scopes):
                if match[0] in scope:
                    return scope[match[0]]
            return match[0]

        return re.sub(rf"(?<![\w$%@.]){_NAME}", renamed, text)
