"""How the site is built: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

import argparse
import os
import sys
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ |= {"COLUMNS": "92", "NO_COLOR": "1", "PYTHON_COLORS": "0"}  # help texts are wrapped to the page, and plain

import gpuboost
from gpuboost.cli import COMMANDS, build_parser

project = "gpuboost"
author = "the gpuboost authors"
copyright = author
release = version = gpuboost.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["_build"]
nitpicky = True
# types in docstrings are prose for people ("array-like of shape (n_samples,)"); names of our own must be found
nitpick_ignore_regex = [(r"py:(class|obj|data|meth|attr)", r"(?!gpuboost\.).*")]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as :ivar: a name would lose its last underscore

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "gpuboost"
html_static_path = ["_static"]
html_css_files = ["gpuboost.css"]
html_copy_source = False


class CommandHelp(SphinxDirective):
    """``{command-help}``: what ``gpuboost --help`` and every ``gpuboost COMMAND --help`` say, taken from the parsers."""

    def run(self):
        """A section for each command."""
        parser = build_parser()
        [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        texts = {"gpuboost": parser.format_help()} | {f"gpuboost {name}": commands.choices[name].format_help() for name in COMMANDS}
        sections = []
        for title, text in texts.items():
            section = nodes.section(ids=[f"help-{title.replace(' ', '-')}"], names=[f"help: {title}"])
            section += nodes.title("", "", nodes.literal("", title))
            section += nodes.literal_block(text, text, language="text", classes=["help"])
            sections.append(section)
        return sections


def setup(app):
    """Called by Sphinx."""
    app.add_directive("command-help", CommandHelp)
