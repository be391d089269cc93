"""Every code block of README, CONTRIBUTING and docs runs, every example too.

And every link of theirs leads somewhere.

The blocks of a page run in order, in a folder of their own. ``python`` blocks share one namespace,
``pycon`` blocks are doctests in it, and ``bash`` blocks run with ``gpuboost`` on the path. ``text``
is the one language that is not run."""

import ast
import doctest
import json
import os
import re
import subprocess
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

import gpuboost as gb
from gpuboost.benchmarks.findings import counts, where_we_lose
from gpuboost.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOK = ROOT / "examples" / "first_gpu_run.ipynb"
LANGUAGES = {"python", "pycon", "bash", "text"}
#: Parts of the site in the form of fenced blocks; none of them can hold code.
DIRECTIVES = {
    "{toctree}",
    "{figure}",
    "{include}",
    "{eval-rst}",
    "{command-help}",
    "{note}",
    "{warning}",
}
#: Blocks that install: ``.ci/run`` runs the README's first two in a fresh environment.
INSTALLS = 2


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of its first line of code, counted from 1
    language: str
    code: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    """Fenced blocks, also those that are indented under a list."""
    lines = page.read_text().splitlines()
    blocks, begin = [], None
    for i, line in enumerate(lines):
        fence = re.match(r" *(`{3,}|~{3,}|:{3,}) *(\S*)", line)
        if begin is None and fence:
            begin, mark, language = i, fence[1], fence[2]
        elif begin is not None and line.strip() == mark:
            blocks.append(
                Block(
                    page,
                    begin + 2,
                    language,
                    textwrap.dedent("\n".join(lines[begin + 1 : i])) + "\n",
                )
            )
            begin = None
    assert begin is None, f"{page}:{begin + 1}: a block that does not end"
    return blocks


def run_python(block, names):
    # empty lines in front: a traceback then names the line of the page
    exec(compile("\n" * (block.line - 1) + block.code, str(block.page), "exec"), names)


def run_pycon(block, names):
    test = doctest.DocTestParser().get_doctest(
        block.code, names, str(block), str(block.page), block.line - 1
    )
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=said.append, clear_globs=False
    )
    names |= test.globs
    assert not said, "".join(said)


