"""What is in the repository is in the package."""

from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no TOML parser")
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_folder_is_listed():
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    folders = {
        "gpuboost",
        *(f"gpuboost.{p.parent.name}" for p in (ROOT / "gpuboost").glob("*/__init__.py")),
    }
    elsewhere = [
        *(ROOT / "kernels").rglob("__init__.py"),
        *(ROOT / "benchmarks").rglob("__init__.py"),
    ]  # top-level folders that are shipped
    moved = {"gpuboost." + ".".join(p.parent.relative_to(ROOT).parts) for p in elsewhere}
    assert listed == folders | moved
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {
        name: name.removeprefix("gpuboost.").replace(".", "/") for name in moved
    }


def test_version_and_name():
    import gpuboost

    assert PROJECT["project"]["version"] == gpuboost.__version__
    assert PROJECT["project"]["name"] == "gpuboost-trees"  # "gpuboost" on PyPI is another project
    assert PROJECT["project"]["scripts"] == {"gpuboost": "gpuboost.cli:main"}
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        assert "pip install gpuboost" not in path.read_text()


def test_the_extras_ask_for_the_cupy_that_the_engine_asks_for():
    from gpuboost.kernels.cuda.device import OLDEST_CUPY

    for extra in ("cuda12", "cuda13"):
        (cupy,) = (
            p for p in PROJECT["project"]["optional-dependencies"][extra] if p.startswith("cupy")
        )
        assert cupy.endswith(f">={OLDEST_CUPY[0]}.{OLDEST_CUPY[1]}")
