"""Kept machine code must go stale when any source it was compiled from changes."""

import shutil
import subprocess
import sys
from pathlib import Path

import numba

from gpuboost.kernels.cpu import _jit, growth

ROOT = Path(__file__).parents[2]
TRAIN = """
from gpuboost import GPUBoostRegressor
print(GPUBoostRegressor(n_estimators=1, max_depth=1).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9).predict([[1.0]])[0])
"""


def test_every_kernel_carries_the_stamp():
    assert growth.grow._cache._cache_file._source_stamp == _jit.SOURCE_STAMP


def test_a_changed_formula_is_not_run_from_old_code(tmp_path):
    for folder in ("gpuboost", "kernels"):
        shutil.copytree(ROOT / folder, tmp_path / folder)

    def train():
        out = subprocess.run(
            [sys.executable, "-c", TRAIN], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return float(out.stdout)

    before = train()
    formulas = tmp_path / "gpuboost" / "scalar" / "formulas.py"
    old = "    w = -threshold_l1(g, reg_alpha) / d\n"
    assert old in formulas.read_text()
    formulas.write_text(
        formulas.read_text().replace(old, "    w = -2.0 * threshold_l1(g, reg_alpha) / d\n")
    )
    assert abs((train() - 0.5) - 2 * (before - 0.5)) < 1e-12


def test_a_line_on_a_terminal_before_the_first_compilation(monkeypatch, capsys):
    """Not where there is no terminal, not for a kernel that is compiled or kept, and only once."""

    def double(x):
        return 2 * x

    fresh = numba.njit(double)
    _jit._say_once.cache_clear()
    _jit.tell_of_compilation(fresh)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compiled = numba.njit(double)
    compiled(1)
    _jit.tell_of_compilation(compiled)
    assert capsys.readouterr().err == ""
    _jit.tell_of_compilation(fresh)
    _jit.tell_of_compilation(numba.njit(double))
    assert capsys.readouterr().err.count("gpuboost: compiling kernels") == 1
