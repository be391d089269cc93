"""PTX written by hand, and how tests run it."""

import functools

import numpy as np

from gpuboost.kernels.emulation.ptx.library import library_of

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel_text(name, parameters, body, registers="", attributes=""):
    """A kernel; parameters are types, called p0, p1, ..."""
    declared = ", ".join(f".param .{kind} p{i}" for i, kind in enumerate(parameters))
    return f".visible .entry {name}({declared}) {attributes}\n{{\n{registers}\n{body}\n}}\n"


def elementwise(name, instructions, inputs, output):
    """A kernel that does something with one value of each input array in each thread.

    The values are in %a, %b, %c, the result is in %d, and %p and %q are predicates.
    """
    n = len(inputs)
    loads = "".join(
        f"ld.param.u64 %base, [p{i}]; add.s64 %base, %base, %offset{_bytes(kind)}; "
        f"ld.global.b{8 * _bytes(kind)} %{'abc'[i]}, [%base];\n"
        for i, kind in enumerate(inputs)
    )
    store = (
        f"ld.param.u64 %base, [p{n}]; add.s64 %base, %base, %offset{_bytes(output)}; "
        f"st.global.b{8 * _bytes(output)} [%base], %d;\nret;"
    )
    offsets = "mov.u32 %t, %tid.x;\n" + "".join(
        f"mul.wide.u32 %offset{size}, %t, {size};\n" for size in (2, 4, 8)
    )
    registers = (
        ".reg .b64 %base, %offset2, %offset4, %offset8; .reg .b32 %t; .reg .pred %p, %q;\n"
        f".reg .b{8 * _bytes(output)} %d; "
    ) + " ".join(f".reg .b{8 * _bytes(kind)} %{'abc'[i]};" for i, kind in enumerate(inputs))
    body = f"{offsets}{loads}{instructions}\n{store}"
    return kernel_text(name, ["u64"] * (n + 1), body, registers)


def _bytes(kind):
    return max(2, int(kind[1:]) // 8)


def launch(text, kernel, arrays, *, scalars=(), block=1, grid=1, shared=0, **options):
    """Run a kernel of a text with arrays, which it may change, and bytes of further arguments."""
    spans = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays)
    arguments = [np.uint64(a.ctypes.data).tobytes() for a in arrays] + [
        s.tobytes() for s in scalars
    ]
    library_of(HEAD + text).run(
        kernel, _three(grid), _three(block), arguments, shared, spans, **options
    )


def _three(size):
    return size if isinstance(size, tuple) else (size, 1, 1)


def apply(text, kernel, inputs, output):
    """Results of an elementwise kernel."""
    out = np.zeros(len(inputs[0]), output)
    for begin in range(0, len(out), 512):
        some = slice(begin, begin + 512)
        part = np.zeros(len(out[some]), output)
        launch(
            text, kernel, [*(np.ascontiguousarray(x[some]) for x in inputs), part], block=len(part)
        )
        out[some] = part
    return out


@functools.cache
def bit_patterns(kind):
    """Values of a type that are worth a try, as unsigned numbers: limits, and some at random."""
    bits = 8 * _bytes(kind)
    rng = np.random.default_rng(bits)
    some = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 255, 256, 2**bits - 1, 2**bits - 2}
    some |= {2 ** (bits - 1) + k for k in (-2, -1, 0, 1, 2)}
    if kind[0] == "f":
        floats = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.7, 1e-40, -1e-310, 2.0**31,
                  -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30, np.inf, -np.inf,
                  np.nan, 5e-324, 1.4e-45, 1.1754944e-38, 2.0**-126, 2.0**-1022]  # fmt: skip
        with np.errstate(over="ignore"):
            some |= set(np.array(floats, f"f{bits // 8}").view(f"u{bits // 8}").tolist())
            near = rng.normal(scale=100, size=12).astype(f"f{bits // 8}")
        some |= set(near.view(f"u{bits // 8}").tolist())
    values = np.array(sorted(v % 2**bits for v in some), f"u{bits // 8}")
    drawn = np.frombuffer(rng.bytes(bits // 8 * 12), f"u{bits // 8}")
    return np.concatenate([values, drawn])
