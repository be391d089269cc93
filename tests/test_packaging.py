"""What is in the repository is in the package."""

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
from email.parser import Parser
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


# --- the source distribution


def files_of_the_project():
    """Tracked files; in an unpacked source distribution, those that it says it has."""
    if (ROOT / ".git").exists():
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = listed.stdout.split("\0")[:-1]
    else:
        names = (ROOT / "gpuboost_trees.egg-info" / "SOURCES.txt").read_text().splitlines()
        names = [name for name in names if not name.startswith("gpuboost_trees.egg-info/")]
    return [name for name in names if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def clean_checkout(tmp_path_factory):
    """The tracked files and nothing else, not even a ``.git`` that lists them."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in files_of_the_project():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        else:
            shutil.copy(ROOT / name, target)
    return folder


def build(checkout, call, folder):
    """What a hook of the build backend writes into a folder."""
    code = f"import sys, setuptools.build_meta as backend; backend.{call}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, folder],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_source_distribution_has_every_file(clean_checkout, tmp_path):
    build(clean_checkout, "build_sdist", tmp_path)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = archive.with_name(archive.name.removesuffix(".tar.gz"))
    for name in files_of_the_project():
        if (ROOT / name).is_dir():  # a link to a folder is its files
            assert any((unpacked / name).rglob("*.py")), f"{name}: see MANIFEST.in"
        else:
            assert (unpacked / name).is_file(), f"{name}: see MANIFEST.in"
            assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes(), name


# --- what an index shows

RELATIVE_LINK = re.compile(r"\]\((?!https?://|mailto:)[^)]*\)")


def test_the_long_description_has_no_links_into_the_repository(clean_checkout, tmp_path):
    build(clean_checkout, "prepare_metadata_for_build_wheel", tmp_path)
    metadata = Parser().parsestr(next(tmp_path.glob("*.dist-info/METADATA")).read_text())
    description = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert description.startswith("# gpuboost") and "pip install" in description
    assert RELATIVE_LINK.findall(description) == []


def test_links_of_the_readme_follow_the_address_of_the_source():
    portable = runpy.run_path(str(ROOT / "setup.py"))["portable"]
    readme = (
        "[a page](docs/cuda.md#memory), [below](#use), [CuPy](https://cupy.dev), ![a](docs/a.png)\n"
        "```python\nf[0](x)\n```\n"
    )
    code = "\n```python\nf[0](x)\n```\n"
    assert portable(readme, None, "1.0") == (
        "a page (`docs/cuda.md`), below, [CuPy](https://cupy.dev), " + code
    )
    at = "https://example.org/gpuboost"
    assert portable(readme, at, "1.0") == (
        f"[a page]({at}/blob/v1.0/docs/cuda.md#memory), [below]({at}/blob/v1.0/README.md#use), "
        f"[CuPy](https://cupy.dev), ![a]({at}/raw/v1.0/docs/a.png)" + code
    )
