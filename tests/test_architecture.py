"""The import order, who may read what of whom, a test file for each module, cheap imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = [
    ["dtypes", "terminal"],
    ["exchange", "scalar", "optional", "atomic_files", "progress", "uninterrupted"],
    ["config", "cached_files"],
    ["objectives"],
    ["backend"],
    ["data"],
    ["model"],
    ["training"],
    ["explain", "export"],
    ["plots"],
    ["tables"],
    ["report"],
    ["estimators"],
    ["warmup", "benchmarks"],
    ["doctor"],
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
        (
            "cuda",
            (
                "gpuboost.kernels.cpu.backend",
                "gpuboost.kernels.cpu.trees",
                "gpuboost.kernels.emulation",
            ),
        ),
        ("emulation", ()),
    ],
)
def test_kernels_know_only_dtypes_scalar_functions_and_what_crosses_the_seam(folder, others):
    names = ("dtypes", "exchange", "scalar", "cached_files", "progress", "uninterrupted")
    shared = tuple(f"gpuboost.{name}" for name in names)
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


# --- private names

#: Private names of other libraries that are read, and why.
BORROWED = (
    {
        ("kernels/cpu/_jit.py", name): "numba has no public way to ask for kept machine code"
        for name in ("_cache", "_cache_file", "_impl")
    }
    | {
        (
            "gpuboost/objectives/metric_functions.py",
            name,
        ): "scorers do not say what they are made of"
        for name in ("_score_func", "_sign")
    }
    | {
        (
            "gpuboost/cli/__init__.py",
            "_exit",
        ): "the system's way to end a process is spelt like this"
    }
)


def layer_of(path):
    """The folder of a module below ``gpuboost/`` or ``kernels/``, or the module itself."""
    folder, *rest = path.relative_to(ROOT).parts
    return folder if folder == "kernels" else f"{folder}/{rest[0].removesuffix('.py')}"


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def private_attributes(tree):
    """Private attributes of anything but the object or class that the code belongs to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            if not isinstance(owner, ast.Name) or owner.id not in ("self", "cls", "super"):
                yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            name = getattr(node.args[1], "value", "")
            if isinstance(name, str) and is_private(name):
                yield name


def private_imports(tree):
    """(module, name) of imports, written as such or with ``import_module``, that are private."""
    for node in ast.walk(tree):
        pairs = []
        if isinstance(node, ast.ImportFrom) and node.module:
            pairs = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            pairs = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.Constant) and str(node.value).startswith("gpuboost."):
            pairs = [(node.value, "")]
        for module, name in pairs:
            if any(map(is_private, [*module.split("."), name])):
                yield module, name


def defined_names(tree):
    """Names of functions, classes, variables and attributes that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


SOURCES = [p for folder in ("gpuboost", "kernels") for p in sorted((ROOT / folder).rglob("*.py"))]
TREES = {path: ast.parse(path.read_text()) for path in SOURCES}
DEFINED = {layer_of(path): set() for path in SOURCES}
for source, parsed in TREES.items():
    DEFINED[layer_of(source)].update(defined_names(parsed))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_stay_within_their_layer(path):
    layer = layer_of(path)
    for name in private_attributes(TREES[path]):
        borrowed = (str(path.relative_to(ROOT)), name) in BORROWED
        assert borrowed or name in DEFINED[layer], f"{name} belongs to another layer"
    for module, name in private_imports(TREES[path]):
        home = module.replace("gpuboost.kernels", "kernels").replace(".", "/")
        assert f"{home}/".startswith(f"{layer}/"), f"{module}: {name} belongs to another layer"


def test_reading_private_names_is_noticed():
    """Each way to reach for a private name, and ways that are none."""
    code = ast.parse(
        "import gpuboost.kernels.cuda._device\nfrom gpuboost.data.checks import _rows, rows\n"
        "import_module('gpuboost.model._file')\nmodel._seed\ngetattr(model, '_bags', None)\n"
        "self._seed\nsuper()._seed\nmodel.__dict__\nfrom gpuboost import __version__\n"
    )
    assert set(private_attributes(code)) == {"_seed", "_bags"}
    assert list(private_attributes(code)).count("_seed") == 1
    assert {name or module for module, name in private_imports(code)} == {
        "gpuboost.kernels.cuda._device",
        "_rows",
        "gpuboost.model._file",
    }


# --- a test file for each module, by the same name

#: Modules without tests of their own, and why.
NOTHING_TO_TEST = {
    "__main__.py": "calls gpuboost.cli.main, which tests/cli/test_main.py tests",
    "dtypes.py": "constants and records",
    "cpu/cart/records.py": "records",
}
#: Tests of what no single module does.
OF_EVERYTHING = {
    "test_architecture.py", "test_concurrency.py", "test_determinism.py", "test_docs.py",
    "test_errors.py", "test_gpu_model.py", "test_kernel_benchmarks.py", "test_packaging.py",
    "test_parameters_page.py", "test_recorded_fits.py",
    "cli/test_main.py",
    "compare/test_sklearn_suite.py", "compare/test_vs_peers.py",
    "cuda/test_options.py", "cuda/test_parity.py",
    "cuda/test_saving.py", "emulation/ptx/test_families.py", 
    "estimators/test_any_parameter.py", "estimators/test_constraints.py",
    "estimators/test_docstrings.py", "estimators/test_frames.py",
    "estimators/test_target_encoding.py",
}  # fmt: skip


def module_paths():
    """Paths of modules below ``gpuboost/`` or ``kernels/``, ``tests/`` has the same folders."""
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    return {"/".join(path.relative_to(ROOT).parts[1:]) for path in modules}


def file_of_tests(module):
    """The test file of a module: ``data/features.py`` has ``data/test_features.py``."""
    *folders, name = module.split("/")
    return "/".join([*folders, f"test_{name.lstrip('_')}"])


def all_test_files():
    return {str(path.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")}


def test_every_module_has_its_test_file():
    assert set(NOTHING_TO_TEST) <= module_paths()
    wanted = {file_of_tests(module) for module in module_paths() - set(NOTHING_TO_TEST)}
    assert sorted(wanted - all_test_files()) == []


def test_every_test_file_has_its_module():
    known = {file_of_tests(module) for module in module_paths()}
    assert sorted(all_test_files() - known) == sorted(OF_EVERYTHING)
