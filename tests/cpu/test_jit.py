"""Kept machine code must go stale when any source it was compiled from changes."""

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba import types

import gpuboost as gb
from gpuboost.kernels.cpu import _jit, growth, split

ROOT = Path(__file__).parents[2]
TRAIN = """
from gpuboost import GPUBoostRegressor
print(GPUBoostRegressor(n_estimators=1, max_depth=1).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9).predict([[1.0]])[0])
"""


def test_every_kernel_keeps_its_code_under_the_stamp():
    assert isinstance(growth.grow._cache._cache_file, _jit.KeptCode)


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


def test_helpers_are_not_kept():
    """They are part of the kernels that are."""
    assert not isinstance(split.scan_node._cache, type(growth.grow._cache))


def test_damaged_code_is_compiled_again_once_with_a_warning(tmp_path):
    """Cut off, changed in one byte, empty: none may end a fit or the process."""

    def double(x):
        return 2 * x

    def dispatcher():
        out = _jit._jit()(double)
        out.enable_caching()
        out._cache._cache_file = _jit.KeptCode(tmp_path, "double")
        return out

    assert dispatcher()(4) == 8
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    again = dispatcher()
    assert again(4) == 8 and sum(again.stats.cache_hits.values()) == 1
    _jit._warn_of_damage.cache_clear()
    damages = [good[:100], b"", good[:-1] + bytes([good[-1] ^ 1]), b"x" * 5000]
    with pytest.warns(RuntimeWarning, match="machine code .* is damaged; it is comp") as caught:
        for damage in damages:
            path.write_bytes(damage)
            fresh = dispatcher()
            assert fresh(4) == 8 and sum(fresh.stats.cache_misses.values()) == 1
            assert path.read_bytes()[:1] and dispatcher()(4) == 8
    assert len(caught) == 1
    kept = _jit.KeptCode(tmp_path, "double")
    kept.flush()
    assert list(tmp_path.iterdir()) == []


def test_code_that_cannot_be_kept_is_used(tmp_path):
    _jit.KeptCode(tmp_path / "nowhere", "double").save("key", "data")
    assert _jit.KeptCode(tmp_path / "nowhere", "double").load("key") is None


def test_no_kernel_returns_an_array():
    """numba makes arrays by Python code, in which an interrupt comes out as a SystemError."""
    x = np.random.default_rng(0).normal(size=(200, 3))
    nominal = np.floor(4 * np.abs(x))
    for model in (
        gb.RandomForestRegressor(n_estimators=2, categorical_features=[0], oob_score=True),
        gb.AdaBoostClassifier(n_estimators=2),
        gb.GPUBoostRegressor(n_estimators=2),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(nominal, (x[:, 0] > 0).astype(int)).predict(nominal)
    called = [
        kernel
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("gpuboost.kernels.cpu")
        for kernel in vars(module).values()
        if hasattr(kernel, "nopython_signatures")
        and not kernel.targetoptions.get("no_cpython_wrapper")
    ]
    assert len(called) > 10
    for kernel in called:
        for signature in kernel.nopython_signatures:
            returned = signature.return_type
            parts = returned if isinstance(returned, types.BaseTuple) else [returned]
            assert not any(isinstance(part, types.Array) for part in parts), kernel