def run_bash(block, folder):
    commands = folder / ".commands"
    commands.mkdir(exist_ok=True)
    for name, call in (("gpuboost", "-m gpuboost"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
        (commands / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=environment(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{block}: exit code {done.returncode}\n{block.code}\n{done.stdout}\n{done.stderr}"
    )


def environment(*folders):
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = {"__name__": "__main__"}
    n_installs = 0
    for block in blocks_of(page):
        assert block.language in LANGUAGES | DIRECTIVES, (
            f"{block}: {block.language!r} is none of {sorted(LANGUAGES | DIRECTIVES)}"
        )
        assert (">>> " in block.code) == (block.language == "pycon"), (
            f"{block}: prompts belong into pycon blocks, and only there"
        )
        assert "code-block" not in block.code, f"{block}: code belongs into a block of its own"
        if block.language == "python":
            run_python(block, names)
        elif block.language == "pycon":
            run_pycon(block, names)
        elif block.language == "bash" and page.name == "README.md" and n_installs < INSTALLS:
            assert "pip install" in block.code, (
                f"{block}: the first {INSTALLS} bash blocks are the ones that .ci/run runs"
            )
            n_installs += 1
        elif block.language == "bash":
            assert "pip install" not in block.code, (
                f"{block}: tests do not install; say it in the text"
            )
            run_bash(block, tmp_path)
    if page.name == "gallery.md":  # docs/make_images.py keeps what the code draws
        figures = set(re.findall(r"\(images/(.*?)\)", page.read_text()))
        assert {path.name for path in tmp_path.glob("*.png")} == figures


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout, "an example shows something"


# --- the notebook


def cells_of(notebook, kind):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_the_notebook_is_well_formed():
    """Version 4.5 of the format, without outputs; the keys that it prescribes."""
    notebook = json.loads(NOTEBOOK.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    code, text = cells_of(notebook, "code"), cells_of(notebook, "markdown")
    assert len(code) + len(text) == len(notebook["cells"])
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in code:
        assert set(cell) == {"cell_type", "execution_count", "id", "metadata", "outputs", "source"}
        assert cell["outputs"] == [] and cell["execution_count"] is None
    for cell in text:
        assert set(cell) == {"cell_type", "id", "metadata", "source"}
    sources = "".join("".join(cell["source"]) for cell in code)
    assert "gpuboost doctor --full" in sources and "pip install gpuboost" not in sources


def test_the_python_cells_of_the_notebook_run(monkeypatch, capsys):
    """On the emulated device, with fewer rows and trees; shell commands and installations aside."""
    monkeypatch.setenv("GPUBOOST_EMULATE_CUDA", "1")
    monkeypatch.chdir(NOTEBOOK.parent)
    shown = types.ModuleType("IPython.display")
    shown.HTML = str
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    names, n_run = {"__name__": "__main__"}, 0
    for cell in cells_of(json.loads(NOTEBOOK.read_text()), "code"):
        source = "".join(cell["source"])
        if source.startswith(("!", "%")):
            continue
        for large, small in (("ROWS = 1_000_000", "ROWS = 500"), ("=50, max_depth=6", "=2")):
            source = source.replace(large, small)
        exec(compile(source, str(NOTEBOOK), "exec"), names)
        n_run += 1
    assert n_run >= 6 and set(names["fingerprints"]) == {"cpu", "cuda"}
    assert names["ROWS"] == 500 and names["model"].n_estimators == 2
    assert names["checkout"] == ROOT


def anchors_of(page):
    """Headings as GitHub and MyST name them."""
    included = [
        page.parent / name for name in re.findall(r"^```{include} (\S+)", page.read_text(), re.M)
    ]
    text = "\n".join(
        re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
        for path in (page, *included)
    )
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.relative_to(ROOT)}: {target} does not exist"
        assert not anchor or anchor in anchors_of(file), (
            f"{page.relative_to(ROOT)}: {target} has no such heading"
        )


def test_the_reference_has_every_public_name():
    pages = "\n".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    documented = set(
        re.findall(r"^\.\. auto(?:class|function|exception):: gpuboost\.(\S+)", pages, re.M)
    )
    public = {name for name in gb.__all__ if name not in ("__version__", "importance")}
    public |= {
        f"importance.{name}"
        for name in ("Importance", "Table", "table", "plot", *gb.importance.METHODS)
    }
    assert documented == public


def test_the_page_of_the_command_line_lists_every_command():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert re.findall(r"^\| `gpuboost (\w+)` \|", page, re.M) == list(COMMANDS)


def test_the_readme_says_at_how_many_points_another_loss_is_lower():
    """The numbers of "Where we lose" are those of the committed benchmark."""
    record = json.loads((ROOT / "benchmarks" / "results" / "bench.json").read_text())
    [of_loss] = [line for line in counts(record) if line["measure"].key == "loss"]
    lower, of_library = {}, {}
    for duel in where_we_lose(record):
        if duel.measure.key == "loss":
            percent = 100.0 * (1.0 - duel.ratio)
            lower[duel.point] = max(percent, lower.get(duel.point, 0.0))
            of_library[duel.peer] = of_library.get(duel.peer, 0) + 1
    small = [percent for percent in lower.values() if percent < 0.95]
    large = [percent for percent in lower.values() if percent >= 0.95]
    text = " ".join((ROOT / "README.md").read_text().split("## Where we lose")[1].split())
    for part in (
        f"At {len(lower)} of the {of_loss['points']} benchmark points",
        f"{min(small):.1f} to {max(small):.1f} % lower at {len(small)} of these points",
        f"{min(large):.1f} to {max(large):.1f} % lower at {len(large)}.",
        f"significantly lower at {min(of_library.values())} to {max(of_library.values())} points",
    ):
        assert part in text, part


# --- names of files and functions


def functions_of(path):
    """Functions of a module, methods as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def steps_of_the_walks():
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## The way through the code")[1]
    blocks = re.findall(r"^```text\n(.*?)^```", text.split("\n## ")[0], re.S | re.M)
    return [tuple(line.split(None, 2)[:2]) for block in blocks for line in block.splitlines()]


def test_there_is_a_walk_for_each_family():
    steps = steps_of_the_walks()
    for path, first in (
        ("gpuboost/estimators/boosting.py", "GPUBoostRegressor.fit"),
        ("gpuboost/estimators/forest_base.py", "BaseForest.fit"),
    ):
        assert (path, first) in steps
    fit = gb.RandomForestClassifier.fit
    assert fit is sys.modules["gpuboost.estimators.forest_base"].BaseForest.fit


@pytest.mark.parametrize(("path", "function"), sorted(set(steps_of_the_walks())))
def test_the_steps_of_the_walks_are_there(path, function):
    assert function in functions_of(ROOT / path)


def extensions():
    """{heading: paragraph} of what may be added to the engine."""
    text = (ROOT / "docs" / "engine.md").read_text().split("\n## Extensions\n")[1]
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return {part.split("**")[1]: part for part in paragraphs if part.startswith("**")}


def test_there_is_a_paragraph_for_each_extension():
    wanted = (
        "A loss with a parameter", "A categorical split", "A third matrix layout",
        "A reduction over workers", "Refitting leaf values", "Leaves with several outputs",
        "Linear leaves", "Bounds of monotone constraints",
    )  # fmt: skip
    for words in wanted:
        assert any(heading.startswith(words) for heading in extensions()), words


@pytest.mark.parametrize("heading", extensions())
def test_functions_that_an_extension_names_are_in_the_files_that_it_names(heading):
    quoted = re.findall("`([^`]+)`", extensions()[heading])
    files = [ROOT / name for name in quoted if "/" in name]
    names = [name for name in quoted if "/" not in name]
    assert files and names
    for name in names:
        owner, _, last = name.rpartition(".")
        if owner[:1].isupper():
            assert any(name in functions_of(path) for path in files if path.suffix == ".py"), name
        else:
            assert any(re.search(rf"\b{last}\b", path.read_text()) for path in files), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page):
    named = re.findall(r"`((?:gpuboost|kernels|tests|benchmarks)/[\w/.-]+)`", page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_lines_of_prose_have_at_most_100_characters(page):
    """Tables, code and what cannot be divided aside."""
    code = re.sub(r"^ *(`{3,}|:{3,}).*?^ *\1 *$", "", page.read_text(), flags=re.S | re.M)
    lines = [line for line in code.splitlines() if not line.lstrip().startswith(("|", "#", "<"))]
    assert [line for line in lines if len(line) > 100 and " " in line[:100].strip()] == []


def test_lines_of_cuda_and_cpp_have_at_most_100_characters():
    sources = [
        p for p in (ROOT / "kernels").rglob("*") if p.suffix in (".cu", ".cuh", ".h", ".cpp")
    ]
    assert len(sources) > 5
    for source in sources:
        assert [line for line in source.read_text().splitlines() if len(line) > 100] == [], source
