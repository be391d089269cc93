"""What the compiler of kernels leaves out, and what it tells."""

import _thread
import gc
import signal
import sys
import threading
import time

import numpy as np
import pytest

from gpuboost.kernels.cpu import _compiler, _jit
from gpuboost.progress import Compilation


@pytest.fixture
def told(monkeypatch):
    """What is told of compilation, from nothing on."""
    fresh = Compilation()
    monkeypatch.setattr(_compiler, "compilation", fresh)
    return fresh


def test_helpers_become_part_of_kernels_and_have_no_code_of_their_own():
    @_jit.helper
    def square(x):
        return x * x

    @_jit.helper
    def sum_of_squares(x, y):
        return square(x) + square(y)

    @_jit.exposed
    @_jit.helper
    def length(x, y):
        return np.sqrt(sum_of_squares(x, y))

    assert length(3.0, 4.0) == 5.0
    for part in (square, sum_of_squares):
        (compiled,) = part.overloads.values()
        assert isinstance(compiled.library, _compiler.HelperCode)
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0
    (compiled,) = length.overloads.values()
    assert all("length" in function.name for function in compiled.library.get_defined_functions())


def test_an_error_in_a_helper_reaches_python():
    @_jit.helper
    def refuse(x):
        if x < 0:
            raise ValueError("below zero")
        return x

    @_jit.exposed
    @_jit.helper
    def root(x):
        return np.sqrt(refuse(x))

    assert root(4.0) == 2.0
    with pytest.raises(ValueError, match="below zero"):
        root(-1.0)


def test_a_helper_that_returns_an_array_counts_references():
    """Its caller counts on one that is its own."""

    def both(x, y):
        return x, y

    def caller(of_both):
        @_jit.exposed
        @_jit.helper
        def last(x, y):
            return of_both(x, y)[0][-1]

        return last

    x, y = np.arange(4), np.arange(9)
    assert caller(_jit.allocating(both))(x, y) == 3
    with pytest.raises(TypeError, match="both returns an array"):
        caller(_jit.helper(both))(x, y)


def test_a_helper_that_counts_no_references_is_handed_none():
    """Nobody would give them up: the array would never be freed."""

    @_jit.allocating
    def pair(x):
        return 2, (x, np.empty(x))

    def length(x):
        return pair(x)[1][1].shape[0]

    assert _jit._jit(length)(3) == 3
    with pytest.raises(TypeError, match="length is handed arrays by a call"):
        _jit._jit(length, _nrt=False)(3)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_afterwards_if_it_was_before(told, collecting):
    seen = []

    def double(x):
        return 2 * x

    class Watching(_compiler.KernelCompiler):
        def define_pipelines(self):
            seen.append(gc.isenabled())
            return super().define_pipelines()

    was = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        assert _jit._jit(double, pipeline_class=Watching)(2) == 4
        assert seen == [False] and gc.isenabled() == collecting
    finally:
        (gc.enable if was else gc.disable)()
    assert told.seconds > 0


def test_one_line_on_a_terminal_before_the_first_long_compilation(told, monkeypatch, capsys):
    def quick(x):
        return x

    def slow(x):
        return 2 * x

    def slower(x):
        return 3 * x

    known = {slow: 7, slower: 9}
    monkeypatch.setattr(_compiler.KernelCompiler, "expected_seconds", known)
    compiled = [_jit._jit(function) for function in (quick, slow, slower)]
    compiled[0](1)
    assert capsys.readouterr().err == "" and told.seconds > 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compiled[1](1), compiled[2](1), compiled[1](1)
    err = capsys.readouterr().err
    assert err.count("compiling kernels for the first time: about 7 s") == err.count("\n") == 1
    before = told.seconds
    compiled[1](1)
    assert told.seconds == before


def plus_one(x):
    return x + 1


def test_ctrl_c_while_a_kernel_is_compiled(monkeypatch):
    """It is heard at once, and the kernel is there afterwards."""
    compile_extra = _compiler.KernelCompiler.compile_extra
    begun = threading.Event()

    def slowly(self, function):
        begun.set()
        time.sleep(0.7)
        return compile_extra(self, function)

    monkeypatch.setattr(_compiler.KernelCompiler, "compile_extra", slowly)
    monkeypatch.setattr(_jit.KeptCode, "load", lambda *args: None)
    monkeypatch.setattr(_jit.KeptCode, "save", lambda *args: None)
    dispatcher = _jit.kernel(plus_one)

    def interrupt():
        begun.wait()
        _thread.interrupt_main()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    try:
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            dispatcher(1)
        assert time.perf_counter() - start < 0.6
    finally:
        signal.signal(signal.SIGINT, handler)
    assert dispatcher(1) == 2
