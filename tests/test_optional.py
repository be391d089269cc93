"""Packages that only some functions need."""

import math
import sys

import pytest

from gpuboost.optional import load


def test_a_package_that_is_there_is_imported():
    assert load("math", "counting") is math


def test_one_that_is_not_is_named_with_what_it_is_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(ImportError, match="reading needs pyarrow: pip install pyarrow"):
        load("pyarrow.csv", "reading")
