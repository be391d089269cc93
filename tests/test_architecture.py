"""The import order, who may import what, and that importing stays cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = [
    ["dtypes", "exchange", "scalar", "optional", "atomic_files", "progress"],
    ["config", "objectives"],
    ["backend"],
    ["data"],
    ["model"],
    ["training"],
    ["explain", "export"],
    ["plots"],
    ["tables"],
    ["report"],
    ["estimators"],
    ["doctor", "warmup", "benchmarks"],
    ["cli"],
    ["__main__"],
]
RANK = {name: i for i, names in enumerate(LINES) for name in names}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules():
    return [p for p in sorted((ROOT / "gpuboost").rglob("*.py")) if p.name != "__init__.py"]


def test_every_module_has_its_line():
    found = {p.relative_to(ROOT / "gpuboost").parts[0].removesuffix(".py") for p in modules()}
    assert found | {"benchmarks"} == set(
        RANK
    )  # gpuboost.benchmarks is the folder of that name at the top


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.stem)
def test_modules_import_only_from_lines_above(path):
    own = RANK[path.relative_to(ROOT / "gpuboost").parts[0].removesuffix(".py")]
    for name in imported(path):
        if name.startswith("gpuboost.kernels"):
            assert path.stem == "backend", name
        elif name.startswith("gpuboost."):
            other = name.split(".")[1]
            assert RANK[other] < own or other in path.relative_to(ROOT / "gpuboost").parts, name


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ("cpu", ()),
        ("cuda", ("gpuboost.kernels.cpu.backend", "gpuboost.kernels.emulation")),
        ("emulation", ()),
    ],
)
def test_kernels_know_only_dtypes_scalar_functions_and_what_crosses_the_seam(folder, others):
    shared = ("gpuboost.dtypes", "gpuboost.exchange", "gpuboost.scalar")
    allowed = (*shared, f"gpuboost.kernels.{folder}", *others)
    for path in (ROOT / "kernels" / folder).rglob("*.py"):
        for name in imported(path):
            if name.startswith("gpuboost"):
                assert name == "gpuboost" or name.startswith(allowed), (path, name)


def test_no_second_copy_of_the_shipped_folders():
    for folder in ("gpuboost", "kernels", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not any(
                name.split(".")[0] in ("kernels", "benchmarks") for name in imported(path)
            ), path


def test_import_brings_no_compiler():
    """numba is imported by the first fit: importing the library must stay quick."""
    code = (
        "import sys, gpuboost; print([m for m in ('numba', 'pandas', 'matplotlib', "
        "'scipy.stats') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "numba" not in out.stdout and "matplotlib" not in out.stdout
