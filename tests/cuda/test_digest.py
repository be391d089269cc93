"""Digests of functions."""

import math
import types

import numpy as np
import pytest

from gpuboost.kernels.cuda.digest import NoDigest, digest_of

SCALE = 2.0


def helper(x):
    return SCALE * x


def function_of(text, **scope):
    """The function ``f`` that a text defines, in a module of its own."""
    exec(text, scope)  # noqa: S102
    return scope["f"]


TEXT = "def f(x, k=1):\n    return g(x) + C * np.sqrt(m.A) + k"


def variant(text=TEXT, constant=3.0, g=helper, attribute=1, default=1):
    module = types.ModuleType("users_module")
    module.A = attribute
    f = function_of(text, C=constant, g=g, np=np, m=module)
    f.__defaults__ = (default,)
    return f


def test_equal_functions_have_one_digest():
    assert digest_of(variant(), 1) == digest_of(variant(), 1)
    assert digest_of(variant("\n\n" + TEXT)) == digest_of(variant())  # where it stands is no matter


@pytest.mark.parametrize(
    "change",
    [
        {"text": TEXT.replace("+ k", "- k")},
        {"text": TEXT.replace("sqrt", "floor")},
        {"constant": 3},
        {"constant": np.float32(3.0)},
        {"constant": math.nextafter(3.0, 4.0)},
        {"g": lambda x: SCALE * x + 1.0},
        {"attribute": 2},
        {"default": 2},
    ],
    ids=str,
)
def test_a_change_of_anything_that_is_compiled_changes_the_digest(change):
    assert digest_of(variant(**change)) != digest_of(variant())


def test_changes_below_and_around_a_function_count(monkeypatch):
    before = digest_of(variant())
    monkeypatch.setitem(helper.__globals__, "SCALE", 4.0)
    assert digest_of(variant()) != before

    def closed_over(value):
        return lambda x: x + value

    assert digest_of(closed_over(1)) != digest_of(closed_over(2))
    assert digest_of(closed_over(np.arange(3))) != digest_of(closed_over(np.arange(4)))
    assert digest_of(closed_over(helper)) != digest_of(closed_over(variant()))
    assert digest_of(variant(), (7, 5)) != digest_of(variant(), (8, 0))


def test_functions_that_call_themselves():
    text = "def f(n):\n    return n * f(n - {}) if n else 1"
    assert digest_of(function_of(text.format(1))) == digest_of(function_of(text.format(1)))
    assert digest_of(function_of(text.format(1))) != digest_of(function_of(text.format(2)))


def test_what_cannot_be_told_has_no_digest():
    with pytest.raises(NoDigest, match="object"):
        digest_of(variant(constant=object()))
