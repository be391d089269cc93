"""The stand-in for CuPy: what it takes, and that CuPy has and takes the same."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import gpuboost
from gpuboost.kernels import cuda as kernels_cuda
from gpuboost.kernels.emulation import control, memory, streams
from gpuboost.kernels.emulation import cupy_stand_in as cupy
from gpuboost.kernels.emulation.arrays import Device, ndarray
from gpuboost.kernels.emulation.memory import PinnedMemoryPointer

real = importlib.import_module("cupy")


def test_names_that_it_does_not_have():
    with pytest.raises(AttributeError, match="the emulated device's CuPy has no linalg"):
        _ = cupy.linalg


def test_copies_by_address_are_counted():
    x = cupy.zeros(8, np.float32)
    pinned = cupy.cuda.alloc_pinned_memory(32)
    control.counters.reset()
    cupy.cuda.runtime.memcpyAsync(pinned.ptr, x.data.ptr, 32, 2, 0)
    assert control.counters.downloads == 1 and control.counters.download_bytes == 32
    cupy.cuda.Stream.null.synchronize()
    assert not np.frombuffer(pinned, np.float32, 8).any()
    assert cupy.cuda.runtime.pointerGetAttributes(x.data.ptr + 4).device == 0


# --- the stand-in, and what kernels/cuda calls, beside the CuPy that is installed


#: Names of the stand-in's own, which nothing in kernels/cuda may use.
OWN = {
    ndarray: {"storage", "allocation", "use"},
    streams.Stream: {"queue"},
    streams.Event: {"work", "timed", "seconds", "captured", "not_captured"},
    cupy.RawModule: {"code", "options", "library"},
    cupy.RawKernel: {"module"},
    memory.Pool: {"allocate", "mem_info", "device", "returned"},
    PinnedMemoryPointer: {"bytes", "memory", "ref"},
}
#: Attributes of instances, which a class does not show.
OF_INSTANCES = {streams.Stream: ("ptr", "device_id")}
REAL = {
    ndarray: real.ndarray,
    streams.Stream: real.cuda.Stream,
    streams.Event: real.cuda.Event,
    streams.Graph: real.cuda.Graph,
    Device: real.cuda.Device,
    cupy.RawModule: real.RawModule,
    cupy.RawKernel: real.RawKernel,
    memory.Pool: real.cuda.MemoryPool,
    PinnedMemoryPointer: real.cuda.PinnedMemoryPointer,
}
#: Used on a device only; the emulated one compiles bodies with one thread a row for the CPU.
ON_A_DEVICE_ONLY = {"cuda.function.Module", "cuda.runtime.getDeviceProperties"} | {
    f"cuda.runtime.{name}" for name in ("driverGetVersion", "runtimeGetVersion")
}
USERS = [
    *sorted(Path(kernels_cuda.__file__).parent.glob("*.py")),
    *sorted((Path(gpuboost.__file__).parent / "doctor").glob("*.py")),
    Path(gpuboost.__file__).parents[1] / "benchmarks" / "worker.py",
]


def signature_of(function):
    """A signature; that of a Cython function stands in the first line of its docstring."""
    try:
        return inspect.signature(function)
    except ValueError:
        line = function.__doc__.strip().splitlines()[0]
        arguments = re.search(r"\((.*)\)", line)[1]
        names = re.sub(r"\b(?:str|tuple|bool|int|bytes|size_t|intptr_t) (?=\w)", "", arguments)
        scope = {}
        exec(f"def f({names}): pass", scope)  # noqa: S102
        return inspect.signature(scope["f"])


def refused(own, theirs):
    """What the stand-in's function takes and CuPy's does not, or None."""
    positional = [p for p in own.parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
    others = [p for p in theirs.parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
    flexible = {p.kind for p in theirs.parameters.values()}
    for i, parameter in enumerate(positional):
        if i >= len(others) and inspect.Parameter.VAR_POSITIONAL not in flexible:
            return parameter.name
        if i < len(others) and parameter.name not in ("self", others[i].name):
            return parameter.name
    for parameter in own.parameters.values():
        known = parameter.name in theirs.parameters or inspect.Parameter.VAR_KEYWORD in flexible
        if parameter.kind == parameter.KEYWORD_ONLY and not known:
            return parameter.name
    required = [p for p in others[len(positional) :] if p.default is p.empty]
    return f"the lack of {required[0].name}" if required else None


def resolved(package, dotted):
    for name in dotted.split("."):
        package = getattr(package, name)
    return package


@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.__name__)
def test_every_member_of_the_stand_in_is_a_member_in_cupy(kind):
    members = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    for name in (*members, *OF_INSTANCES.get(kind, ())):
        if name in OWN.get(kind, ()):
            continue
        theirs = real.cuda.Stream.null if kind in OF_INSTANCES else REAL[kind]
        assert hasattr(theirs, name), name
        if inspect.isfunction(members.get(name)):
            found = refused(
                inspect.signature(members[name]), signature_of(getattr(REAL[kind], name))
            )
            assert found is None, f"CuPy's {kind.__name__}.{name} does not take {found}"


@pytest.mark.parametrize("kind", [cupy.RawModule, streams.Stream, streams.Event, Device])
def test_what_is_made_is_made_of_the_same_arguments(kind):
    own = inspect.signature(kind)
    theirs = signature_of(REAL[kind])
    assert set(own.parameters) <= set(theirs.parameters)


FUNCTIONS = [
    *("empty", "zeros", "asarray", "asnumpy", "from_dlpack", "get_default_memory_pool"),
    *("cuda.get_current_stream", "cuda.get_elapsed_time", "cuda.alloc_pinned_memory"),
    *(f"cuda.runtime.{name}" for name in ("getDeviceCount", "getDevice", "memcpyAsync")),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_the_stand_in_is_one_of_cupy(name):
    found = refused(inspect.signature(resolved(cupy, name)), signature_of(resolved(real, name)))
    assert found is None, f"CuPy's {name} does not take {found}"


def uses(path):
    """(dotted name behind cupy() or cp, call or None) in a file, and its calls of methods."""
    tree = ast.parse(path.read_text())
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        names, base = [], node
        while isinstance(base, ast.Attribute):
            names.append(base.attr)
            base = base.value
        called = base.func if isinstance(base, ast.Call) else base
        is_cupy = getattr(called, "id", "") in ("cp", "cupy", "_cupy", "runtime")
        prefix = ["cuda", "runtime"] if getattr(called, "id", "") == "runtime" else []
        yield ".".join(prefix + names[::-1]) if is_cupy else None, node.attr, calls.get(id(node))


def binds(function, call, bound):
    """Whether a call's arguments fit a function's signature."""
    signature, given = signature_of(function), ["self"] * bound + call.args
    if any(isinstance(a, ast.Starred) for a in given) or any(k.arg is None for k in call.keywords):
        return True
    try:
        signature.bind(*given, **{keyword.arg: keyword for keyword in call.keywords})
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_what_is_called_is_there_in_cupy_and_in_the_stand_in(path):
    for dotted, _, call in uses(path):
        if dotted is None:
            continue
        there = resolved(real, dotted)
        assert call is None or binds(there, call, bound=False), f"{dotted}: {ast.unparse(call)}"
        if dotted not in ON_A_DEVICE_ONLY:
            resolved(cupy, dotted)


@pytest.mark.parametrize(
    "path", [path for path in USERS if path.parent.name == "cuda"], ids=lambda path: path.name
)
def test_methods_are_called_as_cupy_takes_them(path):
    """By name: a method is one of the class that has it."""
    methods = {}
    for kind, theirs in REAL.items():
        for name, value in vars(kind).items():
            if inspect.isfunction(value) and not name.startswith("_"):
                methods.setdefault(name, []).append(getattr(theirs, name, None))
    for dotted, name, call in uses(path):
        assert name not in {"storage", "allocation", "captured", "not_captured"}, name
        if call is None or dotted is not None or name in ("copy", "view"):  # numpy's, too
            continue
        ours = name == "launch" and not ast.unparse(call.func).endswith("graph.launch")
        if name in methods and not ours:
            found = [m for m in methods[name] if m is not None]
            assert any(binds(m, call, bound=True) for m in found), ast.unparse(call)


def test_the_comparison_sees_what_is_wrong():
    def theirs(a, b, c=1, *, d=2):
        pass

    wrong = {
        "x": lambda a, x: 0,
        "e": lambda a, b, *, e: 0,
        "more": lambda a, b, c, more: 0,
        "the lack of b": lambda a: 0,
    }
    for expected, own in wrong.items():
        assert refused(inspect.signature(own), inspect.signature(theirs)) == expected
    assert refused(inspect.signature(lambda a, b, *, d: 0), inspect.signature(theirs)) is None
    with pytest.raises(AttributeError):
        resolved(real, "cuda.no_such_thing")
    call = ast.parse("f(1, 2, e=3)").body[0].value
    assert not binds(theirs, call, bound=False)


def test_the_version_that_is_played_is_the_one_that_it_was_compared_with():
    assert cupy.__version__ == real.__version__
